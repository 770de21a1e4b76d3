"""Cross-validation: settings, agreement by fold and by source, and tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from assay.errors import InputError
from assay.reports.data import ScoredDataset, cells_of, group_codes, same_pairs
from assay.reports.layout import short
from assay.reports.sheets import Column, Document, Sheet
from assay.settings import Graphs, Limited, OwnData, ScoreStore, Scoring, check_seed, parse_scale, setting
from assay.statistics.agreement import Estimate
from assay.statistics.coefficients import check_statistics, statistics_help, title_of
from assay.statistics.crossvalidation import (
    Average,
    Partition,
    ScoresOf,
    SourceAgreement,
    Validated,
    cross_validate,
    join_codes,
    leave_one_out,
    make_folds,
    recorded_scores,
)

#: The default number of folds, as in STR-2022.
FOLDS = 5


@dataclass(frozen=True)
class CrossvalSettings(OwnData, Graphs, Limited, Scoring, ScoreStore):
    """Settings of ``assay crossval``.

    Raises:
        InputError: a value out of its range, no such statistic, or settings for scoring beside runs that are scored.
    """

    runs: Sequence[str | Path] = setting(
        "Run folders, or files with a label and score columns; none to score `datasets` here.", (), argument=True
    )
    _: KW_ONLY
    datasets: Any | Sequence[Any] = setting(
        "A dataset of the runs [default: all]; without runs, NAME[@VERSION][:SPLIT] or a file.",
        (),
        flags=("--dataset", "-d"),
        metavar="DATASET",
    )
    metrics: Sequence[Any] = setting(
        "A metric of the runs [default: all]; without runs, any. Names: assay metrics list.",
        (),
        flags=("--metric", "-m"),
        metavar="METRIC",
    )
    train: Sequence[str] = setting("A model to train anew for every fold: RECIPE:BASE[,setting=value]…", ())
    scale: str | None = setting(
        "Lowest and highest label, for `train`, where the data does not say them [default: 0,1].",
        None,
        parse=parse_scale,
        metavar="LOW,HIGH",
    )
    folds: int = setting("Number of folds.", FOLDS)
    by: str | None = setting(
        "Tell the values of a column apart, such as subset, and leave each out in turn.", None, metavar="COLUMN"
    )
    group_by: str | None = setting(
        "Never part the pairs of one value of a column [default: the data's groups].", None, metavar="COLUMN"
    )
    drop_duplicates: bool = setting("Drop pairs that repeat with the same label.", False)
    statistics: Sequence[str] = setting(statistics_help(), (), flags=("--statistic",), metavar="NAME")
    seed: int = setting("Deals the pairs to folds.", 0)

    def check(self) -> None:
        """Check the settings, and fill in the default coefficients; raise InputError if a setting is invalid."""
        if self.folds < 2:
            raise InputError(f"`folds={self.folds}`: expected 2 or more; one fold is tested, the others trained on")
        check_seed(self.seed)
        if self.scale is not None and not self.train:
            raise InputError(f"`scale={self.scale}`: is for models that are trained here; name one with `train`")
        for name, value in self.scoring().items():
            if self.runs and name != "progress" and value != getattr(CrossvalSettings, name):
                raise InputError(f"`{name}`: is for data that is scored here, not for a run")
        object.__setattr__(self, "statistics", check_statistics(self.statistics))

    def scoring(self) -> dict[str, Any]:
        """Return the settings for scoring, as keyword arguments of :func:`assay.run`."""
        scoring = self.values_of(OwnData, Graphs, Limited, Scoring, ScoreStore)
        return {**scoring, "drop_duplicates": self.drop_duplicates}

    @property
    def signature(self) -> str:
        """The settings in one line, with which another person can repeat the division into folds."""
        apart = f"|group:{self.group_by}" if self.group_by else ""
        return f"folds:{self.folds}|by:{self.by or 'none'}{apart}|seed:{self.seed}"


# From a dataset with scores to the agreement of each method, by fold and by source.

#: The source of pairs with an empty cell in the column of sources.
NO_SOURCE = "(empty)"


@dataclass(frozen=True)
class Subject:
    """The cross-validation of one dataset.

    Attributes:
        run: the title of the run; empty if there is only one.
        dataset: the dataset's name in the run.
        title: the dataset's title in tables.
        way: a short phrase on how the pairs were divided.
        found: the results by method, in the given order.
        notes: caveats, such as pairs that were left out.
    """

    run: str
    dataset: str
    title: str
    way: str
    found: dict[str, Validated]
    notes: list[str]


def methods_of(data: ScoredDataset, metrics: Sequence[str]) -> dict[str, ScoresOf]:
    """Return metrics of a run as methods that need no training, by name; all metrics if *metrics* is empty.

    Raises:
        InputError: the run has no scores of one of the metrics.
    """
    return {name: recorded_scores(data.oriented(name)) for name in data.find_metrics(list(metrics))}


def study(data: ScoredDataset, settings: CrossvalSettings, methods: Mapping[str, ScoresOf], run: str = "") -> Subject:
    """Return the cross-validation of several methods on the same folds.

    Args:
        data: the pairs with labels.
        settings: the settings of the division and the coefficients.
        methods: the methods by name; their higher scores mean more similar.
        run: the title of the run, if there are several.

    Raises:
        InputError: the pairs cannot be divided as requested, or there is no method.
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
        if name in data.metrics and not data.metrics[name].declared.higher_is_better
    ]
    notes += [
        f"{name}: {validated.missing:,} pairs have no score and are left out"
        for name, validated in found.items()
        if validated.missing
    ]
    return Subject(run, data.name, f"{data.title}, {run}" if run else data.title, way, found, notes)


