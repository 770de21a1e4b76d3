"""ROUGE-1, ROUGE-2 and ROUGE-L by rouge-score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

from assay.metrics.base import Declaration, option
from assay.metrics.segmenters import check_segmenter, segmenter, segmenter_signature
from assay.metrics.text import PreparedMetric, TextCache, common_counts, tokenizer_signature, words

#: The tokens of each text.
_Tokens = TextCache[list[str]]


@dataclass(frozen=True)
class _Rouge(PreparedMetric):
    """Base of the ROUGE metrics: an F-measure of the overlap of two texts, from 0 to 1, as rouge-score computes it.

    The tokens are Unicode words by default. ``tokenizer=rouge`` is the package's own tokenizer, which drops every
    character outside a-z and 0-9, so that ``Ä`` has no token. ``ja-mecab`` and ``ko-mecab`` are the words of MeCab with
    its dictionaries of Japanese and Korean, without punctuation; Unicode words are single characters in Japanese and
    Chinese, and what stands between blanks in Korean. If neither text has a unit to compare (a token, or two
    for ROUGE-2), the score is 1 for equal texts, else 0 (always 0 with ``tokenizer=rouge``, as in the package). If only
    one text has none, it is 0.
    """

    tokenizer: Literal["unicode", "rouge", "ja-mecab", "ko-mecab"] = option(
        "unicode", "unicode: words of any script; rouge: a-z0-9; ja-mecab, ko-mecab: words of MeCab"
    )
    stemmer: bool = option(False, "compare English stems (Porter) of words longer than three letters")

    #: The number of tokens of an n-gram; 0 for the longest common subsequence.
    order: ClassVar[int]

    def _f_measure(self, tokens: _Tokens) -> Callable[[str, str], float]:
        """Return the function (reference, candidate) -> F-measure, from 0 to 1; 0 if a text has no unit to compare.

        The n-grams of each text are counted once; the arithmetic is that of rouge-score.
        """
        from rouge_score.scoring import fmeasure

        order = self.order

        def count_ngrams(text: str) -> tuple[Counter[tuple[str, ...]], int]:
            units = tokens[text]
            ngrams = Counter(zip(*(units[i:] for i in range(order)), strict=False))
            return ngrams, ngrams.total()

        counts = TextCache(count_ngrams)

        def score(reference: str, candidate: str) -> float:
            (gold, gold_total), (ngrams, total) = counts[reference], counts[candidate]
            common = sum(count for _, count in common_counts(gold, ngrams))
            return float(fmeasure(common / max(total, 1), common / max(gold_total, 1)))

        return score

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tokenizer == "rouge":
            # a text without a-z and 0-9 scores 0 even with itself
            self.redeclare(perfect=None)

    def check_available(self) -> None:
        """Check that the packages of the metric and of its tokenizer are installed.

        Raises:
            UnavailableError: one is missing; the error has the command that installs it.
        """
        super().check_available()
        check_segmenter(self.tokenizer)

    def data_signature(self) -> dict[str, str]:
        """Return the versions of what makes tokens and stems: NLTK, Unicode tables, MeCab and its dictionary.

        Raises:
            UnavailableError: MeCab or its dictionary is not installed.
        """
        from assay.metrics.provenance import version_of

        stemmer_version = {"nltk": version_of("nltk")} if self.stemmer else {}
        unicode_version = tokenizer_signature() if self.tokenizer == "unicode" else {}
        return stemmer_version | unicode_version | segmenter_signature(self.tokenizer)

    def scorer(self) -> Callable[[str, str], float]:
        """Return the function (reference, candidate) -> F-measure, after the options ``swap`` and ``blank``."""
        if self.tokenizer == "rouge":
            from rouge_score.tokenizers import DefaultTokenizer

            return self.with_prepared_texts(self._f_measure(TextCache(DefaultTokenizer(self.stemmer).tokenize)))
        split = words if self.tokenizer == "unicode" else _words_without_punctuation(segmenter(self.tokenizer))
        tokens = TextCache(_stemmed(split) if self.stemmer else split)
        f_measure = self._f_measure(tokens)

        def score(reference: str, candidate: str) -> float:
            # texts that are too short for any overlap still score 1 if they are equal
            return f_measure(reference, candidate) or float(_have_same_tokens(tokens, reference, candidate))

        return self.with_prepared_texts(score)


def _words_without_punctuation(split: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """Return the function from a text to its tokens in lower case, without those that have no letter and no digit."""
    return lambda text: [token for token in split(text.lower()) if any(map(str.isalnum, token))]


def _stemmed(split: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """Return the function from a text to its words, those of more than three characters as their stems (Porter)."""
    from nltk.stem.porter import PorterStemmer

    stem = PorterStemmer().stem
    # as in rouge-score, short words stay as they are
    return lambda text: [stem(word) if len(word) > 3 else word for word in split(text)]


def _have_same_tokens(tokens: _Tokens, reference: str, candidate: str) -> bool:
    """Tell whether two texts have the same tokens, or, if they have no tokens, are equal."""
    left = tokens[reference]
    return left == tokens[candidate] and (bool(left) or reference.strip() == candidate.strip())


@dataclass(frozen=True)
class RougeL(_Rouge):
    """F-measure of the longest common subsequence of words, from 0 to 1."""

    order: ClassVar[int] = 0
    declaration: ClassVar[Declaration] = Declaration(
        name="rouge-l",
        kind="lexical",
        summary="ROUGE-L F-measure",
        formula="2PR / (P + R), P = LCS / words of the candidate, R = LCS / words of the reference",
        symmetric=True,
        perfect=1.0,
        citation="Lin 2004, ROUGE: A Package for Automatic Evaluation of Summaries",
        option_sets={"paper": {"tokenizer": "rouge", "stemmer": False, "swap": True, "blank": "nan"}},
        provider=("rouge-score", "rapidfuzz", "regex"),
    )

    def _f_measure(self, tokens: _Tokens) -> Callable[[str, str], float]:
        """Return the function (reference, candidate) -> F-measure, from 0 to 1; 0 if a text has no token.

        rapidfuzz computes the length of the common subsequence in linear memory; the table of rouge-score takes 40
        seconds and 1 GB for two texts of ten thousand words. The remaining arithmetic is that of rouge-score.
        """
        from rapidfuzz.distance import LCSseq
        from rouge_score.scoring import fmeasure

        def score(reference: str, candidate: str) -> float:
            left, right = tokens[reference], tokens[candidate]
            if not left or not right:
                return 0.0
            # each distinct token becomes a number, since rapidfuzz compares hashes, which could collide
            number_of = {token: number for number, token in enumerate(dict.fromkeys([*left, *right]))}
            common = LCSseq.similarity([number_of[token] for token in left], [number_of[token] for token in right])
            return float(fmeasure(common / len(right), common / len(left)))

        return score


@dataclass(frozen=True)
class Rouge1(_Rouge):
    """F-measure of the words that two texts share, from 0 to 1."""

    order: ClassVar[int] = 1
    declaration: ClassVar[Declaration] = Declaration(
        name="rouge-1",
        kind="lexical",
        summary="ROUGE-1 F-measure: words",
        formula="2PR / (P + R), P = common words / words of the candidate, R = common / those of the reference",
        symmetric=True,
        perfect=1.0,
        citation="Lin 2004, ROUGE: A Package for Automatic Evaluation of Summaries",
        provider=("rouge-score", "regex"),
    )


@dataclass(frozen=True)
class Rouge2(_Rouge):
    """F-measure of the bigrams of words that two texts share, from 0 to 1; a text of one word has no bigram."""

    order: ClassVar[int] = 2
    declaration: ClassVar[Declaration] = Declaration(
        name="rouge-2",
        kind="lexical",
        summary="ROUGE-2 F-measure: two words in a row",
        formula="2PR / (P + R), as rouge-1 with pairs of neighbouring words",
        symmetric=True,
        perfect=1.0,
        citation="Lin 2004, ROUGE: A Package for Automatic Evaluation of Summaries",
        provider=("rouge-score", "regex"),
    )
