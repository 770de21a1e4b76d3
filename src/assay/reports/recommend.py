"""Which metric to use within a cost limit, and how certain that is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any

from assay.errors import InputError
from assay.reports.layout import Cell
from assay.reports.leaderboard.board import Board, Line
from assay.reports.settings import PairedTests
from assay.reports.sheets import Document, Sheet
from assay.settings import AgreementSettings, Graphs, Limited, OwnData, RunFolderToo, Scoring, setting
from assay.statistics.coefficients import title_of

_BUDGET = re.compile(r"(?P<pairs>\d+(?:\.\d+)?(?:e\d+)?)\s*(?:/\s*(?P<unit>s|min|h))?")
_SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0}


def parse_budget(text: str) -> float:
    """Return pairs per second of ``1000/s``, ``1000``, ``600/min`` or ``5e5/h``.

    Raises:
        InputError: it is none of these.
    """
    match = _BUDGET.fullmatch(text.strip())
    if match is None or not float(match["pairs"]):
        raise InputError(f"`budget={text}`: cannot be read; write pairs per time, such as 1000/s, 600/min or 5e5/h")
    return float(match["pairs"]) / _SECONDS[match["unit"] or "s"]


@dataclass(frozen=True)
class RecommendSettings(RunFolderToo, OwnData, Graphs, PairedTests, AgreementSettings, Limited, Scoring):
    """Settings of ``assay recommend``."""

    dataset: Any = setting(
        "A labelled CSV, TSV, JSONL or Parquet file, or a dataset's name.", flags=("--dataset", "-d"), metavar="DATASET"
    )
    metrics: Sequence[Any] = setting(
        "A metric to choose from: name[:subject][,option=value]… [default: those of the suite quickstart].",
        (),
        flags=("--metric", "-m"),
        metavar="METRIC",
    )
    _: KW_ONLY
    budget: str | None = setting(
        "What the metric must reach on this machine: 1000/s, 600/min, 5e5/h.", None, metavar="PAIRS/TIME"
    )
    by: str = setting("The coefficient that decides.", "spearman", metavar="NAME")
    store: str | Path | None = setting("File for the scores; the shared one by default.", None, python_only=True)

    def check(self) -> None:
        """Read the budget."""
        super().check()
        if self.budget is not None:
            parse_budget(self.budget)


@dataclass(frozen=True)
class Advice:
    """What one board says.

    Attributes:
        board: the evidence.
        highest: the metric with the highest agreement within the budget; None where there is none.
        alike: metrics within the budget that the tests cannot tell from it, the fastest first.
        too_slow: metrics with a higher agreement that the budget leaves out.
        unknown: metrics whose cost is not known, with a higher agreement, that a budget leaves out.
        warning: why the advice is weak; an empty string where it is not.
        known: whether that metric is known to agree with people better than chance does.
    """

    board: Board
    highest: Line | None
    alike: tuple[Line, ...]
    too_slow: tuple[Line, ...]
    unknown: tuple[Line, ...]
    warning: str
    known: bool = False

    @property
    def use(self) -> Line | None:
        """The metric to use; None where there is none, or none is known to be better than chance."""
        return self.highest if self.known else None


def advise(board: Board, budget: float | None, by: str) -> Advice:
    """Choose a metric.

    Args:
        board: with the cost of its metrics.
        budget: pairs per second that the metric must reach, or None.
        by: the coefficient that decides.
    """
    ranked = [line for line in board.lines if line.rank is not None]
    affordable = [line for line in ranked if budget is None or (line.pairs_per_second or 0.0) >= budget]
    if not affordable:
        return Advice(board, None, (), (), (), _why_none(board, ranked))
    # lines are in the order of agreement: those above the best affordable one are better
    best = affordable[0]
    better = ranked[: ranked.index(best)]
    alike = [line for line in affordable[1:] if not _is_told_apart(board, best, line)]
    alike.sort(key=lambda line: -(line.pairs_per_second or 0.0))
    return Advice(
        board,
        best,
        tuple(alike),
        too_slow=tuple(line for line in better if line.pairs_per_second is not None),
        unknown=tuple(line for line in better if line.pairs_per_second is None),
        warning=_warning(board, affordable, alike, within_budget=budget is not None, by=by),
        known=_beats_chance(best, by),
    )


def _why_none(board: Board, ranked: Sequence[Line]) -> str:
    """Return why no metric can be recommended."""
    known = [line for line in ranked if line.pairs_per_second is not None]
    if board.unranked:
        return board.unranked
    if known:
        fastest = max(known, key=lambda line: line.pairs_per_second or 0.0)
        return f"no metric is fast enough; the fastest is {fastest.metric} with {fastest.pairs_per_second:,.0f} pairs/s"
    if ranked:
        return "the cost of no metric is known: recorded scores cost nothing now"
    return "no metric has an agreement: scores or labels do not vary"


def _warning(board: Board, affordable: Sequence[Line], alike: Sequence[Line], *, within_budget: bool, by: str) -> str:
    """Return why the advice to use the first of the affordable metrics is weak; nothing where it is not."""
    best = affordable[0]
    _, low, high = best.values[by]
    chance = best.chance[by]
    if low is None or high is None:
        return "too few pairs for an interval: label more before you rely on it"
    if high < chance:
        return "it agrees less with people than chance would: look at the labels and at what a high score means"
    if low <= chance:
        others = [line.metric for line in affordable if _beats_chance(line, by)]
        if others:
            rest = f"; with a lower value, known to: {', '.join(others)}"
        else:
            rest = ", nor is any other within the budget" if within_budget else ", nor is any other metric"
        return (
            f"its interval holds {chance:.3g}, which is chance: on {board.n:,} pairs it is not known to agree with "
            f"people at all{rest}"
        )
    if alike and len(alike) == len(affordable) - 1:
        return f"{board.n:,} pairs cannot tell it from any other metric within the budget: label more to choose"
    return ""


def _beats_chance(line: Line, by: str) -> bool:
    """Tell whether a metric is known to agree with people better than chance does."""
    low = line.values[by][1]
    return low is not None and low > line.chance[by]


def _is_told_apart(board: Board, first: Line, second: Line) -> bool:
    names = (first.metric, second.metric)
    return bool(board.compared.get(names) or board.compared.get(names[::-1]))


def with_advice(document: Document, advice: Sequence[Advice], budget: float | None, by: str) -> Document:
    """Return the evidence with the advice above it, and as records the advice alone."""
    sheets = [Sheet(_headline(item), (), (), facts=tuple(_reasons(item, budget, by))) for item in advice]
    records = [_record(item, by) for item in advice]
    value = {"advice": records, "evidence": list(document.records)}
    return Document([*sheets, *document.sheets], records, document.notes, value)


def _record(advice: Advice, by: str) -> dict[str, Any]:
    highest = advice.highest
    value, low, high = highest.values[by] if highest else (None, None, None)
    return {
        "dataset": advice.board.title,
        "bucket": advice.board.bucket,
        "use": advice.use.metric if advice.use else None,
        "highest": highest.metric if highest else None,
        by: value,
        f"{by}_low": low,
        f"{by}_high": high,
        "pairs_per_second": highest.pairs_per_second if highest else None,
        "signature": highest.signature if highest else None,
        "cannot_be_told_apart": "; ".join(line.metric for line in advice.alike),
        "too_slow": "; ".join(line.metric for line in advice.too_slow),
        "warning": advice.warning,
        "n": advice.board.n,
    }


def _headline(advice: Advice) -> str:
    if advice.board.unranked or (advice.highest and not advice.use):
        verdict = "no metric can be recommended"
    else:
        verdict = f"use {advice.use.metric}" if advice.use else "use no metric"
    return f"{advice.board.title}, {advice.board.bucket}: {verdict}"


def _reasons(advice: Advice, budget: float | None, by: str) -> list[str]:
    """Return the lines below the headline: the highest metric with value and cost, the others by
    how they compare with it, and the warning, if any."""

    def value(line: Line) -> str:
        return Cell(*line.values[by], "").text

    def speed(line: Line) -> str:
        return f"{line.pairs_per_second or 0:,.0f} pairs/s"

    lines = []
    if advice.highest:
        cost = "at unknown cost" if advice.highest.pairs_per_second is None else speed(advice.highest)
        within = "" if budget is None else f", the highest of those that reach {budget:,.4g} pairs/s"
        name = "" if advice.use else f"highest: {advice.highest.metric}, "
        number = f"{title_of(by)} {value(advice.highest)} on {advice.board.n:,} pairs"
        lines.append(f"{name}{number}, {cost}{within}")
    groups = {
        "cannot be told from it": [f"{line.metric} ({speed(line)})" for line in advice.alike],
        "higher, but too slow": [f"{line.metric} ({value(line)}, {speed(line)})" for line in advice.too_slow],
        "higher, at unknown cost": [f"{line.metric} ({value(line)})" for line in advice.unknown],
    }
    lines += [f"{what}: {', '.join(metrics)}" for what, metrics in groups.items() if metrics]
    if advice.warning:
        lines.append(advice.warning)
    return lines
