"""ROUGE-L by rouge-score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

from assay.metrics.base import Declaration, option
from assay.metrics.text import PreparedMetric, tokenizer_signature, words


@dataclass(frozen=True)
class RougeL(PreparedMetric):
    """F-measure of the longest common subsequence of words, from 0 to 1.

    The tokens are Unicode words by default. ``tokenizer=rouge`` is the package's own, which drops every
    character outside a-z and 0-9: there ``Müller`` and ``Möller`` are the same, and ``Ä`` has no token.
    Where neither text has a token, the score is 1 if the texts are equal, else 0 (with ``tokenizer=rouge``
    0, as in the package); where one has none, 0.
    """

    tokenizer: Literal["unicode", "rouge"] = option("unicode", "unicode: words of any script; rouge: a-z0-9")
    stemmer: bool = option(False, "compare English stems (Porter) of words longer than three letters")

    declaration: ClassVar[Declaration] = Declaration(
        name="rouge-l",
        kind="lexical",
        summary="ROUGE-L F-measure",
        symmetric=True,
        perfect=1.0,
        citation="Lin 2004, ROUGE: A Package for Automatic Evaluation of Summaries",
        option_sets={"paper": {"tokenizer": "rouge", "stemmer": False, "swap": True, "blank": "nan"}},
        provider=("rouge-score", "regex"),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tokenizer == "rouge":
            self.redeclare(perfect=None)

    def data_signature(self) -> dict[str, str]:
        """Return the version of NLTK where its stemmer is used, and of the Unicode tables."""
        from assay.metrics.provenance import version_of

        stemmer = {"nltk": version_of("nltk")} if self.stemmer else {}
        return stemmer | (tokenizer_signature() if self.tokenizer == "unicode" else {})

    def scorer(self) -> Callable[[str, str], float]:
        """Return the function (reference, candidate) -> score."""
        from rouge_score.rouge_scorer import RougeScorer

        if self.tokenizer == "unicode":
            rouge = RougeScorer(["rougeL"], tokenizer=_UnicodeTokenizer(stem=self.stemmer))
        else:
            rouge = RougeScorer(["rougeL"], use_stemmer=self.stemmer)
        unicode = self.tokenizer == "unicode"

        def score(reference: str, candidate: str) -> float:
            value: float = rouge.score(reference, candidate)["rougeL"].fmeasure
            if unicode and not value and reference.strip() == candidate.strip():
                return 1.0
            return value

        return self.prepared(score)


class _UnicodeTokenizer:
    """A tokenizer for rouge-score: words in lower case, or their stems."""

    def __init__(self, *, stem: bool) -> None:
        self._stem: Callable[[str], str] | None = None
        if stem:
            from nltk.stem.porter import PorterStemmer

            self._stem = PorterStemmer().stem

    def tokenize(self, text: str) -> list[str]:
        tokens = words(text)
        stem = self._stem
        if stem is None:
            return tokens
        # as in rouge-score, short words stay as they are
        return [stem(word) if len(word) > 3 else word for word in tokens]
