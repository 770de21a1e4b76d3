"""The tables that pass between packages (see docs/architecture.md): columns, types, and display names of metrics."""

from __future__ import annotations

import csv
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from assay.exceptions import InputError

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

#: Columns of a table with one labelled pair per row.
PAIR_COLUMNS: Final = ("pair_id", "reference", "candidate", "label")
#: The AMR graphs of the two texts, in Penman notation.
GRAPH_COLUMNS: Final = ("reference_graph", "candidate_graph")
#: Further columns of a pairs table, if the data has them. Pairs with the same ``group`` are not independent.
OPTIONAL_PAIR_COLUMNS: Final = ("question", "subset", "split", "language", "group", "annotations", *GRAPH_COLUMNS)
#: The column with the number of answers that a drawn one stands for, which run folders keep though it is no count.
WEIGHT: Final = "weight"
#: The columns of a sheet of ``assay annotate`` with the stratum an answer was drawn from, and how many answers it has.
STRATUM: Final = "stratum"
STRATUM_SIZE: Final = "stratum_size"
#: What a judge may read beside the question, if the data has it: passages that were retrieved, a source. A text; as it
#: is no part of :data:`OPTIONAL_PAIR_COLUMNS`, it counts among the further columns in digests and run folders.
CONTEXT: Final = "context"
#: What a run folder adds to each pair. A column of the source with such a name is kept as ``source:NAME``.
RUN_COLUMNS: Final = ("dataset", "buckets")
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


#: The largest integer up to which all integers are exact as 64-bit floats.
MAX_EXACT_INTEGER: Final = 2**53

# Labels of several annotators.


def has_contexts(table: pa.Table) -> bool:
    """Tell whether a pairs table has contexts: texts in the column :data:`CONTEXT`."""
    return CONTEXT in table.column_names and is_text(table.schema.field(CONTEXT).type)


def annotations_of(table: pa.Table) -> tuple[NDArray[np.float64] | None, bool]:
    """Return the annotators' labels of a pairs table, and whether each column is one annotator.

    The labels have the shape (n, most labels of a pair), padded with NaN. Lists of different lengths do not say who
    gave which label. Lists made from one column per annotator are equally long, with null for an empty cell. Without a
    column ``annotations`` the result is None and False.
    """
    import numpy as np

    if "annotations" not in table.column_names:
        return None, False
    lists = [labels or () for labels in table.column("annotations").to_pylist()]
    lengths = {len(labels) for labels in lists}
    annotations = np.full((len(lists), max(lengths, default=0)), np.nan)
    for row, labels in enumerate(lists):
        for annotator, label in enumerate(labels):
            annotations[row, annotator] = np.nan if label is None else label
    return annotations, len(lengths) == 1


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
        column = _known_column(table, name, where)
        if column is None:
            left_out[name] = str(table.schema.field(name).type)
        else:
            columns[name] = column
    # pa.table without columns would lose the number of rows
    known_columns = pa.table(columns) if columns else table.select([])
    return known_columns.replace_schema_metadata(table.schema.metadata), left_out


def part_with_known_types(table: pa.Table, where: str, rows_before: int = 0) -> pa.Table:
    """Return some rows of a table with the columns converted that do not need the other rows for it.

    The types are those of :func:`with_known_types`. Columns of unsigned 64-bit integers, whose type depends on all
    their values, and columns of unsupported types are kept as they are.

    Args:
        table: consecutive rows of a larger table.
        where: the name of the whole table in messages.
        rows_before: the number of rows before these, for row numbers in messages.

    Raises:
        InputError: a text is not UTF-8, or a column is damaged.
    """
    import pyarrow as pa

    for index, name in enumerate(table.column_names):
        known_column = _known_column(table, name, where, rows_before)
        if known_column is not None and not pa.types.is_uint64(table.schema.field(name).type):
            table = table.set_column(index, name, known_column)
    return table


def _known_column(table: pa.Table, name: str, where: str, rows_before: int = 0) -> pa.ChunkedArray | None:
    """Return the column *name* in a type of :func:`with_known_types`; None if its type is not supported.

    Args:
        table: the table, or some of its rows.
        name: the name of the column.
        where: the name of the table in messages.
        rows_before: the number of rows before the first one of *table*, for row numbers in messages.

    Raises:
        InputError: a text is not UTF-8, or the column is damaged.
    """
    import pyarrow as pa

    column = table.column(name)
    try:
        # a file may claim what its bytes do not hold, and such cells could crash Arrow later
        column.validate(full=True)
        return _cast_to_known_type(column)
    except pa.ArrowException as error:
        row = _first_non_utf8_row(column)
        if row is not None:
            raise InputError(f"{where}, column {name}: the text in row {rows_before + row + 1} is not UTF-8") from None
        raise InputError(f"{where}, column {name}: cannot be read ({damage_message(error)})") from None


