"""The errors of a run as tables, and the diverging pairs as records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from assay.analysis.categories.vocabulary import LAST_RESORTS, label_of_rules
from assay.analysis.data import ScoredDataset
from assay.analysis.errors.categories import MIN_DIVERGING_PAIRS, Frequency, Share, long_answer_warning
from assay.analysis.errors.divergence import Divergence
from assay.analysis.errors.evaluation import Evaluation
from assay.analysis.errors.report import Cleaning, ErrorReport, NumberAgreement, SubsetAgreement, records
from assay.common.numbers import label_texts, short
from assay.reports.layout import cut
from assay.reports.sheets import Column, Document, Sheet, table_rows
from assay.statistics.coefficients import MIN_UNITS as FEWEST_UNITS
from assay.statistics.coefficients import title_of

_ABOUT_SHARES = (
    "A pair may have several categories, or none. Shares with Wilson's interval, the ratio of the two shares with a "
    "bootstrap interval; 1 is as frequent among errors as anywhere."
)
_ABOUT_FEW = (
    f"few: below {MIN_DIVERGING_PAIRS} diverging pairs, or {FEWEST_UNITS} pairs or groups in all, no interval. "
    f"{', '.join(map(label_of_rules, LAST_RESORTS))} are read from the label as well, which also decides what "
    "diverges: their ratio says little."
)


def error_document(reports: Sequence[ErrorReport], *, top: int = 10, limit: int | None = None) -> Document:
    """Return the tables of all reports, with the diverging pairs as records.

    Args:
        reports: one report per dataset.
        top: the number of diverging pairs per metric in the tables, those that diverge most.
        limit: the number of diverging pairs per metric among the records; None for all.
    """
    sheets = [sheet for report in reports for sheet in _sheets_of_report(report, top)]
    missing = dict.fromkeys(line for report in reports for line in report.tagged.missing)
    pairs = [record for report in reports for record in records(report, limit)]
    notes = [_ABOUT_SHARES, _ABOUT_FEW] if any(report.divergences for report in reports) else []
    return Document(sheets, pairs, notes, warnings=list(missing))


def _sheets_of_report(report: ErrorReport, top: int) -> Iterator[Sheet]:
    """Yield the tables of a dataset: three per metric, then those on numbers, and one on corrected labels if any."""
    for metric in report.divergences:
        yield _frequency_sheet(report, metric)
        yield _worst_pairs_sheet(report, metric, top)
        yield _agreement_by_category_sheet(report, metric)
    yield from _agreement_by_number_sheets(report)
    if report.cleaning is not None:
        yield _cleaning_sheet(report, report.cleaning)


def _dataset_title(report: ErrorReport) -> str:
    return report.data.title + ("" if report.bucket == "all" else f", {report.bucket}")


def _frequency_sheet(report: ErrorReport, metric: str) -> Sheet:
    """Return the table of the frequency of each category among the pairs on which a metric and people diverge.

    Its categories without a diverging pair, unless that is all of them, are spare rows, which a terminal leaves out.
    """
    divergence = report.divergences[metric]
    columns = [
        Column("category", cell=lambda row: report.tagged.labels[row.category]),
        Column("too low", number=True, cell=lambda row: f"{row.too_low:,}"),
        Column("too high", number=True, cell=lambda row: f"{row.too_high:,}"),
        Column("share of diverging", number=True, cell=lambda row: _share_text(row.diverging)),
        # the next column has the ratio of both shares, so a narrow terminal can do without this one
        Column("share of all", number=True, spare=1, cell=lambda row: _share_text(row.everywhere)),
        Column("times as frequent", number=True, cell=_ratio_text),
    ]
    notes: list[str] = []
    if divergence.decisions is not None and divergence.decisions.divided:
        notes.append(divergence.decisions.divided)
    notes += [*_hint_for_other_criterion(report, divergence), *_long_answer_warning(report, divergence)]
    return Sheet(
        f"Why {metric} and people diverge: {_dataset_title(report)}",
        columns,
        table_rows(columns, report.frequencies[metric]),
        facts=list(_facts_on_divergence(report, divergence)),
        notes=notes,
        spare_rows=_count_trailing_rows_without_divergence(report.frequencies[metric]),
        spare_words="categories without a diverging pair",
    )


def _facts_on_divergence(report: ErrorReport, divergence: Divergence) -> Iterator[str]:
    """Yield how many pairs diverge and which way, then, if it applies, why by rank, the threshold, and a probe set."""
    diverging_count, too_low_count = len(divergence.rows), int(divergence.too_low.sum())
    yield (
        f"{diverging_count:,} of {int(divergence.considered.sum()):,} pairs diverge ({divergence.condition}): "
        f"{too_low_count:,} scored too low, {diverging_count - too_low_count:,} too high"
    )
    if divergence.threshold_count is not None:
        yield (
            f"by rank, since only {divergence.threshold_count:,} diverge by threshold: few labels are at an end of the "
            "scale; --by threshold shows those"
        )
    if divergence.decisions is not None and divergence.decisions.origin:
        yield divergence.decisions.origin
    if report.data.facts.kind == "probe":
        yield "probe set: the categories are those the pairs were written for"


def _count_trailing_rows_without_divergence(frequencies: Sequence[Frequency]) -> int:
    """Return the number of rows at the end without a diverging pair.

    It is 0 if no row has one, so that the table does not become empty without its spare rows.
    """
    for count, row in enumerate(reversed(frequencies)):
        if row.too_low or row.too_high:
            return count
    return 0


def _hint_for_other_criterion(report: ErrorReport, divergence: Divergence) -> list[str]:
    """Return a line that suggests another criterion if this one finds next to nothing; else an empty list.

    Thresholds are suggested only for scores in [0, 1]. For wrong decisions nothing is suggested.
    """
    if not divergence.is_next_to_nothing or divergence.decisions is not None:
        return []
    count, considered = len(divergence.rows), int(divergence.considered.sum())
    find_little = f"find {count} of {considered:,} pairs" if count else "find nothing"
    if divergence.by == "threshold":
        return [f"Thresholds {find_little} here: --by rank looks for ranks that differ."]
    scores = report.data.scores[divergence.metric][divergence.considered]
    if not len(scores) or scores.min() < 0 or scores.max() > 1:
        return []
    ends = f"{scores.min():.2g} to {scores.max():.2g}"
    line = f"Ranks {find_little} here. The scores run from {ends}: --by threshold looks for scores at the wrong end"
    return [f"{line}, --threshold auto for wrong decisions."]


def _long_answer_warning(report: ErrorReport, divergence: Divergence) -> list[str]:
    """Return a line that the rules are unreliable if many considered pairs have long answers; else an empty list."""
    is_long = report.too_long & divergence.considered
    long_diverging_count = int((is_long & divergence.mask).sum())
    detail = f", {long_diverging_count:,} of the {len(divergence.rows):,} that diverge,"
    return long_answer_warning(int(is_long.sum()), int(divergence.considered.sum()), detail)


def _worst_pairs_sheet(report: ErrorReport, metric: str, top: int) -> Sheet:
    """Return the table of the *top* pairs on which a metric and people diverge most, worst first."""
    shown_records = [record for record in records(report, top) if record["metric"] == metric]
    labels = [record["label"] for record in shown_records]
    text_of_label = dict(zip(labels, label_texts(labels), strict=True))
    columns = [
        Column("side", spare=1, cell=lambda record: record["side"]),
        Column("label", number=True, cell=lambda record: text_of_label[record["label"]]),
        Column("score", number=True, cell=lambda record: f"{record['score']:.3f}"),
        Column("question", spare=2, cell=lambda record: cut(record["question"])),
        Column("reference", cell=lambda record: cut(record["reference"])),
        Column("candidate", cell=lambda record: cut(record["candidate"])),
        Column("categories", spare=3, cell=_categories_text),
    ]
    return Sheet(
        f"The {len(shown_records)} pairs on which {metric} and people diverge most",
        columns,
        table_rows(columns, shown_records),
    )


def _categories_text(record: Mapping[str, Any]) -> str:
    """Return the categories of a pair as a text; a dash without any."""
    labels = []
    for category in record["categories"]:
        name = category["category"]
        labels.append(name if category["source"] == "people" else label_of_rules(name))
    return "; ".join(labels) or "–"


class _CategoryRow(NamedTuple):
    """The agreement on the pairs with a category, and on all others; None for the row of all pairs."""

    inside: SubsetAgreement
    outside: SubsetAgreement | None


def _agreement_by_category_sheet(report: ErrorReport, metric: str) -> Sheet:
    """Return the table of the agreement on the pairs with each category, beside that on all other pairs.

    The first row is the agreement on all pairs of the bucket. Notes say why coefficients on the pairs with a category
    have no interval.
    """
    rows = [_CategoryRow(report.everywhere, None), *(_CategoryRow(*subsets) for subsets in report.categories)]
    notes = []
    for row in rows[1:]:
        for name in report.statistics:
            estimate = row.inside.estimate_of(metric, name)
            if estimate.note and estimate.low is None:
                notes.append(f"{report.tagged.labels[row.inside.name]}: {estimate.note}")

    def category_text(row: _CategoryRow) -> str:
        return "all pairs" if row.outside is None else report.tagged.labels[row.inside.name]

    def inside_text(row: _CategoryRow, statistic: str) -> str:
        return row.inside.estimate_of(metric, statistic).text

    def outside_text(row: _CategoryRow, statistic: str) -> str:
        return "" if row.outside is None else row.outside.estimate_of(metric, statistic).text

    columns = [
        Column("category", cell=category_text),
        Column("pairs", number=True, cell=lambda row: f"{row.inside.n:,}"),
    ]
    for name in report.statistics:
        columns += [
            Column(f"{title_of(name)} inside", number=True, cell=partial(inside_text, statistic=name)),
            Column("all but it", number=True, cell=partial(outside_text, statistic=name)),
        ]
    return Sheet(
        f"Agreement of {metric} by category: {_dataset_title(report)}",
        columns,
        table_rows(columns, rows),
        notes=list(dict.fromkeys(notes)),
    )


@dataclass(frozen=True)
class _NumberRow:
    """One metric under one statistic on a bucket, whose pairs with and without a number are told apart."""

    agreement: NumberAgreement
    metric: str
    statistic: str

    def text_of(self, subset: SubsetAgreement) -> str:
        return subset.estimate_of(self.metric, self.statistic).text


def _agreement_by_number_sheets(report: ErrorReport) -> Iterator[Sheet]:
    """Yield one table per statistic with the agreement on all pairs, and on pairs without and with a number."""
    columns = [
        Column("bucket", cell=lambda row: row.agreement.bucket),
        Column("metric", cell="metric"),
        Column("all pairs", number=True, cell=lambda row: row.text_of(row.agreement.all_pairs)),
        Column("without numbers", number=True, cell=lambda row: row.text_of(row.agreement.without_number)),
        Column("only with numbers", number=True, cell=lambda row: row.text_of(row.agreement.with_number)),
        Column("pairs with numbers", number=True, cell=lambda row: f"{row.agreement.with_number.n:,}"),
    ]
    for statistic in report.statistics:
        rows = [
            _NumberRow(agreement, metric, statistic) for agreement in report.numbers for metric in report.divergences
        ]
        yield Sheet(
            f"{title_of(statistic)} with and without numbers: {_dataset_title(report)}",
            columns,
            table_rows(columns, rows),
            notes=["A pair has a number where a gold answer has a digit."],
        )


class _CleaningRow(NamedTuple):
    metric: str
    statistic: str


def _cleaning_sheet(report: ErrorReport, cleaning: Cleaning) -> Sheet:
    """Return the table of the agreement with the first and with the corrected labels, and on the unchanged pairs."""

    def number_column(head: str, subset: SubsetAgreement) -> Column:
        return Column(head, number=True, cell=lambda row: subset.estimate_of(row.metric, row.statistic).text)

    columns = [
        Column("metric", cell="metric"),
        Column("statistic", cell=lambda row: title_of(row.statistic)),
        number_column("first labels", cleaning.first),
        number_column("corrected labels", cleaning.corrected),
        number_column("without the changed", cleaning.unchanged),
    ]
    rows = [_CleaningRow(metric, statistic) for metric in report.divergences for statistic in report.statistics]
    joined = (
        f"{cleaning.joined:,} pairs joined by their texts, {cleaning.changed:,} with another label in {cleaning.title}"
    )
    alone = f"{cleaning.only_first:,} and {cleaning.only_second:,} pairs are in only one of the runs"
    return Sheet(
        f"Agreement with corrected labels: {report.data.title}",
        columns,
        table_rows(columns, rows),
        facts=[joined, alone],
    )


def _share_text(share: Share) -> str:
    if share.value is None or share.low is None or share.high is None:
        return "–"
    return f"{100 * share.value:.1f} % [{100 * share.low:.1f}, {100 * share.high:.1f}]"


def _ratio_text(row: Frequency) -> str:
    """Return the ratio of a category with its interval; with ``few`` if it has none for lack of pairs or groups."""
    ratio = row.ratio
    if ratio.value is None:
        return "–"
    if ratio.low is None or ratio.high is None:
        remark = ", few" if row.has_too_few_pairs else ""
        return f"{ratio.value:.1f}{remark}"
    return f"{ratio.value:.1f} [{ratio.low:.1f}, {ratio.high:.1f}]"


def evaluation_document(evaluated: Sequence[tuple[ScoredDataset, Evaluation]], warnings: Sequence[str]) -> Document:
    """Return tables of precision, recall, F1 and Cohen's kappa of the rules by category and by group of categories.

    There is one record per row of these tables; undefined measures are None.

    Args:
        evaluated: the datasets and the agreement of rules and people on their pairs; one table each.
        warnings: lines on packages that the rules lack.
    """
    names = ("category", "people", "rules", "both", "precision", "recall", "f1", "kappa", "n")
    sheets, records = [], []
    for data, evaluation in evaluated:
        sheets.append(_evaluation_sheet(data, evaluation))
        for row in (*evaluation.categories, *evaluation.groups):
            records.append({"dataset": data.name} | {name: getattr(row, name) for name in names})
    return Document(sheets, records, warnings=list(dict.fromkeys(warnings)))


#: The columns of the agreement of rules and people; undefined measures are a dash.
_EVALUATION_COLUMNS = (
    Column("category", cell="category"),
    Column("people", number=True, cell=lambda row: f"{row.people:,}"),
    Column("rules", number=True, cell=lambda row: f"{row.rules:,}"),
    Column("both", number=True, cell=lambda row: f"{row.both:,}"),
    Column("precision", number=True, cell=lambda row: short(row.precision, 2)),
    Column("recall", number=True, cell=lambda row: short(row.recall, 2)),
    Column("F1", number=True, cell=lambda row: short(row.f1, 2)),
    Column("kappa", number=True, cell=lambda row: short(row.kappa, 2)),
)


def _evaluation_sheet(data: ScoredDataset, evaluation: Evaluation) -> Sheet:
    """Return the table of one dataset, with one row per category, then the groups as marked rows."""
    rows = [*evaluation.categories, *evaluation.groups]
    n = evaluation.n
    return Sheet(
        f"Rules against annotated categories: {data.title}",
        _EVALUATION_COLUMNS,
        table_rows(_EVALUATION_COLUMNS, rows),
        facts=[
            (
                f"{n:,} annotated pairs; the rules give {evaluation.tags / n:.2f} categories a pair, "
                f"none to {evaluation.untagged:,}; the annotated one is among them in {evaluation.any:,} "
                f"({evaluation.any / n:.0%}), and the first in {evaluation.first:,} ({evaluation.first / n:.0%})"
            )
        ],
        marked=frozenset(range(len(evaluation.categories), len(rows))),
    )
