"""Cross-validation: settings, agreement fold by fold and source by source, and its tables."""

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

#: Folds by default, as in STR-2022.
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
        """Compare settings with each other, and fill in the default coefficients."""
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
        """Return the settings with which data is scored, as :func:`assay.run` takes them."""
        scoring = self.values_of(OwnData, Graphs, Limited, Scoring, ScoreStore)
        return {**scoring, "drop_duplicates": self.drop_duplicates}

    @property
    def signature(self) -> str:
        """What lets another person divide the pairs alike."""
        apart = f"|group:{self.group_by}" if self.group_by else ""
        return f"folds:{self.folds}|by:{self.by or 'none'}{apart}|seed:{self.seed}"


# From a dataset with scores to what came of each method, fold by fold and source by source.

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


def methods_of(data: ScoredDataset, metrics: Sequence[str]) -> dict[str, ScoresOf]:
    """Return metrics of a run as methods without training, by name: all of them where none is named.

    Raises:
        InputError: the run has no scores of one.
    """
    return {name: recorded_scores(data.oriented(name)) for name in data.find_metrics(list(metrics))}


def study(data: ScoredDataset, settings: CrossvalSettings, methods: Mapping[str, ScoresOf], run: str = "") -> Subject:
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
        if name in data.metrics and not data.metrics[name].declared.higher_is_better
    ]
    notes += [
        f"{name}: {one.missing:,} pairs have no score and are left out" for name, one in found.items() if one.missing
    ]
    return Subject(run, data.name, f"{data.title}, {run}" if run else data.title, way, found, notes)


def divide(data: ScoredDataset, settings: CrossvalSettings) -> tuple[Partition, str]:
    """Return the division of the pairs of a dataset, and how it was made in a few words.

    Pairs of one group are never on both sides, nor is a pair and the same one in another order, case or marks.

    Raises:
        InputError: fewer groups than folds; no such column, or one that does not tell sources apart.
    """
    groups, codes = group_codes(data, settings.group_by), same_pairs(data)
    apart = "pairs"
    if groups is not None:
        apart = f"whole groups ({settings.group_by or data.facts.group})"
        codes = join_codes(groups, codes)
    folds = make_folds(codes, settings.folds, np.random.default_rng(settings.seed))
    way = f"{settings.folds} folds of {apart}"
    if settings.by is None:
        return Partition(folds, {}, ()), way
    values = [NO_SOURCE if cell in (None, "") else str(cell) for cell in cells_of(data, settings.by)]
    distinct = len(set(values))
    if distinct < 2 or distinct == len(values):
        said = "one value" if distinct < 2 else "another value for every pair"
        raise InputError(f"`by={settings.by}`: {data.name} has {said} there, which tells no sources apart")
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


# A cross-validation as tables.

#: Lines below a table that say where a coefficient is undefined; all of them are among the records.
SHOWN = 12


def to_document(subjects: list[Subject], settings: CrossvalSettings) -> Document:
    """Return, per dataset, averages over the folds beside pooled values, and a table of sources for each method."""
    sheets = []
    for subject in subjects:
        sheets.append(_folds(subject, settings))
        if settings.by is not None:
            sheets.extend(_sources(subject, name, one, settings) for name, one in subject.found.items())
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
    """Return the table of a dataset: each coefficient as the average over folds, and over all pairs together."""
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
        notes=[*subject.notes, *_cut(undefined)],
    )


def _sources(subject: Subject, name: str, validated: Validated, settings: CrossvalSettings) -> Sheet:
    """Return the table of one metric by source: tested in each fold, and left out of training altogether."""
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
        notes=_cut(undefined),
    )


def _cells(source: SourceAgreement, settings: CrossvalSettings) -> Iterator[str]:
    for statistic in settings.statistics:
        yield _mean(source.tested[statistic])
        yield _value(source.left_out[statistic])


def _undefined(name: str, averages: dict[str, Average], whole: dict[str, Estimate]) -> Iterator[str]:
    """Yield a line for each reason why a coefficient has no value: of which, in which folds, or on the whole."""
    folds: dict[str, dict[str, list[str]]] = {}
    for statistic, average in averages.items():
        for fold, reason in average.undefined.items():
            folds.setdefault(reason, {}).setdefault(fold, []).append(statistic)
    total = len(next(iter(averages.values())).folds)
    for reason, places in folds.items():
        said = ", ".join(dict.fromkeys(statistic for some in places.values() for statistic in some))
        yield f"{name}: {said} undefined in {len(places)} of {total} folds ({', '.join(places)}): {reason}"
    for statistic, estimate in whole.items():
        if estimate.value is None:
            yield f"{name}: {statistic} undefined on all pairs: {estimate.note}"


def _cut(lines: list[str]) -> list[str]:
    more = len(lines) - SHOWN
    return lines if more <= 0 else [*lines[:SHOWN], f"and {more:,} more such lines, which CSV and JSON have"]


def _records(subject: Subject, settings: CrossvalSettings) -> Iterator[dict[str, Any]]:
    """Yield averages, pooled values and every fold, of all pairs and of each source."""
    for metric, one in subject.found.items():
        for statistic in settings.statistics:
            average, pooled = one.average[statistic], one.pooled[statistic]
            yield from _of_part(subject, metric, "", statistic, average, "pooled", pooled)
            for source in one.sources:
                tested, whole = source.tested[statistic], source.left_out[statistic]
                yield from _of_part(subject, metric, source.name, statistic, tested, "left out", whole)


def _of_part(
    subject: Subject, metric: str, source: str, statistic: str, average: Average, name: str, whole: Estimate
) -> Iterator[dict[str, Any]]:
    same = {"run": subject.run, "dataset": subject.dataset, "metric": metric, "source": source, "statistic": statistic}
    undefined = f"undefined in {len(average.undefined)} of {len(average.folds)} folds" if average.undefined else ""
    n = sum(one.n for _, one in average.folds)
    yield same | {
        "on": "folds", "value": average.value, "deviation": average.deviation, "n": n, "note": undefined
    }  # fmt: skip
    for part, one in ((name, whole), *average.folds):
        yield same | {"on": part, "value": one.value, "deviation": None, "n": one.n, "note": one.note}
