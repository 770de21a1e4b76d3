"""Tables with one row per annotation: the rows of a pair become one, with a label column for each annotator."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from assay.common.batches import distinct_rows, row_digests
from assay.common.messages import Setting
from assay.datasets.columns import SourceTable
from assay.datasets.labels import label_columns
from assay.datasets.reading import Reading
from assay.exceptions import InputError, unknown_name

#: Names of a column that names the annotator, in lower case and without signs and a final "id".
USUAL_NAMES = ("annotator", "worker", "rater", "judge", "coder", "assessor", "evaluator", "participant", "turker")
#: Names, in the same form, of a column that tells rows of one pair apart and names no annotator.
SYSTEM_NAMES = ("system", "systemname", "model", "modelname", "method", "run", "seed", "language", "split", "prompt")
#: The name with which a column needs no repeated texts in most rows: that of the sheets of ``assay annotate``.
SHEET_COLUMN = "annotator"
#: The columns that tell pairs apart, besides an identifier that several rows share.
_KEY_COLUMNS = ("reference", "candidate", "question", "context", "subset", "split", "language", "group")
#: In place of a column: nobody knows who gave which of the labels of a pair.
UNKNOWN = "-"
#: The largest number of rows in which annotations are looked for without being asked to.
MAX_SEARCHED_ROWS = 1_000_000


class Pooled(NamedTuple):
    """A table whose rows are pairs.

    Attributes:
        source: the rows: of several annotations the first row, with a column for each annotator.
        label: the label columns.
        added: the columns of annotators that were not in the file.
        note: what was pooled; empty if nothing was.
        hint: that rows may be annotations, with the setting for it; empty if they are not.
    """

    source: SourceTable
    label: list[str]
    added: Sequence[str] = ()
    note: str = ""
    hint: str = ""


def pool_annotations(
    source: SourceTable, mapping: Mapping[str, Sequence[str]], reading: Reading, *, find_annotators: bool
) -> Pooled:
    """Return a table with one row per pair, if its rows are annotations of pairs; else the table as it is.

    Labels that are lists become a column for each annotator. Rows are annotations if the user names the column of
    annotators. Without that, they are if most rows repeat the texts of another one (or some, where the column is called
    ``annotator``), and a column with a usual name tells them apart; if there is no such column and labels differ, the
    result has a hint.

    Args:
        source: the table as it was read.
        mapping: the source columns of each pair column.
        reading: the user's settings.
        find_annotators: whether to look for annotations of which the user says nothing.

    Raises:
        InputError: there is no such column of annotators, a row has none, an annotator labelled a pair twice, a label
            cannot be read, or the labels are in several columns already.
    """
    names = list(mapping.get("label", ()))
    if len(names) == 1 and reading.annotator is None:
        lists = _label_lists(source.table.column(names[0]))
        if lists is not None:
            return _spread(source, names[0], lists)
    unpooled = Pooled(source, names)
    column = reading.annotator
    if column is None and not find_annotators:
        return unpooled
    if column is not None:
        if column != UNKNOWN and column not in source.table.column_names:
            problem = f"{source.name}: has no column"
            raise InputError(unknown_name(problem, column, source.table.column_names), setting="annotator")
        if len(names) != 1:
            raise InputError("goes with one label column", setting="annotator", value=column)
    else:
        tells_pairs_apart = "candidate" in mapping and not mapping.keys().isdisjoint(("reference", "question"))
        if len(names) != 1 or not tells_pairs_apart or len(source.table) > MAX_SEARCHED_ROWS:
            return unpooled
    first_rows, pair_codes = _distinct_pairs(source, mapping)
    if len(first_rows) == len(pair_codes):
        return unpooled
    if column is None:
        repeated = np.bincount(pair_codes)[pair_codes] > 1
        # a sheet of which a second person labelled a part says so by the name of its column
        if repeated.sum() <= len(pair_codes) / 2 and SHEET_COLUMN not in source.table.column_names:
            return unpooled
        candidates = [name for name in source.table.column_names if _tells_apart(source, name, mapping, pair_codes)]
        column = next((name for name in candidates if _plain_name(name) in USUAL_NAMES), None)
        if column is None and _count_within_pairs(source.table.column(names[0]), pair_codes) == len(first_rows):
            # the labels of a pair are equal
            return unpooled
        people = [name for name in candidates if _plain_name(name) not in SYSTEM_NAMES]
        if column is None and candidates and not people:
            # equal answers of several systems, with labels that differ
            return unpooled
        if column is None:
            option = Setting("annotator", people[0] if people else UNKNOWN).with_flag({})
            count = f"{repeated.sum():,} of {len(repeated):,} rows repeat the texts of another row with other labels"
            return unpooled._replace(hint=f"{count}; if each row is the label of one annotator, run with {option}")
    # every label once, so that a message has the row of the annotation
    labels = label_columns(source, names, reading, allow_missing=True).columns["label"].to_numpy(zero_copy_only=False)
    identifier = next(iter(mapping.get("pair_id", ())), None)
    annotators = source.table.column(column).to_pylist() if column != UNKNOWN else _ranks(labels, pair_codes)
    return _wide(source, names[0], column, annotators, identifier, first_rows, pair_codes)


def _label_lists(column: pa.ChunkedArray) -> list[list[Any]] | None:
    """Return the cells of a label column as lists, one label per annotator; None if they are not all lists."""
    if not pa.types.is_nested(column.type) and not pa.types.is_string(column.type):
        return None
    first = column[0].as_py() if len(column) else None
    if isinstance(first, str) and not first.lstrip().startswith("["):
        # without reading the rest
        return None
    lists = []
    for cell in column.to_pylist():
        labels = _listed_labels(cell)
        if labels is None:
            return None
        lists.append(labels)
    return lists


def _listed_labels(cell: Any) -> list[Any] | None:
    """Return the labels in a cell that is a list, or the JSON text of one; None for any other cell."""
    if isinstance(cell, str) and cell.lstrip().startswith("["):
        try:
            cell = json.loads(cell)
        except (ValueError, RecursionError):
            return None
    is_list_of_labels = isinstance(cell, list) and all(isinstance(label, str | int | float | None) for label in cell)
    return cell if is_list_of_labels else None


def _spread(source: SourceTable, label: str, lists: list[list[Any]]) -> Pooled:
    """Return the table with a label column for each place in the lists of labels."""
    table = source.table.drop_columns([label])
    added = []
    for index in range(max(map(len, lists))):
        name = f"{label} {index + 1}"
        cells = [None if index >= len(labels) or labels[index] is None else str(labels[index]) for labels in lists]
        table = table.append_column(name, pa.array(cells, pa.string()))
        added.append(name)
    note = f"labels of up to {len(added)} annotators, from the lists in {label}"
    return Pooled(replace(source, table=table), added, added, note)


def _distinct_pairs(
    source: SourceTable, mapping: Mapping[str, Sequence[str]]
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return the index of the first row of each pair in ascending order, and the number of the pair of each row."""
    names = [mapping[name][0] for name in _KEY_COLUMNS if name in mapping]
    for name in mapping.get("pair_id", ()):
        if len(_distinct(source.table.column(name))[0]) < len(source.table):
            names.append(name)
    return _distinct(*(source.table.column(name) for name in names))


