"""The errors of a run as tables, and the diverging pairs as records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from assay.analysis.categories.vocabulary import LAST_RESORTS, label_of_rules
from assay.analysis.data import ScoredDataset
from assay.analysis.errors.categories import MIN_DIVERGING_PAIRS, Frequency, Share, long_answer_warning
from assay.analysis.errors.divergence import Divergence
from assay.analysis.errors.evaluation import Agreement, Evaluation
from assay.analysis.errors.report import Cleaning, ErrorReport, SubsetAgreement, records
from assay.common.numbers import label_texts, short
from assay.reports.layout import cut
from assay.reports.sheets import Column, Document, Sheet, number_columns
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
        top: the number of diverging pairs per metric in the tables.
        limit: the number of diverging pairs per metric among the records; all by default.
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

    Its categories without a diverging pair are spare rows, which a terminal leaves out.
    """
    divergence = report.divergences[metric]
    diverging_count, too_low_count = len(divergence.rows), int(divergence.too_low.sum())
    rows = [
        [
            report.tagged.labels[row.category],
            f"{row.too_low:,}",
            f"{row.too_high:,}",
            _share_text(row.diverging),
            _share_text(row.everywhere),
            _ratio_text(row),
        ]
        for row in report.frequencies[metric]
    ]
    facts = [
        (
            f"{diverging_count:,} of {int(divergence.considered.sum()):,} pairs diverge ({divergence.condition}): "
            f"{too_low_count:,} scored too low, {diverging_count - too_low_count:,} too high"
        )
    ]
    if divergence.threshold_count is not None:
        facts.append(
            f"by rank, since only {divergence.threshold_count:,} diverge by threshold: few labels are at an end of the "
            "scale; --by threshold shows those"
        )
    if divergence.decisions is not None and divergence.decisions.origin:
        facts.append(divergence.decisions.origin)
    if report.data.facts.kind == "probe":
        facts.append("probe set: the categories are those the pairs were written for")
    columns = [
        Column("category"),
        *number_columns(["too low", "too high", "share of diverging"]),
        # the next column has the ratio of both shares, so a narrow terminal can do without this one
        Column("share of all", number=True, spare=1),
        Column("times as frequent", number=True),
    ]
    return Sheet(
        f"Why {metric} and people diverge: {_dataset_title(report)}",
        columns,
        rows,
        facts=facts,
        notes=[*_hint_for_other_criterion(report, divergence), *_long_answer_warning(report, divergence)],
        spare_rows=_count_trailing_rows_without_divergence(report.frequencies[metric]),
        spare_words="categories without a diverging pair",
    )


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

    Thresholds are suggested only for scores in [0, 1].
    """
    if not divergence.is_next_to_nothing or divergence.decisions is not None:
        return []
    found = f"find {len(divergence.rows)} of {int(divergence.considered.sum()):,} pairs" if len(divergence.rows) else ""
    if divergence.by == "threshold":
        return [f"Thresholds {found or 'find nothing'} here: --by rank looks for ranks that differ."]
    scores = report.data.scores[divergence.metric][divergence.considered]
    if not len(scores) or scores.min() < 0 or scores.max() > 1:
        return []
    ends = f"{scores.min():.2g} to {scores.max():.2g}"
    line = f"Ranks {found or 'find nothing'} here. The scores run from {ends}: --by threshold looks for scores at the "
    return [line + "wrong end, --threshold auto for wrong decisions."]


def _long_answer_warning(report: ErrorReport, divergence: Divergence) -> list[str]:
    """Return a line that the rules are unreliable if many considered pairs have long answers; else an empty list."""
    is_long = report.too_long & divergence.considered
    long_diverging_count = int((is_long & divergence.mask).sum())
    detail = f", {long_diverging_count:,} of the {len(divergence.rows):,} that diverge,"
    return long_answer_warning(int(is_long.sum()), int(divergence.considered.sum()), detail)


def _worst_pairs_sheet(report: ErrorReport, metric: str, top: int) -> Sheet:
    """Return the table of the *top* pairs on which a metric and people diverge most, worst first."""
    shown = [record for record in records(report, top) if record["metric"] == metric]
    rows = []
    for record, label in zip(shown, label_texts([record["label"] for record in shown]), strict=True):
        rows.append(
            [
                record["side"],
                label,
                f"{record['score']:.3f}",
                cut(record["question"]),
                cut(record["reference"]),
                cut(record["candidate"]),
                "; ".join(map(_category_label, record["categories"])) or "–",
            ]
        )
    heads = [
        Column("side", spare=1),
        *number_columns(["label", "score"]),
        Column("question", spare=2),
        Column("reference"),
        Column("candidate"),
        Column("categories", spare=3),
    ]
    return Sheet(
        f"The {len(rows)} pairs on which {metric} and people diverge most",
        heads,
        rows,
    )


def _category_label(category: dict[str, str]) -> str:
    """Return the name that a reader sees of a category in a record."""
    return category["category"] if category["source"] == "people" else label_of_rules(category["category"])


def _agreement_by_category_sheet(report: ErrorReport, metric: str) -> Sheet:
    """Return the table of the agreement on the pairs with each category, beside that on all other pairs.

    The first row is the agreement on all pairs of the bucket.
    """
    heads: list[str] = []
    first_row = ["all pairs", f"{report.everywhere.n:,}"]
    for name in report.statistics:
        heads += [f"{title_of(name)} inside", "all but it"]
        first_row += [_estimate_text(report.everywhere, metric, name), ""]
    rows = [first_row]
    notes = []
    for within, without in report.categories:
        label = report.tagged.labels[within.name]
        row = [label, f"{within.n:,}"]
        for name in report.statistics:
            row += [_estimate_text(within, metric, name), _estimate_text(without, metric, name)]
            estimate = within.estimate_of(metric, name)
            if estimate.note and estimate.low is None:
                notes.append(f"{label}: {estimate.note}")
        rows.append(row)
    return Sheet(
        f"Agreement of {metric} by category: {_dataset_title(report)}",
        [Column("category"), Column("pairs", number=True), *(Column(head, number=True) for head in heads)],
        rows,
        notes=list(dict.fromkeys(notes)),
    )


def _agreement_by_number_sheets(report: ErrorReport) -> Iterator[Sheet]:
    """Yield one table per statistic with the agreement on all pairs, and on pairs without and with a number."""
    for name in report.statistics:
        rows = []
        for bucket, all_pairs, without_number, with_number in report.numbers:
            subsets = (all_pairs, without_number, with_number)
            for metric in report.divergences:
                estimates = [_estimate_text(subset, metric, name) for subset in subsets]
                rows.append([bucket, metric, *estimates, f"{with_number.n:,}"])
        heads = ["all pairs", "without numbers", "only with numbers", "pairs with numbers"]
        yield Sheet(
            f"{title_of(name)} with and without numbers: {_dataset_title(report)}",
            [Column("bucket"), Column("metric"), *(Column(head, number=True) for head in heads)],
            rows,
            notes=["A pair has a number where a gold answer has a digit."],
        )


def _cleaning_sheet(report: ErrorReport, cleaning: Cleaning) -> Sheet:
    """Return the table of the agreement with the first and with the corrected labels, and on the unchanged pairs."""
    subsets = (cleaning.first, cleaning.corrected, cleaning.unchanged)
    rows = []
    for metric in report.divergences:
        for name in report.statistics:
            estimates = [_estimate_text(subset, metric, name) for subset in subsets]
            rows.append([metric, title_of(name), *estimates])
    heads = ["first labels", "corrected labels", "without the changed"]
    joined = (
        f"{cleaning.joined:,} pairs joined by their texts, {cleaning.changed:,} with another label in {cleaning.title}"
    )
    alone = f"{cleaning.only_first:,} and {cleaning.only_second:,} pairs are in only one of the runs"
    return Sheet(
        f"Agreement with corrected labels: {report.data.title}",
        [Column("metric"), Column("statistic"), *(Column(head, number=True) for head in heads)],
        rows,
        facts=[joined, alone],
    )


def _estimate_text(subset: SubsetAgreement, metric: str, statistic: str) -> str:
    estimate = subset.estimate_of(metric, statistic)
    return estimate.text


def _share_text(share: Share) -> str:
    if share.value is None or share.low is None or share.high is None:
        return "–"
    return f"{100 * share.value:.1f} % [{100 * share.low:.1f}, {100 * share.high:.1f}]"


def _ratio_text(row: Frequency) -> str:
    """Return the ratio of a category with its interval; with ``few`` if it has none for lack of pairs or groups."""
    if row.ratio is None:
        return "–"
    if row.low is None or row.high is None:
        remark = ", few" if row.has_too_few_pairs else ""
        return f"{row.ratio:.1f}{remark}"
    return f"{row.ratio:.1f} [{row.low:.1f}, {row.high:.1f}]"


def evaluation_document(evaluated: Sequence[tuple[ScoredDataset, Evaluation]], warnings: Sequence[str]) -> Document:
    """Return tables of precision, recall, F1 and Cohen's kappa of the rules by category and by group.

    Args:
        evaluated: the datasets and the agreement of rules and people on their pairs; one table each.
        warnings: lines on packages that the rules lack.
    """
    sheets, records = [], []
    for data, evaluation in evaluated:
        sheets.append(_evaluation_sheet(data, evaluation))
        records += [_record_of_agreement(data, row) for row in (*evaluation.categories, *evaluation.groups)]
    return Document(sheets, records, warnings=list(dict.fromkeys(warnings)))


_NUMBER_HEADS = ("people", "rules", "both", "precision", "recall", "F1", "kappa")


def _evaluation_sheet(data: ScoredDataset, evaluation: Evaluation) -> Sheet:
    """Return the table of one dataset, with one row per category, then the groups as marked rows."""
    rows = [*evaluation.categories, *evaluation.groups]
    n = evaluation.n
    return Sheet(
        f"Rules against annotated categories: {data.title}",
        [Column("category"), *(Column(head, number=True) for head in _NUMBER_HEADS)],
        [_row_of_agreement(row) for row in rows],
        facts=[
            (
                f"{n:,} annotated pairs; the rules give {evaluation.tags / n:.2f} categories a pair, "
                f"none to {evaluation.untagged:,}; the annotated one is among them in {evaluation.any:,} "
                f"({evaluation.any / n:.0%}), and the first in {evaluation.first:,} ({evaluation.first / n:.0%})"
            )
        ],
        marked=frozenset(range(len(evaluation.categories), len(rows))),
    )


def _record_of_agreement(data: ScoredDataset, agreement: Agreement) -> dict[str, Any]:
    return {
        "dataset": data.name,
        "category": agreement.category,
        "people": agreement.people,
        "rules": agreement.rules,
        "both": agreement.both,
        "precision": agreement.precision,
        "recall": agreement.recall,
        "f1": agreement.f1,
        "kappa": agreement.kappa,
        "n": agreement.n,
    }


def _row_of_agreement(agreement: Agreement) -> list[str]:
    """Return the cells of one category: name, three counts, four measures; undefined measures are a dash."""
    counts = (agreement.people, agreement.rules, agreement.both)
    measures = (agreement.precision, agreement.recall, agreement.f1, agreement.kappa)
    return [agreement.category, *(f"{count:,}" for count in counts), *(short(measure, 2) for measure in measures)]
