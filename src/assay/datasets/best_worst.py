"""Best-worst annotations: the best and the worst of several items that were shown together, as chosen by annotators."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.datasets.columns import SourceTable
from assay.datasets.files import read_table_file
from assay.errors import InputError, unknown_name

Codes = NDArray[np.intp]
_ITEM = re.compile(r"item([1-9]\d{0,3})")


@dataclass(frozen=True, eq=False)
class BestWorst:
    """m annotations of tuples of k items each, out of n items.

    Attributes:
        items: the n items, in the order in which they first appear.
        shown: the codes of the items of each annotation, 0 … n-1, shape (m, k).
        best, worst: the code of the chosen item, shape (m,).
        tuples: the codes of the tuples, shape (m,); annotations of the same tuple have the same code.
        annotators: the number of annotators; None if the file has no column for them.
        warnings: oddities of the tuples, one line each with file and row.
    """

    items: tuple[str, ...]
    shown: Codes
    best: Codes
    worst: Codes
    tuples: Codes
    annotators: int | None
    warnings: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.best)

    @property
    def per_tuple(self) -> Codes:
        """The number of annotations of each tuple, by its code."""
        return np.bincount(self.tuples)

    @property
    def per_item(self) -> Codes:
        """The number of distinct tuples that contain each item, shape (n,)."""
        _, first = np.unique(self.tuples, return_index=True)
        return np.bincount(self.shown[first].ravel(), minlength=len(self.items))


def read_best_worst(path: str | Path) -> BestWorst:
    """Read annotated tuples from CSV, TSV, JSONL or Parquet, one annotation per row.

    The columns are ``item1``, ``item2`` … or ``items`` (a list, written as JSON in CSV and TSV); ``best`` and
    ``worst``, each an item of the tuple; optionally ``tuple``, the tuple's name (without it, rows with the same items
    have the same tuple); and optionally ``annotator``.

    Raises:
        InputError: a column is missing, or a row is impossible: a duplicate item in a tuple, the same item as best and
            worst, one that is not in the tuple, a tuple of another size, or one name for two tuples.
    """
    source = read_table_file(path)
    rows = [tuple(row) for row in _items(source)]
    best, worst = _texts(source, "best"), _texts(source, "worst")
    _raise_first(source, _impossible_rows(rows, best, worst))
    tuple_names = _texts(source, "tuple") if "tuple" in source.table.column_names else None
    _raise_first(source, _reused_names(rows, tuple_names))
    codes = _codes_by_first_appearance(item for row in rows for item in row)
    shown = np.array([[codes[item] for item in row] for row in rows], dtype=np.intp)
    keys: list[Any] = [frozenset(row) for row in rows] if tuple_names is None else list(tuple_names)
    tuple_codes = _codes_by_first_appearance(keys)
    tuples = np.array([tuple_codes[key] for key in keys], dtype=np.intp)
    annotators = _texts(source, "annotator") if "annotator" in source.table.column_names else None
    annotations = BestWorst(
        items=tuple(codes),
        shown=shown,
        best=np.array([codes[item] for item in best], dtype=np.intp),
        worst=np.array([codes[item] for item in worst], dtype=np.intp),
        tuples=tuples,
        annotators=None if annotators is None else len(set(annotators)),
        warnings=tuple(_repeat_warnings(source, tuples, annotators)),
    )
    return _with_frequency_warnings(annotations, source)


def _codes_by_first_appearance(keys: Iterable[Any]) -> dict[Any, int]:
    """Return the number of each distinct key in the order of first appearance, from 0."""
    codes: dict[Any, int] = {}
    for key in keys:
        codes.setdefault(key, len(codes))
    return codes


def _items(source: SourceTable) -> Iterator[list[str]]:
    """Yield the items of each row, from the columns ``item1``, ``item2`` … or the lists of ``items``."""
    names = source.table.column_names
    numbered = sorted((int(match[1]), name) for name in names if (match := _ITEM.fullmatch(name)))
    if "items" in names and numbered:
        raise InputError(f"{source.name}: has items and {numbered[0][1]}; one of the two forms is enough")
    if "items" in names:
        for row, cell in enumerate(source.table.column("items").to_pylist()):
            yield _parse_items(source, row, cell)
        return
    if len(numbered) < 2:
        raise InputError(
            f"{source.name}: expected columns item1, item2, item3, item4 (or items), best, worst; it has "
            f"{', '.join(names)}"
        )
    columns = [_texts(source, name) for _, name in numbered]
    yield from (list(row) for row in zip(*columns, strict=True))


def _parse_items(source: SourceTable, row: int, cell: Any) -> list[str]:
    """Return the names in one cell of ``items``, a list or its JSON text; *row* is its index, for the message.

    Raises:
        InputError: the cell is not a list of names.
    """
    try:
        value = json.loads(cell) if isinstance(cell, str) else cell
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, list) or not all(isinstance(item, str | int) and str(item).strip() for item in value):
        raise InputError(f'{source.where(row)}, column items: expected a list of names, such as ["a", "b", "c", "d"]')
    return [str(item).strip() for item in value]


def _texts(source: SourceTable, name: str) -> list[str]:
    """Return a column as texts without surrounding space.

    Raises:
        InputError: the column is missing, or a cell is empty.
    """
    if name not in source.table.column_names:
        raise InputError(unknown_name(f"{source.name}: has no column", name, source.table.column_names))
    cells = ["" if cell is None else str(cell).strip() for cell in source.table.column(name).to_pylist()]
    for row, cell in enumerate(cells):
        if not cell:
            raise InputError(f"{source.where(row)}, column {name}: is empty")
    return cells


def _impossible_rows(rows: list[tuple[str, ...]], best: list[str], worst: list[str]) -> Iterator[tuple[int, str]]:
    """Yield (row index, problem) for every impossible row; the first row determines the size of all tuples.

    Args:
        rows: the items of each row.
        best, worst: the chosen items of each row.
    """
    size = len(rows[0])
    for index, (row, most, least) in enumerate(zip(rows, best, worst, strict=True)):
        (repeated, count), *_ = Counter(row).most_common(1) or [("", 0)]
        if len(row) != size or size < 2:
            yield index, f"the tuple has {len(row)} items; expected {max(size, 2)} as in the first row"
        elif count > 1:
            yield index, f"the item {repeated!r} appears {count} times in the tuple"
        elif most not in row or least not in row:
            which, item = ("best", most) if most not in row else ("worst", least)
            yield index, f"{which} is {item!r}, which is not in the tuple ({', '.join(row)})"
        elif most == least:
            yield index, f"{most!r} is best and worst"


def _reused_names(rows: list[tuple[str, ...]], names: list[str] | None) -> Iterator[tuple[int, str]]:
    """Yield (row index, problem) for every row whose tuple name was used for other items before; none without names."""
    items_of_name: dict[str, frozenset[str]] = {}
    for index, (name, row) in enumerate(zip(names or (), rows, strict=False)):
        if items_of_name.setdefault(name, frozenset(row)) != frozenset(row):
            yield index, f"the tuple {name!r} has other items here than above"


def _raise_first(source: SourceTable, faults: Iterator[tuple[int, str]]) -> None:
    """Raise InputError for the first of the faults (row index, problem), with their number; nothing without faults."""
    all_faults = list(faults)
    if not all_faults:
        return
    row, problem = all_faults[0]
    if len(all_faults) > 1:
        problem += f" (impossible rows: {len(all_faults):,}, the next is {source.number(all_faults[1][0])})"
    raise InputError(f"{source.where(row)}: {problem}")


def _repeat_warnings(source: SourceTable, tuples: Codes, annotators: list[str] | None) -> Iterator[str]:
    """Yield a warning if annotators annotated the same tuple more than once."""
    seen: set[tuple[int, str]] = set()
    repeats = []
    for row, key in enumerate(zip(tuples.tolist(), annotators or (), strict=False)):
        if key in seen:
            repeats.append(row)
        seen.add(key)
    if repeats:
        where = source.where(repeats[0])
        yield f"{where}: annotates a tuple again that its annotator has above; such rows: {len(repeats):,}"


def _with_frequency_warnings(data: BestWorst, source: SourceTable) -> BestWorst:
    """Return the annotations with further warnings: items in a single tuple, and unequal frequencies of items."""
    counts = data.per_item
    warnings = list(data.warnings)
    rare = np.flatnonzero(counts < 2)
    _, first_positions = np.unique(data.shown.ravel(), return_index=True)
    row_of = first_positions // data.shown.shape[1]
    if len(rare):
        warnings.append(
            f"{source.where(row_of[rare[0]])}: {data.items[rare[0]]!r} appears in no other tuple, so that its score "
            f"says little; such items: {len(rare):,} of {len(counts):,}"
        )
    least, most = int(counts.argmin()), int(counts.argmax())
    if counts[least] != counts[most]:
        warnings.append(
            f"{source.where(row_of[least])}: items are not equally frequent, {data.items[least]!r} is the rarest; "
            f"tuples of an item: {counts[least]} to {counts[most]}"
        )
    return replace(data, warnings=tuple(warnings))
