"""The tagger, which applies every rule to a pair, and the reader of parts of speech for the rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from assay.analysis.categories.dates import tag_quantities, tag_times
from assay.analysis.categories.persons import tag_coreferences, tag_persons
from assay.analysis.categories.places import tag_places
from assay.analysis.categories.questions import expected_kind_of_answer, kind_of_answer, tag_lists, tag_questions
from assay.analysis.categories.texts import PURPOSES, WORD, Pair, Text, is_package_missing, parse_text
from assay.analysis.categories.vocabulary import CATEGORIES, Tag
from assay.analysis.categories.wording import tag_acronyms, tag_encodings, tag_negations, tag_translations
from assay.analysis.categories.wordnet import open_lexicon, tag_meanings, tag_terms
from assay.common.numbers import label_texts
from assay.exceptions import MissingExtraError, install_command
from assay.language.pipelines import describe_pipeline, load_pipeline
from assay.language.wordnet import REMEDY

if TYPE_CHECKING:
    from spacy.tokens import Doc

#: Components of a spaCy pipeline that no rule needs and that take most of the time.
_UNUSED_COMPONENTS = ("parser", "senter", "ner", "entity_linker", "lemmatizer", "trainable_lemmatizer", "textcat")
_BATCH_SIZE = 256


class PartsOfSpeech:
    """Reads texts with the part of speech of every word by a spaCy pipeline; the rules also work without it.

    Args:
        name: the folder of a spaCy pipeline, or the name of an installed pipeline package.

    Attributes:
        language: the language of the pipeline, such as ``en``.
        about: the name and version of the pipeline, and the version of spaCy.

    Raises:
        MissingExtraError: spaCy is not installed.
        InputError: there is no such pipeline, it cannot be loaded, or it has no tagger.
    """

    def __init__(self, name: str | Path) -> None:
        if is_package_missing("spacy"):
            raise MissingExtraError("spacy", "spacy")
        self._pipeline = load_pipeline(name, _UNUSED_COMPONENTS)
        self.language = str(self._pipeline.meta["lang"])
        self.about = describe_pipeline(self._pipeline)
        self._cached_texts: dict[str, Text] = {}

    def read_ahead(self, raws: Iterable[str]) -> None:
        """Read many texts in batches and cache them until the next call; texts already in the cache are not reread."""
        unique_raws = list(dict.fromkeys(raws))
        new_raws = [raw for raw in unique_raws if raw not in self._cached_texts]
        texts = self._cached_texts | dict(zip(new_raws, self._read_batch(new_raws), strict=True))
        self._cached_texts = {raw: texts[raw] for raw in unique_raws}

    def read(self, raw: str) -> Text:
        """Return a text with the parts of speech of its words, from the cache if :meth:`read_ahead` has read it."""
        return self._cached_texts.get(raw) or self._read_batch([raw])[0]

    def _read_batch(self, raws: Sequence[str]) -> list[Text]:
        """Return the texts with the parts of speech of their words, in the same order; the cache is not used."""
        texts = [parse_text(raw) for raw in raws]
        docs = self._pipeline.pipe((text.clean for text in texts), batch_size=_BATCH_SIZE)
        return [_add_parts_of_speech(text, doc) for text, doc in zip(texts, docs, strict=True)]


def _add_parts_of_speech(text: Text, doc: Doc) -> Text:
    """Return a text with the part of speech of every word, and with whether each is a plural.

    The pipeline splits words such as ``France's`` into several tokens, of which the last one counts; particles and
    punctuation are skipped. A word without a token has the part ``X`` and is no plural.

    Args:
        text: the text.
        doc: what the pipeline read of :attr:`Text.clean`.
    """
    parts_of_speech, plural = [], []
    tokens = [token for token in doc if token.pos_ not in ("PUNCT", "SYM", "SPACE", "PART")]
    index = 0
    for match in WORD.finditer(text.clean):
        while index < len(tokens) and tokens[index].idx + len(tokens[index]) <= match.start():
            index += 1
        last_token = None
        while index < len(tokens) and tokens[index].idx < match.end():
            last_token = tokens[index]
            index += 1
        # "X" is the universal tag for a word of no other part of speech
        parts_of_speech.append("X" if last_token is None else last_token.pos_)
        plural.append(last_token is not None and "Plur" in last_token.morph.get("Number"))
    return replace(text, parts=tuple(parts_of_speech), plural=tuple(plural))


def last_resort_tags(pair: Pair, label: float, scale: tuple[float, float], score: float | None) -> Iterator[Tag]:
    """Yield the tag of a pair that no rule explains, by how the label fits the texts: one of ``LAST_RESORTS``, or none.

    The same words with the lowest label are a wrong label. Without a common word, the highest label means a wrong gold
    label if only the candidate is of the kind that is asked for; else such a pair is unrelated, as it is with the
    lowest label. All other pairs get no tag.

    Args:
        pair: the texts.
        label: the human judgement.
        scale: the lowest and the highest label.
        score: the score of a metric, which the reason then mentions; None for none.
    """
    lowest, highest = label_texts(scale)
    score_text = "" if score is None else f", the metric {score:.3g}"
    judgement = f"people gave {label_texts([label, *scale])[0]} of {lowest} to {highest}{score_text}"
    is_lowest, is_highest = label <= scale[0], label >= scale[1]
    if pair.has_same_words:
        if is_lowest:
            yield Tag("wrong label", f"the texts have the same words, yet {judgement}")
    elif is_highest and not pair.shared_words:
        expected = expected_kind_of_answer(pair.question.clean)
        reference_kind, candidate_kind = (
            kind_of_answer(text, pair.question, pair.language) for text in (pair.reference, pair.candidate)
        )
        if expected and candidate_kind == expected and reference_kind != expected:
            yield Tag(
                "wrong gold label",
                f"the question asks for a {expected}, and only the candidate gives one; {judgement}",
            )
        else:
            yield Tag("unrelated", f"no word in common, and no other rule holds, yet {judgement}")
    elif is_lowest and not pair.shared_words:
        yield Tag("unrelated", f"no word in common, and no other rule holds; {judgement}")


#: Every rule. The order only matters if two rules find the same category: the reason of the first one is kept.
RULES: tuple[Callable[[Pair], Iterator[Tag]], ...] = (
    tag_encodings, tag_acronyms, tag_quantities, tag_times, tag_translations, tag_negations, tag_coreferences,
    tag_terms, tag_persons, tag_places, tag_meanings, tag_lists, tag_questions,
)  # fmt: skip
#: Categories that make "synonym" redundant: WordNet treats 11 and eleven, or NASA and its long form, as synonyms.
_FIGURES = frozenset({"acronym", "numeric", "unit", "date and temporal"})
_RANKS = {name: rank for rank, name in enumerate(CATEGORIES)}


class Tagger:
    """Tags the reasons why the two answers of a pair differ.

    Args:
        language: the language of the texts, such as ``en`` or ``de``; None if unknown (read as English).
        pipeline: the folder or name of a spaCy pipeline that reads parts of speech, or a loaded one; None for none. A
            pipeline for another language is ignored.

    Raises:
        MissingExtraError: a pipeline is named and spaCy is not installed.
        InputError: the pipeline is unavailable.
    """

    def __init__(self, language: str | None, pipeline: str | Path | PartsOfSpeech | None = None) -> None:
        self.language = language or "en"
        self._requested_speech = PartsOfSpeech(pipeline) if isinstance(pipeline, str | Path) else pipeline
        speech = self._requested_speech
        self._speech = speech if speech is not None and speech.language == self.language else None

    def read_ahead(self, texts: Iterable[str]) -> None:
        """Read the parts of speech of many texts in batches, for speed; the tags are the same without.

        Args:
            texts: the texts of the next pairs; they replace those of the previous call.
        """
        if self._speech is not None:
            self._speech.read_ahead(texts)

    def missing(self) -> list[str]:
        """Return lines on what is not tagged because packages or WordNet are missing, each with the command to install.

        A requested pipeline gets a line as well, since the tags depend on its version.
        """
        lines = []
        names_and_purposes = [PURPOSES[module] for module in PURPOSES if is_package_missing(module)]
        if names_and_purposes:
            names = ", ".join(name for name, _ in names_and_purposes)
            purposes = "; ".join(purpose for _, purpose in names_and_purposes)
            lines.append(f"{purposes}: {install_command('errors')} ({names})")
        if open_lexicon() is None:
            lines.append(f"WordNet is absent, synonym, terms and kinds of things are not found: {REMEDY}")
        elif self.language != "en":
            lines.append(f"WordNet is English: synonym and kinds of things are not found in texts of {self.language!r}")
        if self._requested_speech is not None:
            line = f"parts of speech: {self._requested_speech.about}"
            if self._speech is None:
                line += f"; not used for texts of {self.language!r}"
            lines.append(line)
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
        """Return the categories of a pair, each once, the one that explains most first; empty if no rule applies.

        A synonym is left out beside an acronym, a number, a unit or a time. Categories of last resort are tagged only
        without any other, and if label and scale are known.

        Args:
            reference: the gold answer.
            candidate: the other answer.
            question: the question that they answer; empty if unknown.
            label: the human judgement; None if unknown.
            scale: the lowest and the highest possible label; None if unknown.
            score: the score of a metric, for the reasons of last resort; None if there is none.

        Raises:
            UnavailableError: WordNet is installed, and NLTK refuses it because of its permissions.
        """
        read_text = parse_text if self._speech is None else self._speech.read
        pair = Pair(read_text(reference), read_text(candidate), read_text(question), self.language)
        tags: dict[str, Tag] = {}
        for rule in RULES:
            for tag in rule(pair):
                tags.setdefault(tag.category, tag)
        if not _FIGURES.isdisjoint(tags):
            tags.pop("synonym", None)
        if not tags and label is not None and scale is not None and scale[0] < scale[1]:
            tags = {tag.category: tag for tag in last_resort_tags(pair, label, scale, score)}
        return tuple(sorted(tags.values(), key=lambda tag: _RANKS[tag.category]))
