"""The cells of a table for a paper: values, and how each compares with the best of its column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from assay.reports.leaderboard.board import Board, Joined, Line
from assay.reports.table.settings import TableSettings
from assay.tables import short_names

#: How a value compares with the best of its column: it is the best, it could be, it is lower, or it was not tested.
#: Empty if the column has no best value.
Standing = Literal["best", "tied", "lower", "untested", ""]
#: The head of the column of means over datasets.
MEAN = "mean"


@dataclass(frozen=True)
class Entry:
    """One cell of a table.

    Attributes:
        value, low, high: the coefficient and its interval; None if undefined or not computed.
        n: the number of pairs that have a score.
        standing: the comparison with the best of the column.
        signature: the short signature of the metric.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    standing: Standing
    signature: str


@dataclass(frozen=True)
class PaperColumn:
    """One column: a dataset, a bucket, or the mean over datasets.

    Attributes:
        head: a short name, unique in the table.
        dataset, bucket: the full titles of dataset and bucket.
        n: the number of pairs.
        entries: the cells by metric; metrics without scores are absent.
        unranked: the reason why metrics are not ranked; empty if they are.
        is_mean: whether the column is a mean over datasets.
    """

    head: str
    dataset: str
    bucket: str
    n: int
    entries: Mapping[str, Entry]
    unranked: str
    is_mean: bool = False


@dataclass(frozen=True)
class PaperTable:
    """One table.

    Attributes:
        subject: what all columns share: the bucket if columns are datasets, or the dataset if they are buckets.
        metrics: the rows: the displayed short name of each metric, by name.
        columns: the columns, from left to right.
    """

    subject: str
    metrics: Mapping[str, str]
    columns: Sequence[PaperColumn]


def tables(boards: Sequence[Board], joined: Sequence[Joined], settings: TableSettings) -> list[PaperTable]:
    """Return one table per bucket with datasets as columns, or one per dataset with buckets as columns.

    Rows and datasets are in the order of the settings, else in that of the runs; means are last.

    Args:
        boards: the boards of every dataset and bucket, and of the means over datasets.
        joined: the datasets, in the order of the runs.
        settings: the kind of columns, the coefficient, and the order.
    """
    short_titles = _short_titles(joined, settings.datasets)
    metrics = _in_order([name for dataset in joined for name in dataset.scores], settings.metrics)
    shown = short_names(metrics)
    # a dataset may be named "mean", so the key tells its table from that of the means
    columns: dict[tuple[str, bool], list[PaperColumn]] = {}
    for board in _ordered(boards, short_titles):
        is_mean = board.title not in short_titles
        if is_mean and not settings.mean:
            continue
        dataset = MEAN if is_mean else short_titles[board.title]
        head, subject = (dataset, board.bucket) if settings.across == "datasets" else (board.bucket, dataset)
        entries = entries_of(board, settings.coefficient)
        column = PaperColumn(head, board.title, board.bucket, board.n, entries, board.unranked, is_mean)
        columns.setdefault((subject, is_mean and settings.across == "buckets"), []).append(column)
    return [PaperTable(subject, shown, of_table) for (subject, _), of_table in columns.items()]


def entries_of(board: Board, by: str) -> dict[str, Entry]:
    """Return the cells of a board by metric; metrics that lack a dataset of a mean are absent."""
    standing = standings(board, by)
    entries = {}
    for line in board.lines:
        if not line.missing:
            entries[line.metric] = Entry(*line.values[by], line.n, standing[line.metric], line.signature)
    return entries


def standings(board: Board, by: str) -> dict[str, Standing]:
    """Return how each metric of a board compares with the highest tested value.

    Several metrics are the best if their values are exactly equal. Without a second tested metric, all are empty.
    """
    tested = {line.metric: value for line in board.lines if line.rank and (value := line.values[by][0]) is not None}
    highest = max(tested.values(), default=None)
    best = [name for name, value in tested.items() if value == highest]
    return {line.metric: _standing(line, by, tested, best, board) for line in board.lines}


def _standing(line: Line, by: str, tested: Mapping[str, float], best: Sequence[str], board: Board) -> Standing:
    if len(tested) < 2 or line.values[by][0] is None:
        return ""
    if line.metric not in tested:
        return "untested"
    if line.metric in best:
        return "best"
    return "tied" if line.metric in board.best else "lower"


def _short_titles(joined: Sequence[Joined], wanted: Sequence[str]) -> dict[str, str]:
    """Return the head of each dataset by title, in the order of the table: its name if unique, else its title."""
    names = Counter(dataset.data.name for dataset in joined)
    in_table_order = sorted(joined, key=lambda dataset: _position(dataset.data.name, wanted))
    return {
        dataset.title: dataset.data.name if names[dataset.data.name] == 1 else dataset.title
        for dataset in in_table_order
    }


def _ordered(boards: Sequence[Board], titles: Mapping[str, str]) -> list[Board]:
    """Return the boards in the order of *titles*, means last."""
    positions = {title: position for position, title in enumerate(titles)}
    return sorted(boards, key=lambda board: positions.get(board.title, len(positions)))


def _in_order(names: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """Return names without duplicates, in the order of *wanted*, others last."""
    return sorted(dict.fromkeys(names), key=lambda name: _position(name, wanted))


def _position(name: str, wanted: Sequence[str]) -> int:
    """Return the index of a name among the wanted ones; names may end in their run, as in ``f1 [runs/two]``."""
    for position, other in enumerate(wanted):
        if name == other or name.startswith(f"{other} ["):
            return position
    return len(wanted)
