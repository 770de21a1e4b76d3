"""The part of BAMBOO that tests semantic roles: pairs of AMR graphs, without sentences."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.datasets.graphs import read_valid_graphs
from assay.datasets.readers.base import FILE, ReaderResult, pairs_of, takes
from assay.exceptions import InputError


@takes(reference=FILE, candidate=FILE)
def read_bamboo_role(files: Mapping[str, Path], options: Mapping[str, Any]) -> ReaderResult:
    """Return the pairs of graphs that test semantic roles, alternately a foil with exchanged roles and a paraphrase.

    Options: the files ``reference`` and ``candidate``. The label is 0 for a foil and 1 for a paraphrase. A foil and the
    paraphrase after it form a group, numbered from 1. There are no sentences, so the texts are empty.

    Raises:
        InputError: a graph cannot be read, the files differ in length, or the number of graphs is odd.
        MissingExtraError: penman is not installed.
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
