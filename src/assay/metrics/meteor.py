"""METEOR by NLTK."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from assay.lexicon.wordnet import open_wordnet, wordnet_signature
from assay.metrics.base import Declaration, option
from assay.metrics.text import PreparedMetric
from assay.metrics.tokenize import tokenizer_signature, words
from assay.metrics.treebank import sentence_splitter, splitter_signature, treebank_tokens

if TYPE_CHECKING:
    from assay.lexicon.wordnet_reader import EnglishReader, Senses

__all__ = ["Meteor"]

#: How many words and texts are remembered; a bound on memory, not on what can be scored.
_WORDS, _TEXTS = 1 << 16, 1 << 12


@dataclass(frozen=True)
class Meteor(PreparedMetric):
    """METEOR of the candidate: words matched exactly, by stem, then by synonym; from 0 to below 1.

    English only: stems and synonyms are English. Identical texts of *n* words have 1 - gamma / n**beta.
    Two blank texts have 1, one blank text 0; texts without a word in common have 0.
    """

    tokenizer: Literal["unicode", "nltk-3.6.5"] = option("unicode", "unicode: words; nltk-3.6.5: with Punkt")
    alpha: float = option(0.9, "weight of recall over precision", minimum=0, maximum=1)
    beta: float = option(3.0, "shape of the penalty for scattered matches", minimum=0)
    gamma: float = option(0.5, "weight of that penalty", minimum=0, maximum=1)

    declaration: ClassVar[Declaration] = Declaration(
        name="meteor",
        kind="lexical",
        summary="METEOR with stems and WordNet synonyms",
        languages=frozenset({"en"}),
        citation="Lavie and Agarwal 2007, METEOR: An Automatic Metric for MT Evaluation",
        option_sets={"paper": {"tokenizer": "nltk-3.6.5", "swap": True, "blank": "nan"}},
        provider=("nltk",),
    )

    def check_available(self) -> None:
        """Return when NLTK, WordNet and, for ``nltk-3.6.5``, Punkt are here.

        Raises:
            UnavailableError: with the line that brings what is missing.
        """
        super().check_available()
        open_wordnet()
        if self.tokenizer != "unicode":
            sentence_splitter()

    def data_signature(self) -> dict[str, str]:
        """Return the digest of WordNet and the versions of what splits the text."""
        from assay.metrics.provenance import version_of

        if self.tokenizer == "unicode":
            splitting = {"regex": version_of("regex")} | tokenizer_signature()
        else:
            splitting = splitter_signature()
        return {"wordnet": wordnet_signature()} | splitting

    def scorer(self) -> Callable[[str, str], float]:
        """Return the function (reference, candidate) -> score.

        Raises:
            UnavailableError: WordNet or Punkt is missing.
        """
        from nltk.translate.meteor_score import single_meteor_score

        from assay.lexicon.wordnet_reader import SynonymsWithin

        tools = _tools(open_wordnet())
        read = functools.lru_cache(maxsize=_TEXTS)(_Reader(self._tokens(), tools))
        alpha, beta, gamma = self.alpha, self.beta, self.gamma

        def score(reference: str, candidate: str) -> float:
            left, right = read(reference), read(candidate)
            if not left.tokens or not right.tokens:
                return float(reference.strip() == candidate.strip())
            # Words match by their stems or where a sense of the one has the other among its words. Where
            # the index says that neither happens, the library would find nothing either.
            if left.stems.isdisjoint(right.stems) and left.members.isdisjoint(right.senses):
                return 0.0
            value: float = single_meteor_score(
                left.tokens,
                right.tokens,
                preprocess=_as_it_is,
                stemmer=tools,
                wordnet=SynonymsWithin(tools.synonyms, left.members),
                alpha=alpha,
                beta=beta,
                gamma=gamma,
            )
            return value

        return self.prepared(score)

    def _tokens(self) -> Callable[[str], tuple[str, ...]]:
        if self.tokenizer == "unicode":
            return lambda text: tuple(words(text))
        sentences = sentence_splitter()
        return lambda text: tuple(token.lower() for token in treebank_tokens(text, sentences))


def _as_it_is(word: str) -> str:
    return word


class _Tools:
    """NLTK's Porter stemmer and WordNet, remembering the last words."""

    def __init__(self, wordnet: EnglishReader) -> None:
        from nltk.stem.porter import PorterStemmer

        from assay.lexicon.wordnet_reader import Synonyms

        self.stem: Callable[[str], str] = functools.lru_cache(maxsize=_WORDS)(PorterStemmer().stem)
        self.synonyms = Synonyms(wordnet, _WORDS)


@functools.lru_cache(maxsize=2)
def _tools(wordnet: EnglishReader) -> _Tools:
    """Return the tools of a WordNet: one set a process, so that a batch finds the words of the last one."""
    return _Tools(wordnet)


class _Text:
    """A text as METEOR sees it: tokens in lower case, their stems, and the senses behind these."""

    __slots__ = ("_members", "_senses", "_synonyms", "stems", "tokens")

    def __init__(self, tokens: tuple[str, ...], tools: _Tools) -> None:
        self.tokens = tokens
        self.stems = frozenset(map(tools.stem, tokens))
        self._synonyms = tools.synonyms
        self._senses: Senses | None = None
        self._members: Senses | None = None

    @property
    def senses(self) -> Senses:
        """The synsets of the stems, in any of their forms."""
        if self._senses is None:
            self._senses = frozenset().union(*map(self._synonyms.senses, self.stems))
        return self._senses

    @property
    def members(self) -> Senses:
        """The synsets that have one of the stems among their words."""
        if self._members is None:
            self._members = frozenset().union(*map(self._synonyms.members, self.stems))
        return self._members


class _Reader:
    """Text -> :class:`_Text`."""

    def __init__(self, tokens: Callable[[str], tuple[str, ...]], tools: _Tools) -> None:
        self._tokens = tokens
        self._tools = tools

    def __call__(self, text: str) -> _Text:
        return _Text(self._tokens(text), self._tools)
