"""The tagger: every rule over a pair, in the order of the categories."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from assay.lexicon.wordnet import REMEDY
from assay.reports.categories.acronym import acronyms
from assay.reports.categories.coreference import coreferences
from assay.reports.categories.encoding import encodings
from assay.reports.categories.extras import PURPOSES, missing_package
from assay.reports.categories.languages import translations
from assay.reports.categories.lists import lists
from assay.reports.categories.meaning import meanings
from assay.reports.categories.negation import negations
from assay.reports.categories.persons import persons
from assay.reports.categories.places import places
from assay.reports.categories.question import questions
from assay.reports.categories.speech import PartsOfSpeech
from assay.reports.categories.suspicion import suspicions
from assay.reports.categories.temporal import quantities, times
from assay.reports.categories.terms import terms
from assay.reports.categories.texts import Pair, read
from assay.reports.categories.vocabulary import CATEGORIES, Tag
from assay.reports.categories.wordnet import words

__all__ = ["Tagger"]

_RULES: tuple[Callable[[Pair], Iterator[Tag]], ...] = (
    encodings, acronyms, quantities, times, translations, negations, coreferences, terms, persons, places, meanings,
    lists, questions,
)  # fmt: skip
_FIGURES = frozenset({"acronym", "numeric", "unit", "date and temporal"})
_ORDER = {name: place for place, name in enumerate(CATEGORIES)}


class Tagger:
    """Says why the two answers of a pair differ.

    Args:
        language: of the texts, such as ``en`` or ``de``; None where it is unknown (read as English).
        pipeline: what reads parts of speech: the folder or name of a spaCy pipeline, or one that is loaded; None for
            none. It is left unused where it is for another language.

    Raises:
        MissingExtraError: a pipeline is named and spaCy is not installed.
        InputError: the pipeline cannot be had.
    """

    def __init__(self, language: str | None, pipeline: str | Path | PartsOfSpeech | None = None) -> None:
        self.language = language or "en"
        self._given = PartsOfSpeech(pipeline) if isinstance(pipeline, str | Path) else pipeline
        self._speech = self._given if self._given is not None and self._given.language == self.language else None

    def read_ahead(self, texts: Iterable[str]) -> None:
        """Read the parts of speech of many texts in batches, for speed; the tags are the same without.

        Args:
            texts: what the next pairs are made of; those of the call before are forgotten.
        """
        if self._speech is not None:
            self._speech.read_ahead(texts)

    def missing(self) -> list[str]:
        """Return a line for each thing that is absent here: what is not tagged without it, and how to get it.

        A pipeline that is named has a line as well, since what it reads depends on its version.
        """
        lines = [
            f'{purpose}: pip install "assay[errors]" ({name})'
            for module, (name, purpose) in PURPOSES.items()
            if missing_package(module)
        ]
        if words() is None:
            lines.append(f"WordNet is absent, synonym, terms and kinds of things are not found: {REMEDY}")
        elif self.language != "en":
            lines.append(f"WordNet is English: synonym and kinds of things are not found in texts of {self.language!r}")
        if self._given is not None:
            unread = "" if self._speech is not None else f"; not used for texts of {self.language!r}"
            lines.append(f"parts of speech: {self._given.about}{unread}")
        return lines

    def tag(
        self,
        reference: str,
        candidate: str,
        question: str = "",
        *,
        label: float | None = None,
        scale: tuple[float, float] | None = None,
        score: float | None = None,
    ) -> tuple[Tag, ...]:
        """Return the categories of a pair, each once, what explains most first; none where no rule applies.

        Args:
            reference: the gold answer.
            candidate: the other answer.
            question: what they answer; empty where unknown.
            label: the human judgement; without it no rule suspects data or label.
            scale: lowest and highest possible label.
            score: what a metric gave, for the reasons.
        """
        reading = read if self._speech is None else self._speech.read
        pair = Pair(reading(reference), reading(candidate), reading(question), self.language)
        found: dict[str, Tag] = {}
        for rule in _RULES:
            for tag in rule(pair):
                found.setdefault(tag.category, tag)
        if not _FIGURES.isdisjoint(found):
            # what WordNet has as a word, too (11 and eleven, NASA and its long form) is said already
            found.pop("synonym", None)
        if not found and label is not None and scale is not None and scale[0] < scale[1]:
            found = {tag.category: tag for tag in suspicions(pair, label, scale, score)}
        return tuple(sorted(found.values(), key=lambda tag: _ORDER[tag.category]))
