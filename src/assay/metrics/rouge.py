"""ROUGE-1, ROUGE-2 and ROUGE-L by rouge-score."""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, ClassVar, Literal

from assay.common.packages import version_of
from assay.metrics.base import Batch, Declaration, option
from assay.metrics.ngrams import count_ngrams, score_chunks
from assay.metrics.segmenters import check_segmenter, segmenter, segmenter_signature
from assay.metrics.text import PreparedMetric, WordTokenizer, map_distinct, tokenizer_signature, words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class _Rouge(PreparedMetric):
    """Base of the ROUGE metrics: an F-measure of the overlap of two texts, from 0 to 1, as rouge-score computes it.

    The tokens are Unicode words by default. ``tokenizer=rouge`` is the package's own tokenizer, which drops every
    character outside a-z and 0-9, so that ``Ä`` has no token. ``ja-mecab`` and ``ko-mecab`` are the words of MeCab with
    its dictionaries of Japanese and Korean, without punctuation; Unicode words are single characters in Japanese and
    Chinese, and what stands between blanks in Korean. If neither text has a unit to compare (a token, or two for
    ROUGE-2), the score is 1 if their tokens are equal, or without tokens the texts, else 0 (always 0 with
    ``tokenizer=rouge``, as in the package). If only one text has none, it is 0.
    """

    tokenizer: Literal["unicode", "rouge", "ja-mecab", "ko-mecab"] = option(
        "unicode", "unicode: words of any script; rouge: a-z0-9; ja-mecab, ko-mecab: words of MeCab"
    )
    stemmer: bool = option(False, "compare English stems (Porter) of words longer than three letters")

    @abstractmethod
    def _common_units(self, references: list[list[str]], candidates: list[list[str]]) -> Iterable[tuple[int, int, int]]:
        """Return for each pair the numbers of units of the reference, of the candidate, and of those that both have.

        Args:
            references, candidates: the tokens of each text.
        """

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
        """Return the versions of what the options use: NLTK's stemmer, Unicode tables, MeCab and its dictionary.

        Raises:
            UnavailableError: MeCab or its dictionary is not installed.
        """
        stemmer_version = {"nltk": version_of("nltk")} if self.stemmer else {}
        unicode_version = tokenizer_signature() if self.tokenizer == "unicode" else {}
        return stemmer_version | unicode_version | segmenter_signature(self.tokenizer)

    def score(self, batch: Batch) -> NDArray[np.float64]:
        """Return the F-measure of each pair, from 0 to 1: float64, shape ``(len(batch),)``.

        Raises:
            UnavailableError: MeCab or its dictionary is not installed.
        """
        from rouge_score.scoring import fmeasure

        tokens_of = _tokenizer(self.tokenizer, self.stemmer, tuple(self.data_signature().items()))

        def score(references: list[str], candidates: list[str]) -> list[float]:
            """Return the F-measure of each pair of a chunk."""
            golds, answers = map_distinct(tokens_of, references), map_distinct(tokens_of, candidates)
            scores = []
            for in_reference, in_candidate, in_both in self._common_units(golds, answers):
                # the arithmetic is that of rouge-score
                precision, recall = in_both / max(in_candidate, 1), in_both / max(in_reference, 1)
                scores.append(float(fmeasure(precision, recall)))
            if self.tokenizer != "rouge":
                for i, (gold, answer) in enumerate(zip(golds, answers, strict=True)):
                    # texts that are too short for any overlap score 1 if they are equal: in tokens, or else as texts
                    if not scores[i] and gold == answer:
                        scores[i] = 1.0 if gold else float(references[i].strip() == candidates[i].strip())
            return scores

        return score_chunks(self.prepare(batch), score)


@functools.lru_cache(maxsize=4)
def _tokenizer(name: str, stemmer: bool, signature: tuple[tuple[str, str], ...]) -> Callable[[str], list[str]]:
    """Return the function from a text to its tokens; it is cached, so that the next batch finds the words of this one.

    Args:
        name, stemmer: the options ``tokenizer`` and ``stemmer``.
        signature: the data signature of the metric, since another dictionary makes other tokens.

    Raises:
        UnavailableError: MeCab or its dictionary is not installed.
    """
    tokenize: Callable[[str], list[str]]
    if name == "rouge":
        from rouge_score.tokenizers import DefaultTokenizer

        tokenize = DefaultTokenizer(stemmer).tokenize
    else:
        split = words if name == "unicode" else _words_without_punctuation(segmenter(name))
        tokenize = _stemmed(split) if stemmer else split
    if name not in ("rouge", "unicode"):
        return tokenize
    if stemmer:
        return WordTokenizer(tokenize)
    # a word of letters and digits of English is one token
    return WordTokenizer(lambda word: [word.lower()] if word.isascii() and word.isalnum() else tokenize(word))


def _words_without_punctuation(split: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """Return the function from a text to its tokens in lower case, without those that have no letter and no digit."""
    return lambda text: [token for token in split(text.lower()) if any(map(str.isalnum, token))]


def _stemmed(split: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """Return the function from a text to its words, those of more than three characters as their stems (Porter)."""
    from nltk.stem.porter import PorterStemmer

    stem = PorterStemmer().stem
    # as in rouge-score, short words stay as they are
    return lambda text: [stem(word) if len(word) > 3 else word for word in split(text)]


@dataclass(frozen=True)
class RougeL(_Rouge):
    """F-measure of the longest common subsequence of words, from 0 to 1."""

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

    def _common_units(self, references: list[list[str]], candidates: list[list[str]]) -> Iterable[tuple[int, int, int]]:
        """Yield for each pair how many tokens the reference, the candidate and their longest common subsequence have.

        rapidfuzz computes the length of the common subsequence in linear memory; the table of rouge-score takes 40
        seconds and 1 GB for two texts of ten thousand words.
        """
        from rapidfuzz.distance import LCSseq

        # each distinct token becomes a number, since rapidfuzz compares hashes, which could collide
        number_of: defaultdict[str, int] = defaultdict(count().__next__)
        for sides in zip(references, candidates, strict=True):
            left, right = ([number_of[token] for token in tokens] for tokens in sides)
            yield len(left), len(right), LCSseq.similarity(left, right)


class _RougeN(_Rouge):
    """Base of the ROUGE metrics whose units are n-grams, runs of ``order`` tokens."""

    order: ClassVar[int]

    def _common_units(self, references: list[list[str]], candidates: list[list[str]]) -> Iterable[tuple[int, int, int]]:
        """Return for each pair the numbers of n-grams of the reference, of the candidate, and of common ones."""
        counts = count_ngrams(references, candidates, self.order)
        return zip(*(column[:, -1].tolist() for column in counts), strict=True)


@dataclass(frozen=True)
class Rouge1(_RougeN):
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
class Rouge2(_RougeN):
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
