"""The cells of a table for a paper: values, and how each stands to the best of its column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from assay.reports.leaderboard.board import Board, Joined, Line
from assay.reports.table.settings import TableSettings
from assay.tables import short_names

#: How a value stands to the best of its column: it is the best, it could be, it is lower, or it was not tested. Empty
#: where nothing is the best.
Standing = Literal["best", "tied", "lower", "untested", ""]
#: The head of the column of means over datasets.
MEAN = "mean"


@dataclass(frozen=True)
class Entry:
    """One value; None where it is undefined, or was not computed.

    Attributes:
        value, low, high: the coefficient and its interval.
        n: pairs that have a score.
        standing: to the best of the column.
        signature: the short one of the metric.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    standing: Standing
    signature: str


@dataclass(frozen=True)
class PaperColumn:
    """One dataset, one bucket, or the mean over datasets.

    Attributes:
        head: a short name, unique in the table.
        dataset, bucket: what it is in full.
        n: pairs.
        entries: by metric; a metric without scores there is absent.
        unranked: why nothing is the best; empty where something may be.
        is_mean: whether it is a mean over datasets.
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
        subject: what all columns share: the bucket of datasets, or the dataset of buckets.
        metrics: the rows; by name, the short name that is shown.
        columns: from left to right.
    """

    subject: str
    metrics: Mapping[str, str]
    columns: Sequence[PaperColumn]


def tables(boards: Sequence[Board], joined: Sequence[Joined], settings: TableSettings) -> list[PaperTable]:
    """Return a table a bucket with datasets across, or a table a dataset with buckets across.

    Rows and datasets have the order of the settings, else that of the runs; means come last.

    Args:
        boards: every dataset and bucket, and the means over datasets.
        joined: the datasets, in the order of the runs.
        settings: what stands across, and of what.
    """
    short_titles = _short_titles(joined, settings.datasets)
    metrics = _in_order([name for dataset in joined for name in dataset.scores], settings.metrics)
    shown = short_names(metrics)
    # a dataset may be called mean: with buckets across, its table is not that of the means
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
    return [PaperTable(subject, shown, found) for (subject, _), found in columns.items()]


def entries_of(board: Board, by: str) -> dict[str, Entry]:
    """Return the values of a board by metric; those that lack a dataset of a mean are absent."""
    standing = standings(board, by)
    entries = {}
    for line in board.lines:
        if not line.missing:
            entries[line.metric] = Entry(*line.values[by], line.n, standing[line.metric], line.signature)
    return entries


def standings(board: Board, by: str) -> dict[str, Standing]:
    """Return how each metric of a board stands to the highest that was tested.

    Values that are equal to the last digit are all the best. Of one metric alone nothing is said.
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
    """Return what the head of each dataset is, by title, in the order of the table: its name where that is unique."""
    names = Counter(dataset.data.name for dataset in joined)
    title_by_place = sorted(joined, key=lambda dataset: _place(dataset.data.name, wanted))
    return {
        dataset.title: dataset.data.name if names[dataset.data.name] == 1 else dataset.title
        for dataset in title_by_place
    }


def _ordered(boards: Sequence[Board], titles: Mapping[str, str]) -> list[Board]:
    """Return the boards in the order of the datasets, means last."""
    places = {title: place for place, title in enumerate(titles)}
    return sorted(boards, key=lambda board: places.get(board.title, len(places)))


def _in_order(names: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """Return names without repetitions, in the order in which they were asked for."""
    return sorted(dict.fromkeys(names), key=lambda name: _place(name, wanted))


def _place(name: str, wanted: Sequence[str]) -> int:
    """Return where a name was asked for; one of several runs is ``f1 [runs/two]``."""
    for place, other in enumerate(wanted):
        if name == other or name.startswith(f"{other} ["):
            return place
    return len(wanted)
