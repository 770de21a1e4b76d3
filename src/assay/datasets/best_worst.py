"""Best-worst annotations: of several items shown together, which is most, and which is least, of something."""

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
        shown: codes of the items of each annotation, 0 … n-1, shape (m, k).
        best, worst: code of the item that was chosen, shape (m,).
        tuples: codes of the tuples, shape (m,): annotations with one code were given the same tuple.
        annotators: number of annotators; None where the file does not say who annotated.
        warnings: what is odd about the tuples, a line each with file and row.
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
        """Annotations of each tuple."""
        return np.bincount(self.tuples)

    @property
    def per_item(self) -> Codes:
        """Distinct tuples in which each item stands, shape (n,)."""
        _, first = np.unique(self.tuples, return_index=True)
        return np.bincount(self.shown[first].ravel(), minlength=len(self.items))


def read_best_worst(path: str | Path) -> BestWorst:
    """Read annotated tuples from CSV, TSV, JSONL or Parquet, one annotation a row.

    Columns: ``item1``, ``item2`` … or ``items`` (a list, in CSV and TSV as JSON); ``best`` and ``worst``, each an item
    of the tuple; optionally ``tuple``, a name of it, without which the same items are the same tuple; optionally
    ``annotator``.

    Raises:
        InputError: a column is missing, or a row that cannot be: an item twice in a tuple, the same item best and
            worst, one that is not in the tuple, a tuple of another size, one name for two tuples.
    """
    source = read_table_file(path)
    rows = [tuple(row) for row in _items(source)]
    best, worst = _texts(source, "best"), _texts(source, "worst")
    _refuse(source, _faults(rows, best, worst))
    tuple_names = _texts(source, "tuple") if "tuple" in source.table.column_names else None
    _refuse(source, _renamed(rows, tuple_names))
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
        warnings=tuple(_repeated(source, tuples, annotators)),
    )
    return _with_frequencies(annotations, source)


def _codes_by_first_appearance(keys: Iterable[Any]) -> dict[Any, int]:
    """Return a number for each distinct key: 0 for the first, 1 for the next other one, and so on."""
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
        for place, cell in enumerate(source.table.column("items").to_pylist()):
            yield _list(source, place, cell)
        return
    if len(numbered) < 2:
        raise InputError(
            f"{source.name}: expected columns item1, item2, item3, item4 (or items), best, worst; it has "
            f"{', '.join(names)}"
        )
    columns = [_texts(source, name) for _, name in numbered]
    yield from (list(row) for row in zip(*columns, strict=True))


def _list(source: SourceTable, place: int, cell: Any) -> list[str]:
    """Return the names in one cell of ``items``: a list, or one written as JSON."""
    try:
        value = json.loads(cell) if isinstance(cell, str) else cell
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, list) or not all(isinstance(item, str | int) and str(item).strip() for item in value):
        raise InputError(f'{source.where(place)}, column items: expected a list of names, such as ["a", "b", "c", "d"]')
    return [str(item).strip() for item in value]


def _texts(source: SourceTable, name: str) -> list[str]:
    """Return a column as texts without space around them; raise InputError where it is missing or a cell is empty."""
    if name not in source.table.column_names:
        raise InputError(unknown_name(f"{source.name}: has no column", name, source.table.column_names))
    cells = ["" if cell is None else str(cell).strip() for cell in source.table.column(name).to_pylist()]
    for place, cell in enumerate(cells):
        if not cell:
            raise InputError(f"{source.where(place)}, column {name}: is empty")
    return cells


def _faults(rows: list[tuple[str, ...]], best: list[str], worst: list[str]) -> Iterator[tuple[int, str]]:
    """Yield place and fault of every row that cannot be."""
    size = len(rows[0])
    for place, (row, most, least) in enumerate(zip(rows, best, worst, strict=True)):
        (often, times), *_ = Counter(row).most_common(1) or [("", 0)]
        if len(row) != size or size < 2:
            yield place, f"the tuple has {len(row)} items; expected {max(size, 2)} as in the first row"
        elif times > 1:
            yield place, f"the item {often!r} appears {times} times in the tuple"
        elif most not in row or least not in row:
            which, item = ("best", most) if most not in row else ("worst", least)
            yield place, f"{which} is {item!r}, which is not in the tuple ({', '.join(row)})"
        elif most == least:
            yield place, f"{most!r} is best and worst"


def _renamed(rows: list[tuple[str, ...]], named: list[str] | None) -> Iterator[tuple[int, str]]:
    """Yield place and fault of every row whose tuple has the name of another tuple."""
    held: dict[str, frozenset[str]] = {}
    for place, (name, row) in enumerate(zip(named or (), rows, strict=False)):
        if held.setdefault(name, frozenset(row)) != frozenset(row):
            yield place, f"the tuple {name!r} has other items here than above"


def _refuse(source: SourceTable, faults: Iterator[tuple[int, str]]) -> None:
    """Raise InputError for the first of some faults (row and what is wrong), with the number of all of them."""
    all_faults = list(faults)
    if not all_faults:
        return
    row, problem = all_faults[0]
    if len(all_faults) > 1:
        problem += f" (impossible rows: {len(all_faults):,}, the next is {source.number(all_faults[1][0])})"
    raise InputError(f"{source.where(row)}: {problem}")


def _repeated(source: SourceTable, tuples: Codes, annotators: list[str] | None) -> Iterator[str]:
    """Yield a warning where annotators saw the same tuple more than once."""
    seen: set[tuple[int, str]] = set()
    again = []
    for row, key in enumerate(zip(tuples.tolist(), annotators or (), strict=False)):
        if key in seen:
            again.append(row)
        seen.add(key)
    if again:
        where = source.where(again[0])
        yield f"{where}: annotates a tuple again that its annotator has above; such rows: {len(again):,}"


def _with_frequencies(found: BestWorst, source: SourceTable) -> BestWorst:
    """Return the annotations with warnings on how often items are shown."""
    often = found.per_item
    warnings = list(found.warnings)
    rare = np.flatnonzero(often < 2)
    _, first = np.unique(found.shown.ravel(), return_index=True)
    row_of = first // found.shown.shape[1]
    if len(rare):
        warnings.append(
            f"{source.where(row_of[rare[0]])}: {found.items[rare[0]]!r} appears in no other tuple, so that its score "
            f"says little; such items: {len(rare):,} of {len(often):,}"
        )
    least, most = int(often.argmin()), int(often.argmax())
    if often[least] != often[most]:
        warnings.append(
            f"{source.where(row_of[least])}: items are not equally frequent, {found.items[least]!r} is the rarest; "
            f"tuples of an item: {often[least]} to {often[most]}"
        )
    return replace(found, warnings=tuple(warnings))
