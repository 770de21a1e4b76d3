"""Tables with one row per annotation: the rows of a pair become one, with a label column for each annotator."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from assay.common.batches import distinct_rows, row_digests
from assay.common.messages import Setting
from assay.datasets.columns import SourceTable
from assay.datasets.gold_answers import structured_value
from assay.datasets.labels import label_columns
from assay.datasets.reading import Reading, normalised_word
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

    If the user names a column of annotators, rows of one pair are annotations. Otherwise labels that are all lists, in
    one column, become a column for each annotator. In other tables of one label column and up to
    :data:`MAX_SEARCHED_ROWS` rows, rows are annotations if most repeat the texts of another one (or some, where there
    is a column ``annotator``), and a column with a usual name tells them apart. If there is no such column and labels
    differ, the result has a hint, unless names of systems tell the rows apart.

    Args:
        source: the table as it was read.
        mapping: the source columns of each pair column.
        reading: the user's settings.
        find_annotators: whether to look for annotations of which the user says nothing.

    Raises:
        InputError: there is no such column of annotators, a row has none, an annotator labelled a pair twice, a label
            cannot be read, or the user names annotators and there is not exactly one label column.
    """
    names = list(mapping.get("label", ()))
    if len(names) == 1 and reading.annotator is None:
        lists = _label_lists(source.table.column(names[0]), reading)
        if lists is not None:
            return _with_column_per_item(source, names[0], lists)
    unpooled = Pooled(source, names)
    column = reading.annotator
    if column is not None:
        _check_annotator_column(source, column, names)
    elif not find_annotators or not _may_hold_annotations(source, mapping):
        return unpooled
    first_rows, pair_codes = _distinct_pairs(source, mapping)
    if len(first_rows) == len(pair_codes):
        return unpooled
    if column is None:
        column, hint = _find_annotator_column(source, mapping, pair_codes)
        if column is None:
            return unpooled._replace(hint=hint)
    # every label once, so that a message has the row of the annotation
    labels = label_columns(source, names, reading, allow_missing=True).columns["label"].to_numpy(zero_copy_only=False)
    identifier = next(iter(mapping.get("pair_id", ())), None)
    annotators = source.table.column(column).to_pylist() if column != UNKNOWN else _ranks(labels, pair_codes)
    return _with_row_per_pair(source, names[0], column, annotators, identifier, first_rows, pair_codes)


def _check_annotator_column(source: SourceTable, column: str, label_names: Sequence[str]) -> None:
    """Raise InputError if there is no such column of annotators, or not exactly one label column beside it."""
    if column != UNKNOWN and column not in source.table.column_names:
        problem = f"{source.name}: has no column"
        raise InputError(unknown_name(problem, column, source.table.column_names), setting="annotator")
    if len(label_names) != 1:
        raise InputError("goes with one label column", setting="annotator", value=column)


def _may_hold_annotations(source: SourceTable, mapping: Mapping[str, Sequence[str]]) -> bool:
    """Tell whether a table has one label column and texts that tell pairs apart, and is small enough to search."""
    has_one_label = len(mapping.get("label", ())) == 1
    tells_pairs_apart = "candidate" in mapping and not mapping.keys().isdisjoint(("reference", "question"))
    return has_one_label and tells_pairs_apart and len(source.table) <= MAX_SEARCHED_ROWS


