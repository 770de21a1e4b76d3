"""What a pass gives for the texts of a batch, output by output, and what of it a later batch will ask for."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.metrics.neural.inputs import Tokens
from assay.metrics.neural.packing import Packed, inside_of, to_device
from assay.metrics.neural.rows import TextRows
from assay.metrics.neural.runtime import import_torch
from assay.metrics.neural.shelf import Shelf
from assay.metrics.neural.views import Kind

if TYPE_CHECKING:
    import torch

__all__ = ["Key", "Output", "Page"]

#: A text as the model gets it, and where it was cut: two preparations that end in the same tokens share a pass.
Key = tuple[str, int | None]


class Output(NamedTuple):
    """One thing that is taken from a pass.

    Attributes:
        kind: see :class:`assay.metrics.neural.views.View`.
        layer: see there.
    """

    kind: Kind
    layer: int


class Page:
    """One output for the texts of a batch, filled as it comes; rows lie in the order of the texts.

    Args:
        output: what it is.
        tokens: the texts, n of them.
    """

    def __init__(self, output: Output, tokens: dict[Key, Tokens]) -> None:
        self.output = output
        self.tokens = tokens
        self._place = dict(zip(tokens, range(len(tokens)), strict=True))
        self._values: torch.Tensor | None = None
        self._making = Lock()
        lengths = (len(one.ids) if output.kind == "tokens" else 1 for one in tokens.values())
        self._sizes = np.fromiter(lengths, dtype=np.intp, count=len(tokens))
        self._starts = np.cumsum(self._sizes) - self._sizes

    def places(self, keys: Sequence[Key]) -> NDArray[np.intp]:
        """Return which of the n texts these are, shape (k,)."""
        return np.fromiter((self._place[key] for key in keys), dtype=np.intp, count=len(keys))

    def _rows(self, places: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the rows of texts, one text after the other."""
        sizes = self._sizes[places]
        return (self._starts[places][:, None] + np.arange(int(sizes.max())))[inside_of(sizes)]

    def _put(self, rows: NDArray[np.intp], found: torch.Tensor, device: str) -> None:
        with self._making:  # several devices fill a page, a thread each
            if self._values is None:
                shape = (int(self._sizes.sum()), found.shape[-1])
                self._values = import_torch().zeros(shape, dtype=import_torch().float32, device=device)
        self._values[to_device(rows, device)] = found.float().to(device)

    def put_rows(self, places: NDArray[np.intp], found: torch.Tensor, device: str) -> None:
        """Take one vector a text, shape (k, d), to a page on *device*."""
        self._put(places, found, device)

    def put_tokens(self, places: NDArray[np.intp], hidden: torch.Tensor, batch: Packed, device: str) -> None:
        """Take the tokens of a batch, shape (k, l, d), to a page on *device*; padding stays behind."""
        flat = hidden.reshape(-1, hidden.shape[-1])
        if not batch.even:
            flat = flat[to_device(np.flatnonzero(batch.inside), str(hidden.device))]
        self._put(self._rows(places), flat, device)

    def take_from(self, shelf: Shelf, device: str) -> set[Key]:
        """Put down what was kept of an earlier batch; return whose it is."""
        known = [key for key in self.tokens if (key, self.output) in shelf] if shelf else []
        if known:
            held = np.concatenate([shelf.get((key, self.output)) for key in known])
            self._put(self._rows(self.places(known)), import_torch().from_numpy(held), device)
        return set(known)

    def leave_on(self, shelf: Shelf, wanted: Collection[Key]) -> None:
        """Keep what a later batch will ask for, let go of the rest."""
        if shelf:
            shelf.drop([(key, self.output) for key in self.tokens if key not in wanted])
        fresh = [key for key in self.tokens if key in wanted and (key, self.output) not in shelf]
        if fresh and self._values is not None:
            places = self.places(fresh)
            # at once: a GPU would be waited for at every text
            held = self._values[to_device(self._rows(places), str(self._values.device))].cpu().numpy()
            for key, array in zip(fresh, np.split(held, np.cumsum(self._sizes[places])[:-1]), strict=True):
                shelf.put((key, self.output), array)

    def rows(self) -> TextRows:
        """Return what is on the page."""
        values = import_torch().zeros((int(self._sizes.sum()), 1)) if self._values is None else self._values
        if self.output.kind != "tokens":
            return TextRows(values)
        return TextRows(values, self._starts, [one.ids for one in self.tokens.values()])
