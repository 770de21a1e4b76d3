"""The columns of the tables that pass between packages (see docs/architecture.md), and names of metrics to show."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
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


#: The run behind the name of a metric that several runs have, such as ``f1 [runs/two]``.
_MARK = re.compile(r" \[[^\[\]]*\]$")


def short_names(metrics: Iterable[str]) -> dict[str, str]:
    """Return a short name for each metric, unique among them: ``bi-encoder:/models/minilm`` is ``bi-encoder:…/minilm``.

    Of a path or a hub id, in the subject or an option, the last part stays; where two metrics would then have one name,
    as many folders before it as tell them apart. A name that would not get shorter stays whole.
    """
    shown = dict.fromkeys(metrics, "")
    left = list(shown)
    parts = 1
    while left:
        names = {metric: _with_last_parts(metric, parts) for metric in left}
        counts = Counter(names.values())
        for metric, name in names.items():
            if counts[name] == 1:
                shown[metric] = name if len(name) <= len(metric) else metric
        left = [metric for metric in left if not shown[metric]]
        parts += 1
    return shown


def _with_last_parts(metric: str, parts: int) -> str:
    """Return a name in which a path (of the subject, or of an option) has its last parts only."""
    mark = _MARK.search(metric)
    name, end = (metric[: mark.start()], mark.group()) if mark else (metric, "")
    last = r"[^,=/\\]+[/\\]" * (parts - 1)
    return re.sub(rf"(?<=[:=])[^,=]*[/\\](?={last}[^,/\\])", "…/", name) + end
