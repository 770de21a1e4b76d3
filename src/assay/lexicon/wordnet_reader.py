"""NLTK's WordNet reader with what METEOR needs of it. Imports NLTK, so import it only where it is used."""

from __future__ import annotations

import functools
import io
from dataclasses import dataclass
from typing import Any

from nltk.corpus.reader.wordnet import WordNetCorpusReader

# the names of the lexicographer files, by number: NLTK's reader needs them, and Debian leaves the file out
_LEXNAMES = """
    adj.all adj.pert adv.all noun.Tops noun.act noun.animal noun.artifact noun.attribute noun.body
    noun.cognition noun.communication noun.event noun.feeling noun.food noun.group noun.location
    noun.motive noun.object noun.person noun.phenomenon noun.plant noun.possession noun.process
    noun.quantity noun.relation noun.shape noun.state noun.substance noun.time verb.body verb.change
    verb.cognition verb.communication verb.competition verb.consumption verb.contact verb.creation
    verb.emotion verb.motion verb.perception verb.possession verb.social verb.stative verb.weather
    adj.ppl
"""
_PART_NUMBERS = {"noun": 1, "verb": 2, "adj": 3, "adv": 4}
_PARTS = ("n", "v", "a", "r")

Senses = frozenset[tuple[str, int]]


class EnglishReader(WordNetCorpusReader):  # type: ignore[misc]
    """NLTK's reader, for English alone.

    It has the file ``lexnames``, which is always the same and which some distributions leave out; it skips what serves
    other languages; and it finds the senses of a word in the index, without reading them.
    """

    # its files are opened as bytes
    _ENCODING = None

    def open(self, file: str) -> Any:
        """Open a file of the corpus.

        The standard library decodes it, many times faster than NLTK's streams.
        """
        return io.StringIO(_lexnames()) if file == "lexnames" else io.TextIOWrapper(super().open(file), "utf-8")

    def map_wn(self, version: str = "wordnet") -> None:
        """Build no map between versions: it serves other languages, and needs ``index.sense``."""

    def senses(self, word: str) -> Senses:
        """Return (part of speech, offset) of the synsets of *word* in any of its forms."""
        word = word.lower()
        senses: set[tuple[str, int]] = set()
        for part in _PARTS:
            for form in self._morphy(word, part):
                offsets = self._lemma_pos_offset_map.get(form, {}).get(part, ())
                senses.update((part, offset) for offset in offsets)
        return frozenset(senses)

    def members(self, word: str) -> Senses:
        """Return (part of speech, offset) of the synsets that have *word*, as it is, among their lemmas."""
        entry = self._lemma_pos_offset_map.get(word.lower(), {})
        return frozenset((part, offset) for part in _PARTS for offset in entry.get(part, ()))


def _lexnames() -> str:
    names = enumerate(_LEXNAMES.split())
    return "".join(f"{number:02d}\t{name}\t{_PART_NUMBERS[name.split('.')[0]]}\n" for number, name in names)


@dataclass(frozen=True, slots=True)
class _Word:
    """A lemma that has nothing but its name."""

    text: str

    def name(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class _AllSenses:
    """All synonyms of a word as the lemmas of one synset."""

    words: tuple[_Word, ...]

    def lemmas(self) -> tuple[_Word, ...]:
        return self.words


class Synonyms:
    """The synonyms of words, as METEOR reads them from WordNet; the last words are cached.

    METEOR takes the union of the lemma names of all synsets of a word, so that all senses may be one synset without a
    change of the score.

    Args:
        reader: of WordNet.
        size: the number of words that are cached (about a kilobyte each).
    """

    def __init__(self, reader: EnglishReader, size: int) -> None:
        self._reader = reader
        self.senses = functools.lru_cache(maxsize=size)(reader.senses)
        self.members = functools.lru_cache(maxsize=size)(reader.members)
        self.synsets = functools.lru_cache(maxsize=size)(self._synsets)

    def _synsets(self, word: str) -> tuple[_AllSenses]:
        names = {lemma.name() for synset in self._reader.synsets(word) for lemma in synset.lemmas()}
        return (_AllSenses(tuple(map(_Word, names))),)


@dataclass(frozen=True, slots=True)
class SynonymsWithin:
    """The WordNet of one pair: a word without a sense among *members* has no synonym that could match.

    Attributes:
        synonyms: of WordNet.
        members: the synsets that have a word of the other text.
    """

    synonyms: Synonyms
    members: Senses

    def synsets(self, word: str) -> tuple[_AllSenses, ...]:
        """Return all senses of *word*, or nothing where none can match, so that few are read from the disk."""
        if self.synonyms.senses(word).isdisjoint(self.members):
            return ()
        return self.synonyms.synsets(word)
