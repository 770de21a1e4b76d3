"""What a reader is, and the readers by name."""

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

from assay.errors import InputError, code_of_others, unknown_name
from assay.lazy import declared_in


@dataclass(frozen=True)
class ReaderResult:
    """What a reader made of the files of one split.

    Attributes:
        table: pair columns (``pair_id`` optional, unique within the split) and extra columns.
        notes: what was left out or changed, and how often.
    """

    table: pa.Table
    notes: tuple[str, ...] = ()


#: A reader takes the files of one split by name and the options of the split.
Reader = Callable[[Mapping[str, Path], Mapping[str, Any]], ReaderResult]

#: What the value of an option of a split may be.
FILE = "the name of one of its files"
OPTIONAL_FILE = "the name of a file"
TEXT = "a text"
CHARACTER = "one character"
SWITCH = "true or false"
CELLS = "a table of columns with the cell that each has, as text"
COLUMNS = "a table of columns, or a text such as 'reference=answer1'"
JOIN = "a table with file, the name of one of its files, by, a list of columns, and take, a column"


def takes(**options: str) -> Callable[[Reader], Reader]:
    """Return a decorator that declares which options a reader takes, each with what its value may be.

    Those that are a :data:`FILE` must be given. A reader without the decorator gets its options unchecked.
    """

    def declare(reader: Reader) -> Reader:
        reader.options = options  # type: ignore[attr-defined]
        return reader

    return declare


def check_options(reader: Reader, options: Mapping[str, Any], files: Mapping[str, Path], where: str) -> None:
    """Raise InputError for an option that the reader does not take, a value of another kind, or a missing file.

    Args:
        reader: made by :func:`takes`, or not.
        options: of a split.
        files: of the split, by name.
        where: how the message begins: the dataset and the split.
    """
    declared: Mapping[str, str] | None = getattr(reader, "options", None)
    if declared is None:
        return
    for name, value in options.items():
        if name not in declared:
            raise InputError(unknown_name(f"{where}: its reader has no option", name, sorted(declared)))
        if not _fits(value, declared[name], files):
            raise InputError(f"{where}: the option {name} is {value!r}; expected {declared[name]}")
    for name, kind in declared.items():
        if kind == FILE and name not in options:
            raise InputError(f"{where}: has no option {name}; expected {FILE}")


def _fits(value: Any, kind: str, files: Mapping[str, Path]) -> bool:
    """Tell whether a value is of a kind."""
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
    if set(value) != {"file", "by", "take"} or not _fits(value["file"], FILE, files):
        return False
    by = value["by"]
    return isinstance(value["take"], str) and isinstance(by, list) and all(isinstance(name, str) for name in by)


#: The entry point group through which other packages register readers.
GROUP = "assay.readers"

_READER = re.compile(r"^def (?P<attribute>read_(?P<name>\w+))\(files: ", re.MULTILINE)


@functools.cache
def built_in_readers() -> dict[str, str]:
    """Return the built-in readers as "module:function" by name: ``stsb-de`` is ``read_stsb_de`` of a file here."""
    declared = declared_in("assay.datasets.readers", _READER)
    return {name.replace("_", "-"): target for name, target in declared.items()}


def installed_readers() -> tuple[dict[str, EntryPoint], list[tuple[str, str]]]:
    """Return the readers of other packages by name, and names that are taken with why they are not used.

    Of readers with one name the built-in one is used, then that of the first package by name.
    """
    holders = dict.fromkeys(built_in_readers(), "assay")
    used: dict[str, EntryPoint] = {}
    refused = []
    for origin, point in sorted((_origin(point), point) for point in entry_points(group=GROUP)):
        if point.name in holders:
            holder = holders[point.name]
            why = f"the one of {origin} is not used: the name {point.name!r} belongs to {holder}"
            refused.append((point.name, why))
        else:
            holders[point.name] = origin
            used[point.name] = point
    return used, refused


def _origin(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else "unknown"


def load_reader(name: str) -> Reader:
    """Return a reader by its registered name: a built-in one, or an entry point of an installed package.

    A card is a file that anybody may have written, so it can choose among readers and name no code of its own.

    Raises:
        InputError: no such reader.
        UnavailableError: the reader of another package cannot be loaded.
    """
    built_in = built_in_readers()
    if name in built_in:
        module, _, function = built_in[name].partition(":")
        own: Reader = getattr(import_module(module), function)
        return own
    installed, _ = installed_readers()
    if name not in installed:
        raise InputError(unknown_name("there is no reader", name, [*sorted(built_in), *sorted(installed)]))
    with code_of_others(f"the reader {name!r} ({installed[name].value}) cannot be loaded"):
        reader: Reader = installed[name].load()
    return reader


def pairs_of(columns: Mapping[str, Any]) -> pa.Table:
    """Return a table of columns: lists become text, or float64 for ``label``; Arrow arrays stay as they are."""
    arrays = {}
    for name, values in columns.items():
        kind = pa.float64() if name == "label" else pa.string()
        arrays[name] = pa.array(values, kind) if isinstance(values, list) else values
    return pa.table(arrays)


def number(path: Path, row: int, column: str, text: str) -> float:
    """Return a label as a float.

    Raises:
        InputError: file, row, column and the text that is not a number.
    """
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{path}, row {row}, column {column}: the label {text!r} is not a number") from None
