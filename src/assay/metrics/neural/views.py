"""What a metric takes from an encoder: how texts are prepared, and which output of a pass it reads.

Imports neither NumPy nor torch, so that metrics can be listed without them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

Kind = Literal["tokens", "sentence", "mean", "max", "cls"]


@dataclass(frozen=True)
class Prep:
    """How a text is prepared for a model.

    Attributes:
        limit: tokens at which it is cut, special ones included.
        prefix: text put before it.
        strip: whether blanks around it are removed.
        lower: whether it is lower-cased here, before the tokenizer.
        space: whether the tokenizer gets a blank before it (BERTScore with RoBERTa).
    """

    limit: int
    prefix: str = ""
    strip: bool = False
    lower: bool = False
    space: bool = False

    def apply(self, text: str) -> str:
        """Return the text as the tokenizer gets it."""
        if not text.isascii():
            # tokenizers refuse half of a surrogate pair
            text = text.encode("utf-8", "replace").decode("utf-8")
        text = text.strip() if self.strip else text
        text = self.prefix + text
        text = text.lower() if self.lower else text
        return f" {text}" if self.space and text else text


@dataclass(frozen=True)
class View:
    """What a metric takes from a pass.

    Attributes:
        prep: how texts are prepared.
        kind: ``tokens`` for an embedding a token; ``sentence`` for what the model's own modules make of the last
            layer; ``mean``, ``max`` or ``cls`` over the tokens.
        layer: 0 for the input embeddings, then the layers from 1.
    """

    prep: Prep
    kind: Kind
    layer: int


class Output(NamedTuple):
    """What a pass computes: a view without its preparation of texts, which several views may differ in.

    Attributes:
        kind: see :class:`View`.
        layer: see :class:`View`.
    """

    kind: Kind
    layer: int
