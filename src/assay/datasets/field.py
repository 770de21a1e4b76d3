"""The agreement of free metrics with people on the sets of the suite ``atlas``, and what fools them, as shipped."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib import resources

from assay.common.numbers import Number

#: The tables, which ``python -m tests.leaderboard FOLDER`` makes.
AGREEMENT_FILE, STRESS_FILE = "field.csv", "field_stress.csv"
AGREEMENT_COLUMNS = (
    *("dataset", "split", "category", "metric", "spearman", "low", "high", "n", "could_be_best", "pairs_per_second"),
)
STRESS_COLUMNS = ("metric", "perturbation", "expected", "fooled", "n")


@dataclass(frozen=True)
class FieldValue:
    """The agreement of a metric with people on a sample of one set.

    Attributes:
        dataset, split: the set; the split is empty if it has a single one.
        category: a kind of error of the probe set; empty for all pairs.
        metric: the metric.
        spearman: Spearman's ρ with its interval, which a set of few groups lacks; undefined for a constant score.
        n: the number of pairs.
        could_be_best: whether the metric could be the best of those that were compared.
        pairs_per_second: the speed on the machine of the run; None if unknown.
    """

    dataset: str
    split: str
    category: str
    metric: str
    spearman: Number
    n: int
    could_be_best: bool
    pairs_per_second: float | None

    @property
    def title(self) -> str:
        """The name of the set, with its split."""
        return f"{self.dataset}:{self.split}" if self.split else self.dataset


@dataclass(frozen=True)
class FieldStress:
    """How often a change of the probe set fools a metric.

    Attributes:
        metric: the metric.
        perturbation: the name of the change.
        expected: what the change must or must not do, such as ``lower`` the score.
        fooled: the share of the changed pairs whose verdict is wrong by the change.
        n: the number of changed pairs.
    """

    metric: str
    perturbation: str
    expected: str
    fooled: float
    n: int


@cache
def field_agreement() -> tuple[FieldValue, ...]:
    """Return the agreement of every free metric with people on every set, and by category of the probe set."""
    values = []
    for row in _rows(AGREEMENT_FILE):
        value, low, high = (_number(row[key]) for key in ("spearman", "low", "high"))
        values.append(
            FieldValue(
                dataset=row["dataset"],
                split=row["split"],
                category=row["category"],
                metric=row["metric"],
                spearman=Number(value, low, high),
                n=int(row["n"]),
                could_be_best=row["could_be_best"] == "yes",
                pairs_per_second=_number(row["pairs_per_second"]),
            )
        )
    return tuple(values)


def _number(cell: str) -> float | None:
    return float(cell) if cell else None


@cache
def field_stress() -> tuple[FieldStress, ...]:
    """Return how often each change of the probe set fools each free metric."""
    return tuple(
        FieldStress(row["metric"], row["perturbation"], row["expected"], float(row["fooled"]), int(row["n"]))
        for row in _rows(STRESS_FILE)
    )


def _rows(file: str) -> list[dict[str, str]]:
    text = (resources.files("assay.datasets") / file).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))
