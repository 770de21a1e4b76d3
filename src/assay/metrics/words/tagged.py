"""Words with their part of speech and their role in the sentence, as a spaCy pipeline reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from assay.lexicon.pipelines import describe_pipeline, load_pipeline

__all__ = ["Reader", "SpacyReader", "Word"]

#: What pipelines do beside and nobody asks here.
_NEEDLESS = ("ner", "entity_linker", "lemmatizer", "trainable_lemmatizer", "textcat", "senter")
_BATCH = 256


@dataclass(frozen=True)
class Word:
    """A token of a text.

    Attributes:
        text: as it stands there.
        part: its part of speech, one of the 17 tags of Universal Dependencies.
        role: its dependency label; empty where nobody parsed the text.
    """

    text: str
    part: str
    role: str = ""


class Reader(Protocol):
    """Reads the words of texts.

    Attributes:
        language: which it is for, such as ``en``.
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
        """Return the words of each text; a text that comes again is read once."""
        distinct = list(dict.fromkeys(texts))
        docs = self._pipeline.pipe(distinct, batch_size=_BATCH)
        found = {
            text: [Word(token.text, token.pos_, token.dep_) for token in doc if not token.is_space]
            for text, doc in zip(distinct, docs, strict=True)
        }
        return [found[text] for text in texts]