def _find_annotator_column(
    source: SourceTable, mapping: Mapping[str, Sequence[str]], pair_codes: np.ndarray[Any, Any]
) -> tuple[str | None, str]:
    """Return the column that names annotators, None if there is none, and a hint on rows that may be annotations.

    The hint is empty if there is such a column, if too few rows repeat texts, if the labels of each pair are equal, or
    if only columns that name systems tell the rows apart.

    Args:
        source: the table as it was read.
        mapping: the source columns of each pair column, with one for the label.
        pair_codes: the number of the pair of each row, shape (n,); some rows share one.
    """
    repeated = np.bincount(pair_codes)[pair_codes] > 1
    # a sheet of which a second person labelled a part says so by the name of its column
    if repeated.sum() <= len(pair_codes) / 2 and SHEET_COLUMN not in source.table.column_names:
        return None, ""
    candidates = [name for name in source.table.column_names if _tells_rows_apart(source, name, mapping, pair_codes)]
    for name in candidates:
        if _plain_name(name) in USUAL_NAMES:
            return name, ""
    (label_name,) = mapping["label"]
    if _count_within_pairs(source.table.column(label_name), pair_codes) == len(np.unique(pair_codes)):
        # the labels of a pair are equal
        return None, ""
    people = [name for name in candidates if _plain_name(name) not in SYSTEM_NAMES]
    if candidates and not people:
        # equal answers of several systems, with labels that differ
        return None, ""
    option = Setting("annotator", people[0] if people else UNKNOWN).with_flag({})
    count = f"{repeated.sum():,} of {len(repeated):,} rows repeat the texts of another row with other labels"
    return None, f"{count}; if each row is the label of one annotator, run with {option}"


def _label_lists(column: pa.ChunkedArray, reading: Reading) -> list[list[Any]] | None:
    """Return the cells of a label column as lists, one label per annotator; None if they are not all lists.

    A cell that is missing, such as that of a pair that nobody has labelled, is an empty list beside others.
    """

    def is_missing(cell: Any) -> bool:
        return cell is None or (isinstance(cell, str) and reading.is_missing(normalised_word(cell)))

    if not pa.types.is_nested(column.type) and not pa.types.is_string(column.type):
        return None
    first = next((cell.as_py() for cell in column if not is_missing(cell.as_py())), None)
    if first is None or (isinstance(first, str) and not first.lstrip().startswith("[")):
        # without reading the rest
        return None
    lists = []
    for cell in column.to_pylist():
        labels = [] if is_missing(cell) else _listed_labels(cell)
        if labels is None:
            return None
        lists.append(labels)
    return lists


def _listed_labels(cell: Any) -> list[Any] | None:
    """Return the labels in a cell that is a list, or the text of one in JSON or Python; None for any other cell.

    A label may be alone in a list, as in Label Studio's results of an annotation.
    """
    if isinstance(cell, str) and cell.lstrip().startswith("["):
        cell = structured_value(cell)
    if not isinstance(cell, list):
        return None
    labels = [_only_item(item) for item in cell]
    return labels if all(isinstance(label, str | int | float | None) for label in labels) else None


def _only_item(value: Any) -> Any:
    """Return the item of a list of one, also of a list in it; any other value unchanged."""
    while isinstance(value, list) and len(value) == 1:
        value = value[0]
    return value


def _with_column_per_item(source: SourceTable, label: str, lists: list[list[Any]]) -> Pooled:
    """Return the table with a label column for each place in the lists of labels, null where a list is shorter.

    Args:
        source: the table as it was read.
        label: the column of lists, which is left out.
        lists: its cells.
    """
    table = source.table.drop_columns([label])
    added = []
    # one label after the other: those of the first annotators, of the second ones, …
    for index, labels in enumerate(zip_longest(*lists)):
        name = _unused_name(f"{label} {index + 1}", table)
        cells = [None if cell is None else str(cell) for cell in labels]
        table = table.append_column(name, pa.array(cells, pa.string()))
        added.append(name)
    note = f"labels of up to {len(added)} annotators, from the lists in {label}"
    return Pooled(replace(source, table=table), added, added, note)


