"""Turns texts into tokens, and tokens into padded batches within a budget, which is halved when memory runs out."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.common.progress import report_share
from assay.metrics.neural.runtime import import_torch

if TYPE_CHECKING:
    import torch

log = logging.getLogger(__name__)

#: Texts tokenized in one call.
TEXTS_PER_CALL = 4096
#: A batch whose longest texts, all of one length, fill this share of the budget takes no shorter text, and so has no
#: padding.
MIN_SHARE_OF_BUDGET = 0.25


class Tokens(NamedTuple):
    """The tokens of one input of a model, which is a prepared text or a pair of prepared texts.

    A tuple, because a run makes millions of these and tuples are small.

    Attributes:
        ids: the token numbers, special tokens included.
        types: the segment of each token (0 or 1), or None if the model has no segments.
        cut: whether the input was truncated.
    """

    ids: Sequence[int]
    types: Sequence[int] | None = None
    cut: bool = False


def tokenize(
    tokenizer: Any,
    texts: Sequence[str],
    limit: int,
    second_texts: Sequence[str] | None = None,
    *,
    with_types: bool = False,
) -> list[Tokens]:
    """Return the tokens of texts, or of pairs of texts, truncated to a limit in the way of the tokenizer.

    Args:
        tokenizer: transformers' tokenizer.
        texts: the prepared texts, or the first text of each pair.
        limit: the most tokens of an input, special ones included; of a pair, the longer text is cut first.
        second_texts: the second text of each pair; None for single texts.
        with_types: whether to return segment numbers.
    """
    tokens: list[Tokens] = []
    for start in range(0, len(texts), TEXTS_PER_CALL):
        first_part = list(texts[start : start + TEXTS_PER_CALL])
        second_part = None if second_texts is None else list(second_texts[start : start + TEXTS_PER_CALL])
        encoded = _encode(tokenizer, first_part, second_part, with_types=with_types)
        # only long inputs take the slower path through the tokenizer's own truncation
        too_long = [index for index, text_tokens in enumerate(encoded) if len(text_tokens.ids) > limit]
        if too_long:
            long_texts = [first_part[index] for index in too_long]
            long_second_texts = None if second_part is None else [second_part[index] for index in too_long]
            truncated = _encode_truncated(tokenizer, long_texts, long_second_texts, limit, with_types=with_types)
            for index, text_tokens in zip(too_long, truncated, strict=True):
                encoded[index] = text_tokens
        tokens += encoded
    return tokens


def _encode_truncated(
    tokenizer: Any, texts: list[str], second_texts: list[str] | None, limit: int, *, with_types: bool
) -> list[Tokens]:
    """Return the tokens of texts, or of pairs, that are longer than *limit*, truncated by the tokenizer itself.

    Args:
        tokenizer: the tokenizer of transformers.
        texts: the texts, or the first texts of pairs.
        second_texts: the second texts of pairs; None for single texts.
        limit: the most tokens of an input, special ones included.
        with_types: whether the model takes the segment of each token.
    """
    output = tokenizer(
        texts,
        second_texts,
        truncation=True,
        max_length=limit,
        return_token_type_ids=with_types,
        return_attention_mask=False,
        verbose=False,
    )
    segments = output["token_type_ids"] if with_types else [None] * len(texts)
    return [Tokens(ids, segment, cut=True) for ids, segment in zip(output["input_ids"], segments, strict=True)]


def _encode(tokenizer: Any, texts: list[str], second_texts: list[str] | None, *, with_types: bool) -> list[Tokens]:
    """Return all tokens of texts, or of pairs, without truncation; the arguments are those of :func:`tokenize`.

    A fast tokenizer is called directly, without the overhead of transformers' wrapper. Its settings for padding and
    truncation are switched off for good.
    """
    fast_tokenizer = getattr(tokenizer, "backend_tokenizer", None)
    if fast_tokenizer is None:
        output = tokenizer(
            texts,
            second_texts,
            return_token_type_ids=with_types,
            return_attention_mask=False,
            truncation=False,
            verbose=False,
        )
        segments = output["token_type_ids"] if with_types else [None] * len(texts)
        return [Tokens(ids, segment) for ids, segment in zip(output["input_ids"], segments, strict=True)]
    # otherwise the padding and truncation that the tokenizer's file declares would apply
    fast_tokenizer.no_padding()
    fast_tokenizer.no_truncation()
    inputs = texts if second_texts is None else list(zip(texts, second_texts, strict=True))
    encodings = fast_tokenizer.encode_batch_fast(inputs)
    return [Tokens(encoding.ids, encoding.type_ids if with_types else None) for encoding in encodings]


@dataclass(frozen=True)
class Packed:
    """A padded batch of b inputs with at most l tokens.

    Attributes:
        items: the indices of the inputs, shape (b,).
        sizes: the number of tokens of each input, shape (b,).
        ids: the token numbers, int64, shape (b, l), padded on the right.
        mask: 1 for a token and 0 for padding, int64, shape (b, l).
        types: the segment numbers, int64, shape (b, l), or None if the model has no segments.
        unpadded: whether all inputs have the same length.
    """

    items: NDArray[np.intp]
    sizes: NDArray[np.intp]
    ids: torch.Tensor
    mask: torch.Tensor
    types: torch.Tensor | None
    unpadded: bool

    @property
    def token_mask(self) -> NDArray[np.bool_]:
        """Whether each position has a token, shape (b, l), as a NumPy array, so that reading it waits for no device."""
        return token_mask_of(self.sizes)


def plan_batches(lengths: NDArray[np.intp], budget: int, *, pads: bool = True) -> Iterator[NDArray[np.intp]]:
    """Yield the indices of the inputs of each batch.

    The longest inputs come first, so that a lack of memory shows at once. Inputs without tokens are left out, because
    no model accepts them.

    Args:
        lengths: the number of tokens of each input, shape (n,).
        budget: the most tokens in a batch, padding included; a longer input is a batch of its own.
        pads: whether a batch may hold inputs of several lengths.
    """
    min_share = MIN_SHARE_OF_BUDGET if pads else 0.0
    by_length = np.argsort(-lengths, kind="stable")
    order = by_length[lengths[by_length] > 0]
    start = 0
    while start < len(order):
        longest = int(lengths[order[start]])
        end = min(len(order), start + max(1, budget // longest))
        # the inputs at the start that are as long as the longest one: without the others the batch has no padding
        unpadded_end = start + int(np.searchsorted(-lengths[order[start:end]], -longest, side="right"))
        if unpadded_end < end and (unpadded_end - start) * longest >= min_share * budget:
            end = unpadded_end
        yield order[start:end]
        start = end


class Packer:
    """Runs inputs through a model in batches.

    Args:
        pad: the number of the padding token.
        budget: the most tokens in a batch, padding included.
        pads: whether a batch may hold inputs of several lengths. A GPU needs large batches; a CPU is as fast without
            padding, and then the result for an input is the same in any batch, to the last digit.

    Attributes:
        halvings: how often the budget was halved because a device ran out of memory.
    """

    def __init__(self, pad: int, budget: int, *, pads: bool = True) -> None:
        self.pad = pad
        self.budget = budget
        self.pads = pads
        self.halvings = 0

    def run(self, inputs: Sequence[Tokens], workers: Sequence[tuple[str, Callable[[Packed], None]]]) -> None:
        """Compute all inputs in batches by the workers, and report progress; inputs without tokens are left out.

        Each of several workers has a thread of its own, and takes the next batch as soon as it is free. If a device has
        no memory for a batch, the batch is halved, and so is the budget for all later batches.

        Args:
            inputs: the tokens of each input.
            workers: for each worker, the device of its batches and the function that computes a batch.

        Raises:
            torch.OutOfMemoryError: a single input does not fit.
        """
        lengths = np.fromiter((len(tokens.ids) for tokens in inputs), dtype=np.intp, count=len(inputs))
        # reversed, because workers pop batches from the end
        waiting = list(plan_batches(lengths, self.budget, pads=self.pads))[::-1]
        log.info("%s inputs in %s batches of at most %s tokens", len(inputs), len(waiting), self.budget)
        if len(workers) == 1:
            self._run_worker(inputs, lengths, waiting, *workers[0])
            return
        with ThreadPoolExecutor(len(workers)) as pool:
            futures = [pool.submit(self._run_worker, inputs, lengths, waiting, *worker) for worker in workers]
            for future in futures:
                future.result()

    def _run_worker(
        self,
        inputs: Sequence[Tokens],
        lengths: NDArray[np.intp],
        waiting: list[NDArray[np.intp]],
        device: str,
        step: Callable[[Packed], None],
    ) -> None:
        """Compute batches until none is left, and report progress; a batch that does not fit in memory is split.

        Args:
            inputs: the tokens of each of n inputs.
            lengths: the number of tokens of each input, shape (n,).
            waiting: the indices of the inputs of each batch that is left; the next one is last. All workers share this
                list and remove their batches from it.
            device: torch's name of the device.
            step: the function that computes a batch.

        Raises:
            torch.OutOfMemoryError: a single input does not fit.
        """
        torch = import_torch()
        while waiting:
            try:
                items = waiting.pop()
            except IndexError:
                # another worker has taken the last one
                return
            if len(items) > 1 and len(items) * int(lengths[items].max()) > self.budget:
                # planned before the budget was halved: plan again
                batches = plan_batches(lengths[items], self.budget, pads=self.pads)
                waiting += [items[batch] for batch in batches][::-1]
                continue
            try:
                step(self._pack(inputs, items, lengths[items], device))
                report_share(1 - sum(map(len, waiting)) / len(inputs))
            except torch.OutOfMemoryError:
                if len(items) == 1:
                    raise
                self.budget = max(1, int(lengths[items].max()) * len(items) // 2)
                self.halvings += 1
                if device.startswith("cuda"):
                    torch.cuda.empty_cache()
                waiting.append(items)

    def _pack(self, inputs: Sequence[Tokens], items: NDArray[np.intp], sizes: NDArray[np.intp], device: str) -> Packed:
        """Return the inputs with the indices *items*, which have *sizes* tokens, as one padded batch on a device."""
        batch_inputs = [inputs[item] for item in items]
        token_mask = token_mask_of(sizes)

        def pad_rows(rows: Iterable[Sequence[int]], padding: int) -> torch.Tensor:
            table = np.full(token_mask.shape, padding, dtype=np.int64)
            table[token_mask] = np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=int(sizes.sum()))
            return to_device(table, device)

        ids = pad_rows((tokens.ids for tokens in batch_inputs), self.pad)
        types = None
        if batch_inputs[0].types is not None:
            types = pad_rows((tokens.types or () for tokens in batch_inputs), 0)
        mask = to_device(token_mask.astype(np.int64), device)
        return Packed(items, sizes, ids, mask, types, unpadded=bool(token_mask.all()))


def token_mask_of(sizes: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return whether each position of a padded batch has a token, shape (b, l).

    Args:
        sizes: the number of tokens of each input, shape (b,); the highest is l.
    """
    token_mask: NDArray[np.bool_] = np.arange(int(sizes.max())) < sizes[:, None]
    return token_mask


def to_device(array: NDArray[Any], device: str) -> torch.Tensor:
    """Return an array as a tensor on a device, without waiting until a GPU has finished its current work."""
    tensor: torch.Tensor = import_torch().from_numpy(array)
    return tensor.pin_memory().to(device, non_blocking=True) if device.startswith("cuda") else tensor.to(device)
