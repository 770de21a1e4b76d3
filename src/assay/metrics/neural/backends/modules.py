"""Models in the form that converters require: tensors in, a tuple of tensors out.

This module imports torch at the top, so import it late.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import torch

from assay.metrics.neural.body import TorchBody, TorchScorerBody
from assay.metrics.neural.tokens import Packed


def input_names(config: Any) -> tuple[str, ...]:
    """Return the input names of a converted model, in order; segments are an input only if the model has several."""
    segments = getattr(config, "type_vocab_size", None) or 0
    names = ("input_ids", "attention_mask")
    return (*names, "token_type_ids") if segments > 1 else names


def example_inputs(names: Sequence[str]) -> tuple[torch.Tensor, ...]:
    """Return example inputs for tracing: int64, each of shape (2, 5), the second row padded.

    No size is 1, since tracing would take that as a constant.

    Args:
        names: the names that :func:`input_names` returned.
    """
    # small token numbers, which every vocabulary has
    ids = torch.arange(10).reshape(2, 5) % 4
    mask = torch.ones_like(ids)
    mask[1, 3:] = 0
    return (ids, mask, torch.zeros_like(ids))[: len(names)]


class EncoderModule(torch.nn.Module):  # type: ignore[misc]  # mypy follows no imports of torch
    """An encoder whose outputs are the hidden states of some layers.

    Args:
        model: transformers' model.
        layers: the numbers of the layers, from 1, or 0 for the input embeddings; higher layers are not converted.
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
        batch = _packed_batch(input_ids, attention_mask, token_type_ids)
        states = self._body.hidden_states(batch, set(self.layers))
        return tuple(states[layer] for layer in self.layers)


class ScorerModule(torch.nn.Module):  # type: ignore[misc]  # mypy follows no imports of torch
    """A cross-encoder whose output is its logits.

    Args:
        model: transformers' model.
    """

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model
        self._body = TorchScorerBody(model, "cpu")

    def forward(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor, token_type_ids: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, ...]:
        """Return the logits, shape (b, k)."""
        return (self._body.logits(_packed_batch(input_ids, attention_mask, token_type_ids)),)


def _packed_batch(ids: torch.Tensor, mask: torch.Tensor, types: torch.Tensor | None) -> Packed:
    """Return the input tensors of a module as a batch, without the indices and sizes, which no body reads."""
    # declared as padded, so that the conversion includes the mask
    return Packed(np.arange(0), np.arange(0), ids, mask, types, unpadded=False)
