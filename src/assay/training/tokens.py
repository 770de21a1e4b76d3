"""The tokens of all texts of a training, computed once: every batch is a gather, padded to its own longest text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from assay.metrics.neural.inputs import tokenize

__all__ = ["TokenTable", "alike", "table_of_pairs", "table_of_texts"]


class TokenTable:
    """Token numbers of n inputs of a model, special tokens included.

    Args:
        ids: of all tokens, input after input, int32, shape (tokens,).
        lengths: tokens of each input, int64, shape (n,).
        pad: number of the padding token.
        types: segment numbers of all tokens, or None where the model takes none.
        cut: how many inputs were too long for the model, so that their end is missing.
    """

    def __init__(
        self, ids: torch.Tensor, lengths: torch.Tensor, pad: int, types: torch.Tensor | None, cut: int
    ) -> None:
        self.ids, self.lengths, self.pad, self.types, self.cut = ids, lengths, pad, types, cut
        self.starts = torch.cumsum(lengths, 0) - lengths

    def __len__(self) -> int:
        return len(self.lengths)

    def padded(self, numbers: torch.Tensor, device: Any) -> dict[str, torch.Tensor]:
        """Return what a model takes for some inputs: tensors of shape (b, l), int64, padded on the right.

        Args:
            numbers: of the inputs, int64, shape (b,), on the CPU.
            device: where they are wanted.
        """
        lengths = self.lengths[numbers]
        places = torch.arange(int(lengths.max()))
        mask = places < lengths[:, None]
        index = (self.starts[numbers][:, None] + places).clamp_(max=len(self.ids) - 1)
        made = {"input_ids": torch.where(mask, self.ids[index], self.pad).long(), "attention_mask": mask.long()}
        if self.types is not None:
            made["token_type_ids"] = torch.where(mask, self.types[index], 0).long()
        return {name: value.to(device, non_blocking=True) for name, value in made.items()}


def alike(lengths: torch.Tensor, budget: int, spare: int) -> Iterator[torch.Tensor]:
    """Yield the places of inputs in groups of like length, so that a batch is computed with little padding.

    The gradient is that of the batch as a whole, however it is cut.

    Args:
        lengths: tokens of each input, shape (b,).
        budget: tokens of a group at most, padding included; an input longer than that is a group of its own.
        spare: tokens of padding in a group that cost less than one group more.
    """
    order = torch.argsort(lengths, stable=True)
    sizes = lengths[order].tolist()
    start, padding = 0, 0
    for end in range(1, len(sizes) + 1):
        if end < len(sizes):
            # the lengths rise: the next input would widen all before it
            padding += (end - start) * (sizes[end] - sizes[end - 1])
            if padding <= spare and sizes[end] * (end + 1 - start) <= budget:
                continue
        yield order[start:end]
        start, padding = end, 0


def table_of_texts(whole: Any, texts: Sequence[str]) -> TokenTable:
    """Return the tokens of texts as a bi-encoder takes them, with its default prompt and cut to its length.

    Args:
        whole: the model of sentence-transformers.
        texts: n of them.
    """
    prompt = whole.prompts.get(whole.default_prompt_name) or "" if whole.default_prompt_name else ""
    return _table(whole, [prompt + text for text in texts], None)


def table_of_pairs(whole: Any, firsts: Sequence[str], seconds: Sequence[str]) -> TokenTable:
    """Return the tokens of n pairs of texts as a cross-encoder takes them."""
    return _table(whole, firsts, seconds)


def _table(whole: Any, firsts: Sequence[str], seconds: Sequence[str] | None) -> TokenTable:
    tokenizer = whole.tokenizer
    types = "token_type_ids" in tokenizer.model_input_names
    limit = int(whole.max_seq_length or tokenizer.model_max_length)
    found = tokenize(tokenizer, firsts, limit, seconds, types=types)
    lengths = np.array([len(one.ids) for one in found], dtype=np.int64)
    ids = np.fromiter((number for one in found for number in one.ids), dtype=np.int32, count=int(lengths.sum()))
    kinds = None
    if types:
        kinds = torch.from_numpy(
            np.fromiter((kind for one in found for kind in one.types or ()), dtype=np.int32, count=len(ids))
        )
    cut = sum(one.cut for one in found)
    return TokenTable(torch.from_numpy(ids), torch.from_numpy(lengths), int(tokenizer.pad_token_id), kinds, cut)
