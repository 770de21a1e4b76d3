"""From a dataset with scores to what came of each method, fold by fold and source by source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from assay.errors import InputError
from assay.reports.crossval.settings import Settings
from assay.reports.data import ScoredDataset
from assay.reports.grouping import cells_of, group_codes, same_pairs
from assay.statistics.crossvalidation import Partition, ScoresOf, Validated, cross_validate, given
from assay.statistics.folds import deal, joined, leave_one_out

__all__ = ["NO_SOURCE", "Subject", "divide", "methods_of", "not_trained_on", "study"]

#: What pairs with an empty cell in the column of sources are called.
NO_SOURCE = "(empty)"


@dataclass(frozen=True)
class Subject:
    """One dataset.

    Attributes:
        run: what to call its run; empty where there is one only.
        dataset: its name in the run.
        title: how tables name it.
        way: how pairs were divided, in a few words.
        found: by method, in the order given.
        notes: what a reader should know beside.
    """

    run: str
    dataset: str
    title: str
    way: str
    found: dict[str, Validated]
    notes: list[str]


def methods_of(data: ScoredDataset, metrics: tuple[str, ...]) -> dict[str, ScoresOf]:
    """Return metrics of a run as methods without training, by name: all of them where none is named.

    Raises:
        InputError: the run has no scores of one.
    """
    return {name: given(data.oriented(name)) for name in data.find_metrics(list(metrics))}


def study(data: ScoredDataset, settings: Settings, methods: Mapping[str, ScoresOf], run: str = "") -> Subject:
    """Cross-validate methods on the same folds.

    Args:
        data: n pairs with labels.
        settings: how to divide them.
        methods: by name; what they score with higher numbers is more similar.
        run: what to call the run of the data, where there are several.

    Raises:
        InputError: pairs that cannot be divided as asked, or no method.
    """
    if not methods:
        raise InputError(f"{data.run.title}: {data.name} has no scores of any metric")
    partition, way = divide(data, settings)
    found = {
        name: cross_validate(data.labels, partition, scores_of, settings.statistics)
        for name, scores_of in methods.items()
    }
    notes = [
        f"{name}: a low score means similar; the sign of its coefficients is turned"
        for name in found
        if name in data.metrics and not data.metrics[name].higher_is_better
    ]
    notes += [
        f"{name}: {one.missing:,} pairs have no score and are left out" for name, one in found.items() if one.missing
    ]
    return Subject(run, data.name, f"{data.title}, {run}" if run else data.title, way, found, notes)


def divide(data: ScoredDataset, settings: Settings) -> tuple[Partition, str]:
    """Return the division of the pairs of a dataset, and how it was made in a few words.

    Pairs of one group are never on both sides, nor is a pair and the same one in another order, case or marks.

    Raises:
        InputError: fewer groups than folds; no such column, or one that does not tell sources apart.
    """
    groups, codes = group_codes(data, settings.group_by), same_pairs(data)
    apart = "pairs"
    if groups is not None:
        apart = f"whole groups ({settings.group_by or data.facts['group']})"
        codes = joined(groups, codes)
    folds = deal(codes, settings.folds, np.random.default_rng(settings.seed))
    way = f"{settings.folds} folds of {apart}"
    if settings.by is None:
        return Partition(folds, {}, ()), way
    values = [NO_SOURCE if cell in (None, "") else str(cell) for cell in cells_of(data, settings.by)]
    distinct = len(set(values))
    if distinct < 2 or distinct == len(values):
        said = "one value" if distinct < 2 else "another value for every pair"
        raise InputError(f"--by {settings.by}: {data.name} has {said} there, which tells no sources apart")
    left_out = leave_one_out(values, codes)
    return Partition(folds, {fold.name: fold.test for fold in left_out}, left_out), way


def not_trained_on(partition: Partition) -> list[str]:
    """Return a line for each source that other sources repeat: where it is left out, these pairs are in no training."""
    n = sum(len(fold.test) for fold in partition.folds)
    left = {fold.name: n - len(fold.train) - len(fold.test) for fold in partition.left_out}
    return [
        f"{name} left out: {number:,} pairs of other sources are the same as one of its pairs, or stand in one of its "
        "groups; they are not trained on"
        for name, number in left.items()
        if number
    ]
