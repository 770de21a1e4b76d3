"""The interface of readers of card files, and the registry of readers by name."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

import pyarrow as pa

from assay.common.lazy import find_declarations
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
OPTIONAL_FILE = "the name of a file"
TEXT = "a text"
CHARACTER = "one character"
SWITCH = "true or false"
CELLS = "a table of columns with the cell that each has, as text"
COLUMNS = "a table of columns, or a text such as 'reference=answer1'"
JOIN = "a table with file, the name of one of its files, by, a list of columns, and take, a column"


def takes(**options: str) -> Callable[[Reader], Reader]:
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
        InputError: an unknown option, a value of another kind, or a missing file.
    """
    declared_kinds: Mapping[str, str] | None = getattr(reader, "options", None)
    if declared_kinds is None:
        return
    for name, value in options.items():
        if name not in declared_kinds:
            raise InputError(unknown_name(f"{where}: its reader has no option", name, sorted(declared_kinds)))
        if not _has_kind(value, declared_kinds[name], files):
            raise InputError(f"{where}: the option {name} is {value!r}; expected {declared_kinds[name]}")
    for name, kind in declared_kinds.items():
        if kind == FILE and name not in options:
            raise InputError(f"{where}: has no option {name}; expected {FILE}")


def _has_kind(value: Any, kind: str, files: Mapping[str, Path]) -> bool:
    """Tell whether a value is of a declared kind; a kind without a test of its own is a text."""
    if kind == FILE:
        return isinstance(value, str) and value in files
    if kind == SWITCH:
        return isinstance(value, bool)
    if kind == CHARACTER:
        return isinstance(value, str) and len(value) == 1
    if kind == CELLS:
        return isinstance(value, dict) and all(isinstance(cell, str) for cell in value.values())
    if kind == COLUMNS:
        return isinstance(value, str | dict)
    if kind == JOIN:
        return isinstance(value, dict) and _is_join(value, files)
    return isinstance(value, str)


def _is_join(value: Mapping[str, Any], files: Mapping[str, Path]) -> bool:
    """Tell whether a table is a value of the kind :data:`JOIN`, and names one of the files."""
    if set(value) != {"file", "by", "take"} or not _has_kind(value["file"], FILE, files):
        return False
    by = value["by"]
    return isinstance(value["take"], str) and isinstance(by, list) and all(isinstance(name, str) for name in by)


#: The entry point group through which other packages register readers.
GROUP = "assay.readers"

_READER = re.compile(r"^def (?P<attribute>read_(?P<name>\w+))\(files: ", re.MULTILINE)


@functools.cache
def built_in_readers() -> dict[str, str]:
    """Return the built-in readers, "module:function" by name; the reader ``stsb-de`` is the function ``read_stsb_de``.

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
