"""The tables that pass between packages (see docs/architecture.md): columns, types, and display names of metrics."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from assay.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

#: Columns of a table with one labelled pair per row.
PAIR_COLUMNS: Final = ("pair_id", "reference", "candidate", "label")
#: The AMR graphs of the two texts, in Penman notation.
GRAPH_COLUMNS: Final = ("reference_graph", "candidate_graph")
#: Further columns of a pairs table, if the data has them. Pairs with the same ``group`` are not independent.
OPTIONAL_PAIR_COLUMNS: Final = ("question", "subset", "split", "language", "group", "annotations", *GRAPH_COLUMNS)
#: Columns of a table with one row per pair and metric.
SCORE_COLUMNS: Final = ("dataset", "pair_id", "metric", "score")
#: Kinds of datasets whose labels are not judgements of annotators, each with a note for readers. Metrics are never
#: ranked by them.
NOT_BY_PEOPLE: Final = {
    "probe": "probe set: labels follow a rule, not several annotators; never rank metrics by it",
    "machine": "machine-made labels: agreement with them is not agreement with people; never rank metrics by it",
}
#: Version of the layout of run folders; increased when a reader of the old layout would misread the new one.
RUN_SCHEMA: Final = 1


#: The largest whole number up to which all whole numbers are exact as 64-bit floats.
MOST_EXACT: Final = 2**53

# Types. A Parquet file may have columns of any Arrow type, but most functions of Arrow support only some types.


def with_known_types(table: pa.Table, where: str) -> tuple[pa.Table, dict[str, str]]:
    """Return a table whose columns are text, 64-bit numbers, truth values, or lists of text or numbers.

    Other encodings of text and numbers are converted; integers that do not fit in 64 bits, dates and times become text.

    Args:
        table: the table as read from a file or passed in memory.
        where: the name of the table in messages.

    Returns:
        The table without columns of other types, such as structures, and the types of those columns by name.

    Raises:
        InputError: a text is not UTF-8, or a column is damaged.
    """
    import pyarrow as pa

    columns: dict[str, Any] = {}
    left_out: dict[str, str] = {}
    for name in table.column_names:
        known = _known_column(table, name, where)
        if known is None:
            left_out[name] = str(table.schema.field(name).type)
        else:
            columns[name] = known
    known_columns = pa.table(columns) if columns else table.select([])
    return known_columns.replace_schema_metadata(table.schema.metadata), left_out


def known_table(table: pa.Table, where: str, before: int = 0) -> pa.Table:
    """Return a part of a table with its columns converted as :func:`with_known_types` does, unless that needs all rows.

    Columns of unsigned 64-bit integers, whose type depends on their values, and columns of unsupported types stay
    unchanged.

    Args:
        table: some consecutive rows of a larger table.
        where: the name of the whole table in messages.
        before: the number of rows before these, for row numbers in messages.

    Raises:
        InputError: as for :func:`with_known_types`.
    """
    import pyarrow as pa

    for index, name in enumerate(table.column_names):
        known = _known_column(table, name, where, before)
        if known is not None and not pa.types.is_uint64(table.schema.field(name).type):
            table = table.set_column(index, name, known)
    return table


def _known_column(table: pa.Table, name: str, where: str, before: int = 0) -> pa.ChunkedArray | None:
    """Return a column converted as by :func:`with_known_types`; None if its type is not supported.

    Raises:
        InputError: a text is not UTF-8, or the column is damaged.
    """
    import pyarrow as pa

    column = table.column(name)
    try:
        column.validate(full=True)
        return _in_known_type(column)
    except pa.ArrowException as error:
        row = _first_non_utf8_row(column)
        if row is not None:
            raise InputError(f"{where}, column {name}: the text in row {before + row + 1} is no UTF-8") from None
        raise InputError(f"{where}, column {name}: cannot be read ({damage(error)})") from None


def _in_known_type(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Return a column converted as by :func:`with_known_types`; None if its type is not supported.

    Raises:
        pa.ArrowException: a value cannot be converted.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        column = pa.chunked_array([chunk.storage for chunk in column.chunks], kind.storage_type)
        kind = kind.storage_type
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if _is_list(kind):
        value = _known_scalar(kind.value_type)
        if value is None or value == pa.bool_():
            return None
        return pc.cast(column, pa.list_(pa.float64() if value == pa.int64() else value), safe=value == pa.string())
    known = _known_scalar(kind)
    if known is None:
        return None
    if known == pa.int64() and pa.types.is_uint64(kind):
        try:
            return column.cast(known)
        except pa.ArrowInvalid:
            return column.cast(pa.string())
    return column if known == kind else column.cast(known)


def _is_list(kind: pa.DataType) -> bool:
    names = ("list", "large_list", "fixed_size_list", "list_view", "large_list_view")
    return any(_is(kind, name) for name in names)


def _is(kind: pa.DataType, name: str) -> bool:
    """Tell whether a type is of the kind *name*; False for kinds that the installed Arrow does not have yet."""
    import pyarrow as pa

    check = getattr(pa.types, f"is_{name}", None)
    return check is not None and bool(check(kind))


def _known_scalar(kind: pa.DataType) -> pa.DataType | None:
    """Return the supported type to which a type of single values is converted; None if there is none."""
    import pyarrow as pa

    types = pa.types
    if types.is_null(kind) or types.is_boolean(kind):
        return kind
    if types.is_integer(kind):
        return pa.int64()
    if types.is_floating(kind) or types.is_decimal(kind):
        return pa.float64()
    if types.is_duration(kind) or types.is_interval(kind):
        return None
    texts = ("string", "large_string", "string_view", "binary", "large_binary", "binary_view")
    is_text = any(_is(kind, name) for name in texts)
    return pa.string() if is_text or types.is_temporal(kind) else None


def _first_non_utf8_row(column: pa.ChunkedArray) -> int | None:
    """Return the index of the first row of a text column that is not UTF-8; None if there is none."""
    import pyarrow as pa

    try:
        cells = column.cast(pa.binary()).to_pylist()
    except pa.ArrowException:
        return None
    for row, cell in enumerate(cells):
        try:
            (cell or b"").decode()
        except UnicodeDecodeError:
            return row
    return None


def has_exact_floats(column: pa.ChunkedArray) -> bool:
    """Tell whether all whole numbers in a column, also as text, are exact as floats; long identifiers are not."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_integer(column.type):
        ends = pc.min_max(column).as_py()
        return all(end is None or abs(end) <= MOST_EXACT for end in ends.values())
    cells = [cell for cell in column.to_pylist() if isinstance(cell, str) and cell.isdecimal()]
    return all(len(cell) < 16 or float(cell) <= MOST_EXACT for cell in cells)


