"""A sentence encoder cut in two: the layers that stay as they are, and the last ones, which are trained."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

from torch import nn

from assay.errors import InputError, UnavailableError

__all__ = ["FAMILIES", "Halves", "split"]

#: Families of transformers whose layers are a plain stack: layer n reads what layer n - 1 gives and the mask.
FAMILIES = frozenset({"bert", "roberta", "xlm-roberta", "camembert", "mpnet", "distilbert"})


@dataclass(frozen=True, eq=False)
class Halves:
    """A sentence encoder and its two parts, which share their weights with it.

    Attributes:
        whole: the model of sentence-transformers.
        lower: transformers' model with the frozen layers only: token numbers in, hidden states out.
        upper: transformers' model with the trained layers only: hidden states in (``inputs_embeds``) and out.
        tail: the modules behind the transformer (pooling, dense, normalize), frozen.
    """

    whole: Any
    lower: Any
    upper: Any
    tail: tuple[Any, ...]

    @property
    def dimensions(self) -> int:
        """Of the sentence embedding."""
        return int(self.whole.get_embedding_dimension())


def split(whole: Any, trained: int, name: str) -> Halves:
    """Cut a model so that its last *trained* layers are trained and nothing else.

    Dropout is off everywhere: the frozen layers' output is computed once, and with the trained layers noiseless the
    model starts as equal to its frozen base.

    Args:
        whole: the model; which of its parameters want gradients is set here.
        trained: layers.
        name: of the model, for errors.

    Raises:
        InputError: it has not so many layers.
        UnavailableError: its family is not one that can be cut.
    """
    from sentence_transformers.base.modules import Transformer

    body, *tail = list(whole)
    if not isinstance(body, Transformer) or body.model.config.model_type not in FAMILIES:
        kind = body.model.config.model_type if isinstance(body, Transformer) else type(body).__name__
        raise UnavailableError(
            f"model {name}: a {kind} cannot be trained by its last layers", f"take one of {', '.join(sorted(FAMILIES))}"
        )
    if any(getattr(module, "include_prompt", True) is False for module in tail):
        raise UnavailableError(f"model {name}: leaves the prompt out of its pooling, which is not supported")
    model = body.model
    place = "encoder" if hasattr(model, "encoder") else "transformer"
    layers = list(getattr(model, place).layer)
    if not 1 <= trained <= len(layers):
        raise InputError(f"--layers {trained}: the model has {len(layers)} layers; valid: 1 to {len(layers)}")
    for module in whole.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    whole.requires_grad_(False)
    for layer in layers[-trained:]:
        layer.requires_grad_(True)
    lower = _part(model, place, layers[:-trained])
    upper = _part(model, place, layers[-trained:])
    upper.embeddings = _Given()
    return Halves(whole, lower, upper, tuple(tail))


class _Given(nn.Module):  # type: ignore[misc]  # torch has no types here
    """In place of the embeddings: hidden states as they are given."""

    def forward(self, input_ids: Any = None, inputs_embeds: Any = None, *_: Any, **__: Any) -> Any:
        """Return them."""
        return inputs_embeds


def _part(model: Any, place: str, layers: list[Any]) -> Any:
    """Return a model with the same weights and some of the layers."""
    part, stack = _shallow(model), _shallow(getattr(model, place))
    stack.layer = nn.ModuleList(layers)
    setattr(part, place, stack)
    if getattr(part, "pooler", None) is not None:
        part.pooler = None  # sentence embeddings do not come from it
    return part


def _shallow(module: Any) -> Any:
    """Return a copy whose children can be exchanged without changing the original's."""
    made = copy.copy(module)
    made.__dict__["_modules"] = dict(module.__dict__["_modules"])
    return made