def _cast_to_known_type(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Return a column as text, int64, float64, truth values, or lists of text or float64; None for any other type.

    Unsigned integers of which one does not fit in int64 become text. A column of nothing but missing cells keeps the
    type null.

    Raises:
        pa.ArrowException: a value cannot be converted.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    # extension types, dictionaries and run-end encodings are only other ways to store the values
    if isinstance(kind, pa.BaseExtensionType):
        column = pa.chunked_array([chunk.storage for chunk in column.chunks], kind.storage_type)
        kind = kind.storage_type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
    elif pa.types.is_run_end_encoded(kind):
        column = pa.chunked_array([pc.run_end_decode(chunk) for chunk in column.chunks], kind.value_type)
    kind = column.type
    if pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind):
        # a cast of views to lists loses rows (Arrow 26)
        column = pa.chunked_array([_lists_of_views(chunk) for chunk in column.chunks], pa.large_list(kind.value_type))
    if is_list(kind):
        value_type = _known_scalar_type(kind.value_type)
        if value_type is None or value_type == pa.bool_():
            return None
        if value_type == pa.int64():
            # lists hold the labels of annotators, which are floats everywhere
            value_type = pa.float64()
        # numbers may lose precision; text must not, so that bytes that are no UTF-8 raise
        return pc.cast(column, pa.list_(value_type), safe=value_type == pa.string())
    known_type = _known_scalar_type(kind)
    if known_type is None:
        return None
    if known_type == pa.int64() and pa.types.is_uint64(kind):
        try:
            return column.cast(known_type)
        except pa.ArrowInvalid:
            # a value does not fit in 64 bits with a sign
            return column.cast(pa.string())
    return column if known_type == kind else column.cast(known_type)


def _lists_of_views(views: pa.ListViewArray | pa.LargeListViewArray) -> pa.LargeListArray:
    """Return an array of views of lists as plain lists; missing ones stay missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    lengths = pc.list_value_length(views).fill_null(0).cast(pa.int64())
    offsets = pa.concat_arrays([pa.array([0]), pc.cumulative_sum(lengths)])
    return pa.LargeListArray.from_arrays(offsets, views.flatten(), mask=views.is_null())


@contextmanager
def long_csv_cells() -> Iterator[None]:
    """Let :mod:`csv` read cells of up to 2 GiB within the block; its own limit is 128 KiB."""
    # a C long has 32 bits on some systems
    earlier_limit = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        # the limit is global, so other users of the csv module get theirs back
        csv.field_size_limit(earlier_limit)


def is_text(kind: pa.DataType) -> bool:
    """Tell whether a type of Arrow is one of its kinds of text."""
    import pyarrow as pa

    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def is_list(kind: pa.DataType) -> bool:
    """Tell whether the cells of a type are lists of any kind, such as several gold answers."""
    import pyarrow as pa

    types = pa.types
    return bool(
        types.is_list(kind)
        or types.is_large_list(kind)
        or types.is_fixed_size_list(kind)
        or types.is_list_view(kind)
        or types.is_large_list_view(kind)
    )


def _known_scalar_type(kind: pa.DataType) -> pa.DataType | None:
    """Return the supported type to which a type of single values is converted; None if there is none."""
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(kind):
        return _known_scalar_type(kind.value_type)
    if types.is_null(kind) or types.is_boolean(kind):
        return kind
    if types.is_integer(kind):
        return pa.int64()
    if types.is_floating(kind) or types.is_decimal(kind):
        return pa.float64()
    if types.is_duration(kind) or types.is_interval(kind):
        return None
    holds_bytes = types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind)
    return pa.string() if is_text(kind) or holds_bytes or types.is_temporal(kind) else None


def _first_non_utf8_row(column: pa.ChunkedArray) -> int | None:
    """Return the index of the first row of a text column that is not UTF-8; None if there is none or it is not text."""
    import pyarrow as pa

    try:
        # pyarrow returns cells of bytes as they are; cells of text it would decode, and fail
        cells = column.cast(pa.binary()).to_pylist()
    except pa.ArrowException:  # not a column of text
        return None
    for row, cell in enumerate(cells):
        if cell is None:
            continue
        try:
            cell.decode()
        except UnicodeDecodeError:
            return row
    return None


def has_exact_floats(column: pa.ChunkedArray) -> bool:
    """Tell whether all integers in a column are exact as 64-bit floats; long identifiers are not.

    Integers without a sign are also recognised as text.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_integer(column.type):
        extremes = pc.min_max(column).as_py()
        # both are None for a column without values
        return all(extreme is None or abs(extreme) <= MAX_EXACT_INTEGER for extreme in extremes.values())
    numerals = [cell.lstrip("0") for cell in column.to_pylist() if isinstance(cell, str) and cell.isdecimal()]
    # the largest exact integer has 16 digits; Python refuses to read numerals of more than 4,300
    return all(len(digits) < 16 or (len(digits) == 16 and int(digits) <= MAX_EXACT_INTEGER) for digits in numerals)


