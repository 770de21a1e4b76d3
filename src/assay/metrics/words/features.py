"""Relatedness of two sentences by kind of word: the cosine of the mean vectors of the words of that kind.

A spaCy pipeline tags words with part of speech and syntactic role. Source: Abdalla, Vishnubhotla and Mohammad,
What Makes Sentences Semantically Related? (2023), section 5.1 and table 4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from assay.language.pipelines import describe_pipeline, load_pipeline
from assay.metrics.words.triples import ParsedToken, find_triple_words
from assay.metrics.words.vectors import WordVectors

#: Components of pipelines that are not needed here.
_EXCLUDED_COMPONENTS = ("ner", "entity_linker", "lemmatizer", "trainable_lemmatizer", "textcat", "senter")
_TEXTS_PER_BATCH = 256

Floats = NDArray[np.float64]
#: Parts of speech that count as kinds of words; PUNCT, SYM and X do not.
PARTS: Final = (
    "ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN", "SCONJ", "VERB",
)  # fmt: skip
#: Groups of parts of speech.
GROUPS: Final = {
    "noun group": ("NOUN", "PRON", "PROPN"),
    "verb group": ("VERB", "AUX"),
    "adjective group": ("ADJ", "ADP", "ADV"),
}
#: Dependency labels of subjects and objects: those of spaCy's English pipelines, and those of Universal Dependencies.
SUBJECTS: Final = ("nsubj", "nsubjpass", "csubj", "csubjpass", "nsubj:pass", "csubj:pass")
OBJECTS: Final = ("dobj", "dative", "obj", "iobj")


@dataclass(frozen=True)
class Word:
    """A token of a text.

    Attributes:
        text: the token as written.
        part_of_speech: the part of speech, one of the 17 tags of Universal Dependencies.
        role: the dependency label; empty if the pipeline has no parser.
        in_subject, in_object: whether the token is in the subject, or in the object, of a complete triple of subject,
            verb and object, see :mod:`assay.metrics.words.triples`.
    """

    text: str
    part_of_speech: str
    role: str = ""
    in_subject: bool = False
    in_object: bool = False


class Reader(Protocol):
    """A tagger that splits texts into words.

    Attributes:
        language: the language of the tagger, such as ``en``.
        about: the name and version of the tagger.
        parses: whether its words have roles.
    """

    language: str
    about: str
    parses: bool

    def read(self, texts: Sequence[str]) -> list[list[Word]]:
        """Return the words of each text, tagged, in the order of the texts; white space is not a word."""
        ...


class SpacyReader:
    """A :class:`Reader` that tags words with a spaCy pipeline.

    Args:
        name: the folder of a pipeline, or the name of one that is installed as a package.

    Raises:
        MissingExtraError: spaCy is not installed.
        InputError: the pipeline does not exist, cannot be loaded, or has no tagger.
    """

    def __init__(self, name: str | Path) -> None:
        self._pipeline = load_pipeline(name, _EXCLUDED_COMPONENTS)
        # any sentence shows whether the pipeline has a parser
        self.parses = bool(self._pipeline("Dogs bark.").has_annotation("DEP"))
        self.language = str(self._pipeline.meta["lang"])
        self.about = describe_pipeline(self._pipeline)

    def read(self, texts: Sequence[str]) -> list[list[Word]]:
        """Return the words of each text, in the order of the texts; equal texts are tagged once."""
        distinct = list(dict.fromkeys(texts))
        docs = self._pipeline.pipe(distinct, batch_size=_TEXTS_PER_BATCH)
        words_by_text = {}
        for text, doc in zip(distinct, docs, strict=True):
            tokens = [ParsedToken(token.text, token.pos_, token.dep_, token.head.i) for token in doc]
            in_triples = find_triple_words(tokens)
            words_by_text[text] = [
                Word(token.text, token.part_of_speech, token.role, i in in_triples.subjects, i in in_triples.objects)
                for i, token in enumerate(tokens)
                if not doc[i].is_space
            ]
        return [words_by_text[text] for text in texts]


@dataclass(frozen=True, eq=False)
class Feature:
    """The scores of n pairs by one kind of word.

    Attributes:
        question: the research question of the paper: Q3a for a part of speech, Q3b for a group of them, Q4 for a role.
        name: the name of the kind.
        scores: the cosine of the mean vectors, in [-1, 1], shape (n,); NaN if a sentence has no such word with vector,
            or its mean is zero.
        present: whether both sentences of a pair have such a word, with a vector or without, shape (n,).
    """

    question: str
    name: str
    scores: Floats
    present: NDArray[np.bool_]


def word_kind_features(
    first: Sequence[Sequence[Word]], second: Sequence[Sequence[Word]], vectors: WordVectors, *, roles: bool
) -> list[Feature]:
    """Return the scores of n pairs by each kind of word, one feature per kind; repeated words count repeatedly.

    Args:
        first, second: the words of the first and of the second sentence of n pairs.
        vectors: the word vectors; a word is looked up as written, then in lower case.
        roles: whether words have roles; without, there are no features of Q4.
    """
    sentences = [*first, *second]
    words = [word for sentence in sentences for word in sentence]
    sentence_of = np.repeat(np.arange(len(sentences)), [len(sentence) for sentence in sentences])
    row_of = vectors.rows_by_word([word.text for word in words])
    rows = np.array([row_of[word.text] for word in words], dtype=np.intp)
    features = []
    pair_count = len(first)
    for question, name, is_of_kind in _kinds_of_words(roles):
        is_selected = np.array([is_of_kind(word) for word in words], dtype=bool)
        has_word = np.bincount(sentence_of[is_selected], minlength=len(sentences)) > 0
        means = _mean_vectors(vectors, rows[is_selected], sentence_of[is_selected], len(sentences))
        features.append(
            Feature(
                question,
                name,
                _row_cosines(means[:pair_count], means[pair_count:]),
                has_word[:pair_count] & has_word[pair_count:],
            )
        )
    return features


def _kinds_of_words(roles: bool) -> Iterator[tuple[str, str, Callable[[Word], bool]]]:
    """Yield each kind of word: the question of the paper, the name, and the function that tells if a word is of it.

    Args:
        roles: whether words have roles; without, there are no subjects and objects.
    """
    for part in PARTS:
        yield "Q3a", part, partial(_has_any_part, (part,))
    for name, parts in GROUPS.items():
        yield "Q3b", name, partial(_has_any_part, parts)
    if roles:
        yield "Q4", "subject", lambda word: word.role in SUBJECTS
        # "dative" labels an indirect object, and also the preposition of one ("to her")
        yield "Q4", "object", lambda word: word.role in OBJECTS and word.part_of_speech != "ADP"
        yield "Q4", "subject of a triple", lambda word: word.in_subject
        yield "Q4", "object of a triple", lambda word: word.in_object


def _has_any_part(parts: tuple[str, ...], word: Word) -> bool:
    return word.part_of_speech in parts


def _mean_vectors(
    vectors: WordVectors, rows: NDArray[np.intp], sentence_of: NDArray[np.intp], sentence_count: int
) -> Floats:
    """Return the mean vector of the known words of each sentence, shape (sentence_count, dimensions).

    The row of a sentence without a known word is NaN.

    Args:
        vectors: the word vectors.
        rows: the row of each of k words in the table, -1 if unknown, shape (k,).
        sentence_of: the index of the sentence of each word, shape (k,).
        sentence_count: the number of sentences.
    """
    from scipy.sparse import csr_array

    is_known = rows >= 0
    distinct, columns = np.unique(rows[is_known], return_inverse=True)
    sentences = sentence_of[is_known]
    # the number of times that each sentence has each known word
    counts = csr_array((np.ones(len(columns)), (sentences, columns)), shape=(sentence_count, len(distinct)))
    word_counts = np.bincount(sentences, minlength=sentence_count)[:, None]
    # double precision has 29 more bits than float32, so that sums of numbers of similar magnitude are exact: repeating
    # all words then leaves the mean unchanged
    with np.errstate(invalid="ignore"):  # 0 / 0 for a sentence without a known word
        means: Floats = (counts @ vectors.vectors_at(distinct).astype(np.float64)) / word_counts
    return means


def _row_cosines(first: Floats, second: Floats) -> Floats:
    """Return the cosine of each of n pairs of rows, in [-1, 1], shape (n,); NaN if a vector is zero or has NaN."""
    with np.errstate(invalid="ignore"):
        lengths = np.sqrt((first**2).sum(axis=1) * (second**2).sum(axis=1))
        cosines: Floats = np.clip((first * second).sum(axis=1) / lengths, -1, 1)
    return cosines
