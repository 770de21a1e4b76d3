"""Models as the converters want them: tensors in, a tuple of tensors out. Imports torch, so it is imported late."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import torch

from assay.metrics.neural.body import TorchBody, TorchScorerBody
from assay.metrics.neural.tokens import Packed


def input_names(config: Any) -> tuple[str, ...]:
    """Return what a converted model of transformers' *config* takes; token types only where they differ."""
    kinds = getattr(config, "type_vocab_size", None) or 0
    return ("input_ids", "attention_mask", *(("token_type_ids",) if kinds > 1 else ()))


def example_of(names: Sequence[str]) -> tuple[torch.Tensor, ...]:
    """Return a batch to trace with, each of shape (2, 5), the second row padded: sizes of 1 would be baked in."""
    ids = torch.arange(10).reshape(2, 5) % 4
    mask = torch.ones_like(ids)
    mask[1, 3:] = 0
    return (ids, mask, torch.zeros_like(ids))[: len(names)]


class EncoderModule(torch.nn.Module):  # type: ignore[misc]
    """An encoder that gives the hidden states of some layers.

    Args:
        model: transformers' model.
        layers: 0 for the input embeddings, then the layers from 1; layers above the highest are left out.
    """

    def __init__(self, model: Any, layers: Collection[int]) -> None:
        super().__init__()
        self.model = model
        self.layers = tuple(sorted(layers))
        self._body = TorchBody(model, "cpu")

    def forward(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor, token_type_ids: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, ...]:
        """Return the hidden states, each of shape (b, l, d), in the order of the layers."""
        batch = _batch(input_ids, attention_mask, token_type_ids)
        states = self._body.hidden(batch, set(self.layers))
        return tuple(states[layer] for layer in self.layers)


class ScorerModule(torch.nn.Module):  # type: ignore[misc]
    """A cross-encoder.

    Args:
        model: transformers' model with one output.
    """

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model
        self._body = TorchScorerBody(model, "cpu")

    def forward(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor, token_type_ids: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, ...]:
        """Return the logits, shape (b, 1)."""
        return (self._body.logits(_batch(input_ids, attention_mask, token_type_ids)),)


def _batch(ids: torch.Tensor, mask: torch.Tensor, types: torch.Tensor | None) -> Packed:
    # declared as padded, so that the mask is part of what is converted
    return Packed(np.arange(0), np.arange(0), ids, mask, types, unpadded=False)
