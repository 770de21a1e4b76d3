"""A cross-validation as tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from assay.reports.crossval.settings import Settings
from assay.reports.crossval.study import Subject
from assay.reports.layout import TITLES, short
from assay.reports.sheets import Column, Document, Sheet
from assay.statistics.agreement import Estimate
from assay.statistics.crossvalidation import Average, SourceAgreement, Validated

__all__ = ["to_document"]

#: Lines below a table that say where a coefficient is undefined; all of them are among the records.
SHOWN = 12


def to_document(subjects: list[Subject], settings: Settings) -> Document:
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


def _heads(settings: Settings, beside: str) -> list[Column]:
    return [Column(head, number=True) for name in settings.statistics for head in (TITLES[name], beside)]


def _folds(subject: Subject, settings: Settings) -> Sheet:
    n = next(iter(subject.found.values())).n
    undefined = [line for name, one in subject.found.items() for line in _undefined(name, one.average, one.pooled)]
    return Sheet(
        f"{subject.title}: {subject.way}",
        [Column("metric"), *_heads(settings, "pooled")],
        [
            (
                name,
                *(
                    text
                    for statistic in settings.statistics
                    for text in (_mean(one.average[statistic]), _value(one.pooled[statistic]))
                ),
            )
            for name, one in subject.found.items()
        ],
        facts=[
            f"{n:,} pairs, each scored in the fold that tests it",
            "each coefficient: average over the folds ± their standard deviation; pooled: all pairs together",
        ],
        notes=[*subject.notes, *_cut(undefined)],
    )


def _sources(subject: Subject, name: str, one: Validated, settings: Settings) -> Sheet:
    undefined = [line for source in one.sources for line in _undefined(source.name, source.tested, source.left_out)]
    return Sheet(
        f"{subject.title}, {name}: by {settings.by}",
        [Column(str(settings.by)), Column("pairs", number=True), *_heads(settings, "left out")],
        [(source.name, f"{source.n:,}", *_cells(source, settings)) for source in one.sources],
        facts=[
            "each coefficient: on the pairs of the source in each fold, average ± standard deviation",
            "left out: the same on all pairs of the source, none of which was trained on",
        ],
        notes=_cut(undefined),
    )


def _cells(source: SourceAgreement, settings: Settings) -> Iterator[str]:
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
    return lines if more <= 0 else [*lines[:SHOWN], f"and {more:,} more lines such as these: --format csv has all"]


def _records(subject: Subject, settings: Settings) -> Iterator[dict[str, Any]]:
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
