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

__all__ = ["Advice", "RecommendSettings", "advise", "parse_budget", "with_advice"]

_BUDGET = re.compile(r"(?P<pairs>\d+(?:\.\d+)?(?:e\d+)?)\s*(?:/\s*(?P<unit>s|min|h))?")
_SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0}


def parse_budget(text: str) -> float:
    """Return pairs per second of ``1000/s``, ``1000``, ``600/min`` or ``5e5/h``.

    Raises:
        InputError: it is none of these.
    """
    found = _BUDGET.fullmatch(text.strip())
    if found is None or not float(found["pairs"]):
        raise InputError(f"`budget={text}`: cannot be read; write pairs per time, such as 1000/s, 600/min or 5e5/h")
    return float(found["pairs"]) / _SECONDS[found["unit"] or "s"]


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
        known = [line for line in ranked if line.pairs_per_second is not None]
        fastest = max(known, key=lambda line: line.pairs_per_second or 0.0, default=None)
        if board.unranked:
            why = board.unranked
        elif fastest is not None:
            reached = f"{fastest.metric} with {fastest.pairs_per_second:,.0f} pairs/s"
            why = f"no metric is fast enough; the fastest is {reached}"
        elif ranked:
            why = "the cost of no metric is known: recorded scores cost nothing now"
        else:
            why = "no metric has an agreement: scores or labels do not vary"
        return Advice(board, None, (), (), (), why)
    best = affordable[0]
    alike = [line for line in affordable[1:] if not _is_told_apart(board, best, line)]
    alike.sort(key=lambda line: -(line.pairs_per_second or 0.0))
    # lines are in the order of agreement: what stands above the best affordable one is better
    better = ranked[: ranked.index(best)]
    too_slow = tuple(line for line in better if line.pairs_per_second is not None)
    unknown = tuple(line for line in better if line.pairs_per_second is None)
    _, low, high = best.values[by]
    chance = best.chance[by]
    warning = ""
    is_known = low is not None and low > chance
    if low is None or high is None:
        warning = "too few pairs for an interval: label more before you rely on it"
    elif high < chance:
        warning = "it agrees less with people than chance would: look at the labels and at what a high score means"
    elif low <= chance:
        warning = (
            f"its interval holds {chance:.3g}, which is chance: on {board.n:,} pairs it is not known to agree with "
            "people at all"
        )
        others = [
            line.metric for line in affordable if (bound := line.values[by][1]) is not None and bound > line.chance[by]
        ]
        none = ", nor is any other metric" if budget is None else ", nor is any other within the budget"
        warning += f"; with a lower value, known to: {', '.join(others)}" if others else none
    elif alike and len(alike) == len(affordable) - 1:
        warning = f"{board.n:,} pairs cannot tell it from any other metric within the budget: label more to choose"
    return Advice(board, best, tuple(alike), too_slow, unknown, warning, is_known)


def _is_told_apart(board: Board, one: Line, other: Line) -> bool:
    couple = (one.metric, other.metric)
    return bool(board.compared.get(couple) or board.compared.get(couple[::-1]))


def with_advice(document: Document, advice: Sequence[Advice], budget: float | None, by: str) -> Document:
    """Return the evidence with the advice above it, and as records the advice alone."""
    sheets = [Sheet(_headline(one), (), (), facts=tuple(_reasons(one, budget, by))) for one in advice]
    records = [
        {
            "dataset": one.board.title,
            "bucket": one.board.bucket,
            "use": one.use.metric if one.use else None,
            "highest": one.highest.metric if one.highest else None,
            by: one.highest.values[by][0] if one.highest else None,
            f"{by}_low": one.highest.values[by][1] if one.highest else None,
            f"{by}_high": one.highest.values[by][2] if one.highest else None,
            "pairs_per_second": one.highest.pairs_per_second if one.highest else None,
            "signature": one.highest.signature if one.highest else None,
            "cannot_be_told_apart": "; ".join(line.metric for line in one.alike),
            "too_slow": "; ".join(line.metric for line in one.too_slow),
            "warning": one.warning,
            "n": one.board.n,
        }
        for one in advice
    ]
    value = {"advice": records, "evidence": list(document.records)}
    return Document([*sheets, *document.sheets], records, document.notes, value)


def _headline(advice: Advice) -> str:
    if advice.board.unranked or (advice.highest and not advice.use):
        said = "no metric can be recommended"
    else:
        said = f"use {advice.use.metric}" if advice.use else "use no metric"
    return f"{advice.board.title}, {advice.board.bucket}: {said}"


def _reasons(advice: Advice, budget: float | None, by: str) -> list[str]:
    title = title_of(by)
    lines = []
    if advice.highest:
        speed = advice.highest.pairs_per_second
        cost = "at unknown cost" if speed is None else f"{speed:,.0f} pairs/s"
        within = "" if budget is None else f", the highest of those that reach {budget:,.4g} pairs/s"
        name = "" if advice.use else f"highest: {advice.highest.metric}, "
        value = Cell(*advice.highest.values[by], "").text
        lines.append(f"{name}{title} {value} on {advice.board.n:,} pairs, {cost}{within}")
    if advice.alike:
        shown = ", ".join(f"{line.metric} ({line.pairs_per_second or 0:,.0f} pairs/s)" for line in advice.alike)
        lines.append(f"cannot be told from it: {shown}")
    if advice.too_slow:
        shown = ", ".join(
            f"{line.metric} ({Cell(*line.values[by], '').text}, {line.pairs_per_second or 0:,.0f} pairs/s)"
            for line in advice.too_slow
        )
        lines.append(f"higher, but too slow: {shown}")
    if advice.unknown:
        shown = ", ".join(f"{line.metric} ({Cell(*line.values[by], '').text})" for line in advice.unknown)
        lines.append(f"higher, at unknown cost: {shown}")
    if advice.warning:
        lines.append(advice.warning)
    return lines
