"""Reads the records within nested JSON and XML, by paths with gaps such as ``questions.{question}.{system}``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from xml.parsers import expat

import numpy as np

from assay.datasets.columns import SourceTable
from assay.datasets.readers.jsonl import json_lines, parse_json, table_of_columns
from assay.datasets.templates import Template
from assay.exceptions import InputError, summary_of

#: The number of paths that a message about a wrong path names, and of those among which it looks for them.
_SHOWN_PATHS, _SEARCHED_PATHS = 8, 1000
#: The greatest depth of elements; their text is collected at every level.
MAX_DEPTH = 100


def read_records(
    path: Path,
    file_format: str,
    records: str,
    fields: Mapping[str, str],
    is_wanted: Callable[[Mapping[str, str]], bool] = lambda _: True,
) -> SourceTable:
    """Return a row for each record of a file, with a column for each gap of the path of records and for each field.

    A path is keys of objects and indices of lists (from 0), or names of elements and ``@NAME`` of attributes, with dots
    between them. A gap stands for every key, index or part of a key. A step that is neither a key nor an index leads
    into every item of a list. At the end of a path, an element is its text.

    Args:
        path: the file.
        file_format: ``json``, ``jsonl`` (each line is a document of its own) or ``xml``.
        records: the path of the records; empty if each document is one.
        fields: the path of each column, from the document on, with the same gaps, or from the record on if it begins
            with a dot.
        is_wanted: tells by what stands in the gaps whether a record is read.

    Raises:
        InputError: the file is damaged, has no record at the path, or no record has a value of some field.
    """
    steps = _steps(records)
    field_steps = {
        name: [*steps, *_steps(field[1:])] if field.startswith(".") else _steps(field) for name, field in fields.items()
    }
    gaps = list(dict.fromkeys(name for step in steps for name in step.names))
    columns: dict[str, list[Any]] = {name: [] for name in (*gaps, *fields)}
    numbers: list[int] = []
    documents = list(_documents(path, file_format))
    for number, document in documents:
        for gap_values in filter(is_wanted, _records(document, steps, {})):
            numbers.append(number if file_format == "jsonl" else len(numbers) + 1)
            for name in gaps:
                columns[name].append(gap_values[name])
            for name, steps_of_field in field_steps.items():
                columns[name].append(_value(document, [step.fill(gap_values) for step in steps_of_field]))
    if not numbers:
        raise _wrong_path(path, "there is no record", records, documents)
    for name, field in fields.items():
        if all(value is None for value in columns[name]):
            raise _wrong_path(path, f"no record has a value of {name}", field, documents)
    table, misfits = table_of_columns(columns)
    unit = "line" if file_format == "jsonl" else "record"
    return SourceTable(table, str(path), unit=unit, rows=np.asarray(numbers, dtype=np.int64), misfits=misfits)


def _steps(path: str) -> list[Template]:
    return [Template(step) for step in path.split(".") if step]


def _documents(path: Path, file_format: str) -> Iterator[tuple[int, Any]]:
    """Yield the number and the value of each document in a file: of each line that is not blank for ``jsonl``.

    Raises:
        InputError: a document is damaged.
    """
    if file_format == "xml":
        yield 1, read_xml(path)
    elif file_format == "json":
        yield 1, parse_json(path.read_text(encoding="utf-8-sig"), str(path))
    else:
        for number, line in json_lines(path):
            yield number, parse_json(line, f"{path}, line {number}")


def _records(value: Any, steps: Sequence[Template], gap_values: dict[str, str]) -> Iterator[dict[str, str]]:
    """Yield, for each record behind a path, what stands in the gaps of the path.

    Args:
        value: a value within the document.
        steps: the steps of the path from this value on.
        gap_values: what stands in the gaps of the steps before.
    """
    if not steps:
        yield gap_values
        return
    step, *further_steps = steps
    if isinstance(value, list) and not step.names and not step.text.isdecimal():
        for member in value:
            yield from _records(member, steps, gap_values)
        return
    for key, member in _items(value):
        gaps = step.match(key)
        # a gap that occurred before has its value already
        if gaps is not None and all(gaps[name] == gap_values.get(name, gaps[name]) for name in gaps):
            yield from _records(member, further_steps, gap_values | gaps)


def _items(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the keys and values of an object, or the indices and items of a list."""
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield str(index), item