def damage(error: Exception) -> str:
    """Return the first line of PyArrow's error about a file or a column."""
    if isinstance(error, UnicodeDecodeError):
        return "the name of a column is no UTF-8"
    return (str(error) or type(error).__name__).splitlines()[0]


def repeated(names: Sequence[str]) -> str | None:
    """Return the first name that occurs more than once, or None."""
    return next((name for name, count in Counter(names).items() if count > 1), None)


def finite_number(cell: str) -> float | None:
    """Return a text as a number; None if it is not a finite number. ``1_000``, which only Python accepts, is none."""
    try:
        number = float(cell)
    except ValueError:
        return None
    return number if math.isfinite(number) and "_" not in cell else None


#: The suffix with the run that tells metrics of several runs apart, such as in ``f1 [runs/two]``.
_MARK = re.compile(r" \[[^\[\]]*\]$")


def short_names(metrics: Iterable[str]) -> dict[str, str]:
    """Return a unique short name for each metric, such as ``bi-encoder:…/minilm`` for ``bi-encoder:/models/minilm``.

    A path or hub id, in the subject or an option, is shortened to its last part, or to the last parts that are needed
    to tell the metrics apart. A name that would not get shorter is kept.
    """
    shown = dict.fromkeys(metrics, "")
    unnamed = list(shown)
    parts = 1
    while unnamed:
        names = {metric: _with_last_parts(metric, parts) for metric in unnamed}
        counts = Counter(names.values())
        for metric, name in names.items():
            if counts[name] == 1:
                shown[metric] = name if len(name) <= len(metric) else metric
        unnamed = [metric for metric in unnamed if not shown[metric]]
        parts += 1
    return shown


def _with_last_parts(metric: str, parts: int) -> str:
    """Return a metric name with each path, in the subject or an option, shortened to its last *parts* parts."""
    mark = _MARK.search(metric)
    name, end = (metric[: mark.start()], mark.group()) if mark else (metric, "")
    last = r"[^,=/\\]+[/\\]" * (parts - 1)
    # a value begins at the first colon of its comma-separated part, which keeps the search linear
    return re.sub(rf"((?:^|,)[^,=:]*:|=)[^,=]*[/\\](?={last}[^,/\\])", r"\1…/", name) + end
