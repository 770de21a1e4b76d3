"""Inputs that begin alike in one row of a model: what they share is computed once.

The inputs of a row form a tree. Each token sees its own ancestors, by a mask, and has the position that it has in its
own input, so that the result is that of each input alone. Without the tree, a row is one input.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass
class TokenTree:
    """Inputs that share their beginnings.

    Attributes:
        ids: token numbers of the tree, l of them.
        positions: of each token in its own input, shape (l,).
        items: which inputs, n of them.
        paths: for each, where its tokens stand in the row.
        shared: for each, how many of them it has from the input before it.
    """

    ids: list[int] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    items: list[int] = field(default_factory=list)
    paths: list[NDArray[np.intp]] = field(default_factory=list)
    shared: list[int] = field(default_factory=list)

    def add(self, item: int, ids: Sequence[int], shared: int) -> None:
        """Add an input whose first *shared* tokens are those of the input before it."""
        start = len(self.ids)
        self.ids.extend(ids[shared:])
        self.positions.extend(range(shared, len(ids)))
        own = np.arange(start, len(self.ids))
        self.paths.append(np.concatenate([self.paths[-1][:shared], own]) if shared else own)
        self.items.append(item)
        self.shared.append(shared)

    def sees(self, length: int) -> NDArray[np.bool_]:
        """Return which token sees which, shape (length, length); of the padding, each sees itself.

        A token that saw nothing would become NaN, and NaN times a weight of 0 is NaN.
        """
        sees = np.eye(length, dtype=np.bool_)
        for path, shared in zip(self.paths, self.shared, strict=True):
            own = path[shared:]
            if len(own):
                start, end = int(own[0]), int(own[-1]) + 1
                sees[start:end, path[:shared]] = True
                sees[start:end, start:end] = np.tri(end - start, dtype=np.bool_)
        return sees


def rows_of(inputs: Mapping[int, Sequence[int]], size: int) -> list[TokenTree]:
    """Return the rows of inputs of at least one token.

    Args:
        inputs: by number, the token numbers of each.
        size: tokens of a row of several inputs, which may be as long as two inputs; 0 for a row for each input.
    """
    # sorted, those that share most are neighbours
    order = sorted(inputs, key=lambda item: list(inputs[item]))
    lengths = [len(inputs[item]) for item in order]
    shared = [0] * len(order)
    for place in range(1, len(order)):
        shared[place] = _shared_length(inputs[order[place - 1]], inputs[order[place]])
    rows = []
    start = 0
    while start < len(order):
        end = _end_of_row(start, lengths, shared, size)
        row = TokenTree()
        for place in range(start, end):
            row.add(order[place], inputs[order[place]], shared[place] if place > start else 0)
        rows.append(row)
        start = end
    return rows


def _end_of_row(start: int, lengths: Sequence[int], shared: Sequence[int], size: int) -> int:
    """Return where the next row starts: in the second half of this one, where least is shared."""
    if not size:
        return start + 1
    size = max(size, 2 * lengths[start])
    tokens, best = lengths[start], start + 1
    for place in range(start + 1, len(lengths)):
        if tokens < size / 2 or shared[place] <= shared[best]:
            best = place
        tokens += lengths[place] - shared[place]
        if tokens > size:
            return best
    return len(lengths)


def items_of(rows: Iterable[TokenTree]) -> list[int]:
    """Return the numbers of the inputs of rows, row after row."""
    return [item for row in rows for item in row.items]


def _shared_length(left: Sequence[int], right: Sequence[int]) -> int:
    """Return how many tokens two inputs begin with together."""
    length = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        length += 1
    return length
