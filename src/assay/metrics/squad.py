"""The answer normalisation of the SQuAD v2 evaluation script."""

from __future__ import annotations

import re
import string

__all__ = ["answer_tokens"]

_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


def answer_tokens(text: str) -> list[str]:
    """Return the tokens of an answer: lower case, ASCII punctuation and English articles taken out.

    Source: Rajpurkar, Jia and Liang 2018, evaluate-v2.0.py.

    Example:
        >>> answer_tokens("The U.S. army")
        ['us', 'army']
    """
    return _ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split()
