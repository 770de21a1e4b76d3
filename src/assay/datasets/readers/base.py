"""The interface of readers of card files, and the registry of readers by name."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from assay.common.lazy import find_declarations
from assay.datasets.templates import matching_names
from assay.exceptions import InputError, unavailable_on_error, unknown_name


@dataclass(frozen=True)
class ReaderResult:
    """The result of reading the files of one split.

    Attributes:
        table: the pair columns (``pair_id`` is optional, and unique within the split) and further columns.
        notes: one line for each kind of row that was left out or changed, with the number of rows.
    """

    table: pa.Table
    notes: tuple[str, ...] = ()


#: A function of the files of one split, paths by name, and of the options of the split.
Reader = Callable[[Mapping[str, Path], Mapping[str, Any]], ReaderResult]

#: The kinds of values of a split's options, in the words of messages.
FILE = "the name of one of its files"
FILES = "the name of one of its files, or a template such as 'scores/{item}/me' that fits some"
TEXT = "a text"
CHARACTER = "one character"
SWITCH = "true or false"
NAMES = "a list of names"
NAME_OR_NAMES = "a name, or a list of names"
TEXTS = "a table of texts"
CELLS = "a table of columns with the cell that each has, as text, or a list of such cells"
COLUMNS = "a table of columns, or a text such as 'reference=answer1'"
BY = "a list of columns, or a table of columns with the column of the other file"
RANGE = "two numbers, the lower one first"
COUNTS = "two whole numbers, of rows at the start and at the end"
CELL_PAIRS = "a table of columns, each a table of cells with what replaces them"


class Tables(NamedTuple):
    """A kind of option: a table with options of its own, or a list of such tables.

    Attributes:
        options: the kind of each option.
        required: the options that every table has.
        by_name: whether it is a table of such tables, by any names.
    """

    options: Mapping[str, Kind]
    required: tuple[str, ...] = ()
    by_name: bool = False

    def __str__(self) -> str:
        tables = f"a table with {', '.join(self.options)}"
        return f"{tables} for each name" if self.by_name else f"{tables}, or a list of them"


Kind = str | Tables


def takes(**options: Kind) -> Callable[[Reader], Reader]:
    """Return a decorator that declares the options of a reader, each with the kind of its values.

    Options of the kind :data:`FILE` are required. The options of a reader without the decorator are not checked.
    """

    def declare(reader: Reader) -> Reader:
        # any function takes attributes, but its type does not declare them
        reader.options = options  # type: ignore[attr-defined]
        return reader

    return declare


def check_options(reader: Reader, options: Mapping[str, Any], files: Mapping[str, Path], where: str) -> None:
    """Check a split's options against the declaration of its reader.

    Args:
        reader: the reader, with or without the decorator :func:`takes`.
        options: the options of the split.
        files: the files of the split, by name.
        where: the dataset and the split, which begin the message.

    Raises:
        InputError: an option is unknown, has a value of another kind, or is missing.
    """
    declared_kinds: Mapping[str, Kind] | None = getattr(reader, "options", None)
    if declared_kinds is None:
        return
    _check_table(options, declared_kinds, files, f"{where}: its reader", f"{where}: the option ")
    for name, kind in declared_kinds.items():
        if kind == FILE and name not in options:
            raise InputError(f"{where}: has no option {name}; expected {FILE}")


def _check_table(
    options: Mapping[str, Any], kinds: Mapping[str, Kind], files: Mapping[str, Path], owner: str, location: str
) -> None:
    """Check the options in a table; *owner* and *location* begin messages on unknown options and on wrong values.

    Raises:
        InputError: an option is unknown, or its value is not of its kind.
    """
    for name, value in options.items():
        if name not in kinds:
            raise InputError(unknown_name(f"{owner} has no option", name, sorted(kinds)))
        kind = kinds[name]
        if isinstance(kind, Tables):
            _check_tables(value, kind, files, f"{location}{name}")
        elif not _TESTS.get(kind, _is_text)(value, files):
            raise InputError(f"{location}{name} is {value!r}; expected {kind}")


def _check_tables(value: Any, kind: Tables, files: Mapping[str, Path], location: str) -> None:
    """Check a value that holds tables with options of their own; *location* is the option in words.

    Raises:
        InputError: the value is no table or list of tables (no table of tables for an option by name), or a table lacks
            an option or has a wrong one.
    """
    tables: Any
    if isinstance(value, dict):
        tables = list(value.values()) if kind.by_name else [value]
    else:
        tables = None if kind.by_name else value
    if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
        raise InputError(f"{location} is {value!r}; expected {kind}")
    for table in tables:
        _check_table(table, kind.options, files, location, f"{location}.")
        for name in kind.required:
            if name not in table:
                raise InputError(f"{location} has no {name}; expected {kind.options[name]}")


def _is_text(value: Any, files: Mapping[str, Path]) -> bool:
    return isinstance(value, str)


def _are_texts(value: Any, files: Mapping[str, Path]) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_range(value: Any, files: Mapping[str, Path]) -> bool:
    is_pair = isinstance(value, list) and len(value) == 2 and {type(bound) for bound in value} <= {int, float}
    return is_pair and value[0] < value[1]


def _are_counts(value: Any, files: Mapping[str, Path]) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(type(count) is int and count >= 0 for count in value)


def _are_cells(value: Any, files: Mapping[str, Path]) -> bool:
    return isinstance(value, dict) and all(isinstance(cell, str) or _are_texts(cell, files) for cell in value.values())


def _is_table_of_texts(value: Any, files: Mapping[str, Path]) -> bool:
    return isinstance(value, dict) and all(isinstance(text, str) for text in value.values())


#: For each kind, the test of a value; a kind without one is a text.
_TESTS: dict[str, Callable[[Any, Mapping[str, Path]], bool]] = {
    FILE: lambda value, files: isinstance(value, str) and value in files,
    FILES: lambda value, files: isinstance(value, str) and bool(matching_names(value, files)),
    CHARACTER: lambda value, files: isinstance(value, str) and len(value) == 1,
    SWITCH: lambda value, files: isinstance(value, bool),
    NAMES: _are_texts,
    NAME_OR_NAMES: lambda value, files: isinstance(value, str) or _are_texts(value, files),
    TEXTS: _is_table_of_texts,
    CELLS: _are_cells,
    COLUMNS: lambda value, files: isinstance(value, str) or _are_cells(value, files),
    BY: lambda value, files: bool(value) and (_are_texts(value, files) or _is_table_of_texts(value, files)),
    RANGE: _is_range,
    COUNTS: _are_counts,
    CELL_PAIRS: lambda value, files: (
        isinstance(value, dict) and all(_is_table_of_texts(cells, files) for cells in value.values())
    ),
}


#: The entry point group through which other packages register readers.
GROUP = "assay.readers"

_READER = re.compile(r"^def (?P<attribute>read_(?P<name>\w+))\(files: ", re.MULTILINE)


@functools.cache
def built_in_readers() -> dict[str, str]:
    """Return the built-in readers, "module:function" by name; the reader ``bamboo-role`` is ``read_bamboo_role``.

    Cached, since the modules do not change while assay runs.
    """
    declared = find_declarations("assay.datasets.readers", _READER)
    return {name.replace("_", "-"): target for name, target in declared.items()}


def installed_readers() -> tuple[dict[str, EntryPoint], list[tuple[str, str]]]:
    """Return the entry points of other packages' readers by name, and (name, reason) for each reader that is not used.

    Of several readers with one name the built-in one is used, or else that of the first package in alphabetical order.
    """
    owner_by_name = dict.fromkeys(built_in_readers(), "assay")
    usable: dict[str, EntryPoint] = {}
    unusable = []
    for entry_point in sorted(entry_points(group=GROUP), key=lambda point: (_package_name(point), point)):
        origin = _package_name(entry_point)
        if entry_point.name in owner_by_name:
            owner = owner_by_name[entry_point.name]
            reason = f"the one of {origin} is not used: the name {entry_point.name!r} belongs to {owner}"
            unusable.append((entry_point.name, reason))
        else:
            owner_by_name[entry_point.name] = origin
            usable[entry_point.name] = entry_point
    return usable, unusable


def _package_name(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else "unknown"


def load_reader(name: str) -> Reader:
    """Return a reader by its registered name: a built-in one, or an entry point of an installed package.

    Anybody may have written a card, so it can only choose among installed readers and cannot name code of its own.

    Raises:
        InputError: there is no such reader.
        UnavailableError: the reader of another package cannot be loaded.
    """
    built_in = built_in_readers()
    if name in built_in:
        module, _, function = built_in[name].partition(":")
        built_in_reader: Reader = getattr(import_module(module), function)
        return built_in_reader
    installed, _ = installed_readers()
    if name not in installed:
        raise InputError(unknown_name("there is no reader", name, [*sorted(built_in), *sorted(installed)]))
    with unavailable_on_error(f"the reader {name!r} ({installed[name].value}) cannot be loaded"):
        reader: Reader = installed[name].load()
    return reader


def pairs_of(columns: Mapping[str, Any]) -> pa.Table:
    """Return a table of columns: a list becomes text, or float64 for ``label``; an Arrow array stays as it is."""
    arrays = {}
    for name, values in columns.items():
        kind = pa.float64() if name == "label" else pa.string()
        arrays[name] = pa.array(values, kind) if isinstance(values, list) else values
    return pa.table(arrays)


def number(path: Path, row: int, column: str, text: str) -> float:
    """Return a label as a float; *path*, *row* and *column* are its location for messages.

    Raises:
        InputError: the text is not a number.
    """
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{path}, row {row}, column {column}: the label {text!r} is not a number") from None
