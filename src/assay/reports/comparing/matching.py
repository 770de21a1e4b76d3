"""Whether two runs scored the same pairs, and which pairs they have in common."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError
from assay.reports.data import ScoredDataset

__all__ = ["Match", "match"]


@dataclass(frozen=True)
class Match:
    """Two datasets of one name held against each other.

    Attributes:
        first: rows of the first dataset that the second one has, too, shape (m,).
        second: the same pairs in the second dataset, in that order.
        relabelled: how many of them have another label there.
        same: whether nothing differs, the order included.
        differs: what differs, in words; an empty string where nothing does.
    """

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    relabelled: int
    same: bool
    differs: str


def match(first: ScoredDataset, second: ScoredDataset) -> Match:
    """Find the pairs of *first* in *second* by their texts: question, gold answers, candidate.

    A pair that stands there several times is matched as often as both have it.

    Raises:
        InputError: no pair is in both.
    """
    if first.facts["digest"] == second.facts["digest"] and len(first) == len(second):
        rows = np.arange(len(first))
        return Match(rows, rows, 0, True, "")
    places = {key: row for row, key in enumerate(_keys(second))}
    found = [(row, places[key]) for row, key in enumerate(_keys(first)) if key in places]
    if not found:
        raise InputError(f"{first.run.title} and {second.run.title}: {first.name} has no pair in common")
    rows, others = (np.array(side, dtype=np.intp) for side in zip(*found, strict=True))
    relabelled = int((first.labels[rows] != second.labels[others]).sum())
    said = [f"{len(first):,} against {len(second):,} pairs" if len(first) != len(second) else f"{len(first):,} pairs"]
    said.append(f"{len(rows):,} of them with the same texts")
    if relabelled:
        said.append(f"{relabelled:,} of those with another label")
    if len(rows) == len(first) == len(second) and not relabelled:
        said.append("other columns, such as groups or names of pairs, or their order differ")
    return Match(rows, others, relabelled, False, ", ".join(said))


def _keys(data: ScoredDataset) -> list[tuple[str, int]]:
    """Return the texts of each pair and how often they stood before it."""
    columns = [name for name in ("question", "reference", "candidate") if name in data.table.column_names]
    seen: Counter[str] = Counter()
    keys = []
    for cells in zip(*(data.table.column(name).to_pylist() for name in columns), strict=True):
        text = json.dumps(cells[-2:] if cells[0] is None else cells, ensure_ascii=False)
        keys.append((text, seen[text]))
        seen[text] += 1
    return keys
