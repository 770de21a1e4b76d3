"""The tagger: applies every rule to a pair; and what reads parts of speech for the rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import MissingExtraError, install_extra
from assay.lexicon.pipelines import describe_pipeline, load_pipeline
from assay.lexicon.wordnet import REMEDY
from assay.reports.categories.dates import quantities, times
from assay.reports.categories.persons import coreferences, persons
from assay.reports.categories.places import places
from assay.reports.categories.questions import expected, kind_of_answer, lists, questions
from assay.reports.categories.texts import PURPOSES, WORD, Pair, Text, missing_package, read
from assay.reports.categories.vocabulary import CATEGORIES, Tag
from assay.reports.categories.wording import acronyms, encodings, negations, translations
from assay.reports.categories.wordnet import meanings, terms, words

if TYPE_CHECKING:
    from spacy.tokens import Doc

#: Parts of a pipeline that no rule needs, and that take most of its time.
_NEEDLESS = ("parser", "senter", "ner", "entity_linker", "lemmatizer", "trainable_lemmatizer", "textcat")
_BATCH = 256


class PartsOfSpeech:
    """Reads texts with the part of speech of every word, by a spaCy pipeline; optional, the rules work without.

    Args:
        name: folder of a spaCy pipeline, or the name of one that is installed as a package.

    Attributes:
        language: which the pipeline is for, such as ``en``.
        about: its name and version, and spaCy's.

    Raises:
        MissingExtraError: spaCy is not installed.
        InputError: there is no such pipeline, it cannot be loaded, or it has no tagger.
    """

    def __init__(self, name: str | Path) -> None:
        if missing_package("spacy"):
            raise MissingExtraError("spacy", "spacy")
        self._pipeline = load_pipeline(name, _NEEDLESS)
        self.language = str(self._pipeline.meta["lang"])
        self.about = describe_pipeline(self._pipeline)
        self._ahead: dict[str, Text] = {}

    def read_ahead(self, raws: Iterable[str]) -> None:
        """Read many texts in batches and keep them until the next call."""
        wanted = list(dict.fromkeys(raws))
        new = [raw for raw in wanted if raw not in self._ahead]
        texts = self._ahead | dict(zip(new, self._read(new), strict=True))
        self._ahead = {raw: texts[raw] for raw in wanted}

    def read(self, raw: str) -> Text:
        """Return a text with the parts of speech of its words."""
        return self._ahead.get(raw) or self._read([raw])[0]

    def _read(self, raws: Sequence[str]) -> list[Text]:
        texts = [read(raw) for raw in raws]
        docs = self._pipeline.pipe((text.clean for text in texts), batch_size=_BATCH)
        return [_with_parts(text, doc) for text, doc in zip(texts, docs, strict=True)]


def _with_parts(text: Text, doc: Doc) -> Text:
    """Give every word the part of speech of its last token that is one: the pipeline cuts ``France's`` in two."""
    parts, plural, at = [], [], 0
    tokens = [token for token in doc if token.pos_ not in ("PUNCT", "SYM", "SPACE", "PART")]
    for match in WORD.finditer(text.clean):
        while at < len(tokens) and tokens[at].idx + len(tokens[at]) <= match.start():
            at += 1
        last = None
        while at < len(tokens) and tokens[at].idx < match.end():
            last, at = tokens[at], at + 1
        parts.append(last.pos_ if last is not None else "X")
        plural.append(last is not None and "Plur" in last.morph.get("Number"))
    return replace(text, parts=tuple(parts), plural=tuple(plural))


def suspicions(pair: Pair, label: float, scale: tuple[float, float], score: float | None) -> Iterator[Tag]:
    """Tag what the label makes suspicious: the last resort, for a pair that no other rule explains.

    Args:
        pair: the texts.
        label: the human judgement.
        scale: lowest and highest label.
        score: what a metric gave, or None.
    """
    given = f"people gave {label:g} of {scale[0]:g} to {scale[1]:g}"
    if score is not None:
        given += f", the metric {score:.3g}"
    low, high = label <= scale[0], label >= scale[1]
    if pair.same:
        if low:
            yield Tag("wrong label", f"the texts have the same words, yet {given}")
    elif high and not pair.shared:
        wanted = expected(pair.question.clean)
        kinds = [kind_of_answer(text, pair.question, pair.language) for text, _ in pair.sides]
        if wanted and kinds[1] == wanted != kinds[0]:
            yield Tag(
                "wrong gold label", f"the question asks for a {wanted}, and only the candidate gives one; {given}"
            )
        else:
            yield Tag("unrelated", f"no word in common, and no other rule holds, yet {given}")
    elif low and not pair.shared:
        yield Tag("unrelated", f"no word in common, and no other rule holds; {given}")


#: Every rule. Their order decides nothing but the reason where two rules find one category: the first one's stays.
RULES: tuple[Callable[[Pair], Iterator[Tag]], ...] = (
    encodings, acronyms, quantities, times, translations, negations, coreferences, terms, persons, places, meanings,
    lists, questions,
)  # fmt: skip
#: Beside these, "synonym" says nothing new: WordNet has 11 and eleven, or NASA and its long form, as one word.
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
        InputError: the pipeline is unavailable.
    """

    def __init__(self, language: str | None, pipeline: str | Path | PartsOfSpeech | None = None) -> None:
        self.language = language or "en"
        self._named = PartsOfSpeech(pipeline) if isinstance(pipeline, str | Path) else pipeline
        self._speech = self._named if self._named is not None and self._named.language == self.language else None

    def read_ahead(self, texts: Iterable[str]) -> None:
        """Read the parts of speech of many texts in batches, for speed; the tags are the same without.

        Args:
            texts: what the next pairs are made of; those of the call before are forgotten.
        """
        if self._speech is not None:
            self._speech.read_ahead(texts)

    def missing(self) -> list[str]:
        """Return what is not tagged for want of packages or WordNet, a line for each command that installs them.

        A pipeline that is named has a line as well, since what it reads depends on its version.
        """
        lines = []
        absent = [PURPOSES[module] for module in PURPOSES if missing_package(module)]
        if absent:
            names = ", ".join(name for name, _ in absent)
            purposes = "; ".join(purpose for _, purpose in absent)
            lines.append(f"{purposes}: {install_extra('errors')} ({names})")
        if words() is None:
            lines.append(f"WordNet is absent, synonym, terms and kinds of things are not found: {REMEDY}")
        elif self.language != "en":
            lines.append(f"WordNet is English: synonym and kinds of things are not found in texts of {self.language!r}")
        if self._named is not None:
            unread = "" if self._speech is not None else f"; not used for texts of {self.language!r}"
            lines.append(f"parts of speech: {self._named.about}{unread}")
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
        tags: dict[str, Tag] = {}
        for rule in RULES:
            for tag in rule(pair):
                tags.setdefault(tag.category, tag)
        if not _FIGURES.isdisjoint(tags):
            tags.pop("synonym", None)
        if not tags and label is not None and scale is not None and scale[0] < scale[1]:
            tags = {tag.category: tag for tag in suspicions(pair, label, scale, score)}
        return tuple(sorted(tags.values(), key=lambda tag: _ORDER[tag.category]))