def damage_message(error: Exception) -> str:
    """Return the reason why PyArrow cannot read a file or a column: the first line of its error, or its type."""
    # of all texts in a file, PyArrow decodes only the names of columns by itself
    if isinstance(error, UnicodeDecodeError):
        return "the name of a column is not UTF-8"
    return (str(error) or type(error).__name__).splitlines()[0]


def first_repeated(names: Sequence[str]) -> str | None:
    """Return the first name that occurs more than once; None if all names are distinct."""
    return next((name for name, count in Counter(names).items() if count > 1), None)


def exact_number(value: float) -> str:
    """Return a number as the shortest text that is read as the same number: ``2``, ``0.5``, ``1000000000000001``."""
    return repr(float(value)).removesuffix(".0")


#: Signs that are a minus, too: Unicode's, which some languages' spreadsheets and programs write, and the wide one.
_MINUS_SIGNS = str.maketrans("\u2212\uff0d", "--")


def finite_number(cell: str) -> float | None:
    """Return a text as a finite number; None for other texts, such as ``nan``, and for Python's notation ``1_000``.

    Digits may be of any script, and a minus any sign for it.
    """
    try:
        number = float(cell)
    except ValueError:
        try:
            number = float(cell.translate(_MINUS_SIGNS))
        except ValueError:
            return None
    return number if math.isfinite(number) and "_" not in cell else None


#: A number with a decimal comma, such as ``0,5``.
_COMMA_NUMBER = re.compile(r"[+\-\u2212\uff0d]?\d*,\d+")


def has_decimal_commas(cells: Iterable[str]) -> bool:
    """Tell whether numbers among some texts have decimal commas.

    They do not if another number has a decimal point, or if three digits follow every comma: 1,000 may be a thousand.
    """
    cells = [cell.strip() for cell in cells]
    digits = [len(cell.partition(",")[2]) for cell in cells if _COMMA_NUMBER.fullmatch(cell)]
    has_points = any("." in cell and finite_number(cell) is not None for cell in cells)
    return bool(digits) and set(digits) != {3} and not has_points


#: The suffix with the run that tells metrics and datasets of several runs apart, such as in ``f1 [runs/two]``.
RUN_SUFFIX = re.compile(r" \[[^\[\]]*\]$")


def short_names(metrics: Iterable[str]) -> dict[str, str]:
    """Return a unique short name by metric, such as ``bi-encoder:…/minilm`` for ``bi-encoder:/models/minilm``.

    A path or hub id, in the subject or an option, is shortened to its last part, or to the last parts that are needed
    to tell the metrics apart. A name that would not get shorter is kept.
    """
    short_name_of = dict.fromkeys(metrics, "")
    unnamed = list(short_name_of)
    part_count = 1
    # metrics whose names are equal so far keep one part more of their paths in the next round
    while unnamed:
        names = {metric: _shorten_paths(metric, part_count) for metric in unnamed}
        counts = Counter(names.values())
        for metric, name in names.items():
            if counts[name] == 1:
                short_name_of[metric] = name if len(name) <= len(metric) else metric
        unnamed = [metric for metric in unnamed if not short_name_of[metric]]
        part_count += 1
    return short_name_of


def _shorten_paths(metric: str, part_count: int) -> str:
    """Return a metric name with each path, in the subject or an option, shortened to its last *part_count* parts."""
    suffix_match = RUN_SUFFIX.search(metric)
    suffix = "" if suffix_match is None else suffix_match.group()
    name = metric.removesuffix(suffix)
    kept_folders = r"[^,=/\\]+[/\\]" * (part_count - 1)
    # a value begins at the first colon of its comma-separated part, which keeps the search linear
    return re.sub(rf"((?:^|,)[^,=:]*:|=)[^,=]*[/\\](?={kept_folders}[^,/\\])", r"\1…/", name) + suffix
