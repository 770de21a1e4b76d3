"""Tables for a paper: values, and how each compares with the best of its column."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from assay.analysis.leaderboard.board import Board, Line
from assay.analysis.leaderboard.join import JoinedDataset
from assay.analysis.settings import BucketsOfRun, CorrectedTests, DatasetsOfRun, MetricsOfRun
from assay.common.declarations import setting
from assay.common.numbers import Number
from assay.common.tables import RUN_SUFFIX, short_names
from assay.exceptions import InputError
from assay.settings import WithProgress


def _check_label(label: str) -> str:
    r"""Return the label of a table, which ``\label`` takes as it is.

    Raises:
        InputError: it is empty, or has characters that LaTeX reads as commands, or blanks.
    """
    if not re.fullmatch(r"[A-Za-z0-9:./+*-]+", label):
        raise InputError(
            "must consist of letters, digits and : . / + * -, such as tab:answers", setting="label", value=label
        )
    return label


@dataclass(frozen=True, kw_only=True)
class TableSettings(MetricsOfRun, DatasetsOfRun, BucketsOfRun, CorrectedTests, WithProgress):
    """What stands in the rows and columns of a table for a paper, and how it looks.

    Raises:
        InputError: a value is out of its range.
    """

    by: str | None = setting(
        "The coefficient of the table [default: auc where all labels have two values, else spearman].",
        None,
        metavar="NAME",
    )
    across: Literal["datasets", "buckets"] = setting(
        "The columns: datasets, with a table for each bucket [default: all pairs]; or buckets, with a table "
        "for each dataset.",
        "datasets",
        choices=("datasets", "buckets"),
    )
    mean: bool = setting(
        "Add the mean over several datasets, all with the same weight.", True, flags=("--mean/--no-mean",)
    )
    intervals: bool = setting(
        "Add the run's intervals, in small print below each value; others if resamples, confidence, interval or seed "
        "is not the default, or if runs differ in them.",
        False,
        flags=("--intervals/--no-intervals",),
    )
    siunitx: bool = setting("LaTeX: use columns of siunitx, which align at the decimal point.", False)
    label: str | None = setting(
        "LaTeX: the label for \\ref [default: tab: and the coefficient].", None, parse=_check_label, metavar="LABEL"
    )
    write: bool = setting(
        "Also write the tables of all coefficients and buckets of each run into its folder: table.md, table.tex.",
        False,
    )
    caption: str | None = setting("The beginning of the caption; n and method follow.", None, metavar="TEXT")

    @property
    def coefficient(self) -> str:
        """The name of the coefficient of the table; ``spearman`` if *by* is neither given nor set from the labels."""
        return self.by or "spearman"


#: How a value compares with the best of its column: it is the best, it could be, it is lower, or it was not tested.
#: Empty if the column has no best value.
Standing = Literal["best", "tied", "lower", "untested", ""]


#: The head of the column of means over datasets.
MEAN = "mean"


@dataclass(frozen=True)
class Entry(Number):
    """One cell of a table.

    Attributes:
        n: the number of pairs that have a score.
        standing: the comparison with the best of the column.
        signature: the short signature of the metric.
    """

    n: int = field(kw_only=True)
    standing: Standing = field(kw_only=True)
    signature: str = field(kw_only=True)


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


def tables(boards: Sequence[Board], datasets: Sequence[JoinedDataset], settings: TableSettings) -> list[PaperTable]:
    """Return one table per bucket with datasets as columns, or one per dataset with buckets as columns.

    Rows and datasets are in the order of the settings, or else in the order of the runs; means, if wanted, are last.

    Args:
        boards: the boards of every dataset and bucket, and of the means over datasets.
        datasets: the datasets, in the order of the runs.
        settings: the kind of columns, the coefficient, and the order.
    """
    short_titles = _short_titles(datasets, settings.datasets)
    names = dict.fromkeys(name for dataset in datasets for name in dataset.scores)
    metrics = sorted(names, key=lambda name: _find_position(name, settings.metrics))
    displayed_names = short_names(metrics)
    # a dataset may be named "mean", so the key tells its table from the table of the means
    columns: dict[tuple[str, bool], list[PaperColumn]] = {}
    # boards of means, whose titles are of no dataset, come last
    positions = {title: position for position, title in enumerate(short_titles)}
    for board in sorted(boards, key=lambda board: positions.get(board.title, len(positions))):
        is_mean = board.title not in short_titles
        if is_mean and not settings.mean:
            continue
        dataset = MEAN if is_mean else short_titles[board.title]
        head, subject = (dataset, board.bucket) if settings.across == "datasets" else (board.bucket, dataset)
        entries = board_entries(board, settings.coefficient)
        column = PaperColumn(
            head=head,
            dataset=board.title,
            bucket=board.bucket,
            n=board.n,
            entries=entries,
            unranked=board.unranked,
            is_mean=is_mean,
        )
        columns.setdefault((subject, is_mean and settings.across == "buckets"), []).append(column)
    return [
        PaperTable(subject, displayed_names, columns_of_table) for (subject, _), columns_of_table in columns.items()
    ]


def board_entries(board: Board, by: str) -> dict[str, Entry]:
    """Return the cells of a board by metric, with the values of the coefficient *by*.

    Metrics that lack a dataset of a mean are absent.
    """
    standing = standings_by_metric(board, by)
    entries = {}
    for line in board.lines:
        if not line.missing:
            entries[line.metric] = Entry(
                *line.values[by].value_and_bounds, n=line.n, standing=standing[line.metric], signature=line.signature
            )
    return entries


def standings_by_metric(board: Board, by: str) -> dict[str, Standing]:
    """Return how each metric of a board compares with the highest tested value.

    Several metrics are the best if their values are exactly equal. A metric without a rank, or of rare scores, is not
    tested. A metric without a value has an empty standing, and so have all without a second tested metric.

    Args:
        board: the ranked metrics and their tests.
        by: the coefficient whose values are compared.
    """
    tested = {}
    for line in board.lines:
        value = line.values[by].value
        # only ranked lines were tested, and few scores that differ from the others decide nothing
        if line.rank and value is not None and not line.has_rare_scores:
            tested[line.metric] = value
    highest = max(tested.values(), default=None)
    best = [name for name, value in tested.items() if value == highest]
    return {line.metric: _compare_with_best(line, by, tested, best, board) for line in board.lines}


def _compare_with_best(line: Line, by: str, tested: Mapping[str, float], best: Sequence[str], board: Board) -> Standing:
    """Return the standing of one metric on a board; empty without a value or a second tested metric.

    Args:
        line: the line of the metric.
        by: the coefficient of the table.
        tested: the values of the tested metrics.
        best: the metrics with the highest of these values.
        board: the board, which says which metrics could be the best.
    """
    if len(tested) < 2 or line.values[by].value is None:
        return ""
    if line.metric not in tested:
        return "untested"
    if line.metric in best:
        return "best"
    if any(line.metric in pair and set(best) & set(pair) for pair in board.untested):
        return "untested"
    return "tied" if line.metric in board.best else "lower"


def _short_titles(datasets: Sequence[JoinedDataset], names_in_order: Sequence[str]) -> dict[str, str]:
    """Return the head of each dataset by title, in the order of the table: its name if unique, else its title.

    Args:
        datasets: the datasets, in the order of the runs.
        names_in_order: the names that the settings list; the datasets of other names follow them.
    """
    names = Counter(dataset.data.name for dataset in datasets)
    in_table_order = sorted(datasets, key=lambda dataset: _find_position(dataset.data.name, names_in_order))
    return {
        dataset.title: dataset.data.name if names[dataset.data.name] == 1 else dataset.title
        for dataset in in_table_order
    }


def _find_position(name: str, names_in_order: Sequence[str]) -> int:
    """Return the index of a name among the wanted ones, or the number of these, to sort it last, if it is none of them.

    A name that is not wanted as such may end in the title of its run, as in ``f1 [runs/two]``, which is ignored.

    Args:
        name: the name of a metric or dataset.
        names_in_order: the wanted names.
    """
    for known_name in (name, RUN_SUFFIX.sub("", name)):
        if known_name in names_in_order:
            return names_in_order.index(known_name)
    return len(names_in_order)
