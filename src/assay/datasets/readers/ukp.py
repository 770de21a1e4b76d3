"""Reads UKP ASPECT: the similarity of two arguments on one topic, in four classes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.common.tables import GRAPH_COLUMNS
from assay.datasets.graphs import read_valid_graphs
from assay.datasets.readers.base import OPTIONAL_FILE, ReaderResult, pairs_of, takes
from assay.datasets.readers.delimited import read_delimited
from assay.exceptions import InputError

#: The four classes on the scale of the card. DTORCD, a sentence on another topic or an undecided pair, counts as no
#: similarity, like NS (the usual binary task likewise contrasts SS and HS with these two).
LABEL_BY_CLASS = {"DTORCD": 0.0, "NS": 0.0, "SS": 1.0, "HS": 2.0}


@takes(reference_graph=OPTIONAL_FILE, candidate_graph=OPTIONAL_FILE)
def read_ukp_aspect(files: Mapping[str, Path], options: Mapping[str, Any]) -> ReaderResult:
    """Return the pairs of a file with the columns topic, sentence_1, sentence_2 and label, which holds a class.

    The label of a pair is the number of its class, see :data:`LABEL_BY_CLASS`. The topic is the subset, and the class a
    further column.

    The options ``reference_graph`` and ``candidate_graph`` name files of AMR graphs, whose first and last graph do not
    belong to a pair.

    Raises:
        InputError: the columns or a class are unknown, or a file has a wrong number of graphs.
    """
    graph_files = {
        graph_column: str(options[graph_column]) for graph_column in GRAPH_COLUMNS if graph_column in options
    }
    path = next(path for name, path in files.items() if name not in graph_files.values())
    table = read_delimited(path, delimiter="\t", quoted=False).table
    expected = ["topic", "sentence_1", "sentence_2", "label"]
    if table.column_names != expected:
        raise InputError(f"{path}: has the columns {', '.join(table.column_names)}; expected {', '.join(expected)}")
    classes = [text.strip() for text in table.column("label").to_pylist()]
    for row, class_name in enumerate(classes, 2):
        if class_name not in LABEL_BY_CLASS:
            raise InputError(f"{path}, row {row}, column label: {class_name!r} is none of {', '.join(LABEL_BY_CLASS)}")
    graphs = {}
    for graph_column, graph_file in graph_files.items():
        # the first and the last graph do not belong to a pair
        blocks = read_valid_graphs([files[graph_file]])[1:-1]
        if len(blocks) != table.num_rows:
            raise InputError(
                f"{files[graph_file]}: has {len(blocks)} graphs of sentences; {path} has {table.num_rows} rows"
            )
        graphs[graph_column] = [block.text for block in blocks]
    return ReaderResult(
        pairs_of(
            {
                "reference": [text.strip() for text in table.column("sentence_1").to_pylist()],
                "candidate": [text.strip() for text in table.column("sentence_2").to_pylist()],
                "label": [LABEL_BY_CLASS[class_name] for class_name in classes],
                "subset": table.column("topic").to_pylist(),
                "class": classes,
            }
            | graphs
        )
    )