def _distinct_pairs(
    source: SourceTable, mapping: Mapping[str, Sequence[str]]
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return the index of the first row of each pair in ascending order, and the number of the pair of each row.

    Rows are of one pair if they agree in :data:`_KEY_COLUMNS`, and in the identifier if rows share one.
    """
    names = [mapping[name][0] for name in _KEY_COLUMNS if name in mapping]
    for name in mapping.get("pair_id", ()):
        if len(_distinct(source.table.column(name))[0]) < len(source.table):
            names.append(name)
    return _distinct(*(source.table.column(name) for name in names))


def _distinct(*columns: pa.ChunkedArray) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return the index of the first of equal rows in ascending order, and the number of the equal rows of each row."""
    text_columns = []
    for column in columns:
        if pa.types.is_nested(column.type):
            texts = pa.array([json.dumps(cell) for cell in column.to_pylist()], pa.string())
            text_columns.append(pa.chunked_array([texts]))
        else:
            text_columns.append(column.cast(pa.string()))
    return distinct_rows(row_digests(text_columns, len(columns[0])))


def _count_within_pairs(column: pa.ChunkedArray, pair_codes: np.ndarray[Any, Any]) -> int:
    """Return the number of different cells of each pair, summed over the pairs."""
    codes = _distinct(column)[1]
    return len(np.unique(np.stack([pair_codes, codes], axis=1), axis=0))


def _tells_rows_apart(
    source: SourceTable, name: str, mapping: Mapping[str, Sequence[str]], pair_codes: np.ndarray[Any, Any]
) -> bool:
    """Tell whether a column without a role has few values, and another one in each row of a pair.

    Few are at most half as many as there are rows.

    Args:
        source: the table with one row per annotation.
        name: the column.
        mapping: the source columns of each pair column.
        pair_codes: the number of the pair of each row.
    """
    column = source.table.column(name)
    has_role = any(name in sources for sources in mapping.values())
    if has_role or pa.types.is_nested(column.type):
        return False
    if len(_distinct(column)[0]) > len(pair_codes) / 2:
        return False
    return _count_within_pairs(column, pair_codes) == len(pair_codes)


def _plain_name(name: str) -> str:
    """Return a column name in lower case, without signs and without a final "id"."""
    return "".join(filter(str.isalpha, name.lower())).removesuffix("id")


def _with_row_per_pair(
    source: SourceTable,
    label: str,
    column: str,
    annotators: Sequence[Any],
    identifier: str | None,
    first_rows: np.ndarray[Any, Any],
    pair_codes: np.ndarray[Any, Any],
) -> Pooled:
    """Return the first row of each pair, with a label column for each annotator.

    Other columns whose cells differ within a pair are left out, with a note; the first identifier stands for the pair.

    Args:
        source: the table with one row per annotation.
        label: the column of labels.
        column: the column of annotators, or :data:`UNKNOWN`.
        annotators: the annotator of each row; for :data:`UNKNOWN`, the rank of its label within the pair.
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
    # in place of unknown annotators there are ranks, from the lowest on
    for annotator in sorted(row_by_annotator) if column == UNKNOWN else row_by_annotator:
        row_of_pair = row_by_annotator[annotator]
        name = _unused_name(f"{label} by {annotator}", table)
        rows = pa.array([row_of_pair.get(pair) for pair in range(len(first_rows))])
        table = table.append_column(name, labels.take(rows))
        added.append(name)
    if label in table.column_names:
        table = table.drop_columns([label])
    count = len(row_by_annotator)
    by_whom = f"up to {count:,} of each pair" if column == UNKNOWN else f"by {count:,} annotators ({column})"
    note = f"{len(pair_codes):,} annotations, {by_whom}, read as {len(first_rows):,} pairs"
    varying = [name for name in source.table.column_names if name not in {*constant, label, column}]
    if varying:
        note += f"; columns that differ between annotations left out: {', '.join(varying)}"
    misfits = {name: misfit._replace(row=int(pair_codes[misfit.row])) for name, misfit in source.misfits.items()}
    pooled = replace(source, table=table, rows=source.numbers()[first_rows], misfits=misfits)
    return Pooled(pooled, added, added, note)


def _unused_name(name: str, table: pa.Table) -> str:
    """Return a name that no column of a table has: *name*, with as many apostrophes behind it as are needed."""
    while name in table.column_names:
        name += "'"
    return name


def _ranks(labels: np.ndarray[Any, Any], pair_codes: np.ndarray[Any, Any]) -> list[int]:
    """Return the rank of each label within its pair, from 1 for the lowest, in place of an annotator whom nobody knows.

    The labels of each pair are then sorted, by which :func:`assay.statistics.reliability.are_sorted` recognises that a
    column is not one person's.

    Args:
        labels: the label of each row, shape (n,); NaN, for none, ranks highest.
        pair_codes: the number of the pair of each row, shape (n,).
    """
    ranks = [0] * len(labels)
    labels_so_far: Counter[int] = Counter()
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
