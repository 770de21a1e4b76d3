"""Models to train, in single precision and without code of their own, and the tokens they read, computed once for
each distinct text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from assay.errors import InputError, UnavailableError
from assay.metrics.models.description import describe
from assay.metrics.neural.loading import quiet
from assay.metrics.neural.tokens import tokenize
from assay.metrics.neural.weights import Use, whole_weights

# The tokens of all texts of a training, computed once: every batch is a gather, padded to its own longest text.


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


# What the rows of a training on pairs are made of: tokens, kept once for each distinct text, and labels.


@dataclass(frozen=True, eq=False)
class Inputs:
    """What the rows of all sets are made of, n of them.

    Attributes:
        table: tokens of distinct texts (bi-encoder), or of pairs (cross-encoder).
        first, second: which inputs of the table each row reads, int64, shape (n,); the same for a cross-encoder.
        labels: float32 in [0, 1] or int64 (number of a class), shape (n,).
        third: as *first*, for rows of three texts.
    """

    table: TokenTable
    first: torch.Tensor
    second: torch.Tensor
    labels: torch.Tensor
    third: torch.Tensor | None = None

    @property
    def sides(self) -> tuple[torch.Tensor, ...]:
        """The inputs of each row, side by side."""
        return (self.first, self.second) if self.third is None else (self.first, self.second, self.third)

    @property
    def lengths(self) -> torch.Tensor:
        """Tokens of each row's longest input, shape (n,)."""
        return torch.stack([self.table.lengths[side] for side in self.sides]).amax(dim=0)


def bi_inputs(model: Any, firsts: Sequence[str], seconds: Sequence[str], labels: torch.Tensor) -> Inputs:
    """Return what a bi-encoder reads of n pairs of texts.

    Args:
        model: of sentence-transformers.
        firsts, seconds: the texts.
        labels: see :class:`Inputs`.
    """
    texts = sorted({*firsts, *seconds})
    numbers = {text: number for number, text in enumerate(texts)}
    first, second = (torch.tensor([numbers[text] for text in side]) for side in (firsts, seconds))
    return Inputs(table_of_texts(model, texts), first, second, labels)


def cross_inputs(model: Any, firsts: Sequence[str], seconds: Sequence[str], labels: torch.Tensor) -> Inputs:
    """Return what a cross-encoder reads of n pairs of texts; see :func:`bi_inputs`."""
    own = torch.arange(len(firsts))
    return Inputs(table_of_pairs(model, firsts, seconds), own, own, labels)


# Models to train, in single precision: safetensors only, no code of the model's own.


def load_bi_encoder(folder: Path, device: str) -> Any:
    """Load a checked folder as model of sentence-transformers.

    Raises:
        UnavailableError: the libraries cannot load it, or it lacks weights.
    """
    from sentence_transformers import SentenceTransformer

    return _loaded(SentenceTransformer, folder, device, use="hidden states")


def has_head(folder: Path, outputs: int) -> bool:
    """Return whether a folder is a cross-encoder with so many outputs, so that it scores pairs as it is."""
    found = describe(folder)
    return (found.architecture or "").endswith("ForSequenceClassification") and (found.labels or 1) == outputs


def load_cross_encoder(folder: Path, device: str, *, outputs: int, activation: Any, seed: int) -> Any:
    """Load a checked folder as cross-encoder; where it has no head for so many outputs, a new one is drawn.

    Args:
        folder: of a cross-encoder, or of the encoder of single texts that becomes one.
        device: torch's name of it.
        outputs: of the head.
        activation: from logits to scores, a module of torch.nn; it is declared in the model's folder.
        seed: of a new head.

    Raises:
        UnavailableError: the libraries cannot load it, or it lacks weights.
    """
    from sentence_transformers import CrossEncoder

    torch.manual_seed(seed)
    heads = {"num_labels": outputs, "activation_fn": activation}
    if has_head(folder, outputs):
        return _loaded(CrossEncoder, folder, device, use="head", **heads)
    settings = {"ignore_mismatched_sizes": True}
    return _loaded(CrossEncoder, folder, device, use="new head", model=settings, **heads)


def train_last_layers(whole: Any, number: int | None, name: str) -> None:
    """Freeze all of a model but its last layers and what follows them, such as a head; with None nothing.

    Args:
        whole: the model of sentence-transformers.
        number: of layers.
        name: of the model, for errors.

    Raises:
        InputError: it has not so many layers.
        UnavailableError: its layers are not found.
    """
    if number is None:
        return
    body = whole[0].model
    stacks = [module for path, module in body.named_modules() if isinstance(module, nn.ModuleList) and path]
    depth = int(body.config.num_hidden_layers)
    layers = next((list(stack) for stack in stacks if len(stack) == depth), None)
    if layers is None:
        raise UnavailableError(f"model {name}: its layers are not found", "train it as a whole, without `layers`")
    if number > depth:
        raise InputError(f"`layers={number}`: the model has {depth} layers; valid: 1 to {depth}")
    for parameter in getattr(body, body.base_model_prefix, body).parameters():
        parameter.requires_grad_(False)
    for layer in layers[-number:]:
        layer.requires_grad_(True)


def _loaded(
    kind: Callable[..., Any],
    folder: Path,
    device: str,
    *,
    use: Use,
    model: dict[str, Any] | None = None,
    **more: Any,
) -> Any:
    settings: dict[str, Any] = {"use_safetensors": True, "dtype": torch.float32} | (model or {})
    try:
        with quiet(), whole_weights(folder, use):
            return kind(
                str(folder),
                device=device,
                trust_remote_code=False,
                local_files_only=True,
                model_kwargs=settings,
                **more,
            )
    except (OSError, ValueError, KeyError, RuntimeError, TypeError, AttributeError) as error:
        line = next((part.strip() for part in str(error).splitlines() if part.strip()), "no reason given")
        raise UnavailableError(f"model {folder} cannot be loaded ({type(error).__name__}: {line[:300]})") from error
