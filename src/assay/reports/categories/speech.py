"""Parts of speech, as a spaCy pipeline that the user names reads them. Optional: the rules do without."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import MissingExtraError
from assay.lexicon.pipelines import describe_pipeline, load_pipeline
from assay.reports.categories.extras import missing_package
from assay.reports.categories.texts import WORD, Text, read

if TYPE_CHECKING:
    from spacy.tokens import Doc

__all__ = ["PartsOfSpeech"]

#: What pipelines do beside and nobody asks here: most of their time.
_NEEDLESS = ("parser", "senter", "ner", "entity_linker", "lemmatizer", "trainable_lemmatizer", "textcat")
_BATCH = 256


class PartsOfSpeech:
    """Reads texts with the part of speech of every word.

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
        found = dict(zip(new, self._read(new), strict=True))
        self._ahead = {raw: found.get(raw) or self._ahead[raw] for raw in wanted}

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
