"""One score learned from the metrics of a run, as tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from assay.analysis.combine.result import COMBINED, BucketComparison, CombinationResult
from assay.analysis.combine.settings import CombineSettings
from assay.analysis.settings import CORRECTIONS
from assay.common.numbers import Number, money, p_value, rate, short
from assay.reports.layout import intervals_in_words
from assay.reports.sheets import Column, Document, Sheet, table_rows
from assay.statistics.coefficients import interval_method, title_of

if TYPE_CHECKING:
    from assay.statistics.combination import Addition


def to_document(result: CombinationResult, settings: CombineSettings) -> Document:
    """Return the verdict, one table per bucket, a table of what each metric adds, and the learning curve if any.

    The records of the document have one entry per bucket and metric, including the combination.
    """
    sheets = [_verdict_sheet(result, settings)]
    sheets += [_bucket_table(result, comparison) for comparison in result.buckets]
    sheets.append(_additions_table(result))
    if result.learning_curve:
        sheets.append(_learning_curve_table(result))
    folds, name = len(result.study.folds), title_of(result.by)
    correction = CORRECTIONS[settings.correction]
    method = [
        f"combined: scores of {folds} combinations, each of pairs that it was not learned from",
        "pairs of one group, or with the same texts, are never on both sides",
        f"better by: {name} of combined minus that of the metric; p: jackknife t-test, {correction}",
        intervals_in_words(
            settings.confidence,
            settings.resamples,
            settings.interval,
            [comparison.n for comparison in result.buckets],
            interval_method(result.statistics),
        ),
    ]
    return Document(sheets, list(_metric_records(result)), method, metrics=list(result.data.metrics))


def _verdict_sheet(result: CombinationResult, settings: CombineSettings) -> Sheet:
    """Return the sheet that recommends the combination if it is significantly better than the best metric.

    Which one to use otherwise, if any, is decided in :mod:`assay.analysis.recommend.advice`. The lines have the values
    of both, how good the scores are as probabilities if the labels have two values, the speed of the combination if it
    is known, its price if any metric may cost money, and how stable the choice of metrics is.
    """
    comparison, best = result.buckets[0], result.best_metric
    members = result.study.combination.members
    value = f"{title_of(result.by)} {short(comparison.value(COMBINED), 3)}"
    value_of_best = f"{short(comparison.value(best), 3)} of {best}"
    lines = []
    if result.is_better:
        headline = f"{result.data.title}: combine {', '.join(members)} ({result.study.combination.learner})"
        difference = result.advantage
        interval = f"[{short(difference.low, 3)}, {short(difference.high, 3)}]"
        lines.append(
            f"{value} on pairs not learned from, against {value_of_best}: {_signed_number(difference.value)} {interval}"
        )
    else:
        headline = f"{result.data.title}: no combination is known to be better than {best}"
        lines.append(
            f"{value} on pairs not learned from, against {value_of_best}, p {p_value(comparison.p_values[best])}"
        )
    lines += _probability_lines(result, settings)
    speed = result.inputs.speed_of(members)
    if speed is not None:
        lines.append(f"{rate(speed)} pairs/s on this machine, one metric after the other")
    if _has_paid_metric(result):
        price = result.inputs.price_of(members)
        lines.append("its metrics are free" if price == 0 else f"1,000 pairs cost {money(price)}")
    members_by_fold = [sorted(fold.members) for fold in result.study.folds]
    same_count = members_by_fold.count(sorted(members))
    lines.append(f"the same metrics were chosen in {same_count} of {len(members_by_fold)} folds")
    return Sheet(headline, (), (), facts=lines, notes=list(result.notes))


def _probability_lines(result: CombinationResult, settings: CombineSettings) -> list[str]:
    """Return how good the scores are as probabilities, and those of the prior if there is one.

    There are no such lines if the labels have more than two values.
    """
    lines = []
    if result.accuracy is not None and result.calibration is not None:
        lines.append(
            f"as probabilities, on pairs not learned from: accuracy {short(result.accuracy, 3)} at .5, "
            f"expected calibration error {short(result.calibration.error, 3)} "
            f"(95 % of correct models stay below {short(result.calibration.limit, 3)})"
        )
    if result.prior_accuracy is not None:
        lines.append(
            f"begun from {settings.prior}; its own probabilities: accuracy "
            f"{short(result.prior_accuracy, 3)} at .5, expected calibration error "
            f"{short(result.prior_calibration_error, 3)}"
        )
    return lines


def _has_paid_metric(result: CombinationResult) -> bool:
    """Tell whether any metric costs money, or may do so since its price is unknown."""
    metrics = [name for name in result.inputs.names if name in result.data.metrics]
    return any(result.inputs.prices.get(name) != 0 for name in metrics)


def _signed_number(value: float | None) -> str:
    """Return a number with its sign and three decimals; a dash for None."""
    if value is None:
        return "–"
    sign = "+" if value >= 0 else "-"
    return f"{sign}{short(abs(value), 3)}"


def _bucket_table(result: CombinationResult, comparison: BucketComparison) -> Sheet:
    """Return the table of a bucket, with one row for the combination and one for each metric, best first.

    The row of the combination is marked if it is significantly better than the best metric.
    """
    members = result.study.combination.members

    def coefficient_column(index: int, statistic: str) -> Column:
        return Column(
            title_of(statistic),
            number=True,
            spare=0 if statistic == result.by else 2,
            cell=lambda metric: comparison.coefficients[metric].number(index, comparison.confidence).text,
        )

    def blank_for_combination(cell: Callable[[str], str]) -> Callable[[str], str]:
        return lambda metric: "" if metric == COMBINED else cell(metric)

    def speed_of(metric: str) -> float | None:
        return result.inputs.speed_of(members) if metric == COMBINED else result.inputs.speeds.get(metric)

    columns = [
        Column("metric", key=True, cell=str),
        *(coefficient_column(index, name) for index, name in enumerate(result.statistics)),
        Column(
            "combined is better by",
            number=True,
            cell=blank_for_combination(lambda metric: comparison.differences[metric].text_with(3)),
        ),
        Column("p", number=True, cell=blank_for_combination(lambda metric: p_value(comparison.p_values[metric]))),
        Column("pairs/s", number=True, spare=1, cell=lambda metric: _speed_text(speed_of(metric))),
        Column("combined", spare=1, cell=lambda metric: "yes" if metric in members else ""),
    ]
    # the combination is row 0
    marked = frozenset({0}) if comparison.is_better(comparison.ranked_metrics[0]) else frozenset()
    return Sheet(
        f"{result.data.title}, {comparison.name}",
        columns,
        table_rows(columns, (COMBINED, *comparison.ranked_metrics)),
        facts=[f"n = {comparison.n:,}"],
        marked=marked,
    )


def _speed_text(speed: float | None) -> str:
    return "–" if speed is None else rate(speed)


def _additions_table(result: CombinationResult) -> Sheet:
    """Return a table of what each member of the combination adds and costs, in the order of selection.

    Prices have columns if any metric may cost money.
    """
    inputs, members = result.inputs, result.study.combination.members

    def members_up_to(addition: Addition) -> list[str]:
        return members[: members.index(addition.name) + 1]

    columns = [
        Column("metric", cell="name"),
        Column(f"{title_of(result.by)} alone", number=True, cell=lambda addition: short(addition.alone, 3)),
        Column("with those above", number=True, cell=lambda addition: short(addition.value, 3)),
        Column("pairs/s", number=True, cell=lambda addition: _speed_text(inputs.speeds.get(addition.name))),
        Column(
            "with those above",
            number=True,
            cell=lambda addition: _speed_text(inputs.speed_of(members_up_to(addition))),
        ),
    ]
    if _has_paid_metric(result):
        columns += [
            Column("price per 1,000", number=True, cell=lambda addition: money(inputs.prices.get(addition.name))),
            Column(
                "with those above", number=True, cell=lambda addition: money(inputs.price_of(members_up_to(addition)))
            ),
        ]
    tried = result.study.combination.tried
    learners_text = ", ".join(f"{learner} {short(value, 3)}" for learner, value in tried.items())
    statistic = title_of(result.by)
    return Sheet(
        f"{result.data.title}: what each metric adds",
        columns,
        table_rows(columns, result.study.combination.additions),
        facts=[
            (
                f"chosen one by one, each for the most that it adds to {statistic} of a linear function, by "
                "cross-validation"
            ),
            f"learners: {learners_text}; taken: {result.study.combination.learner}",
        ],
    )


#: A gain of the coefficient that is not worth twice as many labels.
_HARDLY = 0.005


def _learning_curve_table(result: CombinationResult) -> Sheet:
    """Return the learning curve as a table: the value by the number of pairs learned from, ascending."""
    best_value = result.buckets[0].value(result.best_metric)
    columns = [
        Column("pairs learned from", number=True, cell=lambda point: f"{point.pairs:,}"),
        Column(title_of(result.by), number=True, cell=lambda point: short(point.value, 3)),
    ]
    return Sheet(
        f"{result.data.title}: learning curve",
        columns,
        table_rows(columns, result.learning_curve),
        facts=[_advice_on_labels(result), f"best single metric: {short(best_value, 3)}"],
    )


def _advice_on_labels(result: CombinationResult) -> str:
    """Return a sentence on whether more labels would help, judged by the last step of the learning curve.

    The curve needs two points or more.
    """
    *_, point_before, last_point = result.learning_curve
    gain = last_point.value - point_before.value
    if gain < _HARDLY:
        return f"more labels would hardly help: the last doubling added less than {short(_HARDLY, 3)}"
    return f"more labels may help: from {point_before.pairs:,} pairs on, {_signed_number(gain)}"


def _metric_records(result: CombinationResult) -> Iterator[dict[str, Any]]:
    """Yield one flat record per bucket and metric, including the combination; undefined values are None.

    The difference is that of the combination from the metric; the combination itself has none.
    """
    members = set(result.study.combination.members)
    for comparison in result.buckets:
        for metric, coefficients in comparison.coefficients.items():
            record: dict[str, Any] = {
                "dataset": result.data.name,
                "bucket": comparison.name,
                "metric": metric,
                "n": comparison.n,
                "in_combination": metric in members,
                "pairs_per_second": result.inputs.speeds.get(metric),
                "price_per_1000": result.inputs.prices.get(metric),
            }
            for index, statistic in enumerate(result.statistics):
                number = coefficients.number(index, comparison.confidence)
                record |= {statistic: number.value, f"{statistic}_low": number.low, f"{statistic}_high": number.high}
            # the combination itself has no difference
            value, low, high = comparison.differences.get(metric, Number()).value_and_bounds
            record |= {"difference": value, "difference_low": low, "difference_high": high}
            record["p"] = comparison.p_values.get(metric)
            yield record
