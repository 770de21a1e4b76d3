"""BAMBOO: pairs of sentences with their AMR graphs and human similarity, and pairs in which roles are confused."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.datasets.graphs import read_valid_graphs
from assay.datasets.readers.base import FILE, TEXT, ReaderResult, number, pairs_of, takes
from assay.datasets.readers.stsb import genre_of
from assay.exceptions import InputError
from assay.language.amr import GraphBlock

#: The indices of the columns with the two sentences, by corpus.
_SENTENCE_COLUMNS = {"sts": (5, 6), "sick": (1, 2), "para": (3, 4)}
#: The index of the column with the entailment label in the texts of SICK.
_SICK_ENTAILMENT_COLUMN = 4


@takes(corpus=TEXT, reference=FILE, candidate=FILE, label=FILE, texts=FILE)
def read_bamboo(files: Mapping[str, Path], options: Mapping[str, Any]) -> ReaderResult:
    """Return the pairs of sentences of one corpus of BAMBOO, with labels in [0, 1] and AMR graphs.

    In STS the genre is the subset; in SICK the entailment label is the column ``entailment``.

    Options: ``corpus`` (``sts``, ``sick`` or ``para``), and the names of the files: ``reference`` and ``candidate``
    (graphs), ``label`` and ``texts``. The files of graphs and labels end with a row that belongs to no pair. In SICK
    and PARA they also begin with such a row, which was made of the header of the texts.

    Raises:
        InputError: files differ in their numbers of rows, a label is not a number, or a graph is broken or belongs to
            another sentence.
    """
    corpus = str(options["corpus"])
    texts_file, labels_file = files[options["texts"]], files[options["label"]]
    # the texts of SICK and PARA have a header, for which the other files have a label and graphs as well
    header_count = 0 if corpus == "sts" else 1
    # without the last row, which belongs to no pair
    pair_rows = slice(header_count, -1)
    lines = [line for line in texts_file.read_text(encoding="utf-8-sig").split("\n") if line]
    rows = [line.split("\t") for line in lines[header_count:]]
    scores = labels_file.read_text(encoding="utf-8").split()
    _check_row_count(labels_file, len(scores), header_count + len(rows) + 1, texts_file)
    columns: dict[str, Any] = {"pair_id": [str(row_number) for row_number in range(1, len(rows) + 1)]}
    for side, sentence_column in zip(("reference", "candidate"), _SENTENCE_COLUMNS[corpus], strict=True):
        sentences = [row[sentence_column].strip() for row in rows]
        columns[side] = sentences
        columns[f"{side}_graph"] = _read_graphs_of_side(files[options[side]], sentences, pair_rows, texts_file)
    numbered_scores = enumerate(scores[pair_rows], header_count + 1)
    columns["label"] = [number(labels_file, row_number, "label", score) for row_number, score in numbered_scores]
    if corpus == "sts":
        columns["subset"] = [genre_of(row[0]) for row in rows]
    elif corpus == "sick":
        columns["entailment"] = [row[_SICK_ENTAILMENT_COLUMN].strip() for row in rows]
    return ReaderResult(pairs_of(columns))


def _read_graphs_of_side(path: Path, sentences: list[str], pair_rows: slice, texts_file: Path) -> list[str]:
    """Return the AMR graph of each sentence of one side.

    Args:
        path: the file of graphs.
        sentences: the sentences of that side.
        pair_rows: the rows of the file that belong to pairs.
        texts_file: the file of the sentences, for messages.

    Raises:
        InputError: a graph is broken or belongs to another sentence, or the number of graphs is wrong.
    """
    blocks = read_valid_graphs([path])
    _check_row_count(path, len(blocks), pair_rows.start + len(sentences) + 1, texts_file)
    _check_sentences(sentences, blocks[pair_rows])
    return [block.text for block in blocks[pair_rows]]


def _check_row_count(path: Path, row_count: int, expected: int, texts_file: Path) -> None:
    if row_count != expected:
        raise InputError(f"{path}: has {row_count} rows; expected {expected}, for those of {texts_file}")


def _check_sentences(sentences: list[str], blocks: list[GraphBlock]) -> None:
    """Raise InputError if a graph does not belong to the sentence in its row."""
    for sentence, block in zip(sentences, blocks, strict=True):
        if block.sentence != sentence:
            raise InputError(f"{block.where}: is the graph of {block.sentence!r}; expected {sentence!r}")


@takes(reference=FILE, candidate=FILE)
def read_bamboo_role(files: Mapping[str, Path], options: Mapping[str, Any]) -> ReaderResult:
    """Return the pairs of graphs that test semantic roles, alternately a foil with exchanged roles and a paraphrase.

    Options: the files ``reference`` and ``candidate``. The label is 0 for a foil and 1 for a paraphrase. A foil and the
    paraphrase after it form a group, numbered from 1. There are no sentences, so the texts are empty.

    Raises:
        InputError: a graph cannot be read, the files differ in length, or the number of graphs is odd.
    """
    blocks = {side: read_valid_graphs([files[options[side]]]) for side in ("reference", "candidate")}
    pair_count = len(blocks["reference"])
    if pair_count % 2 or pair_count != len(blocks["candidate"]):
        raise InputError(
            f"{files[options['reference']]}: has {pair_count} graphs for {len(blocks['candidate'])} of"
            f" {files[options['candidate']]}; expected the same even number"
        )
    columns: dict[str, Any] = {
        "pair_id": [str(index + 1) for index in range(pair_count)],
        "reference": [""] * pair_count,
        "candidate": [""] * pair_count,
        "label": [float(index % 2) for index in range(pair_count)],
        "group": [str(index // 2 + 1) for index in range(pair_count)],
    }
    for side, side_blocks in blocks.items():
        columns[f"{side}_graph"] = [block.text for block in side_blocks]
    note = "there are no texts, only graphs: metrics of texts have nothing to compare here"
    return ReaderResult(pairs_of(columns), (note,))
