"""Studies of systems as tables: their means, the differences of every two, and how well metrics order them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from assay.analysis.duels import DuelStudy
from assay.analysis.settings import SystemSettings
from assay.analysis.systems import MeasuredMeans, MetricStudy, SystemStudy
from assay.common.numbers import Number, p_value, percent, short
from assay.reports.duels import DUELS_NOTE, duel_records, duel_sheets
from assay.reports.sheets import Column, Document, Sheet, table_rows

#: The head of the columns of human labels, beside those of metrics.
LABELS = "people"
#: With fewer systems, the order in which a metric puts them is weak evidence, and the table says so.
MIN_SYSTEMS_FOR_ORDER = 10


def document(studies: Sequence[SystemStudy | DuelStudy], settings: SystemSettings) -> Document:
    """Return three tables per study: means of systems, their differences, and agreement of metrics with people.

    There is one record per mean, per difference, and per metric. A study of preferences has two tables, see
    :mod:`assay.reports.duels`. Notes explain the intervals, if there are resamples, and the measures in the tables.
    """
    sheets: list[Sheet] = []
    records: list[dict[str, Any]] = []
    for study in studies:
        if isinstance(study, DuelStudy):
            sheets += duel_sheets(study)
            records += duel_records(study)
            continue
        sheets += [_means_sheet(study), _differences_sheet(study, settings), _agreement_sheet(study, settings)]
        records += _system_records(study)
    level = percent(settings.confidence)
    duels_count = sum(isinstance(study, DuelStudy) for study in studies)
    notes = []
    if duels_count:
        intervals = f"{level} bootstrap intervals with {settings.resamples:,} resamples; " if settings.resamples else ""
        notes.append(f"{intervals}{DUELS_NOTE}")
    if duels_count == len(studies):
        return Document(sheets, records, notes)
    if settings.resamples:
        notes.append(
            f"{level} intervals of means over items: Wilson's for shares, Newcombe's for differences of shares, else "
            f"bootstrap with {settings.resamples:,} resamples; an accuracy or τ-b at an end of its range has at least "
            "Wilson's interval for half as many pairs as there are systems"
        )
    notes.append(
        "pairwise accuracy: share of pairs of systems ordered as by people; soft: 1 minus the mean distance of the "
        f"p-values of people and metric ({settings.permutations:,} exchanges, of which those with the same difference "
        "count as one half; Thompson et al. 2024); within items: "
        "acc-eq of the systems of each item, of a threshold found on other items (Deutsch et al. 2023)"
    )
    return Document(sheets, records, notes)


def _means_by_name(study: SystemStudy) -> dict[str, MeasuredMeans | None]:
    """Return the systems' means by people and by each metric; None for a metric that is set apart."""
    return {LABELS: study.people} | {name: metric.means for name, metric in study.metrics.items()}


def _means_sheet(study: SystemStudy) -> Sheet:
    """Return the table of the mean label and score of each system with its interval, the highest mean label first.

    A metric that is set apart has dashes. Notes tell which scores metrics lack.
    """

    def mean_text(metric_means: MeasuredMeans | None, system: str) -> str:
        return Number().text if metric_means is None else metric_means.means[study.systems.index(system)].text

    columns = [
        Column("system", cell=str),
        *(
            Column(name, number=True, cell=partial(mean_text, metric_means))
            for name, metric_means in _means_by_name(study).items()
        ),
    ]
    fact = f"{len(study.systems)} systems, {study.items:,} items that all of them answered"
    if study.groups is not None:
        fact += f", in {study.groups:,} groups"
    facts = [fact]
    if study.left_out:
        noun = "item" if study.left_out == 1 else "items"
        facts.append(f"{study.left_out:,} {noun} left out, which some system did not answer")
    notes = []
    for name, metric in study.metrics.items():
        if metric.gaps is not None:
            notes.append(f"{name}: {_gap_text(metric, study)}")
    if study.absent:
        notes.append(f"{', '.join(study.absent)}: left out, since not all of the runs have scores of it")
    return Sheet(f"{study.title}: mean of each system", columns, table_rows(columns, study.systems), facts, notes=notes)


def _gap_text(metric: MetricStudy, study: SystemStudy) -> str:
    """Return a clause on the scores that a metric lacks, and on what follows from it; empty if it has them all."""
    gaps = metric.gaps
    if gaps is None:
        return ""
    counts = ", ".join(f"{count:,} of {system}" for system, count in zip(study.systems, gaps.missing, strict=True))
    missing_text = f"has no score of {sum(gaps.missing):,} of {study.items * len(study.systems):,} answers ({counts})"
    if metric.agreement is not None:
        text = f"{missing_text}; compared on the {gaps.items:,} items of which it has every score"
        if gaps.open_orders:
            pairs = "1 pair" if gaps.open_orders == 1 else f"{gaps.open_orders} pairs"
            text += f"; with the others it might put {pairs} of systems in another order"
        return text
    if gaps.items < 2:
        count = "1 item" if gaps.items else "no item"
        return f"{missing_text}; not compared, since it has every system's score of {count}"
    if gaps.p_counts <= gaps.p_labels:
        why = f"what it lacks depends on the system (p {_compared_p(gaps.p_counts)})"
    else:
        why = (
            "people compare the systems otherwise on the items that it lacks than on the others "
            f"(p {_compared_p(gaps.p_labels)})"
        )
    return f"{missing_text}; not compared, since {why}"


def _compared_p(p: float) -> str:
    """Return a p-value with its sign: ``= .012`` or ``< .001``."""
    text = p_value(p)
    return text if text.startswith("<") else f"= {text}"


