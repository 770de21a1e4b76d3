"""The best free metrics known of each dataset, from a leaderboard of samples that ships with assay."""

from __future__ import annotations

import csv
from importlib import resources
from typing import Any

#: The table, which ``python -m tests.leaderboard FOLDER`` makes, and its columns.
FILE = "best_metrics.csv"
COLUMNS = ("dataset", "split", "metric", "spearman", "low", "high", "n", "as_good")


def best_metrics_of(name: str) -> list[dict[str, Any]]:
    """Return the best metric of each split of a dataset that was ranked; empty for a dataset that was not.

    Each has the ``split``, the ``metric`` of the highest Spearman's ρ, its value ``spearman`` with the bounds ``low``
    and ``high``, None without an interval, the number ``n`` of pairs, and in ``as_good`` the list of the other metrics
    that could be the best, too.

    Args:
        name: the name of the dataset.
    """
    best_metrics = []
    text = (resources.files("assay.datasets") / FILE).read_text(encoding="utf-8")
    for row in csv.DictReader(text.splitlines()):
        if row["dataset"] != name:
            continue
        best: dict[str, Any] = {"split": row["split"], "metric": row["metric"]}
        for key in ("spearman", "low", "high"):
            # a set with few groups has no interval
            best[key] = float(row[key]) if row[key] else None
        best["n"] = int(row["n"])
        best["as_good"] = row["as_good"].split("; ") if row["as_good"] else []
        best_metrics.append(best)
    return best_metrics
