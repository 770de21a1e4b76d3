"""A leaderboard as sheets and records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from assay.reports.comparing.compare import Settings
from assay.reports.comparing.document import CORRECTIONS
from assay.reports.layout import TITLES, Cell
from assay.reports.leaderboard.board import Board, Line
from assay.reports.sheets import Column, Document, Sheet

__all__ = ["document"]


def document(boards: Sequence[Board], settings: Settings, by: str, absent: Sequence[str] = ()) -> Document:
    """Lay out boards; metrics that no other one beats stand out, and the front of cost and agreement has a column.

    Args:
        boards: the tables.
        settings: of the tests.
        by: the coefficient that ranks.
        absent: lines about metrics that a run was asked for and has no scores of.
    """
    priced = any(line.pairs_per_second is not None for board in boards for line in board.lines)
    heads = [
        Column("rank", number=True),
        Column("could be", number=True),
        Column("metric"),
        *[Column(TITLES.get(name, name), number=True) for name in settings.statistics],
        *([Column("pairs/s", number=True), Column("front")] if priced else []),
    ]
    sheets = [_sheet(board, heads, settings, priced) for board in boards]
    records = [record for board in boards for record in _records(board)]
    return Document(sheets, records, [*absent, *_explanations(settings, by, boards, priced)])


def _sheet(board: Board, heads: Sequence[Column], settings: Settings, priced: bool) -> Sheet:
    rows = [_cells(line, settings, priced) for line in board.lines]
    unbeaten = frozenset(place for place, line in enumerate(board.lines) if line.rank and line.rank.low == 1)
    notes = [f"{line.metric}: no score on {', '.join(line.missing)}" for line in board.lines if line.missing]
    notes += [
        f"{line.metric}: {line.n:,} of {board.n:,} pairs have a score" + ("" if line.rank else ", hence no rank")
        for line in board.lines
        if not line.missing and line.n < board.n
    ]
    return Sheet(
        f"{board.title}, {board.bucket}", heads, rows, facts=(f"n = {board.n:,}",), notes=notes, marked=unbeaten
    )


def _cells(line: Line, settings: Settings, priced: bool) -> list[str]:
    values = [Cell(*line.values[name], "").text for name in settings.statistics]
    cost = []
    if priced:
        speed = "–" if line.pairs_per_second is None else f"{line.pairs_per_second:,.0f}"
        cost = [speed, "yes" if line.on_front else ""]
    if line.rank is None:
        return ["–", "–", line.metric, *values, *cost]
    held = line.rank
    could_be = f"{held.low}" if held.low == held.high else f"{held.low}–{held.high}"
    return [str(held.rank), could_be, line.metric, *values, *cost]


def _records(board: Board) -> Iterator[dict[str, Any]]:
    for line in board.lines:
        record: dict[str, Any] = {
            "dataset": board.title,
            "bucket": board.bucket,
            "rank": line.rank.rank if line.rank else None,
            "rank_low": line.rank.low if line.rank else None,
            "rank_high": line.rank.high if line.rank else None,
            "metric": line.metric,
            "kind": line.kind,
        }
        for name, (value, low, high) in line.values.items():
            record |= {name: value, f"{name}_low": low, f"{name}_high": high}
        yield record | {
            "n": line.n,
            "pairs_per_second": line.pairs_per_second,
            "front": line.on_front,
            "missing": "; ".join(line.missing),
            "signature": line.signature,
        }


def _explanations(settings: Settings, by: str, boards: Sequence[Board], priced: bool) -> Iterator[str]:
    yield (
        f"ranked by {TITLES.get(by, by)}; metrics that cannot be told apart share a rank: a group ends where all above "
        f"are better than all below by the permutation test of paired scores ({settings.permutations:,} draws, "
        f"{CORRECTIONS[settings.correction]} over the couples of a table, {1 - settings.confidence:.2g}); could be: "
        "ranks that the tests leave open"
    )
    yield (f"{settings.confidence:.0%} bootstrap intervals (expanded percentile) from {settings.resamples:,} resamples")
    if priced:
        yield (
            "pairs/s: what the run reached, on its machine; – where scores came from the store or were recorded; "
            "front: no other metric of known cost is both better and faster"
        )
    signatures = dict.fromkeys((line.metric, line.signature) for board in boards for line in board.lines)
    yield from (f"{metric}: {signature}" for metric, signature in signatures if signature)
