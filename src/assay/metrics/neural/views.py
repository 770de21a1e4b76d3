"""What a metric reads from an encoder: the preparation of the texts and the output of a pass.

Imports neither NumPy nor torch, so that metrics can be listed without them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

#: Stands for the layer whose states the model itself returns: the last one, of the decoder if there is one.
OUTPUT_LAYER = -1

Kind = Literal["tokens", "sentence", "mean", "max", "cls"]


@dataclass(frozen=True)
class Preparation:
    """How a text is prepared for a model.

    Attributes:
        limit: the number of tokens at which the text is cut, special ones included.
        prefix: the text to put before it, such as a prompt.
        strip: whether to remove white space around the text.
        lowercase: whether to lower-case the text with the prefix, independently of the tokenizer.
        leading_space: whether to put a space before a text that is not empty (BERTScore with RoBERTa).
    """

    limit: int
    prefix: str = ""
    strip: bool = False
    lowercase: bool = False
    leading_space: bool = False

    def apply(self, text: str) -> str:
        """Return the text as the tokenizer receives it: prepared, and with ``?`` in place of unpaired surrogates."""
        if not text.isascii():
            # tokenizers reject lone surrogates
            text = text.encode("utf-8", "replace").decode("utf-8")
        text = text.strip() if self.strip else text
        text = self.prefix + text
        text = text.lower() if self.lowercase else text
        return f" {text}" if self.leading_space and text else text


@dataclass(frozen=True)
class View:
    """What a metric reads from a pass.

    Attributes:
        preparation: the preparation of the texts.
        kind: the kind of embedding: ``tokens`` for one embedding per token; ``sentence`` for the output of the model's
            own modules behind the last layer; ``mean``, ``max`` or ``cls`` for that pooling of the tokens.
        layer: the number of the layer, from 1; 0 for the input embeddings, or :data:`OUTPUT_LAYER`.
    """

    preparation: Preparation
    kind: Kind
    layer: int


class Output(NamedTuple):
    """What a pass computes: a view without its preparation of the texts; several views may read the same output.

    Attributes:
        kind: the kind of embedding, see :class:`View`.
        layer: the number of the layer, see :class:`View`.
    """

    kind: Kind
    layer: int