def divide(data: ScoredDataset, settings: CrossvalSettings) -> tuple[Partition, str]:
    """Return the division of a dataset's pairs, and a short phrase that describes it.

    Pairs of one group are never on both sides of a split. Neither are pairs whose texts differ only in order, case or
    punctuation.

    Raises:
        InputError: there are fewer groups than folds, or a column is missing or does not distinguish sources.
    """
    groups, codes = group_codes(data, settings.group_by), same_pairs(data)
    divided = "pairs"
    if groups is not None:
        divided = f"whole groups ({settings.group_by or data.facts.group})"
        codes = join_codes(groups, codes)
    folds = make_folds(codes, settings.folds, np.random.default_rng(settings.seed))
    way = f"{settings.folds} folds of {divided}"
    if settings.by is None:
        return Partition(folds, {}, ()), way
    values = [NO_SOURCE if cell in (None, "") else str(cell) for cell in cells_of(data, settings.by)]
    distinct = len(set(values))
    if distinct < 2 or distinct == len(values):
        values_found = "one value" if distinct < 2 else "another value for every pair"
        raise InputError(f"`by={settings.by}`: {data.name} has {values_found} there, which tells no sources apart")
    left_out = leave_one_out(values, codes)
    return Partition(folds, {fold.name: fold.test for fold in left_out}, left_out), way


def not_trained_on(partition: Partition) -> list[str]:
    """Return one line per source whose pairs or groups occur in other sources: with it left out, those are not used."""
    n = sum(len(fold.test) for fold in partition.folds)
    unused = {fold.name: n - len(fold.train) - len(fold.test) for fold in partition.left_out}
    return [
        f"{name} left out: {number:,} pairs of other sources are the same as one of its pairs, or stand in one of its "
        "groups; they are not trained on"
        for name, number in unused.items()
        if number
    ]


# A cross-validation as tables.

#: The most lines below a table on undefined coefficients; the records have all of them.
SHOWN = 12


def to_document(subjects: list[Subject], settings: CrossvalSettings) -> Document:
    """Return one table per dataset, of averages and pooled values, and with ``by`` one of sources per method."""
    sheets = []
    for subject in subjects:
        sheets.append(_folds(subject, settings))
        if settings.by is not None:
            sheets.extend(_sources(subject, name, validated, settings) for name, validated in subject.found.items())
    return Document(sheets, [record for subject in subjects for record in _records(subject, settings)])


def _mean(average: Average) -> str:
    if average.value is None:
        return "–"
    spread = f" ± {short(average.deviation, 3)}" if average.deviation is not None else ""
    return short(average.value, 3) + spread


def _value(estimate: Estimate) -> str:
    return "–" if estimate.value is None else short(estimate.value, 3)


def _heads(settings: CrossvalSettings, beside: str) -> list[Column]:
    return [Column(head, number=True) for name in settings.statistics for head in (title_of(name), beside)]