def _differences_sheet(study: SystemStudy, settings: SystemSettings) -> Sheet:
    """Return the table of the differences between every two systems, by people and by each metric.

    A significant difference has a star. Only differences of the human labels have an interval. A metric that is set
    apart has dashes.
    """
    measures = _means_by_name(study)
    corrected = {}
    for name, metric_means in measures.items():
        if metric_means is not None:
            corrected[name] = metric_means.corrected_p_values

    def difference_text(name: str, index: int) -> str:
        """Return the difference of a pair of systems by people or a metric, with a star if it is significant."""
        metric_means = measures[name]
        if metric_means is None:
            return Number().text
        difference, p = metric_means.differences[index], corrected[name][index]
        star = "*" if p is not None and p <= 1 - settings.confidence else ""
        # differences of metrics have no interval, so that the table stays narrow
        return f"{(difference if name == LABELS else difference.alone).text}{star}"

    columns = [
        Column("systems", cell=lambda index: " − ".join(study.pairs[index])),
        Column("p, people", number=True, cell=lambda index: p_value(corrected[LABELS][index])),
        *(Column(name, number=True, cell=partial(difference_text, name)) for name in measures),
    ]
    level = percent(settings.confidence)
    star_note = (
        "*: the two means differ by the paired t-test over items, or by all exchanges where few items differ, Holm "
        f"over the pairs of systems, at {level}"
    )
    rows = table_rows(columns, range(len(study.pairs)))
    return Sheet(f"{study.title}: every two systems", columns, rows, notes=[star_note])


#: What the intervals of a metric's agreement are valid for, by what is resampled.
_INTERVAL_SCOPE = {
    "items": "intervals: for these systems on other items",
    "systems": "intervals: for other systems on these items; a system drawn twice is not compared with itself",
    "both": "intervals: for other systems and items; a system drawn twice is not compared with itself",
}


def _agreement_text(name: str, row: tuple[str, MetricStudy]) -> str:
    """Return a number of the agreement of a metric with its interval if it has one; a dash without agreement.

    Args:
        name: the attribute of the agreement that has the number.
        row: the name of the metric and its study.
    """
    value = getattr(row[1].agreement, name, None)
    return value.text if isinstance(value, Number) else short(value, 3)


_AGREEMENT_COLUMNS = (
    Column("metric", cell=lambda row: row[0]),
    Column("pairwise accuracy", number=True, cell=partial(_agreement_text, "accuracy")),
    Column("soft", number=True, cell=partial(_agreement_text, "soft_accuracy")),
    Column("Kendall τ-b", number=True, cell=partial(_agreement_text, "kendall")),
    Column("Pearson r", number=True, cell=partial(_agreement_text, "pearson")),
    Column("within items", number=True, cell=partial(_agreement_text, "within_items")),
)


def _agreement_sheet(study: SystemStudy, settings: SystemSettings) -> Sheet:
    """Return the table of how well each metric orders the systems as people do, one row per metric.

    Notes tell what the intervals hold for, and that few systems tell little.
    """
    k = len(study.systems)
    notes = []
    if settings.resamples:
        notes.append(_INTERVAL_SCOPE[study.resampled_units(settings)])
    if k < MIN_SYSTEMS_FOR_ORDER:
        pairs = "1 pair" if k == 2 else f"{k * (k - 1) // 2} pairs"
        notes.append(f"{k} systems make {pairs}: whether a metric orders systems well is hardly known from that")
    title = f"{study.title}: does the metric order the systems as people do?"
    return Sheet(title, _AGREEMENT_COLUMNS, table_rows(_AGREEMENT_COLUMNS, study.metrics.items()), notes=notes)


def _system_records(study: SystemStudy) -> Iterator[dict[str, Any]]:
    """Yield one record per mean, difference and metric, whose ``kind`` is ``mean``, ``difference`` or ``agreement``.

    A metric that is set apart has the record of the metric alone, without values.
    """
    for name, metric_means in _means_by_name(study).items():
        if metric_means is not None:
            yield from _records_of_means(study, name, metric_means)
    for name, metric in study.metrics.items():
        gaps = metric.gaps
        yield {
            "kind": "agreement",
            "dataset": study.title,
            "by": name,
            **metric.agreement_values,
            "items": study.items if gaps is None else gaps.items,
            "missing": None if gaps is None else dict(zip(study.systems, gaps.missing, strict=True)),
            "missing_p_counts": None if gaps is None else gaps.p_counts,
            "missing_p_labels": None if gaps is None else gaps.p_labels,
            "open_orders": 0 if gaps is None else gaps.open_orders,
        }


def _records_of_means(study: SystemStudy, by: str, measured: MeasuredMeans) -> Iterator[dict[str, Any]]:
    """Yield the records of the systems' means by people or by a metric, and of their differences.

    Args:
        study: the study, for its systems and their pairs.
        by: the name of the metric, or that of people.
        measured: the means and differences.
    """
    for system, mean in zip(study.systems, measured.means, strict=True):
        yield {
            "kind": "mean",
            "dataset": study.title,
            "by": by,
            "system": system,
            "value": mean.value,
            "low": mean.low,
            "high": mean.high,
            "items": measured.items,
        }
    rows = zip(study.pairs, measured.differences, measured.corrected_p_values, strict=True)
    for (first, second), difference, adjusted_p in rows:
        yield {
            "kind": "difference",
            "dataset": study.title,
            "by": by,
            "system": first,
            "other": second,
            "value": difference.value,
            "low": difference.low,
            "high": difference.high,
            "p": difference.p,
            "adjusted_p": adjusted_p,
            "items": measured.items,
        }
