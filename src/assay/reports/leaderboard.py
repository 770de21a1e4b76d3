"""A leaderboard as tables (sheets) and plain records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from assay.analysis.leaderboard.board import Board, Line
from assay.analysis.leaderboard.ties import CalibratedValue, has_influential_ties
from assay.analysis.settings import CORRECTIONS, PairedTests
from assay.common.numbers import money, none_if_nan, p_value, percent, rate, short
from assay.reports.layout import intervals_in_words
from assay.reports.sheets import Column, Document, Sheet, table_rows
from assay.statistics.coefficients import OF_TWO_LABELS, WHY_AUC, calibrated_form, interval_method, title_of

if TYPE_CHECKING:
    from assay.statistics.random_effects import RandomEffects

#: The head of the price column.
PRICE_HEAD = "price per 1,000"


def to_document(boards: Sequence[Board], settings: PairedTests, by: str, absent: Sequence[str] = ()) -> Document:
    """Return a leaderboard as a document: one sheet per board on which some metric has a value.

    A board with random-effects means has a second sheet for them; a board without any value becomes a warning. Metrics
    that could be the best are marked. Speed and price have a column if they are known for some metric, and the Pareto
    front has one if either of them has.

    Args:
        boards: the boards.
        settings: the settings of intervals and tests.
        by: the coefficient that ranks.
        absent: one line for each metric that was requested from a run but has no scores, to be shown as a warning.
    """
    is_timed = any(line.pairs_per_second is not None for board in boards for line in board.lines)
    is_priced = any(board.has_prices for board in boards)
    shown_boards = [board for board in boards if any(map(_has_value, board.lines))]
    sheets = []
    for board in shown_boards:
        columns = _board_columns(board, settings, by, is_timed=is_timed, is_priced=is_priced)
        sheets.append(_add_tie_notes(_board_sheet(board, columns, by), board, by))
        if any(by in line.random_effects for line in board.lines):
            sheets.append(_random_sheet(board, by))
    records = [record for board in boards for record in _board_records(board, by)]
    empty_warnings = [_empty_board_warning(board) for board in boards if board not in shown_boards]
    explanations = list(_explanation_lines(settings, by, shown_boards, is_timed=is_timed, is_priced=is_priced))
    metrics = list(dict.fromkeys(line.metric for board in boards for line in board.lines))
    return Document(sheets, records, explanations, warnings=[*absent, *empty_warnings], metrics=metrics)


def _has_value(line: Line) -> bool:
    return any(number.value is not None for number in line.values.values())


def _empty_board_warning(board: Board) -> str:
    """Return the warning that a board without any value is not shown, with the reason."""
    reason = "scores or labels do not vary"
    if any(line.missing for line in board.lines):
        reason += ", or are missing on one of the datasets"
    return f"{board.title}, {board.bucket}: no table, since no metric has a value there: {reason}"


def _rank_span(first: int, last: int) -> str:
    return f"{first}" if first == last else f"{first}–{last}"


def _board_columns(board: Board, settings: PairedTests, by: str, *, is_timed: bool, is_priced: bool) -> list[Column]:
    """Return the columns of a board, over its lines; those of speed and price only if they are known somewhere.

    Args:
        board: the board.
        settings: the settings of its tests, with the statistics to show.
        by: the statistic that ranks.
        is_timed: whether the speed of any metric is known.
        is_priced: whether the price of any metric is known.
    """
    letters = board.letters_by_metric
    columns = [
        Column("rank", number=True, cell=_rank_text),
        Column("alike", spare=1, cell=lambda line: letters.get(line.metric, "–")),
        Column("metric", key=True, cell="metric"),
    ]
    for name in settings.statistics:
        spare = 0 if name == by else 2
        columns.append(Column(title_of(name), number=True, spare=spare, cell=partial(_value_text, name)))
    if is_timed:
        columns.append(Column("pairs/s", number=True, spare=3, cell=_speed_text))
    if is_priced:
        columns.append(Column(PRICE_HEAD, number=True, spare=1, cell=lambda line: money(line.price_per_1000)))
    if is_timed or is_priced:
        front_texts = {True: "yes", False: "", None: "–"}
        columns.append(Column("front", spare=3, cell=lambda line: front_texts[line.on_front]))
    return columns


def _rank_text(line: Line) -> str:
    return f"{line.rank.rank} ({_rank_span(line.rank.low, line.rank.high)})" if line.rank else "–"


def _value_text(statistic: str, line: Line) -> str:
    return line.values[statistic].text


def _speed_text(line: Line) -> str:
    return "–" if line.pairs_per_second is None else rate(line.pairs_per_second)


def _board_sheet(board: Board, columns: Sequence[Column], by: str) -> Sheet:
    """Return one board as a sheet.

    Metrics that could be the best are marked; notes say why metrics have no rank, and list caveats on intervals.

    Args:
        board: the board.
        columns: its columns, see :func:`_board_columns`.
        by: the coefficient that ranks.
    """
    could_be_best = frozenset(row for row, line in enumerate(board.lines) if line.metric in board.best)
    notes = [board.unranked] if board.unranked else []
    notes += [
        f"{line.metric}: no comparable score on {', '.join(line.missing)}" for line in board.lines if line.missing
    ]
    notes += dict.fromkeys(reservation for line in board.lines for reservation in line.reservations)
    notes += missing_score_notes(board, by)
    notes += untested_notes(board)
    return Sheet(
        f"{board.title}, {board.bucket}",
        columns,
        table_rows(columns, board.lines),
        facts=(_size_fact(board),),
        notes=notes,
        marked=could_be_best,
    )


def _size_fact(board: Board) -> str:
    """Return the number of pairs, and of those on which metrics are compared if they are fewer."""
    shared = board.shared
    compared = (
        "" if shared == board.n or board.unranked else f", compared on the {shared:,} that all ranked metrics scored"
    )
    return f"n = {board.n:,}{compared}"


def missing_score_notes(board: Board, by: str) -> list[str]:
    """Return one line per metric that lacks scores on a board of a dataset: how many, and what follows from it.

    Of a ranked metric, the line has the values and ranks that the missing scores allow; of a metric that is set apart,
    the reason, and the difference from the highest ranked metric on the pairs that both have scored. A metric that
    lacks a whole dataset is left to other notes.

    Args:
        board: the board.
        by: the coefficient that ranks.
    """
    lines = []
    for line in board.lines:
        if line.missing or not line.unscored:
            continue
        count_text = f"{line.metric}: {board.n - line.unscored:,} of {board.n:,} pairs have a score"
        if line.apart is not None:
            lines.append(f"{count_text}, hence no rank{_reason_apart(line)}{_difference_apart(board, line, by)}")
        elif line.rank is not None and line.filled is not None:
            low, high = line.filled
            others = [other for other in board.lines if other.rank and other is not line]
            other_values = [other.values[by].value or 0.0 for other in others]
            first = 1 + sum(value > high for value in other_values)
            last = 1 + sum(value > low for value in other_values)
            ranks = f"rank {first}" if first == last else f"ranks {first} to {last}"
            value_range = f"{title_of(by)} from {short(low, 3)} to {short(high, 3)}"
            lines.append(f"{count_text}; with the worst and the best for the missing ones, {value_range}, {ranks}")
        else:
            lines.append(count_text)
    return lines


def _reason_apart(line: Line) -> str:
    """Return a clause on how missing scores depend on the label; empty if the metric only lacks many."""
    apart = line.apart
    if apart is None or apart.mean_label is None or apart.mean_label_scored is None:
        return ""
    missing, scored = short(apart.mean_label, 2), short(apart.mean_label_scored, 2)
    return f": it lacks them where labels are other than elsewhere (mean {missing} against {scored})"


def _difference_apart(board: Board, line: Line, by: str) -> str:
    """Return a clause that compares a metric that is set apart with the highest ranked one.

    It is empty if no metric is ranked, or if either has no coefficient on the pairs that both scored.

    Args:
        board: the board.
        line: the metric that is set apart.
        by: the coefficient that ranks.
    """
    difference = board.apart.get(line.metric)
    if difference is None or difference.first is None or difference.second is None or not board.ranked_names:
        return ""
    verdict = "not tested" if difference.p is None else f"p {p_value(difference.p)}"
    values = f"{short(difference.first, 3)} against {short(difference.second, 3)} of {board.ranked_names[0]}"
    return f"; on the {difference.n:,} pairs that both scored, {title_of(by)} {values} ({verdict})"


def untested_notes(board: Board) -> list[str]:
    """Return lines on the pairs of ranked metrics that were not tested; empty if all were.

    A line has the pairs of one metric, and each pair is in one line.
    """
    untested_with: dict[str, list[str]] = {}
    counts = Counter(name for pair in board.untested for name in pair)
    for first, second in board.untested:
        # a metric without any test comes first, so that one line has all of its pairs
        name, other = (first, second) if counts[first] >= counts[second] else (second, first)
        untested_with.setdefault(name, []).append(other)
    reason = "too few pairs, or undefined without one of them"
    return [f"{name}: not tested against {', '.join(names)} ({reason})" for name, names in untested_with.items()]


def _add_tie_notes(sheet: Sheet, board: Board, by: str) -> Sheet:
    """Return the sheet of a board with notes on ties and tie thresholds added."""
    ties = {line.metric: line.ties for line in board.lines if line.rank}
    thresholds = {line.metric: line.tie_threshold for line in board.lines}
    notes = [*sheet.notes, *tie_notes(ties, board.calibrated, by), *threshold_notes(thresholds)]
    return replace(sheet, notes=notes)


def tie_notes(ties: Mapping[str, float], values: Mapping[str, CalibratedValue], by: str) -> list[str]:
    """Return one line on ties and the order under the calibrated form, as a list; empty if ties have no influence.

    Without that order, the line names the option that computes it.

    Args:
        ties: the share of the comparisons that each ranked metric ties, in [0, 1].
        values: the metrics under the calibrated form; empty if it was not computed.
        by: the name of the coefficient that ranks.
    """
    calibrated_name = calibrated_form(by)
    if calibrated_name is None or not has_influential_ties(ties, by):
        return []
    fewest = min(ties, key=lambda name: ties[name])
    most = max(ties, key=lambda name: ties[name])
    shares = f"{most} ties {ties[most]:.0%} of the comparisons, {fewest} {ties[fewest]:.0%}"
    line = f"ties: {shares}, and {title_of(by)} depends on that"
    defined_values = {}
    for name in ties:
        value = values[name].value if name in values else None
        if value is not None:
            defined_values[name] = value
    if not defined_values:
        return [f"{line}; --calibrate-ties ranks by {title_of(calibrated_name)}"]
    names_by_value = sorted(defined_values, key=lambda name: -defined_values[name])
    order_text = ", ".join(f"{name} {short(defined_values[name], 3)}" for name in names_by_value)
    return [f"{line}; by {title_of(calibrated_name)} the order is {order_text} (--calibrate-ties ranks by it)"]


def threshold_notes(thresholds: Mapping[str, float | None]) -> list[str]:
    """Return one line with the tie threshold of each metric, as a list; empty if no metric has one."""
    metric_texts = [f"{name} {value:.3g}" for name, value in thresholds.items() if value is not None]
    if not metric_texts:
        return []
    line = f"calibrated ties: differences up to {', '.join(metric_texts)} are ties, the best thresholds on all pairs"
    return [f"{line}; values are of thresholds chosen out of fold"]


def _random_sheet(board: Board, by: str) -> Sheet:
    """Return a sheet of random-effects means of the ranking coefficient over datasets, in the order of the board.

    A metric without such a mean has a dash.
    """
    means = {line.metric: line.random_effects.get(by) for line in board.lines}
    dataset_count = max((mean.datasets for mean in means.values() if mean is not None), default=0)

    def column(head: str, text: Callable[[RandomEffects], str], without: str = "") -> Column:
        def cell(metric: str) -> str:
            mean = means[metric]
            return without if mean is None else text(mean)

        return Column(head, number=True, cell=cell)

    columns = [
        Column("metric", cell=str),
        column(title_of(by), lambda mean: mean.mean.text, without="–"),
        column("new dataset", lambda mean: f"{short(mean.new.low, 2)} to {short(mean.new.high, 2)}"),
        column("deviation (z)", lambda mean: short(mean.deviation, 2)),
    ]
    notes = (
        "the datasets are taken as a sample of others like them; the fixed mean above is of these datasets only",
        "deviation between datasets by Paule and Mandel, on Fisher's z; interval by Hartung and Knapp",
        "new dataset: where the coefficient on one more of them is expected (Nagashima et al. 2019)",
    )
    title = f"random-effects mean over {dataset_count} datasets, {board.bucket}"
    return Sheet(title, columns, table_rows(columns, means), notes=notes)


def _board_records(board: Board, by: str) -> Iterator[dict[str, Any]]:
    """Yield one flat record per metric of a board; undefined or unknown values are None."""
    letters, groups = board.letters_by_metric, board.rank_groups
    for line in board.lines:
        record: dict[str, Any] = {
            "dataset": board.title,
            "bucket": board.bucket,
            "rank": line.rank.rank if line.rank else None,
            "rank_low": line.rank.low if line.rank else None,
            "rank_high": line.rank.high if line.rank else None,
            "alike": letters.get(line.metric),
            "group": _rank_span(*groups[line.metric]) if line.metric in groups else None,
            "metric": line.metric,
            "kind": line.kind,
            "could_be_best": line.metric in board.best if line.rank else None,
        }
        for name, number in line.values.items():
            record |= {name: number.value, f"{name}_low": number.low, f"{name}_high": number.high}
        for name, effects in line.random_effects.items():
            value, low, high = effects.mean.value_and_bounds
            record |= {f"{name}_random": value, f"{name}_random_low": low, f"{name}_random_high": high}
            record |= {f"{name}_new_low": effects.new.low, f"{name}_new_high": effects.new.high}
            record[f"{name}_deviation"] = effects.deviation
        yield record | {
            "n": line.n,
            "unscored": line.unscored,
            "pairs_per_second": line.pairs_per_second,
            "price_per_1000": line.price_per_1000,
            "front": line.on_front,
            "missing": "; ".join(line.missing),
            "rare": "; ".join(rare.rarity for rare in line.rare),
            "ties": none_if_nan(line.ties),
            "tie_threshold": line.tie_threshold,
            "signature": line.signature,
            "by": by,
        }


def _explanation_lines(
    settings: PairedTests, by: str, boards: Sequence[Board], *, is_timed: bool, is_priced: bool
) -> Iterator[str]:
    """Yield the notes on method: what the columns mean, and the signature of each metric.

    Args:
        settings: the settings of intervals and tests.
        by: the coefficient that ranks.
        boards: the boards that are shown.
        is_timed: whether there is a column of speeds.
        is_priced: whether there is a column of prices.
    """
    level = percent(settings.confidence)
    yield (
        f"rank: by {title_of(by)}, with the {level} confidence set of the true ranks of all metrics of a table at once "
        "(Mogstad et al. 2024): below each metric that is better and above each that is worse, by jackknife t-tests "
        f"of all pairs of metrics ({CORRECTIONS[settings.correction]}); alike: two metrics share a letter if these "
        "tests cannot tell them apart; bold: could be the best (model confidence set, Hansen et al. 2011)"
    )
    if by == OF_TWO_LABELS:
        yield WHY_AUC
    pair_counts = [n for board in boards for n in board.sizes]
    method = interval_method(settings.statistics)
    yield intervals_in_words(settings.confidence, settings.resamples, settings.interval, pair_counts, method)
    if is_timed:
        yield "pairs/s: what the run reached, on its machine; – where scores came from the store or were recorded"
    if is_priced:
        yield (
            f"{PRICE_HEAD}: what 1,000 distinct pairs cost, in the currency of the prices given to the run; free: "
            "computed on this machine; –: not known"
        )
    if is_timed or is_priced:
        beats = "both better and faster" if is_timed else "both better and cheaper"
        if is_timed and is_priced:
            beats = "better, faster and cheaper"
        yield (
            f"front: no other metric is {beats}; – where an unknown cost leaves that open, its own or that of a metric "
            "with at least its value (assay profile measures it)"
        )
    signatures = dict.fromkeys((line.metric, line.signature) for board in boards for line in board.lines)
    yield from (f"{metric}: {signature}" for metric, signature in signatures if signature)
