"""A table for a paper, as LaTeX, and as a sheet for all other formats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from assay.analysis.leaderboard.board import Board, JoinedDataset, Line
from assay.analysis.settings import PairedTests
from assay.analysis.table.settings import ALL, TableSettings
from assay.numbers import percent, short
from assay.reports.formats import escape_latex, latex_name_comments
from assay.reports.layout import Cell, intervals_in_words
from assay.reports.sheets import Column, Document, Sheet, ShortNames, number_columns
from assay.statistics.coefficients import interval_method, title_of
from assay.tables import short_names
from assay.visible import visible_text

#: The marks after values: the tests cannot tell it from the best; it was not tested.
MARKS = {"tied": "†", "untested": "‡"}


def to_document(
    tables: Sequence[PaperTable], settings: TableSettings, tests: PairedTests, notes: Sequence[str]
) -> Document:
    """Return a document with one sheet per table and one record per cell.

    The best value of a column is bold, and values that the tests cannot distinguish from it are marked.

    Args:
        tables: the tables.
        settings: the settings of their appearance.
        tests: the settings of intervals and tests.
        notes: lines on missing metrics, to be shown as warnings.
    """
    sheets = [_paper_sheet(table, settings, tests) for table in tables]
    records = [record for table in tables for record in _table_records(table, settings.coefficient)]
    return Document(sheets, records, warnings=notes)


def add_latex(
    laid_out: Document, tables: Sequence[PaperTable], settings: TableSettings, tests: PairedTests
) -> Document:
    """Return a document with its LaTeX added, in which the notes of the document are comments."""
    package = r"\usepackage{booktabs}" + (r" and \usepackage{siunitx}" if settings.siunitx else "")
    comments = [
        f"% needs {package}",
        *(f"% {visible_text(note)}" for note in (*laid_out.warnings, *laid_out.notes)),
    ]
    label = settings.label or f"tab:{settings.coefficient}"
    names = ShortNames(metric for table in tables for metric in table.metrics)
    texts = ["\n".join(comments) + "\n" + latex_name_comments(names)]
    for number, table in enumerate(tables, start=1):
        own_label = label if len(tables) == 1 else f"{label}-{number}"
        texts.append(_latex_table(table, settings, tests, own_label))
    return replace(laid_out, latex="".join(texts))


def caption_sentences(table: PaperTable, settings: TableSettings, tests: PairedTests) -> Iterator[str]:
    """Yield the sentences of a caption without full stops: title, n, marks, intervals, and missing values."""
    yield (settings.caption or _table_title(table, settings)).rstrip(". ")
    # the n of a column of means is the sum over its datasets, which is left out beside them
    counted = [column for column in table.columns if not column.is_mean] or table.columns
    if len({column.n for column in counted}) == 1:
        yield f"n = {counted[0].n:,}"
    else:
        yield "n = " + ", ".join(f"{column.n:,} ({column.head})" for column in counted)
    standings = {entry.standing for column in table.columns for entry in column.entries.values()}
    if "best" in standings:
        others = "every other one is lower"
        if "tied" in standings:
            others = f"{MARKS['tied']}: not distinguishable from it"
        correction = "uncorrected" if tests.correction == "none" else "model confidence set"
        yield (
            f"Bold: the highest value of a column; {others} (jackknife t-tests, {correction}, at "
            f"{percent(tests.level)})"
        )
    if "untested" in standings:
        yield f"{MARKS['untested']}: not tested, since scores are missing, or since too few pairs differ in score"
    if settings.intervals:
        sizes = [column.n for column in counted if not column.is_mean]
        method = interval_method([settings.coefficient])
        method_text = intervals_in_words(tests.confidence, tests.resamples, tests.interval, sizes, method)
        yield f"Brackets: {method_text}"
    if any(_entry_of(column, metric).value is None for column in table.columns for metric in table.metrics):
        yield "–: no score, or undefined"
    # the description of a mean counts its datasets, since those without human labels are not in it
    yield from dict.fromkeys(f"Mean: {column.dataset}" for column in table.columns if column.is_mean)
    for column in table.columns:
        if column.unranked:
            yield f"{column.head}: {column.unranked}"


def _table_title(table: PaperTable, settings: TableSettings) -> str:
    """Return the title of a table: the coefficient, and what its columns share."""
    title = f"Agreement of metrics with labels, {title_of(settings.coefficient)}"
    return title if table.subject == ALL else f"{title}, {table.subject}"


def _entry_of(column: PaperColumn, metric: str) -> Entry:
    """Return the cell of a metric in a column; an empty one if the column lacks the metric."""
    return column.entries.get(metric, Entry(None, None, None, 0, "", ""))


# Every other format.


def _paper_sheet(table: PaperTable, settings: TableSettings, tests: PairedTests) -> Sheet:
    """Return a table as a sheet with marks after values; the positions of its best values are in ``best``."""
    rows = []
    best = set()
    for row_index, (metric, displayed_name) in enumerate(table.metrics.items()):
        row = [displayed_name]
        for column_index, column in enumerate(table.columns, start=1):
            entry = _entry_of(column, metric)
            row.append(Cell(entry.value, entry.low, entry.high, "").text + MARKS.get(entry.standing, ""))
            if entry.standing == "best":
                best.add((row_index, column_index))
        rows.append(row)
    title, *notes = caption_sentences(table, settings, tests)
    columns = [Column("metric"), *number_columns(column.head for column in table.columns)]
    return Sheet(title, columns, rows, notes=notes, best=frozenset(best))


def _table_records(table: PaperTable, by: str) -> Iterator[dict[str, Any]]:
    """Yield one flat record per cell; *by* is the coefficient."""
    for column in table.columns:
        for metric in table.metrics:
            entry = _entry_of(column, metric)
            yield {
                "dataset": column.dataset,
                "bucket": column.bucket,
                "metric": metric,
                "statistic": by,
                "value": entry.value,
                "low": entry.low,
                "high": entry.high,
                "n": entry.n,
                "standing": entry.standing or None,
                "signature": entry.signature or None,
            }


# LaTeX.


def _latex_table(table: PaperTable, settings: TableSettings, tests: PairedTests, label: str) -> str:
    """Return a table as a LaTeX environment with its caption; *label* is the name for references to it."""
    caption = ". ".join(caption_sentences(table, settings, tests))
    shapes = [_siunitx_shape(column) if settings.siunitx else "r" for column in table.columns]
    heads = [escape_latex(column.head) for column in table.columns]
    if settings.siunitx:
        heads = [f"{{{head}}}" for head in heads]
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escape_latex(caption)}.}}",
        rf"\label{{{label}}}",
        # classes such as article leave no space between a caption and the table below it
        r"\setlength{\abovetopsep}{1ex}",
        rf"\begin{{tabular}}{{l{''.join(shapes)}}}",
        r"\toprule",
        " & ".join(["metric", *heads]) + r" \\",
        r"\midrule",
    ]
    for row_index, (metric, displayed_name) in enumerate(table.metrics.items()):
        entries = [_entry_of(column, metric) for column in table.columns]
        if settings.intervals and row_index:
            lines.append(r"\addlinespace")
        cells = [_siunitx_value(entry) if settings.siunitx else _plain_value(entry) for entry in entries]
        lines.append(" & ".join([escape_latex(displayed_name), *cells]) + r" \\")
        if settings.intervals:
            lines.append(" & ".join(["", *map(_latex_interval, entries)]).lstrip() + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}", ""])


def _plain_value(entry: Entry) -> str:
    """Return a value in LaTeX, bold if it is the best; its mark has no width, so that digits stay aligned."""
    if entry.value is None:
        return "--"
    text = escape_latex(short(entry.value, 3).replace("-", "−"))
    if entry.standing == "best":
        return rf"\textbf{{{text}}}"
    mark = MARKS.get(entry.standing)
    return text if mark is None else text + rf"\rlap{{\textsuperscript{{{escape_latex(mark)}}}}}"


def _siunitx_shape(column: PaperColumn) -> str:
    r"""Return a siunitx column type wide enough for the values, which respects ``\bfseries``."""
    values = [entry.value for entry in column.entries.values() if entry.value is not None]
    sign = "-" if any(value < 0 for value in values) else ""
    return f"S[table-format={sign}1.3,detect-weight]"


def _siunitx_value(entry: Entry) -> str:
    """Return a value for siunitx, bold if it is the best, with the zero before the point.

    Everything but numbers, such as a mark or the dash for no value, is in braces.
    """
    if entry.value is None:
        return "{--}"
    if entry.standing == "best":
        return rf"\bfseries {entry.value:.3f}"
    text = f"{entry.value:.3f}"
    mark = MARKS.get(entry.standing)
    return text if mark is None else text + rf"{{\rlap{{\textsuperscript{{{escape_latex(mark)}}}}}}}"


def _latex_interval(entry: Entry) -> str:
    """Return an interval in small print; an empty group without one."""
    if entry.low is None or entry.high is None:
        return "{}"
    low, high = (escape_latex(short(end, 2).replace("-", "−")) for end in (entry.low, entry.high))
    return rf"{{\scriptsize [{low}, {high}]}}"


# The cells of a table for a paper: values, and how each compares with the best of its column.


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


def tables(boards: Sequence[Board], joined: Sequence[JoinedDataset], settings: TableSettings) -> list[PaperTable]:
    """Return one table per bucket with datasets as columns, or one per dataset with buckets as columns.

    Rows and datasets are in the order of the settings, or else in the order of the runs; means are last.

    Args:
        boards: the boards of every dataset and bucket, and of the means over datasets.
        joined: the datasets, in the order of the runs.
        settings: the kind of columns, the coefficient, and the order.
    """
    short_titles = _short_titles(joined, settings.datasets)
    metrics = _sort_by_wanted([name for dataset in joined for name in dataset.scores], settings.metrics)
    displayed_names = short_names(metrics)
    # a dataset may be named "mean", so the key tells its table from the table of the means
    columns: dict[tuple[str, bool], list[PaperColumn]] = {}
    for board in _ordered_boards(boards, short_titles):
        is_mean = board.title not in short_titles
        if is_mean and not settings.mean:
            continue
        dataset = MEAN if is_mean else short_titles[board.title]
        head, subject = (dataset, board.bucket) if settings.across == "datasets" else (board.bucket, dataset)
        entries = board_entries(board, settings.coefficient)
        column = PaperColumn(head, board.title, board.bucket, board.n, entries, board.unranked, is_mean)
        columns.setdefault((subject, is_mean and settings.across == "buckets"), []).append(column)
    return [
        PaperTable(subject, displayed_names, columns_of_table) for (subject, _), columns_of_table in columns.items()
    ]


def board_entries(board: Board, by: str) -> dict[str, Entry]:
    """Return the cells of a board by metric; metrics that lack a dataset of a mean are absent."""
    standing = standings_by_metric(board, by)
    entries = {}
    for line in board.lines:
        if not line.missing:
            entries[line.metric] = Entry(*line.values[by], line.n, standing[line.metric], line.signature)
    return entries


def standings_by_metric(board: Board, by: str) -> dict[str, Standing]:
    """Return how each metric of a board compares with the highest tested value.

    Several metrics are the best if their values are exactly equal. Without a second tested metric, all are empty.
    """
    tested = {}
    for line in board.lines:
        value = line.values[by][0]
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
    if len(tested) < 2 or line.values[by][0] is None:
        return ""
    if line.metric not in tested:
        return "untested"
    if line.metric in best:
        return "best"
    if any(line.metric in pair and set(best) & set(pair) for pair in board.untested):
        return "untested"
    return "tied" if line.metric in board.best else "lower"


def _short_titles(joined: Sequence[JoinedDataset], wanted: Sequence[str]) -> dict[str, str]:
    """Return the head of each dataset by title, in the order of the table: its name if unique, else its title."""
    names = Counter(dataset.data.name for dataset in joined)
    in_table_order = sorted(joined, key=lambda dataset: _find_position(dataset.data.name, wanted))
    return {
        dataset.title: dataset.data.name if names[dataset.data.name] == 1 else dataset.title
        for dataset in in_table_order
    }


def _ordered_boards(boards: Sequence[Board], titles: Mapping[str, str]) -> list[Board]:
    """Return the boards in the order in which their titles are keys of *titles*; boards of means come last."""
    positions = {title: position for position, title in enumerate(titles)}
    return sorted(boards, key=lambda board: positions.get(board.title, len(positions)))


def _sort_by_wanted(names: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """Return names without duplicates in the order of *wanted*; names that are not wanted come last, in their order."""
    return sorted(dict.fromkeys(names), key=lambda name: _find_position(name, wanted))


def _find_position(name: str, wanted: Sequence[str]) -> int:
    """Return the index of a name among the wanted ones, or their number if it is none of them.

    A name may end in the title of its run, as in ``f1 [runs/two]``, which is ignored.
    """
    for position, wanted_name in enumerate(wanted):
        if name == wanted_name or name.startswith(f"{wanted_name} ["):
            return position
    return len(wanted)
