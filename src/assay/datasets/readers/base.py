"""What a reader is, and the readers by name."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
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

#: The entry point group through which other packages register readers.
GROUP = "assay.readers"

_READER = re.compile(r"^def (?P<attribute>read_(?P<name>\w+))\(files: ", re.MULTILINE)


@functools.cache
def built_in_readers() -> dict[str, str]:
    """Return the built-in readers as "module:function" by name: ``stsb-de`` is ``read_stsb_de`` of a file here."""
    declared = declared_in("assay.datasets.readers", _READER)
    return {name.replace("_", "-"): target for name, target in declared.items()}


def load_reader(name: str) -> Reader:
    """Return a reader by its registered name: a built-in one, or an entry point of an installed package.

    A card is a file that anybody may have written, so it can choose among readers and name no code of its own.

    Raises:
        InputError: no such reader.
        UnavailableError: the reader of another package cannot be loaded.
    """
    readers = built_in_readers()
    if name in readers:
        module, _, function = readers[name].partition(":")
        built_in: Reader = getattr(import_module(module), function)
        return built_in
    points = {point.name: point for point in entry_points(group=GROUP)}
    if name not in points:
        raise InputError(unknown_name("there is no reader", name, [*sorted(readers), *sorted(points)]))
    with code_of_others(f"the reader {name!r} ({points[name].value}) cannot be loaded"):
        reader: Reader = points[name].load()
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
