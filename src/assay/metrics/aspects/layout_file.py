"""Layouts as files: JSON in a model's folder, or the settings of the published models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from assay.errors import InputError
from assay.metrics.aspects.layout import Layout
from assay.metrics.aspects.published import read_published

__all__ = ["LAYOUT_FILE", "read_layout", "read_layout_file", "write_layout"]

#: The file in a model's folder.
LAYOUT_FILE = "s3bert.json"
SCHEMA = 1


def read_layout(folder: Path, dimensions: int) -> Layout:
    """Read the layout kept in a model's folder, for embeddings of *dimensions*.

    Raises:
        InputError: there is none, or it is no layout of such an embedding.
    """
    path = folder / LAYOUT_FILE
    if not path.is_file():
        raise InputError(
            f"{folder}: there is no {LAYOUT_FILE}, which says which dimensions are whose; "
            f"give one with layout=FILE (JSON, or the .py of the published models)"
        )
    return read_layout_file(path, dimensions)


def read_layout_file(path: Path, dimensions: int) -> Layout:
    """Read a layout from JSON, or from the Python file of the published models (``.py``).

    Raises:
        InputError: the file cannot be read, or is no layout of such an embedding.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from None
    if path.suffix == ".py":
        return read_published(text, str(path), dimensions)
    try:
        value = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: no JSON of a layout ({error})") from None
    return _layout(value, path, dimensions)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; JSON would take the last of two equal keys and drop an aspect."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name is there twice")
    return found


def _layout(value: Any, path: Path, dimensions: int) -> Layout:
    form = f'{{"schema": {SCHEMA}, "dimensions": {dimensions}, "aspects": {{"negation": [0, 16], …}}}}'
    if not isinstance(value, dict) or not isinstance(value.get("aspects"), dict):
        raise InputError(f"{path}: expected {form}")
    if value.get("schema") != SCHEMA:
        raise InputError(
            f"{path}: schema {value.get('schema')!r} is not known to this version of assay; known: {SCHEMA}"
        )
    if value.get("dimensions") != dimensions:
        raise InputError(f"{path}: is for {value.get('dimensions')!r} dimensions, the embedding has {dimensions}")
    ranges = []
    for name, ends in value["aspects"].items():
        if not (isinstance(ends, list) and len(ends) == 2 and all(type(end) is int for end in ends)):
            raise InputError(f"{path}: {name!r} has no range of two whole numbers; expected {form}")
        ranges.append((name, ends[0], ends[1]))
    try:
        return Layout(tuple(ranges), dimensions)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def write_layout(layout: Layout, folder: Path) -> None:
    """Write a layout into a model's folder, as :func:`read_layout` reads it."""
    # a range a line: made to be read and edited
    ranges = ",\n".join(f'  "{name}": [{first}, {stop}]' for name, first, stop in layout.aspects)
    text = f'{{\n "schema": {SCHEMA},\n "dimensions": {layout.dimensions},\n "aspects": {{\n{ranges}\n }}\n}}\n'
    (folder / LAYOUT_FILE).write_text(text, encoding="utf-8")
