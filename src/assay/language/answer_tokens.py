"""Tokens of an answer after the normalisation of SQuAD; apart from the other texts, which need NumPy."""

from __future__ import annotations

import re
import string

_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


def answer_tokens(text: str) -> list[str]:
    """Return the tokens of an answer in lower case, without ASCII punctuation and English articles.

    Source: Rajpurkar, Jia and Liang 2018, evaluate-v2.0.py.

    Example:
        >>> answer_tokens("The U.S. army")
        ['us', 'army']
    """
    return _ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split()