def _value(document: Any, keys: Sequence[str]) -> Any:
    """Return what is behind some keys: a value, or all values if a key leads into every item of a list; else None.

    Of elements, the text; a single one is no list.

    Args:
        document: the value of the document.
        keys: the keys of objects, indices of lists and names of elements, from the document on.
    """
    values, are_several = [document], False
    for key in keys:
        are_several = are_several or any(_leads_into_items(value, key) for value in values)
        values = [child for value in values for child in _children(value, key)]
    if any(map(_are_elements, values)):
        elements: list[Any] = []
        for value in values:
            elements += value if isinstance(value, list) else [value]
        values = elements
        are_several = are_several or len(values) > 1
    values = [value.text() if isinstance(value, Element) else value for value in values]
    if are_several or len(values) > 1:
        return values or None
    return values[0] if values else None


def _leads_into_items(value: Any, key: str) -> bool:
    """Tell whether a key leads into every item of a list, and not to one item by its index."""
    return isinstance(value, list) and not key.isdecimal() and not _are_elements(value)


def _children(value: Any, key: str) -> list[Any]:
    """Return what a key leads to: an item of a list by its index, else what an object, or each in a list, has at it."""
    if isinstance(value, list) and key.isdecimal():
        index = int(key)
        return value[index : index + 1]
    parents = value if isinstance(value, list) else [value]
    return [parent[key] for parent in parents if isinstance(parent, dict) and key in parent]


def _are_elements(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], Element)


def _wrong_path(path: Path, problem: str, wrong: str, documents: Sequence[tuple[int, Any]]) -> InputError:
    """Return the error to raise for a path that leads nowhere, with paths of the first document that are near.

    Args:
        path: the file.
        problem: what is wrong, in words.
        wrong: the path that leads nowhere.
        documents: the number and the value of each document.
    """
    known_paths: dict[str, None] = {}
    for _, document in documents[:1]:
        for known_path in _paths(document, ""):
            known_paths[known_path] = None
            if len(known_paths) >= _SEARCHED_PATHS:
                break
    similar_paths = (
        get_close_matches(wrong, known_paths, n=_SHOWN_PATHS, cutoff=0.4) or list(known_paths)[:_SHOWN_PATHS]
    )
    return InputError(f"{path}: {problem} at {wrong!r}; there is {', '.join(similar_paths) or 'nothing'}")


def _paths(value: Any, path: str) -> Iterator[str]:
    """Yield the paths of the values in a document; in a list, those of its items without an index.

    Args:
        value: a value within the document.
        path: its own path; empty for the document.
    """
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _paths(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
        for item in value:
            yield from _paths(item, path)
    else:
        yield path
    if isinstance(value, Element) and value.text():
        yield path


# XML as nested values, without entities and documents from elsewhere.


class Element(dict[str, Any]):
    """An XML element: its attributes by ``@NAME``, and a list of its child elements by the name of each.

    Attributes:
        parts: its text and its child elements, in order.
    """

    def __init__(self, attributes: dict[str, str]) -> None:
        super().__init__({f"@{name}": value for name, value in attributes.items()})
        self.parts: list[str | Element] = []

    def text(self) -> str:
        """Return the text within the element, that of child elements included, without surrounding space."""
        return self._whole_text().strip()

    def _whole_text(self) -> str:
        return "".join(part if isinstance(part, str) else part._whole_text() for part in self.parts)


def read_xml(path: Path) -> Element:
    """Return the root element of an XML file.

    Raises:
        InputError: the file is not well-formed or cannot be decoded, declares or uses entities of its own, or is nested
            too deeply.
    """
    open_elements = [Element({})]

    def start(name: str, attributes: dict[str, str]) -> None:
        if len(open_elements) > MAX_DEPTH:
            raise InputError(f"{path}: has more than {MAX_DEPTH} elements within each other")
        element = Element(attributes)
        open_elements[-1].setdefault(name, []).append(element)
        open_elements[-1].parts.append(element)
        open_elements.append(element)

    def refuse(name: str, *_: Any) -> None:
        raise InputError(f"{path}: has the entity {name!r} of its own; write out what it stands for")

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _: open_elements.pop()
    parser.CharacterDataHandler = lambda text: open_elements[-1].parts.append(text)
    # entities can stand for a file, an address or text without end
    parser.EntityDeclHandler = refuse
    parser.SkippedEntityHandler = refuse
    try:
        parser.Parse(path.read_bytes(), True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        raise InputError(f"{path}, line {error.lineno}: is not well-formed XML ({reason})") from None
    except (LookupError, ValueError) as error:
        # the encoding that the file names
        raise InputError(f"{path}: cannot be decoded ({summary_of(error)})") from None
    (root,) = (part for part in open_elements[0].parts if isinstance(part, Element))
    return root
