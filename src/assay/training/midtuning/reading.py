"""Sentences with their semantic forms, from datasets with AMR graphs, files of graphs, and files of frames."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.amr.files import check_block, read_graph_file
from assay.amr.graph import parse_graph
from assay.datasets.files import is_table_file
from assay.datasets.readers.delimited import check_encoding
from assay.errors import InputError
from assay.metrics.provenance import file_digest
from assay.training.data import Examples, Source, load_examples, text_key
from assay.training.midtuning.forms import Frame, SemanticForm, make_frame
from assay.training.midtuning.graph_forms import form_of_graph
from assay.training.midtuning.settings import FRAME_FILES

__all__ = ["Forms", "read_forms"]

_SHAPE = '{"sentence": TEXT, "frames": [{"predicate": TEXT, "roles": {"ARG0": TEXT}}]}'


@dataclass(frozen=True, eq=False)
class Forms:
    """Sentences with their forms, n of them; no sentence twice.

    Attributes:
        sentences: the texts.
        forms: of each sentence.
        sources: where they are from.
        counts: of sentences, by what became of them.
    """

    sentences: tuple[str, ...]
    forms: tuple[SemanticForm, ...]
    sources: tuple[Source, ...]
    counts: dict[str, int]

    def __len__(self) -> int:
        return len(self.sentences)


def read_forms(specs: Sequence[str], *, limit: int | None, held_out: set[str], columns: str | None = None) -> Forms:
    """Read sentences and forms, one source after another.

    Args:
        specs: ``.jsonl`` is a file of frames, ``{"sentence": ..., "frames": [{"predicate": "want-01", "roles": {"ARG0":
            "the boy"}}]}``; another file that is no table is one of graphs in Penman notation with ``# ::snt``; all
            else is a dataset with the graphs of both texts of its pairs.
        limit: only the first so many pairs, graphs or lines of each.
        held_out: keys of sentences that are left out, see :func:`~assay.training.data.text_key`.
        columns: see :func:`~assay.training.data.load_examples`.

    Raises:
        InputError: a source cannot be read or a part of it is wrong, with file and row; or fewer than four sentences
            with a form are left.
    """
    kept: dict[str, tuple[str, SemanticForm]] = {}
    sources: list[Source] = []
    counts = dict.fromkeys(
        ("sentences_read", "sentences_without_frame", "sentences_held_out", "sentences_more_than_once"), 0
    )
    for spec in specs:
        found, sentences = _open(spec, limit, columns)
        sources += found
        for sentence, form in sentences:
            key = text_key(sentence)
            counts["sentences_read"] += 1
            if form is None:
                counts["sentences_without_frame"] += 1
            elif key in held_out:
                counts["sentences_held_out"] += 1
            elif key in kept:
                counts["sentences_more_than_once"] += 1
            else:
                kept[key] = (sentence, form)
    if len(kept) < 4:
        told = ", ".join(f"{name.replace('_', ' ')} {number:,}" for name, number in counts.items())
        raise InputError(f"--forms: {len(kept)} sentences with a form are left, 4 are needed ({told})")
    return Forms(tuple(one for one, _ in kept.values()), tuple(one for _, one in kept.values()), tuple(sources), counts)


_Sentences = Iterator[tuple[str, SemanticForm | None]]


def _open(spec: str, limit: int | None, columns: str | None) -> tuple[Sequence[Source], _Sentences]:
    path = Path(spec)
    if path.suffix.lower() in FRAME_FILES:
        lines = _lines(path)[:limit]
        return [_source(path)], (_sentence_of(path, number, line) for number, line in lines)
    if path.is_file() and not is_table_file(path):
        return [_source(path)], _of_graph_file(path, limit)
    examples = load_examples([spec], limit=limit, graphs=True, columns=columns)
    return examples.sources, _of_dataset(examples)


def _source(path: Path) -> Source:
    return Source(str(path), path.name, "", "", None, "own data, no licence stated", file_digest(path))


def _of_dataset(examples: Examples) -> _Sentences:
    texts = zip(examples.references, examples.candidates, strict=True)
    graphs = zip(examples.reference_graphs, examples.candidate_graphs, strict=True)
    for pair, pairs_graphs in zip(texts, graphs, strict=True):
        for text, graph in zip(pair, pairs_graphs, strict=True):
            yield text, form_of_graph(parse_graph(graph))


def _of_graph_file(path: Path, limit: int | None) -> _Sentences:
    for block in read_graph_file(path)[:limit]:
        if not block.sentence:
            raise InputError(f"{block.where}: the graph has no sentence; write it above, after '# ::snt '")
        yield block.sentence, form_of_graph(check_block(block))


def _lines(path: Path) -> list[tuple[int, str]]:
    """Return the lines of a file that are not blank, with their numbers from 1."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        check_encoding(path)
        raise
    except OSError as error:
        raise InputError(f"{path}: cannot be read as a file of frames ({error.strerror})") from None
    # not splitlines: JSON may hold other separators of lines within its texts
    return [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]


def _sentence_of(path: Path, number: int, line: str) -> tuple[str, SemanticForm | None]:
    where = f"{path}, line {number}"
    try:
        record = json.loads(line, object_pairs_hook=lambda pairs: _object(pairs, where))
    except json.JSONDecodeError as error:
        raise InputError(f"{where}: is no JSON ({error.msg}, character {error.pos + 1})") from None
    if not isinstance(record, dict):
        raise InputError(f"{where}: expected an object such as {_SHAPE}")
    sentence, frames = _text(record, "sentence", where), record.get("frames")
    if not isinstance(frames, list):
        raise InputError(f"{where}: 'frames' must be a list, as in {_SHAPE}")
    made = tuple(_frame(frame, f"{where}, frame {place}") for place, frame in enumerate(frames, 1))
    return sentence, SemanticForm(made) if made else None


def _object(pairs: list[tuple[str, Any]], where: str) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{where}: the key {twice!r} stands twice in one object; JSON keeps one of them")
    return made


def _frame(frame: Any, where: str) -> Frame:
    if not isinstance(frame, dict):
        raise InputError(f"{where}: expected an object, as in {_SHAPE}")
    roles = frame.get("roles", {})
    if not isinstance(roles, dict):
        raise InputError(f"{where}: 'roles' must be an object of role and filler, as in {_SHAPE}")
    fillers = [(" ".join(role.split()), _text(roles, role, where)) for role in roles]
    if not all(role for role, _ in fillers):
        raise InputError(f"{where}: a role has no name")
    return make_frame(_text(frame, "predicate", where), fillers)


def _text(record: dict[str, Any], name: str, where: str) -> str:
    """Return a text of an object with single blanks between its words; it must not be empty."""
    value = record.get(name)
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{where}: {name!r} must be a text that is not empty")
    return " ".join(value.split())
