"""Packs inputs that begin alike into one row of a model, so that a shared prefix is computed once.

The inputs of a row form a prefix tree. A mask lets each token attend only to its ancestors in the tree, and each token
keeps the position that it has in its own input, so that the model computes the same as for each input alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass
class TokenTree:
    """One row: n inputs as a prefix tree of l tokens.

    Attributes:
        ids: the token numbers in the row, length l.
        positions: the position of each token in its own input, length l.
        items: the numbers of the inputs, length n.
        paths: for each input, the columns of its tokens in the row.
        shared: for each input, the length of the prefix that it shares with the input before it.
    """

    ids: list[int] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    items: list[int] = field(default_factory=list)
    paths: list[NDArray[np.intp]] = field(default_factory=list)
    shared: list[int] = field(default_factory=list)

    def add(self, item: int, ids: Sequence[int], shared: int) -> None:
        """Append an input to the row.

        Args:
            item: the number of the input.
            ids: its token numbers.
            shared: the number of tokens at its beginning that equal those of the input before it; 0 for the first.
        """
        start = len(self.ids)
        self.ids.extend(ids[shared:])
        self.positions.extend(range(shared, len(ids)))
        path = np.arange(start, len(self.ids))
        if shared:
            path = np.concatenate([self.paths[-1][:shared], path])
        self.paths.append(path)
        self.items.append(item)
        self.shared.append(shared)

    def attention_mask(self, length: int) -> NDArray[np.bool_]:
        """Return the attention mask, shape (length, length): entry (i, j) tells whether token i sees token j.

        Each padding token sees itself. If it saw nothing, its state would become NaN, and a NaN spreads to all tokens
        even through an attention weight of 0.

        Args:
            length: the length of the row with padding.
        """
        mask = np.eye(length, dtype=np.bool_)
        for path, shared in zip(self.paths, self.shared, strict=True):
            # adjacent columns; none if the input equals the one before it
            own_columns = path[shared:]
            if len(own_columns):
                start, end = int(own_columns[0]), int(own_columns[-1]) + 1
                mask[start:end, path[:shared]] = True
                mask[start:end, start:end] = np.tri(end - start, dtype=np.bool_)
        return mask


def pack_rows(inputs: Mapping[int, Sequence[int]], size: int) -> list[TokenTree]:
    """Return the inputs packed into rows; inputs whose tokens are neighbours in sorted order share a row.

    Args:
        inputs: the token numbers of each input, at least one, by the number of the input.
        size: the most tokens in a row with several inputs, raised to twice the length of its first input where that is
            more; 0 for one row per input.
    """
    # sorting makes the inputs with the longest shared prefixes neighbours
    order = sorted(inputs, key=lambda item: list(inputs[item]))
    lengths = [len(inputs[item]) for item in order]
    shared = [0] * len(order)
    for index in range(1, len(order)):
        shared[index] = _common_prefix_length(inputs[order[index - 1]], inputs[order[index]])
    rows = []
    start = 0
    while start < len(order):
        end = _end_of_row(start, lengths, shared, size)
        row = TokenTree()
        for index in range(start, end):
            # the first input of a row has no predecessor to share tokens with
            shared_in_row = shared[index] if index > start else 0
            row.add(order[index], inputs[order[index]], shared_in_row)
        rows.append(row)
        start = end
    return rows


def _end_of_row(start: int, lengths: Sequence[int], shared: Sequence[int], size: int) -> int:
    """Return the index of the first input of the next row.

    A row is cut in its second half, before the input that shares the shortest prefix with its predecessor.

    Args:
        start: the index of the first input of this row.
        lengths: the length of each input.
        shared: for each input, the length of the prefix shared with its predecessor.
        size: the most tokens in a row, raised to twice the length of its first input where that is more; 0 for one row
            per input.
    """
    if not size:
        return start + 1
    max_tokens = max(size, 2 * lengths[start])
    tokens_before = lengths[start]  # in the row, if it is cut before the input of the loop
    best_cut = start + 1
    for index in range(start + 1, len(lengths)):
        is_first_half = tokens_before < max_tokens / 2
        if is_first_half or shared[index] <= shared[best_cut]:
            best_cut = index
        tokens_before += lengths[index] - shared[index]
        if tokens_before > max_tokens:
            return best_cut
    return len(lengths)


def items_of(rows: Iterable[TokenTree]) -> list[int]:
    """Return the numbers of all inputs in rows, row after row."""
    return [item for row in rows for item in row.items]


def _common_prefix_length(left: Sequence[int], right: Sequence[int]) -> int:
    """Return the length of the common prefix of two inputs."""
    length = 0
    for left_id, right_id in zip(left, right, strict=False):
        if left_id != right_id:
            break
        length += 1
    return length
