"""NLTK's WordNet reader, reduced to what METEOR needs. It imports NLTK, so import this module only where it is used."""

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


class EnglishReader(WordNetCorpusReader):  # type: ignore[misc]  # NLTK has no types
    """NLTK's reader, for English only.

    It contains the file ``lexnames``, which never changes and which some distributions omit. It skips the parts for
    other languages, and finds the senses of a word in the index without reading the synsets.
    """

    # no encoding, so that NLTK opens files as bytes, see open()
    _ENCODING = None

    def open(self, file: str) -> Any:
        """Return a text stream of a file of the corpus; that of ``lexnames`` comes from this module.

        The standard library decodes the others, many times faster than NLTK's streams do.
        """
        if file == "lexnames":
            return io.StringIO(_lexnames_content())
        return io.TextIOWrapper(super().open(file), "utf-8")

    def map_wn(self, version: str = "wordnet") -> None:
        """Do nothing: the map between versions is for other languages, and needs the file ``index.sense``."""

    def senses(self, word: str) -> Senses:
        """Return the part of speech and the offset of each synset of *word* or of one of its base forms.

        Case does not matter. The result is empty for a word that WordNet does not have.
        """
        word = word.lower()
        senses: set[tuple[str, int]] = set()
        for part_of_speech in _PARTS:
            for form in self._morphy(word, part_of_speech):
                offsets = self._lemma_pos_offset_map.get(form, {}).get(part_of_speech, ())
                senses.update((part_of_speech, offset) for offset in offsets)
        return frozenset(senses)

    def members(self, word: str) -> Senses:
        """Return the part of speech and the offset of each synset with *word* itself, in lower case, among its lemmas.

        Unlike :meth:`senses` it does not look for base forms.
        """
        entry = self._lemma_pos_offset_map.get(word.lower(), {})
        return frozenset(
            (part_of_speech, offset) for part_of_speech in _PARTS for offset in entry.get(part_of_speech, ())
        )


def _lexnames_content() -> str:
    """Return the content of the file ``lexnames``: a line of number, name and number of the part of speech per name."""
    names = enumerate(_LEXNAMES.split())
    return "".join(f"{number:02d}\t{name}\t{_PART_NUMBERS[name.split('.')[0]]}\n" for number, name in names)


@dataclass(frozen=True, slots=True)
class _Word:
    """A stand-in for NLTK's lemma that has only a name."""

    text: str

    def name(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class _AllSenses:
    """A stand-in for NLTK's synset whose lemmas are all synonyms of a word."""

    words: tuple[_Word, ...]

    def lemmas(self) -> tuple[_Word, ...]:
        return self.words


class Synonyms:
    """The synonyms of words, in the form that METEOR reads; the most recently used words are cached.

    METEOR uses the union of the lemma names of all synsets of a word, so that merging them into one synset leaves the
    score unchanged.

    Args:
        reader: the reader of WordNet.
        cache_size: the number of words to cache (about a kilobyte each).

    Attributes:
        senses, members: :meth:`EnglishReader.senses` and :meth:`EnglishReader.members`, cached.
        synsets: a function that returns all senses of a word as one synset, cached.
    """

    def __init__(self, reader: EnglishReader, cache_size: int) -> None:
        self._reader = reader
        self.senses = functools.lru_cache(maxsize=cache_size)(reader.senses)
        self.members = functools.lru_cache(maxsize=cache_size)(reader.members)
        self.synsets = functools.lru_cache(maxsize=cache_size)(self._synsets)

    def _synsets(self, word: str) -> tuple[_AllSenses]:
        """Return one synset with the lemma names of all synsets of a word, computed without the cache."""
        names = {lemma.name() for synset in self._reader.synsets(word) for lemma in synset.lemmas()}
        return (_AllSenses(tuple(map(_Word, names))),)


@dataclass(frozen=True, slots=True)
class SynonymsWithin:
    """WordNet restricted to one pair, in the form that METEOR reads.

    A word without a sense among *members* has no synonym that could match, and so no synset.

    Attributes:
        synonyms: the synonyms of WordNet.
        members: the synsets that have a word of the other text among their lemmas.
    """

    synonyms: Synonyms
    members: Senses

    def synsets(self, word: str) -> tuple[_AllSenses, ...]:
        """Return all senses of *word* as one synset; no synset if none of them can match a word of the other text.

        Such a check keeps most synsets from being read from disk.
        """
        if self.synonyms.senses(word).isdisjoint(self.members):
            return ()
        return self.synonyms.synsets(word)
