"""A table for a paper, as LaTeX, and as a sheet for all other formats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from assay.analysis.data import ALL
from assay.analysis.settings import PairedTests
from assay.analysis.table import Entry, PaperColumn, PaperTable, TableSettings
from assay.common.numbers import percent, short
from assay.common.visible import visible_text
from assay.reports.formats import escape_latex, latex_name_comments
from assay.reports.layout import intervals_in_words
from assay.reports.sheets import Column, Document, Sheet, ShortNames, table_rows
from assay.statistics.coefficients import interval_method, title_of

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
    """Return a document with its LaTeX added, in which its warnings and notes, and short names, are comments.

    Args:
        laid_out: the document of the tables, see :func:`to_document`.
        tables: the tables.
        settings: the settings of their appearance; each of several tables has its number added to the label.
        tests: the settings of intervals and tests.
    """
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
    """Yield the sentences of a caption without full stops.

    They are the title, or the caption of the settings in its place; n, the marks, the intervals, missing values, what
    means are of, and why columns have no ranks, as far as they apply.

    Args:
        table: the table.
        settings: the settings of its appearance.
        tests: the settings of intervals and tests.
    """
    title = f"Agreement of metrics with labels, {title_of(settings.coefficient)}"
    if table.subject != ALL:
        title += f", {table.subject}"
    yield (settings.caption or title).rstrip(". ")
    # the n of a column of means is the sum over its datasets, which is left out beside them
    counted = [column for column in table.columns if not column.is_mean] or table.columns
    if len({column.n for column in counted}) == 1:
        yield f"n = {counted[0].n:,}"
    else:
        yield "n = " + ", ".join(f"{column.n:,} ({column.head})" for column in counted)
    standings = {entry.standing for column in table.columns for entry in column.entries.values()}
    if "best" in standings:
        mark_text = f"every other {'tested ' if 'untested' in standings else ''}one is lower"
        if "tied" in standings:
            mark_text = f"{MARKS['tied']}: not distinguishable from it"
        correction = "uncorrected" if tests.correction == "none" else "model confidence set"
        method = f"; {mark_text} (jackknife t-tests, {correction}, at {percent(tests.level)})"
        yield f"Bold: the highest value of a column{method if standings & {'tied', 'lower'} else ''}"
    if "untested" in standings:
        yield f"{MARKS['untested']}: not tested, since scores are missing, or too few pairs or groups differ in score"
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


def _entry_of(column: PaperColumn, metric: str) -> Entry:
    """Return the cell of a metric in a column; an empty one if the column lacks the metric."""
    return column.entries.get(metric, Entry(n=0, standing="", signature=""))


# Every other format.


def _paper_sheet(table: PaperTable, settings: TableSettings, tests: PairedTests) -> Sheet:
    """Return a table as a sheet with marks after values; the positions of its best values are in ``best``."""

    def entry_text(metric: str, column: PaperColumn) -> str:
        entry = _entry_of(column, metric)
        return entry.text + MARKS.get(entry.standing, "")

    columns = [
        Column("metric", cell=lambda metric: table.metrics[metric]),
        *(Column(column.head, number=True, cell=partial(entry_text, column=column)) for column in table.columns),
    ]
    best = []
    for number, column in enumerate(table.columns, start=1):
        standings = [_entry_of(column, metric).standing for metric in table.metrics]
        best += [(row, number) for row, standing in enumerate(standings) if standing == "best"]
    title, *notes = caption_sentences(table, settings, tests)
    return Sheet(title, columns, table_rows(columns, table.metrics), notes=notes, best=frozenset(best))


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
    heads = [escape_latex(column.head) for column in table.columns]
    shapes = ["r"] * len(heads)
    value_text = _plain_value
    if settings.siunitx:
        # braces tell siunitx that a head is no number
        heads = [f"{{{head}}}" for head in heads]
        shapes = [_siunitx_shape(column) for column in table.columns]
        value_text = _siunitx_value
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
        values = [value_text(entry) for entry in entries]
        lines.append(" & ".join([escape_latex(displayed_name), *values]) + r" \\")
        if settings.intervals:
            # in a row of their own, whose first cell is empty
            intervals = [_latex_interval(entry) for entry in entries]
            lines.append("& " + " & ".join(intervals) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}", ""])


def _plain_value(entry: Entry) -> str:
    """Return a value in LaTeX, bold if it is the best; its mark has no width, so that digits stay aligned."""
    if entry.value is None:
        return "--"
    # a minus sign, which LaTeX sets wider than a hyphen
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
