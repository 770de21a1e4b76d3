"""The choices in a table of best-worst annotations: the items of each row, the best and the worst of them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from assay.datasets.columns import SourceTable
from assay.datasets.files import read_table_file
from assay.exceptions import InputError, unknown_name

_ITEM_COLUMN = re.compile(r"item([1-9]\d{0,3})")


class Choice(NamedTuple):
    """What an annotator chose of a tuple.

    Attributes:
        row: the index of the row of the table.
        items: the items of the tuple.
        best, worst: the chosen items.
    """

    row: int
    items: tuple[str, ...]
    best: str
    worst: str


def read_choices(path: str | Path) -> tuple[SourceTable, list[Choice]]:
    """Return a table of annotations, and the choice of each row; see :func:`assay.datasets.best_worst.read_best_worst`.

    Raises:
        InputError: the file cannot be read, a column is missing, or a row is invalid.
        UnavailableError: the file is at an address that cannot be reached, or needs a package that is not installed.
    """
    source = read_table_file(path)
    tuples = [tuple(items) for items in _items_by_row(source)]
    best, worst = required_texts(source, "best"), required_texts(source, "worst")
    choices = [Choice(row, *cells) for row, cells in enumerate(zip(tuples, best, worst, strict=True))]
    raise_first_fault(source, _faults_of_choices(choices))
    return source, choices


def _items_by_row(source: SourceTable) -> Iterator[list[str]]:
    """Yield the items of each row, from the columns ``item1``, ``item2`` … or the lists of ``items``.

    Raises:
        InputError: the table has both forms or neither, such as a single numbered column, or a cell is empty or not a
            list of names.
    """
    column_names = source.table.column_names
    numbered_columns = sorted((int(match[1]), name) for name in column_names if (match := _ITEM_COLUMN.fullmatch(name)))
    if "items" in column_names and numbered_columns:
        raise InputError(f"{source.name}: has items and {numbered_columns[0][1]}; one of the two forms is enough")
    if "items" in column_names:
        for row, cell in enumerate(source.table.column("items").to_pylist()):
            yield _parse_items(source, row, cell)
        return
    if len(numbered_columns) < 2:
        raise InputError(
            f"{source.name}: expected columns item1, item2, item3, item4 (or items), best, worst; it has "
            f"{', '.join(column_names)}"
        )
    columns = [required_texts(source, name) for _, name in numbered_columns]
    yield from (list(row) for row in zip(*columns, strict=True))


def _parse_items(source: SourceTable, row: int, cell: Any) -> list[str]:
    """Return the item names in one cell of the column ``items``, without surrounding space; whole numbers are names.

    Args:
        source: the table, for messages.
        row: the row index of the cell, for messages.
        cell: a list of names, or the JSON text of one.

    Raises:
        InputError: the cell is not a list of names.
    """
    try:
        items = json.loads(cell) if isinstance(cell, str) else cell
    except (ValueError, RecursionError):
        items = None
    if not isinstance(items, list) or not all(isinstance(item, str | int) and str(item).strip() for item in items):
        raise InputError(
            f'{source.location(row)}, column items: expected a list of names, such as ["a", "b", "c", "d"]'
        )
    return [str(item).strip() for item in items]


def required_texts(source: SourceTable, name: str) -> list[str]:
    """Return a column as texts without surrounding space.

    Raises:
        InputError: the column is missing, or a cell is empty.
    """
    if name not in source.table.column_names:
        raise InputError(unknown_name(f"{source.name}: has no column", name, source.table.column_names))
    cells = ["" if cell is None else str(cell).strip() for cell in source.table.column(name).to_pylist()]
    for row, cell in enumerate(cells):
        if not cell:
            raise InputError(f"{source.location(row)}, column {name}: is empty")
    return cells


def optional_texts(source: SourceTable, name: str) -> list[str] | None:
    """Return a column as texts without surrounding space, or None if there is no such column.

    Raises:
        InputError: a cell is empty.
    """
    return required_texts(source, name) if name in source.table.column_names else None


def _faults_of_choices(choices: Sequence[Choice]) -> Iterator[tuple[int, str]]:
    """Yield (row index, problem) for every invalid row; the first row determines the size of all tuples."""
    tuple_size = len(choices[0].items)
    for choice in choices:
        problem = _fault_of_choice(choice, tuple_size)
        if problem is not None:
            yield choice.row, problem


def _fault_of_choice(choice: Choice, tuple_size: int) -> str | None:
    """Return what is wrong with a choice; None if nothing is.

    Args:
        choice: the choice.
        tuple_size: the number of items of the first tuple, which every tuple needs.
    """
    _, items, best, worst = choice
    items_text = ", ".join(items)
    if len(items) != tuple_size or tuple_size < 2:
        return f"the tuple has {len(items)} items; expected {max(tuple_size, 2)} as in the first row"
    commonest_item, count = Counter(items).most_common(1)[0]
    if count > 1:
        return f"the item {commonest_item!r} appears {count} times in the tuple"
    if best not in items:
        return f"best is {best!r}, which is not in the tuple ({items_text})"
    if worst not in items:
        return f"worst is {worst!r}, which is not in the tuple ({items_text})"
    if best == worst:
        return f"{best!r} is best and worst"
    return None


def raise_first_fault(source: SourceTable, faults: Iterator[tuple[int, str]]) -> None:
    """Raise InputError for the first fault, with the number of faults if there are several; without faults do nothing.

    Args:
        source: the table, for the message.
        faults: the row index and the problem of each invalid row, in the order of the rows.
    """
    all_faults = list(faults)
    if not all_faults:
        return
    row, problem = all_faults[0]
    if len(all_faults) > 1:
        problem += f" (impossible rows: {len(all_faults):,}, the next is {source.number(all_faults[1][0])})"
    raise InputError(f"{source.location(row)}: {problem}")
