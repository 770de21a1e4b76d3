"""Which dimensions of an embedding belong to which aspect.

Opitz and Frank (2022), "SBERT studies Meaning Representations", section 3.1: sub-embeddings that do not overlap, one
an aspect, and a residual for what no aspect covers.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.errors import InputError, unknown

__all__ = [
    "LAYOUT_FILE",
    "OVERALL",
    "RESIDUAL",
    "Layout",
    "even_layout",
    "read_layout",
    "read_layout_file",
    "write_layout",
]

#: The file in a model's folder.
LAYOUT_FILE = "s3bert.json"
#: Names that no aspect can have: the cosine of the whole embeddings, and of what no aspect has.
OVERALL, RESIDUAL = "overall", "residual"
SCHEMA = 1
_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")


@dataclass(frozen=True)
class Layout:
    """A partition of an embedding.

    Attributes:
        aspects: name, first dimension, one past its last; counted from 0, side by side without a gap.
        dimensions: of the embedding; those after the last aspect are the residual.

    Raises:
        InputError: two ranges overlap or leave a gap, one exceeds the embedding or is empty, or a name comes twice or
            has not the form.
    """

    aspects: tuple[tuple[str, int, int], ...]
    dimensions: int

    def __post_init__(self) -> None:
        if not self.aspects:
            raise InputError("layout: it has no aspect")
        names = self.names
        for name in names:
            if _NAME.fullmatch(name) is None or name in (OVERALL, RESIDUAL):
                raise InputError(
                    f"layout: {name!r} is no name of an aspect; valid: small letters, digits and hyphens, "
                    f"but not {OVERALL} or {RESIDUAL}"
                )
            if names.count(name) > 1:
                raise InputError(f"layout: the aspect {name} is there twice")
        before, end = "", 0
        for name, first, stop in sorted(self.aspects, key=lambda one: one[1:]):
            if not 0 <= first < stop:
                raise InputError(f"layout: {name} has the range {first} to {stop}; the first must be below the end")
            if first < end:
                raise InputError(f"layout: {name} begins at dimension {first}, inside {before}, which ends at {end}")
            if first > end:
                raise InputError(f"layout: dimensions {end} to {first} belong to no aspect; the residual comes last")
            if stop > self.dimensions:
                raise InputError(f"layout: {name} ends at dimension {stop}, the embedding has {self.dimensions}")
            before, end = name, stop

    @property
    def names(self) -> tuple[str, ...]:
        """The aspects in the order of the layout."""
        return tuple(name for name, _, _ in self.aspects)

    @property
    def residual(self) -> tuple[int, int]:
        """First dimension of the residual, and one past its last; empty where aspects take all dimensions."""
        return max(stop for _, _, stop in self.aspects), self.dimensions

    @property
    def parts(self) -> tuple[str, ...]:
        """All that has a score of its own besides the whole: the aspects, and the residual where there is one."""
        first, stop = self.residual
        return self.names if first == stop else (*self.names, RESIDUAL)

    def range_of(self, part: str) -> tuple[int, int]:
        """Return the first dimension of an aspect or the residual, and one past its last.

        Raises:
            InputError: there is none of that name.
        """
        if part not in self.parts:
            raise InputError(unknown("the layout has no aspect", part, self.parts))
        if part == RESIDUAL:
            return self.residual
        return next((first, stop) for name, first, stop in self.aspects if name == part)

    @property
    def digest(self) -> str:
        """Twelve hex digits that tell layouts apart."""
        return hashlib.sha256(repr((self.aspects, self.dimensions)).encode()).hexdigest()[:12]


def even_layout(names: Sequence[str], width: int, dimensions: int) -> Layout:
    """Return a layout that gives each name *width* dimensions, in order.

    Raises:
        InputError: they do not fit, or the names are no names of aspects.
    """
    return Layout(tuple((name, i * width, (i + 1) * width) for i, name in enumerate(names)), dimensions)


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
        from assay.metrics.aspects.published import read_published

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
