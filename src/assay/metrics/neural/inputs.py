"""Texts into tokens: what is put before a text, where it is cut, and what was cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

__all__ = ["Prep", "Tokens", "tokenize"]

#: Texts tokenized at one time.
SLICE = 4096


@dataclass(frozen=True)
class Prep:
    """How a text is made ready for a model.

    Attributes:
        limit: tokens at which it is cut, special ones included.
        prefix: text put before it.
        strip: whether blanks around it are taken away.
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
            # no model's tokenizer takes half of a surrogate pair
            text = text.encode("utf-8", "replace").decode("utf-8")
        text = text.strip() if self.strip else text
        text = self.prefix + text
        text = text.lower() if self.lower else text
        return f" {text}" if self.space and text else text


class Tokens(NamedTuple):
    """One input of a model: a prepared text, or a pair of them.

    A tuple because a run makes one for each of up to millions of texts.

    Attributes:
        ids: token numbers, special tokens included.
        types: segment of each token (0 or 1), or None where the model takes none.
        cut: whether something was cut off.
    """

    ids: Sequence[int]
    types: Sequence[int] | None = None
    cut: bool = False


def tokenize(
    tokenizer: Any, texts: Sequence[str], limit: int, seconds: Sequence[str] | None = None, *, types: bool = False
) -> list[Tokens]:
    """Return the tokens of texts, or of pairs of texts, cut to a limit as the tokenizer cuts.

    Args:
        tokenizer: of transformers.
        texts: prepared texts.
        limit: most tokens, special ones included; of a pair, the longer text is cut first.
        seconds: the second text of each pair.
        types: whether the model takes segment numbers.
    """
    found: list[Tokens] = []
    for start in range(0, len(texts), SLICE):
        part = list(texts[start : start + SLICE])
        other = None if seconds is None else list(seconds[start : start + SLICE])
        lists = _encode(tokenizer, part, other, types=types)
        long = [i for i, one in enumerate(lists) if len(one.ids) > limit]
        if long:
            short = tokenizer(
                [part[i] for i in long],
                None if other is None else [other[i] for i in long],
                truncation=True,
                max_length=limit,
                return_token_type_ids=types,
                return_attention_mask=False,
                verbose=False,
            )
            kinds = short["token_type_ids"] if types else [None] * len(long)
            for i, ids, kind in zip(long, short["input_ids"], kinds, strict=True):
                lists[i] = Tokens(ids, kind, cut=True)
        found += lists
    return found


def _encode(tokenizer: Any, texts: list[str], others: list[str] | None, *, types: bool) -> list[Tokens]:
    fast = getattr(tokenizer, "backend_tokenizer", None)
    if fast is None:
        found = tokenizer(
            texts, others, return_token_type_ids=types, return_attention_mask=False, truncation=False, verbose=False
        )
        kinds = found["token_type_ids"] if types else [None] * len(texts)
        return [Tokens(ids, kind) for ids, kind in zip(found["input_ids"], kinds, strict=True)]
    # what a tokenizer's file says of padding and cutting would otherwise be in force
    fast.no_padding()
    fast.no_truncation()
    batch = texts if others is None else list(zip(texts, others, strict=True))
    encodings = fast.encode_batch_fast(batch)
    return [Tokens(one.ids, one.type_ids if types else None) for one in encodings]
