"""The columns of the tables that pass between packages (see docs/architecture.md)."""

from __future__ import annotations

from typing import Final

#: One labelled pair a row.
PAIR_COLUMNS: Final = ("pair_id", "reference", "candidate", "label")
#: The AMR graphs of the two texts, in Penman notation.
GRAPH_COLUMNS: Final = ("reference_graph", "candidate_graph")
#: What a pairs table carries where the data has it. ``group``: what makes pairs dependent.
OPTIONAL_PAIR_COLUMNS: Final = ("question", "subset", "split", "language", "group", "annotations", *GRAPH_COLUMNS)
#: One pair under one metric a row.
SCORE_COLUMNS: Final = ("dataset", "pair_id", "metric", "score")
#: Kinds of datasets whose labels are not the judgement of annotators, and what a reader is told of each: metrics are
#: never ranked by them.
NOT_BY_PEOPLE: Final = {
    "probe": "probe set: labels follow a rule, not several annotators; never rank metrics by it",
    "machine": "machine-made labels: agreement with them is not agreement with people; never rank metrics by it",
}
#: Version of the run folder's layout; raised when a reader of the old one would go wrong.
RUN_SCHEMA: Final = 1