def _distinct(*columns: pa.ChunkedArray) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return the index of the first of equal rows in ascending order, and the number of the equal rows of each row."""
    cells = []
    for column in columns:
        if pa.types.is_nested(column.type):
            column = pa.chunked_array([pa.array([json.dumps(cell) for cell in column.to_pylist()], pa.string())])
        cells.append(column.cast(pa.string()))
    return distinct_rows(row_digests(cells, len(columns[0])))


def _count_within_pairs(column: pa.ChunkedArray, pair_codes: np.ndarray[Any, Any]) -> int:
    """Return the number of different cells of each pair, summed over the pairs."""
    codes = _distinct(column)[1]
    return len(np.unique(np.stack([pair_codes, codes], axis=1), axis=0))


def _tells_apart(
    source: SourceTable, name: str, mapping: Mapping[str, Sequence[str]], pair_codes: np.ndarray[Any, Any]
) -> bool:
    """Tell whether a column without a role has few values, and another one in each row of a pair.

    Args:
        source: the table with one row per annotation.
        name: the column.
        mapping: the source columns of each pair column.
        pair_codes: the number of the pair of each row.
    """
    if any(name in sources for sources in mapping.values()) or pa.types.is_nested(source.table.column(name).type):
        return False
    column = source.table.column(name)
    if len(_distinct(column)[0]) > len(pair_codes) / 2:
        return False
    return _count_within_pairs(column, pair_codes) == len(pair_codes)


def _plain_name(name: str) -> str:
    """Return a column name in lower case, without signs and without a final "id"."""
    return "".join(filter(str.isalpha, name.lower())).removesuffix("id")


def _wide(
    source: SourceTable,
    label: str,
    column: str,
    annotators: Sequence[Any],
    identifier: str | None,
    first_rows: np.ndarray[Any, Any],
    pair_codes: np.ndarray[Any, Any],
) -> Pooled:
    """Return the first row of each pair, with a label column for each annotator.

    Args:
        source: the table with one row per annotation.
        label: the column of labels.
        column: the column of annotators, or :data:`UNKNOWN`.
        annotators: the annotator of each row.
        identifier: the column of identifiers; None if there is none.
        first_rows: the first row of each pair.
        pair_codes: the number of the pair of each row.

    Raises:
        InputError: a row names no annotator, or an annotator labelled a pair twice.
    """
    row_by_annotator = _rows_of_annotators(source, column, annotators, pair_codes)
    constant = []
    for name in source.table.column_names:
        # of identifiers of annotations, the first stands for the pair
        if name == identifier or _count_within_pairs(source.table.column(name), pair_codes) == len(first_rows):
            constant.append(name)
    table = source.table.select(constant).take(first_rows)
    labels = source.table.column(label)
    added = []
    for annotator in sorted(row_by_annotator) if column == UNKNOWN else row_by_annotator:
        row_of_pair = row_by_annotator[annotator]
        name = f"{label} by {annotator}"
        while name in table.column_names:
            name += "'"
        rows = pa.array([row_of_pair.get(pair) for pair in range(len(first_rows))])
        table = table.append_column(name, labels.take(rows))
        added.append(name)
    if label in table.column_names:
        table = table.drop_columns([label])
    count = len(row_by_annotator)
    annotators = f"up to {count:,} of each pair" if column == UNKNOWN else f"by {count:,} annotators ({column})"
    note = f"{len(pair_codes):,} annotations, {annotators}, read as {len(first_rows):,} pairs"
    varying = [name for name in source.table.column_names if name not in {*constant, label, column}]
    if varying:
        note += f"; columns that differ between annotations left out: {', '.join(varying)}"
    misfits = {name: misfit._replace(row=int(pair_codes[misfit.row])) for name, misfit in source.misfits.items()}
    pooled = replace(source, table=table, rows=source.numbers()[first_rows], misfits=misfits)
    return Pooled(pooled, added, added, note)


def _ranks(labels: np.ndarray[Any, Any], pair_codes: np.ndarray[Any, Any]) -> list[int]:
    """Return the rank of each label within its pair, from 1 for the lowest, in place of an annotator whom nobody knows.

    Labels that are sorted say that the first of two pairs need not be one person's: see
    :func:`assay.statistics.reliability.are_sorted`.
    """
    ranks = [0] * len(labels)
    labels_so_far: Counter[int] = Counter()
    # a missing label, NaN, comes last
    for row in np.argsort(labels, kind="stable").tolist():
        pair = int(pair_codes[row])
        labels_so_far[pair] += 1
        ranks[row] = labels_so_far[pair]
    return ranks


def _rows_of_annotators(
    source: SourceTable, column: str, annotators: Sequence[Any], pair_codes: np.ndarray[Any, Any]
) -> dict[Any, dict[int, int]]:
    """Return by annotator the row in which each pair was labelled.

    Args:
        source: the table with one row per annotation.
        column: the column of annotators, or :data:`UNKNOWN`.
        annotators: the annotator of each row.
        pair_codes: the number of the pair of each row.

    Raises:
        InputError: a row names no annotator, or an annotator labelled a pair twice.
    """
    row_by_annotator: dict[Any, dict[int, int]] = {}
    for row, (annotator, pair) in enumerate(zip(annotators, pair_codes.tolist(), strict=True)):
        if annotator is None or not str(annotator).strip():
            raise InputError(f"{source.location(row)}, column {column}: names no annotator")
        earlier_row = row_by_annotator.setdefault(annotator, {}).setdefault(pair, row)
        if earlier_row != row:
            raise InputError(
                f"{source.location(row)}: annotator {annotator!r} labelled the same texts in {source.unit}"
                f" {source.number(earlier_row)}; if they are answers of two systems, say so with ",
                Setting("columns", "subset=SYSTEM"),
                ", otherwise keep one, or count both as labels of unknown people with ",
                Setting("annotator", UNKNOWN),
            )
    return row_by_annotator
