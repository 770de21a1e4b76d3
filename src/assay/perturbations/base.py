"""Perturbations: a change of a pair, or of an option of a metric, and the expected effect on the score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Literal, get_args

from assay.language.texts import text_key

#: The expected effect on the score of a changed pair, compared with the score of the original pair.
Expected = Literal["same", "not higher", "lower", "negative"]
#: The pairs to change, by their human label. Pairs without a label are always changed.
ChangedPairs = Literal["all", "right", "wrong"]
#: The last characters of a candidate after which no full stop is needed.
_SENTENCE_ENDS = frozenset(".!?\"')]\u2019\u201d")
#: Gold answers whose denial may be right, such as "not none".
_YES_NO = frozenset({"yes", "no", "true", "false", "none", "not", "ja", "nein", "wahr", "falsch", "keine", "keiner"})


@dataclass(frozen=True)
class TextPair:
    """The texts of a pair.

    Attributes:
        references: the gold answers, one or more.
        candidate: the answer to judge.
        question: the question, empty if there is none.
        language: the ISO 639-1 code of the language, or None if it is unknown.
    """

    references: tuple[str, ...]
    candidate: str
    question: str = ""
    language: str | None = None

    @property
    def gold(self) -> str:
        """The longest gold answer that occurs in the candidate, or else the first one; blank ones do not count.

        It is empty if all gold answers are blank.
        """
        golds = [text.strip() for text in self.references if text.strip()]
        occurring = [text for text in golds if self._candidate_has(text)]
        if occurring:
            return max(occurring, key=len)
        return golds[0] if golds else ""

    def has_gold(self) -> bool:
        """Tell whether a gold answer occurs in the candidate as whole words; case and punctuation do not matter."""
        return any(self._candidate_has(text) for text in self.references)

    def _candidate_has(self, text: str) -> bool:
        key = text_key(text)
        # the blanks make a match begin and end at the boundary of a word
        return bool(key) and f" {key} " in f" {text_key(self.candidate)} "

    def answered(self, candidate: str) -> TextPair:
        """Return the pair with another candidate."""
        return replace(self, candidate=candidate)

    def text_in_language(self, texts: dict[str, str]) -> str:
        """Return the one of several texts that is in the pair's language; the English one if there is none.

        A pair whose language is unknown counts as English.

        Args:
            texts: one text per language, by ISO 639-1 code, English among them.
        """
        return texts.get((self.language or "en").split("-")[0].lower(), texts["en"])


#: A function that returns the changed pair, or None if the change does not apply to it. The second argument is a random
#: generator, seeded by the pair and the seed of the user.
Change = Callable[[TextPair, Random], TextPair | None]


@dataclass(frozen=True, kw_only=True)
class Perturbation:
    """A change, and its expected effect on the score.

    Attributes:
        name: the name that users write, of letters, digits and ``-``.
        summary: a description of one line for tables and lists, without a full stop.
        expected: ``same``: the verdict must not change; ``not higher``: it must not become yes; ``lower``: the score
            must fall; ``negative``: the verdict must be no.
        change: the function that changes a pair; if it returns an equal pair, it counts as not applicable.
        option: instead of *change*, the name of a metric option that is changed while the texts stay the same.
        other: the function that returns the other value of that option, given the present one.
        pairs: ``right`` or ``wrong`` to change only pairs with that human label, otherwise ``all``.
        languages: ISO 639-1 codes of the texts that it can change; None for any. A pair whose language is unknown is
            taken as English.

    Raises:
        ValueError: neither or both of *change* and *option* are given, one of *option* and *other* alone, or
            *expected* or *pairs* is no such word.
    """

    name: str
    summary: str
    expected: Expected
    change: Change | None = None
    option: str = ""
    other: Callable[[Any], Any] | None = None
    pairs: ChangedPairs = "all"
    languages: frozenset[str] | None = None

    def __post_init__(self) -> None:
        has_change, has_option, has_other = self.change is not None, bool(self.option), self.other is not None
        if has_option != has_other or has_change == has_option:
            raise ValueError(f"perturbation {self.name!r}: give either change, or option and other")
        if self.expected not in get_args(Expected) or self.pairs not in get_args(ChangedPairs):
            raise ValueError(f"perturbation {self.name!r}: expected={self.expected!r}, pairs={self.pairs!r}")

    def supports_language(self, language: str | None) -> bool:
        """Tell whether it can change texts in *language*, a language code; None, if unknown, counts as English."""
        return self.languages is None or (language or "en").split("-")[0].lower() in self.languages

    def apply(self, pair: TextPair, seed: int) -> TextPair | None:
        """Return the changed pair, or None if the change does not apply.

        It does not apply if the perturbation does not support the language of the pair, if its function says so, or if
        nothing would change.

        Args:
            pair: the texts to change.
            seed: the seed of the user. The random numbers of the change depend on it, on the name of the perturbation
                and on the texts alone.

        Raises:
            ValueError: the perturbation changes an option and not texts, or its function returned no pair.
        """
        if self.change is None:
            raise ValueError(f"perturbation {self.name!r} changes no texts")
        if not self.supports_language(pair.language):
            return None
        # the unit separator, which texts do not have, keeps the joined parts apart
        key = "\x1f".join([str(seed), self.name, pair.question, *pair.references, pair.candidate])
        changed = self.change(pair, Random(key))
        if not isinstance(changed, TextPair | None):
            raise ValueError(f"perturbation {self.name!r}: change returned {type(changed).__name__}, no pair")
        return None if changed == pair else changed


def appending_change(texts: dict[str, str]) -> Change:
    """Return a change that appends a text to the candidate, in the language of the pair.

    White space at the end of the candidate is removed first. The change does not apply to a blank candidate.

    Args:
        texts: one text per language, by ISO 639-1 code, English among them. A text that begins with a blank is a
            sentence: if the candidate does not end as a sentence does, a full stop is inserted before the text.
    """

    def change(pair: TextPair, rng: Random) -> TextPair | None:
        candidate, text = pair.candidate.rstrip(), pair.text_in_language(texts)
        if not candidate:
            return None
        full_stop = "." if text.startswith(" ") and candidate[-1] not in _SENTENCE_ENDS else ""
        return pair.answered(candidate + full_stop + text)

    return change


def gold_quoting_change(texts: dict[str, str]) -> Change:
    """Return a change that replaces the candidate with a text that contains the gold answer, such as a denial of it.

    The gold answer is :attr:`TextPair.gold`, without full stops at its end. The change does not apply if that has no
    letter or digit, or is one of the words that are a yes or no themselves, such as "true" and "none".

    Args:
        texts: one text per language, by ISO 639-1 code, English among them; ``{}`` is replaced by the gold answer.
    """

    def change(pair: TextPair, rng: Random) -> TextPair | None:
        gold = pair.gold
        if not any(map(str.isalnum, gold)) or gold.lower().rstrip(".!") in _YES_NO:
            return None
        return pair.answered(pair.text_in_language(texts).replace("{}", gold.rstrip(".")))

    return change