def _folds(subject: Subject, settings: CrossvalSettings) -> Sheet:
    """Return the table of a dataset: each coefficient as an average over folds, and on all pairs pooled."""
    n = next(iter(subject.found.values())).n
    undefined: list[str] = []
    for name, validated in subject.found.items():
        undefined += _undefined(name, validated.average, validated.pooled)
    return Sheet(
        f"{subject.title}: {subject.way}",
        [Column("metric"), *_heads(settings, "pooled")],
        [
            (
                name,
                *(
                    text
                    for statistic in settings.statistics
                    for text in (_mean(validated.average[statistic]), _value(validated.pooled[statistic]))
                ),
            )
            for name, validated in subject.found.items()
        ],
        facts=[
            f"{n:,} pairs, each scored in the fold that tests it",
            "each coefficient: average over the folds ± their standard deviation; pooled: all pairs together",
        ],
        notes=[*subject.notes, *_truncated(undefined)],
    )


def _sources(subject: Subject, name: str, validated: Validated, settings: CrossvalSettings) -> Sheet:
    """Return the table of one metric by source: each source tested within folds, and left out of training."""
    undefined = [
        line for source in validated.sources for line in _undefined(source.name, source.tested, source.left_out)
    ]
    return Sheet(
        f"{subject.title}, {name}: by {settings.by}",
        [Column(str(settings.by)), Column("pairs", number=True), *_heads(settings, "left out")],
        [(source.name, f"{source.n:,}", *_cells(source, settings)) for source in validated.sources],
        facts=[
            "each coefficient: on the pairs of the source in each fold, average ± standard deviation",
            "left out: the same on all pairs of the source, none of which was trained on",
        ],
        notes=_truncated(undefined),
    )


def _cells(source: SourceAgreement, settings: CrossvalSettings) -> Iterator[str]:
    for statistic in settings.statistics:
        yield _mean(source.tested[statistic])
        yield _value(source.left_out[statistic])


def _undefined(name: str, averages: dict[str, Average], whole: dict[str, Estimate]) -> Iterator[str]:
    """Yield one line per reason why coefficients are undefined, with their names and folds, or on all pairs."""
    folds: dict[str, dict[str, list[str]]] = {}
    for statistic, average in averages.items():
        for fold, reason in average.undefined.items():
            folds.setdefault(reason, {}).setdefault(fold, []).append(statistic)
    total = len(next(iter(averages.values())).folds)
    for reason, by_fold in folds.items():
        listed = ", ".join(dict.fromkeys(statistic for statistics in by_fold.values() for statistic in statistics))
        yield f"{name}: {listed} undefined in {len(by_fold)} of {total} folds ({', '.join(by_fold)}): {reason}"
    for statistic, estimate in whole.items():
        if estimate.value is None:
            yield f"{name}: {statistic} undefined on all pairs: {estimate.note}"


def _truncated(lines: list[str]) -> list[str]:
    hidden = len(lines) - SHOWN
    return lines if hidden <= 0 else [*lines[:SHOWN], f"and {hidden:,} more such lines, which CSV and JSON have"]


def _records(subject: Subject, settings: CrossvalSettings) -> Iterator[dict[str, Any]]:
    """Yield the records of averages, pooled values and single folds, for all pairs and for each source."""
    for metric, result in subject.found.items():
        for statistic in settings.statistics:
            average, pooled = result.average[statistic], result.pooled[statistic]
            yield from _records_of_part(subject, metric, "", statistic, average, "pooled", pooled)
            for source in result.sources:
                tested, whole = source.tested[statistic], source.left_out[statistic]
                yield from _records_of_part(subject, metric, source.name, statistic, tested, "left out", whole)


def _records_of_part(
    subject: Subject, metric: str, source: str, statistic: str, average: Average, name: str, whole: Estimate
) -> Iterator[dict[str, Any]]:
    """Yield the records of a coefficient: its average over folds, its value *whole* called *name*, and each fold."""
    shared = {
        "run": subject.run,
        "dataset": subject.dataset,
        "metric": metric,
        "source": source,
        "statistic": statistic,
    }
    undefined = f"undefined in {len(average.undefined)} of {len(average.folds)} folds" if average.undefined else ""
    n = sum(result.n for _, result in average.folds)
    yield shared | {
        "on": "folds", "value": average.value, "deviation": average.deviation, "n": n, "note": undefined
    }  # fmt: skip
    for part, result in ((name, whole), *average.folds):
        yield shared | {"on": part, "value": result.value, "deviation": None, "n": result.n, "note": result.note}
