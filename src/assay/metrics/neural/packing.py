"""Token lists into batches: sorted by length, filled up to a budget of tokens, halved where memory runs out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assay.metrics.neural.inputs import TokenList
from assay.metrics.neural.runtime import import_torch

if TYPE_CHECKING:
    import torch

__all__ = ["Packed", "Packer", "plan_batches"]

#: A batch this full ends where a longer text comes, since then none of its texts is padded.
ENOUGH = 0.25


@dataclass(frozen=True)
class Packed:
    """A batch as a model takes it.

    Attributes:
        items: which inputs, shape (b,).
        ids: int64, shape (b, l), padded on the right.
        mask: int64, 1 for a token, shape (b, l).
        types: int64, shape (b, l), or None.
        even: whether nothing is padded.
    """

    items: NDArray[np.intp]
    ids: torch.Tensor
    mask: torch.Tensor
    types: torch.Tensor | None
    even: bool


def plan_batches(lengths: NDArray[np.intp], budget: int) -> Iterator[NDArray[np.intp]]:
    """Yield the inputs of each batch, long ones first: what does not fit in memory shows at once.

    Args:
        lengths: tokens of each input, shape (n,).
        budget: most tokens of a batch, padding included; an input longer than that is a batch of its own.
    """
    order = np.argsort(-lengths, kind="stable")
    start = 0
    while start < len(order):
        longest = max(1, int(lengths[order[start]]))
        end = min(len(order), start + max(1, budget // longest))
        alike = start + int(np.searchsorted(-lengths[order[start:end]], -longest, side="right"))
        if alike < end and (alike - start) * longest >= ENOUGH * budget:
            end = alike
        yield order[start:end]
        start = end


class Packer:
    """Runs inputs through a model in batches.

    Args:
        pad: number of the padding token.
        budget: most tokens of a batch, padding included.
    """

    def __init__(self, pad: int, budget: int) -> None:
        self.pad = pad
        self.budget = budget
        self.halved = 0

    def run(self, inputs: Sequence[TokenList], workers: Sequence[tuple[str, Callable[[Packed], None]]]) -> None:
        """Hand every input to a worker, in batches; several workers take turns, a thread each.

        Where a device has no memory for a batch, it is halved, and so is the budget from then on.

        Args:
            inputs: what to run.
            workers: device and step of each.

        Raises:
            torch.OutOfMemoryError: a single input does not fit.
        """
        lengths = np.fromiter((len(one.ids) for one in inputs), dtype=np.intp, count=len(inputs))
        waiting = list(plan_batches(lengths, self.budget))[::-1]
        if len(workers) == 1:
            self._work(inputs, lengths, waiting, *workers[0])
            return
        with ThreadPoolExecutor(len(workers)) as pool:
            for done in [pool.submit(self._work, inputs, lengths, waiting, *worker) for worker in workers]:
                done.result()

    def _work(
        self,
        inputs: Sequence[TokenList],
        lengths: NDArray[np.intp],
        waiting: list[NDArray[np.intp]],
        device: str,
        step: Callable[[Packed], None],
    ) -> None:
        """Take batches until none waits; what does not fit goes back in halves."""
        torch = import_torch()
        while waiting:
            try:
                items = waiting.pop()
            except IndexError:  # another worker was quicker
                return
            if len(items) > 1 and len(items) * int(lengths[items].max()) > self.budget:
                # planned before memory ran out
                waiting += [items[part] for part in plan_batches(lengths[items], self.budget)][::-1]
                continue
            try:
                step(self._pack(inputs, items, lengths, device))
            except torch.OutOfMemoryError:
                if len(items) == 1:
                    raise
                self.budget = max(1, int(lengths[items].max()) * len(items) // 2)
                self.halved += 1
                if device.startswith("cuda"):
                    torch.cuda.empty_cache()
                waiting.append(items)

    def _pack(self, inputs: Sequence[TokenList], items: NDArray[np.intp], lengths: Any, device: str) -> Packed:
        torch = import_torch()
        sizes = lengths[items]
        width = int(sizes.max())
        even = int(sizes.min()) == width
        ids = np.full((len(items), width), self.pad, dtype=np.int64)
        types = None if inputs[items[0]].types is None else np.zeros_like(ids)
        if even:
            ids[:] = [inputs[item].ids for item in items]
            if types is not None:
                types[:] = [inputs[item].types for item in items]
        else:
            for row, item in enumerate(items):
                ids[row, : sizes[row]] = inputs[item].ids
                if types is not None:
                    types[row, : sizes[row]] = inputs[item].types
        mask = (np.arange(width) < sizes[:, None]).astype(np.int64)

        def put(array: NDArray[np.int64]) -> Any:
            tensor = torch.from_numpy(array)
            return tensor.pin_memory().to(device, non_blocking=True) if device.startswith("cuda") else tensor.to(device)

        return Packed(items, put(ids), put(mask), None if types is None else put(types), even)
