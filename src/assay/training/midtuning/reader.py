"""Sentences with their forms, read from datasets with AMR graphs, files of graphs, and files of frames."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.datasets.files import is_table_file
from assay.exceptions import InputError
from assay.language.amr import parse_block, parse_graph, read_graph_file
from assay.language.texts import text_key
from assay.metrics.provenance import file_digest
from assay.paths import user_path
from assay.training.data import Examples, Source, load_examples
from assay.training.midtuning.forms import SemanticForm
from assay.training.midtuning.frame_files import numbered_lines, parse_line
from assay.training.midtuning.graphs import form_of_graph
from assay.training.midtuning.settings import FRAME_SUFFIXES


@dataclass(frozen=True, eq=False)
class Forms:
    """n distinct sentences with their forms.

    Attributes:
        sentences: the texts.
        forms: the form of each sentence.
        sources: the datasets and files that they come from.
        counts: numbers of sentences by what became of them (read, without frame, held out, repeated).
    """

    sentences: tuple[str, ...]
    forms: tuple[SemanticForm, ...]
    sources: tuple[Source, ...]
    counts: dict[str, int]

    def __len__(self) -> int:
        return len(self.sentences)


def read_forms(specs: Sequence[str], *, limit: int | None, held_out: set[str], columns: str | None = None) -> Forms:
    """Return the sentences and forms of sources, one source after another; of a repeated sentence the first is kept.

    Sentences that differ only in case or punctuation count as the same. Those without a frame are left out.

    Args:
        specs: the sources. A ``.jsonl`` or ``.ndjson`` file holds frames, ``{"sentence": ..., "frames": [{"predicate":
            "want-01", "roles": {"ARG0": "the boy"}}]}``; a ``.txt`` file, or another file that is not a table, holds
            graphs in Penman notation with ``# ::snt``; everything else is a dataset with the graphs of both texts of
            its pairs.
        limit: the number of pairs, graphs or lines that are not blank, read from the start of each source; None for
            all.
        held_out: the keys of sentences to leave out, see :func:`~assay.language.texts.text_key`.
        columns: the meaning of the columns in the user's own tables, such as ``reference=text1,candidate=text2``; None
            if they have the usual names.

    Raises:
        InputError: a source cannot be read or is malformed (the message names file and row), or fewer than four
            sentences with a form are left.
        UnavailableError: no place has the files of a dataset.
    """
    kept: dict[str, tuple[str, SemanticForm]] = {}
    sources: list[Source] = []
    counts = dict.fromkeys(
        ("sentences_read", "sentences_without_frame", "sentences_held_out", "sentences_more_than_once"), 0
    )
    for spec in specs:
        spec_sources, sentences_with_forms = _open_source(spec, limit, columns)
        sources += spec_sources
        for sentence, form in sentences_with_forms:
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
        counts_text = ", ".join(f"{name.replace('_', ' ')} {number:,}" for name, number in counts.items())
        raise InputError(f"{len(kept)} sentences with a form are left, 4 are needed ({counts_text})", setting="forms")
    sentences, forms = zip(*kept.values(), strict=True)
    return Forms(sentences, forms, tuple(sources), counts)


#: Sentences with their forms; None for a sentence without a frame.
_SentencesWithForms = Iterator[tuple[str, SemanticForm | None]]


def _open_source(spec: str, limit: int | None, columns: str | None) -> tuple[Sequence[Source], _SentencesWithForms]:
    """Return the facts of a source, one for each dataset or file in it, and an iterator over its sentences and forms.

    Args:
        spec: the source, one of *specs* of :func:`read_forms`.
        limit: the number of pairs, graphs or lines to read from its start; None for all.
        columns: the meaning of the columns if it is a table of the user's own; None if they have the usual names.

    Raises:
        InputError: the source cannot be read; the iterator raises it for a malformed part.
        UnavailableError: no place has the files of the dataset.
    """
    path = user_path(spec)
    if path.suffix.lower() in FRAME_SUFFIXES:
        lines = numbered_lines(path)[:limit]
        return [_file_source(spec, path)], (parse_line(path, number, line) for number, line in lines)
    # corpora of graphs are texts; a table of that kind would have to be named otherwise
    if path.is_file() and (path.suffix.lower() == ".txt" or not is_table_file(path)):
        return [_file_source(spec, path)], _sentences_of_graph_file(path, limit)
    examples = load_examples([spec], limit=limit, graphs=True, columns=columns)
    return examples.sources, _sentences_of_dataset(examples)


def _file_source(spec: str, path: Path) -> Source:
    """Return the user's own file of forms, at a path for which the user gave *spec*, as a source of training data."""
    return Source(
        spec=spec,
        name=path.name,
        version="",
        split="",
        language=None,
        licence="own data, no licence stated",
        digest=file_digest(path),
    )


def _sentences_of_dataset(examples: Examples) -> _SentencesWithForms:
    """Yield both texts of each pair, the reference first, each with the form of its graph."""
    text_pairs = zip(examples.references, examples.candidates, strict=True)
    graph_pairs = zip(examples.reference_graphs, examples.candidate_graphs, strict=True)
    for texts, graphs in zip(text_pairs, graph_pairs, strict=True):
        for text, graph in zip(texts, graphs, strict=True):
            yield text, form_of_graph(parse_graph(graph))


def _sentences_of_graph_file(path: Path, limit: int | None) -> _SentencesWithForms:
    """Yield the sentence and the form of each graph; raises InputError if a graph is malformed or has no sentence."""
    for block in read_graph_file(path)[:limit]:
        if not block.sentence:
            raise InputError(f"{block.where}: the graph has no sentence; write it above, after '# ::snt '")
        yield block.sentence, form_of_graph(parse_block(block))
