"""How related the words of one kind are across two sentences: the cosine of their mean vectors.

A spaCy pipeline tags the words with their part of speech and their role. Source: Abdalla, Vishnubhotla and Mohammad,
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

from assay.lexicon.pipelines import describe_pipeline, load_pipeline
from assay.metrics.words.vectors import WordVectors

#: Components of pipelines that are not needed here.
_NEEDLESS = ("ner", "entity_linker", "lemmatizer", "trainable_lemmatizer", "textcat", "senter")
_BATCH = 256

Floats = NDArray[np.float64]
#: Parts of speech of words; PUNCT, SYM and X are none.
PARTS: Final = (
    "ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN", "SCONJ", "VERB",
)  # fmt: skip
#: Parts of speech taken together.
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
        text: as written.
        part: its part of speech, one of the 17 tags of Universal Dependencies.
        role: its dependency label; empty where the pipeline has no parser.
    """

    text: str
    part: str
    role: str = ""


class Reader(Protocol):
    """Reads the words of texts.

    Attributes:
        language: the language that it is made for, such as ``en``.
        about: its name and version.
        parses: whether words have roles.
    """

    language: str
    about: str
    parses: bool

    def read(self, texts: Sequence[str]) -> list[list[Word]]:
        """Return the words of each text."""
        ...


class SpacyReader:
    """Reads words with a spaCy pipeline.

    Args:
        name: folder of a pipeline, or the name of one that is installed as a package.

    Raises:
        MissingExtraError: spaCy is not installed.
        InputError: there is no such pipeline, it cannot be loaded, or it has no tagger.
    """

    def __init__(self, name: str | Path) -> None:
        self._pipeline = load_pipeline(name, _NEEDLESS)
        self.parses = bool(self._pipeline("Dogs bark.").has_annotation("DEP"))
        self.language = str(self._pipeline.meta["lang"])
        self.about = describe_pipeline(self._pipeline)

    def read(self, texts: Sequence[str]) -> list[list[Word]]:
        """Return the words of each text; equal texts are read once."""
        distinct = list(dict.fromkeys(texts))
        docs = self._pipeline.pipe(distinct, batch_size=_BATCH)
        words_of = {}
        for text, doc in zip(distinct, docs, strict=True):
            words_of[text] = [Word(token.text, token.pos_, token.dep_) for token in doc if not token.is_space]
        return [words_of[text] for text in texts]


@dataclass(frozen=True, eq=False)
class Feature:
    """One kind of words in n pairs.

    Attributes:
        question: Q3a for a part of speech, Q3b for a group of them, Q4 for a role.
        name: of the kind.
        scores: cosine of the mean vectors, in [-1, 1], shape (n,); NaN where a sentence has no such word with a vector.
        present: pairs both of whose sentences have such a word, with a vector or without, shape (n,).
    """

    question: str
    name: str
    scores: Floats
    present: NDArray[np.bool_]


def related_words(
    first: Sequence[Sequence[Word]], second: Sequence[Sequence[Word]], vectors: WordVectors, *, roles: bool
) -> list[Feature]:
    """Return the features of all kinds of words, each word counted as often as it occurs.

    Args:
        first, second: words of both sentences of n pairs.
        vectors: looked up by a word as written, then in lower case.
        roles: whether words have roles.
    """
    sentences = [*first, *second]
    words = [word for sentence in sentences for word in sentence]
    sentence_of = np.repeat(np.arange(len(sentences)), [len(sentence) for sentence in sentences])
    known = vectors.find([word.text for word in words])
    rows = np.array([known[word.text] for word in words], dtype=np.intp)
    features = []
    n = len(first)
    for question, name, belongs in _kinds(roles):
        chosen = np.array([belongs(word) for word in words], dtype=bool)
        present = np.bincount(sentence_of[chosen], minlength=len(sentences)) > 0
        means = _means(vectors, rows[chosen], sentence_of[chosen], len(sentences))
        features.append(Feature(question, name, _cosines(means[:n], means[n:]), present[:n] & present[n:]))
    return features


def _kinds(roles: bool) -> Iterator[tuple[str, str, Callable[[Word], bool]]]:
    """Yield the question of the paper, the name of a kind of words, and the test of a word for it."""
    for part in PARTS:
        yield "Q3a", part, partial(_is_one_of, (part,))
    for name, parts in GROUPS.items():
        yield "Q3b", name, partial(_is_one_of, parts)
    if roles:
        yield "Q4", "subject", lambda word: word.role in SUBJECTS
        # the label of an indirect object is also that of the preposition before one
        yield "Q4", "object", lambda word: word.role in OBJECTS and word.part != "ADP"


def _is_one_of(parts: tuple[str, ...], word: Word) -> bool:
    return word.part in parts


def _means(vectors: WordVectors, rows: NDArray[np.intp], sentence_of: NDArray[np.intp], sentences: int) -> Floats:
    """Return the mean vector of the known words of each sentence, NaN where there is none."""
    from scipy.sparse import csr_array

    known = rows >= 0
    distinct, columns = np.unique(rows[known], return_inverse=True)
    counts = csr_array((np.ones(len(columns)), (sentence_of[known], columns)), shape=(sentences, len(distinct)))
    # sums of single-precision numbers are exact in double: the same words twice as often give the same mean
    with np.errstate(invalid="ignore"):
        means: Floats = (counts @ vectors.rows(distinct).astype(np.float64)) / np.asarray(counts.sum(axis=1))[:, None]
    return means


def _cosines(first: Floats, second: Floats) -> Floats:
    """Return the cosine of each pair of vectors; NaN where a vector is zero or has no numbers."""
    with np.errstate(invalid="ignore"):
        lengths = np.sqrt((first**2).sum(axis=1) * (second**2).sum(axis=1))
        cosines: Floats = np.clip((first * second).sum(axis=1) / lengths, -1, 1)
    return cosines
