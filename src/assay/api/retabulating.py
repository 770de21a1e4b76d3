"""The agreement table of a run, computed from the scores, labels, groups and buckets that its folder holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.benchmark.buckets import QUANTITIES, Bucket
from assay.benchmark.outcome import DatasetScores
from assay.benchmark.progress import Progress
from assay.benchmark.request import Request
from assay.benchmark.tabulate import tabulate
from assay.datasets import Pairs
from assay.reports.data import ScoredDataset
from assay.tables import PAIR_COLUMNS

__all__ = ["pairs_of", "tabulate_again"]


def pairs_of(data: ScoredDataset) -> Pairs:
    """Return the pairs of a folder as they were scored."""
    table = data.table
    # a column that only other datasets of the run have
    empty = [
        name
        for name in table.column_names
        if name not in PAIR_COLUMNS and table.column(name).null_count == table.num_rows
    ]
    facts = data.facts
    return Pairs(
        table.drop_columns(empty),
        name=data.name,
        version=facts["version"],
        split=facts["split"],
        language=facts["language"],
    )


def tabulate_again(
    asked: Request, data: ScoredDataset, pairs: Pairs, names: Sequence[str], progress: Progress
) -> list[dict[str, Any]]:
    """Return the agreement table of one dataset, computed from what the folder holds."""
    rules = _rules(asked.buckets, data.buckets)
    buckets = tuple(Bucket(name, mask, rules.get(name, "")) for name, mask in data.buckets.items())
    scores = {name: data.oriented(name) for name in names}
    group = data.facts["group"]
    if group and "group" in pairs.table.column_names:
        # as newer folders keep it, whatever the source calls it
        group = "group"
    rows, _ = tabulate(asked, DatasetScores(pairs, 0, group, scores, buckets), progress)
    return [row.as_dict() for row in rows]


def _rules(asked: Sequence[str], masks: Mapping[str, NDArray[np.bool_]]) -> dict[str, str]:
    """Return which buckets a rule that names a column made: over these a mean is taken."""
    found = {}
    for place, rule in enumerate(asked):
        if not rule.isidentifier() or rule in QUANTITIES:
            continue
        # a bucket belongs to the first rule that makes it
        before = {other for one in asked[:place] for other in (one, one.replace("!=", "="))}
        own = [name for name in masks if name.startswith(f"{rule}=")]
        for name in own:
            # the cross product with another rule begins alike
            crossed = any(name.startswith(f"{one}+") and not (masks[name] & ~masks[one]).any() for one in own)
            if not crossed and name not in before:
                found[name] = rule
    return found
