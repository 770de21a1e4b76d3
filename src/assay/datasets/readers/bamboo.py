"""BAMBOO: pairs of sentences with their AMR graphs and human similarity, and pairs in which roles are confused."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.amr import GraphBlock
from assay.datasets.graphs import read_checked
from assay.datasets.readers.base import FILE, TEXT, ReaderResult, number, pairs_of, takes
from assay.datasets.readers.stsb import genre_of
from assay.errors import InputError

#: Columns of the two sentences, by the corpus that they are from.
_SENTENCES = {"sts": (5, 6), "sick": (1, 2), "para": (3, 4)}


@takes(corpus=TEXT, reference=FILE, candidate=FILE, label=FILE, texts=FILE)
def read_bamboo(files: Mapping[str, Path], options: Mapping[str, Any]) -> ReaderResult:
    """Read sentences, labels between 0 and 1 and graphs.

    Options: ``corpus`` (``sts``, ``sick`` or ``para``), and the names of the files: ``reference`` and ``candidate``
    (graphs), ``label`` and ``texts``. The files of graphs and labels end with a row that belongs to no pair; those of
    SICK and PARA begin with one as well, made of the header of the texts.
    """
    corpus = str(options["corpus"])
    texts, labels = files[options["texts"]], files[options["label"]]
    head = 0 if corpus == "sts" else 1
    rows = [line.split("\t") for line in texts.read_text(encoding="utf-8-sig").split("\n") if line][head:]
    scores = labels.read_text(encoding="utf-8").split()
    _check_count(labels, len(scores), head + len(rows) + 1, texts)
    columns: dict[str, Any] = {"pair_id": [str(place) for place in range(1, len(rows) + 1)]}
    for side, column in zip(("reference", "candidate"), _SENTENCES[corpus], strict=True):
        blocks = read_checked([files[options[side]]])
        _check_count(files[options[side]], len(blocks), head + len(rows) + 1, texts)
        columns[side] = [row[column].strip() for row in rows]
        columns[f"{side}_graph"] = [block.text for block in blocks[head:-1]]
        _check_sentences(columns[side], blocks[head:-1])
    columns["label"] = [number(labels, place, "label", score) for place, score in enumerate(scores[head:-1], head + 1)]
    if corpus == "sts":
        columns["subset"] = [genre_of(row[0]) for row in rows]
    elif corpus == "sick":
        columns["entailment"] = [row[4].strip() for row in rows]
    return ReaderResult(pairs_of(columns))


def _check_count(path: Path, count: int, expected: int, texts: Path) -> None:
    if count != expected:
        raise InputError(f"{path}: has {count} rows; expected {expected}, for those of {texts}")


def _check_sentences(sentences: list[str], blocks: list[GraphBlock]) -> None:
    """Check that each graph is that of its sentence."""
    for sentence, block in zip(sentences, blocks, strict=True):
        if block.sentence != sentence:
            raise InputError(f"{block.where}: is the graph of {block.sentence!r}; expected {sentence!r}")


@takes(reference=FILE, candidate=FILE)
def read_bamboo_role(files: Mapping[str, Path], options: Mapping[str, Any]) -> ReaderResult:
    """Read graphs of which two rows each belong together: a foil whose roles are exchanged, then a true paraphrase.

    Options: the files ``reference`` and ``candidate``. The label is 0 for a foil and 1 for a paraphrase, the group the
    number of the two. There are no sentences: the texts are empty.
    """
    blocks = {side: read_checked([files[options[side]]]) for side in ("reference", "candidate")}
    count = len(blocks["reference"])
    if count % 2 or count != len(blocks["candidate"]):
        raise InputError(
            f"{files[options['reference']]}: has {count} graphs for {len(blocks['candidate'])} of"
            f" {files[options['candidate']]}; expected as many, two by two"
        )
    columns: dict[str, Any] = {
        "pair_id": [str(place + 1) for place in range(count)],
        "reference": [""] * count,
        "candidate": [""] * count,
        "label": [float(place % 2) for place in range(count)],
        "group": [str(place // 2 + 1) for place in range(count)],
    }
    columns |= {f"{side}_graph": [block.text for block in held] for side, held in blocks.items()}
    note = "there are no texts, only graphs: metrics of texts have nothing to compare here"
    return ReaderResult(pairs_of(columns), (note,))
