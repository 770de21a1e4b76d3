"""Overlap of the words of two texts: Dice, Jaccard and the cosine of word vectors of 0 and 1."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import regex  # type: ignore[import-untyped,unused-ignore]

from assay.metrics.base import Declaration, PairMetric, option
from assay.metrics.text import tokenizer_signature, words

_RUN = re.compile(r"\w+")
# of the package regex, whose \w has the vowel signs of Arabic and of Indian scripts
_RUN_OR_SIGNS = regex.compile(r"\w+|[^\w\s]+")


@dataclass(frozen=True)
class _Overlap(PairMetric):
    """Base of metrics for the share of common words, from 0 to 1, in sets or multisets.

    If neither text has a word, the score is 1 for equal texts, else 0. If only one text has no word, it is 0.
    """

    multiset: bool = option(False, "count a word as often as it occurs")
    lowercase: bool = option(True, "compare in lower case")

    def data_signature(self) -> dict[str, str]:
        """Return the version of the Unicode tables, by which texts are split into words."""
        return tokenizer_signature()

    def scorer(self) -> Callable[[str, str], float]:
        """Return the function (reference, candidate) -> coefficient of the words of the two texts, from 0 to 1."""
        multiset, words_of = self.multiset, self._words

        def score(reference: str, candidate: str) -> float:
            """Return the coefficient of a pair."""
            left, right = Counter(words_of(reference)), Counter(words_of(candidate))
            if not left and not right:
                return float(reference.strip() == candidate.strip())
            if not multiset:
                # each word counts once
                left, right = Counter(set(left)), Counter(set(right))
            return self._coefficient((left & right).total(), left.total(), right.total())

        return score

    def _words(self, text: str) -> list[str]:
        return words(text, lowercase=self.lowercase)

    @staticmethod
    def _coefficient(common: int, left: int, right: int) -> float:
        """Return the score of two texts of which at least one has a word, from 0 to 1.

        Args:
            common: the number of words that both texts have.
            left, right: the number of words of each text.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class Dice(_Overlap):
    """Dice coefficient of the words: twice the common words divided by the words of both texts.

    The option set ``paper`` is the lexical overlap of Abdalla, Vishnubhotla and Mohammad 2023. Its words are runs of
    letters, digits and underscores in lower case, so that ``don't`` and ``3.14`` are two words each.
    """

    tokenizer: Literal["unicode", "runs"] = option("unicode", r"what a word is: a Unicode word, or a run of \w")

    declaration: ClassVar[Declaration] = Declaration(
        name="dice",
        kind="lexical",
        summary="Dice coefficient of the words",
        formula="2 |A ∩ B| / (|A| + |B|)",
        symmetric=True,
        perfect=1.0,
        citation="Dice 1945, Measures of the Amount of Ecologic Association Between Species",
        option_sets={"paper": {"tokenizer": "runs"}},
        provider=("regex",),
    )

    def _words(self, text: str) -> list[str]:
        if self.tokenizer == "unicode":
            return super()._words(text)
        return _RUN.findall(text.lower() if self.lowercase else text)

    @staticmethod
    def _coefficient(common: int, left: int, right: int) -> float:
        return 2 * common / (left + right)


@dataclass(frozen=True)
class Jaccard(_Overlap):
    """Jaccard index of the words: the common words divided by the union of the words.

    The option set ``paper`` is the bag of words of Opitz and Frank 2022 (S3BERT), table 2: its words are what stands
    between blanks, with their case. The paper does not define it; this reproduces its two numbers.
    """

    tokenizer: Literal["unicode", "whitespace"] = option(
        "unicode", "what a word is: a Unicode word, or what stands between blanks"
    )

    declaration: ClassVar[Declaration] = Declaration(
        name="jaccard",
        kind="lexical",
        summary="Jaccard index of the words",
        formula="|A ∩ B| / |A ∪ B|",
        symmetric=True,
        perfect=1.0,
        citation="Jaccard 1912, The Distribution of the Flora in the Alpine Zone",
        option_sets={"paper": {"tokenizer": "whitespace", "lowercase": False}},
        provider=("regex",),
    )

    def _words(self, text: str) -> list[str]:
        if self.tokenizer == "unicode":
            return super()._words(text)
        return (text.lower() if self.lowercase else text).split()

    @staticmethod
    def _coefficient(common: int, left: int, right: int) -> float:
        return common / (left + right - common)


@dataclass(frozen=True)
class Cosine(_Overlap):
    """Cosine of the words: the common words divided by the geometric mean of the words of both texts.

    Without ``multiset`` it is the cosine of the vectors that have 1 for each word of a text and 0 for all others. The
    option set ``sts`` is the baseline of SemEval STS, where signs are words, too; a coefficient of 2017 came out up to
    .001 away from the print, whose tokenizer is not stated. With ``multiset`` it is not the cosine of counts.
    """

    tokenizer: Literal["unicode", "signs"] = option(
        "unicode", r"what a word is: a Unicode word, or a run of \w or of other signs"
    )

    declaration: ClassVar[Declaration] = Declaration(
        name="cosine",
        kind="lexical",
        summary="cosine of the words",
        formula="|A ∩ B| / √(|A| |B|)",
        symmetric=True,
        perfect=1.0,
        citation="Cer et al. 2017, SemEval-2017 Task 1 (the baseline)",
        option_sets={"sts": {"tokenizer": "signs"}},
        provider=("regex",),
    )

    def _words(self, text: str) -> list[str]:
        if self.tokenizer == "unicode":
            return super()._words(text)
        runs: list[str] = _RUN_OR_SIGNS.findall(text.lower() if self.lowercase else text)
        return runs

    @staticmethod
    def _coefficient(common: int, left: int, right: int) -> float:
        return common / math.sqrt(left * right) if left and right else 0.0
