"""What a perturbation is: a change of a pair, or of an option of a metric, and what should happen to the score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Literal, get_args

from assay.lexicon.texts import text_key

#: What should happen to the score of a changed pair, compared with that of the pair as it was.
Expected = Literal["same", "not higher", "lower", "negative"]
#: Which pairs are changed, by what people said of them. Pairs without a label are always among them.
Whose = Literal["all", "right", "wrong"]


@dataclass(frozen=True)
class TextPair:
    """The texts of a pair.

    Attributes:
        references: the gold answers, one or more.
        candidate: the answer to judge.
        question: empty where there is none.
        language: ISO 639-1 code, or None where it is unknown.
    """

    references: tuple[str, ...]
    candidate: str
    question: str = ""
    language: str | None = None

    @property
    def gold(self) -> str:
        """The longest gold answer that occurs in the candidate, else the first one that is not blank, else empty."""
        answers = [text.strip() for text in self.references if text.strip()]
        occurring = [text for text in answers if self._has(text)]
        return max(occurring, key=len) if occurring else next(iter(answers), "")

    def has_gold(self) -> bool:
        """Tell whether a gold answer occurs in the candidate as whole words, but for case and punctuation."""
        return any(self._has(text) for text in self.references)

    def _has(self, text: str) -> bool:
        key = text_key(text)
        return bool(key) and f" {key} " in f" {text_key(self.candidate)} "

    def answered(self, candidate: str) -> TextPair:
        """Return the pair with another candidate."""
        return replace(self, candidate=candidate)

    def in_words(self, texts: dict[str, str]) -> str:
        """Return the text of this pair's language out of those by language; English where the language is unknown."""
        return texts.get((self.language or "en").split("-")[0].lower(), texts["en"])


#: Returns the changed pair, or None where the change does not apply to it. The second argument draws at random, the
#: same for the same pair and seed.
Change = Callable[[TextPair, Random], TextPair | None]


@dataclass(frozen=True, kw_only=True)
class Perturbation:
    """A change, and what should happen.

    Attributes:
        name: as users write it: letters, digits, ``-``.
        summary: one line for tables and lists, without a full stop.
        expected: ``same``: the verdict must not change; ``not higher``: it must not become yes; ``lower``: the score
            must fall; ``negative``: the verdict must be no.
        change: changes the texts; a pair that it returns as it was counts as one that it does not apply to.
        option: in place of *change*, an option of metrics that is changed while the texts stay.
        other: the other value of that option, from the present one.
        pairs: ``right`` or ``wrong`` for pairs that people judged so, else ``all``.
        languages: ISO 639-1 codes of the texts that it can change; None for any. A pair whose language is unknown is
            taken as English.

    Raises:
        ValueError: neither a change nor an option, or a word that is none of those above.
    """

    name: str
    summary: str
    expected: Expected
    change: Change | None = None
    option: str = ""
    other: Callable[[Any], Any] | None = None
    pairs: Whose = "all"
    languages: frozenset[str] | None = None

    def __post_init__(self) -> None:
        if (self.change is None) != bool(self.option and self.other):
            raise ValueError(f"perturbation {self.name!r}: give either change, or option and other")
        if self.expected not in get_args(Expected) or self.pairs not in get_args(Whose):
            raise ValueError(f"perturbation {self.name!r}: expected={self.expected!r}, pairs={self.pairs!r}")

    def suits(self, language: str | None) -> bool:
        """Tell whether it can change texts of a language."""
        return self.languages is None or (language or "en").split("-")[0].lower() in self.languages

    def apply(self, pair: TextPair, seed: int) -> TextPair | None:
        """Return the changed pair; None where the change does not apply. The same seed draws the same for a pair.

        Raises:
            ValueError: there is no change of texts, or it returned something else than a pair.
        """
        if self.change is None:
            raise ValueError(f"perturbation {self.name!r} changes no texts")
        if not self.suits(pair.language):
            return None
        key = "\x1f".join([str(seed), self.name, pair.question, *pair.references, pair.candidate])
        changed = self.change(pair, Random(key))
        if not isinstance(changed, TextPair | None):
            raise ValueError(f"perturbation {self.name!r}: change returned {type(changed).__name__}, no pair")
        return None if changed == pair else changed


def appending(texts: dict[str, str]) -> Change:
    """Return a change that appends a text to the candidate, in the language of the pair.

    Args:
        texts: by language, with one for English. One that begins with a blank is a sentence: a full stop comes before
            it where the candidate has none.
    """

    def change(pair: TextPair, draw: Random) -> TextPair | None:
        candidate, text = pair.candidate.rstrip(), pair.in_words(texts)
        if not candidate:
            return None
        stop = "." if text.startswith(" ") and candidate[-1] not in _ENDS else ""
        return pair.answered(candidate + stop + text)

    return change


def quoting_gold(texts: dict[str, str]) -> Change:
    """Return a change that takes a text with the gold answer for the candidate, such as a denial of it.

    Gold answers without a letter or digit, and those that are a yes or no themselves, are left alone.

    Args:
        texts: by language, with one for English; ``{}`` stands for the gold answer.
    """

    def change(pair: TextPair, draw: Random) -> TextPair | None:
        gold = pair.gold
        if not any(map(str.isalnum, gold)) or gold.lower().rstrip(".!") in _YES_NO:
            return None
        return pair.answered(pair.in_words(texts).replace("{}", gold.rstrip(".")))

    return change


#: Characters after which a sentence may begin.
_ENDS = frozenset(".!?\"')]\u2019\u201d")
#: Gold answers whose denial may be right.
_YES_NO = frozenset({"yes", "no", "true", "false", "none", "not", "ja", "nein", "wahr", "falsch", "keine", "keiner"})
