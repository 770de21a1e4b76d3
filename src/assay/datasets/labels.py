"""Labels: numbers given by people, one or several a pair."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assay.datasets.source_table import SourceTable
from assay.errors import InputError

__all__ = ["annotator_labels", "one_label", "parse_scale"]

#: Characters of a cell that a message repeats.
_CUT = 40


def parse_scale(text: str) -> tuple[float, float]:
    """Return the lowest and the highest label of ``LOW,HIGH``.

    Raises:
        InputError: not of that form, or not in that order.
    """
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"--scale {text}: must be two numbers with a comma between them, such as 0,5") from None
    if not low < high:
        raise InputError(f"--scale {text}: the first number must be below the second")
    return low, high


def one_label(source: SourceTable, name: str, *, allow_missing: bool) -> pa.Array:
    """Return a column as finite float64; null where there is no label, if that is allowed.

    Raises:
        InputError: the first label that is no number, or the rows without one.
    """
    values = _numbers(source, name)
    missing = np.flatnonzero(np.isnan(values))
    if len(missing) and not allow_missing:
        raise InputError(
            f"{source.name}, column {name}: {len(missing)} of {len(values)} rows have no label"
            f" ({source.some(missing)}); expected a number in each"
        )
    return pa.array(values, mask=np.isnan(values))


def annotator_labels(source: SourceTable, names: list[str], *, allow_missing: bool) -> tuple[pa.Array, pa.Array]:
    """Return the mean label of several annotators, float64, and what each gave, list<float64>.

    An annotator may have left a pair out (null in the list); a pair that all left out has no label.
    """
    values = np.column_stack([_numbers(source, name) for name in names])
    given = ~np.isnan(values)
    counts = given.sum(axis=1)
    missing = np.flatnonzero(counts == 0)
    if len(missing) and not allow_missing:
        raise InputError(
            f"{source.name}, columns {', '.join(names)}: {len(missing)} of {len(values)} rows have no label from"
            f" anyone ({source.some(missing)}); expected a number from at least one annotator"
        )
    mean = np.where(counts > 0, np.where(given, values, 0.0).sum(axis=1) / np.maximum(counts, 1), np.nan)
    flat = pa.array(values.reshape(-1), mask=~given.reshape(-1))
    offsets = pa.array(np.arange(0, values.size + 1, len(names), dtype=np.int32))
    return pa.array(mean, mask=np.isnan(mean)), pa.ListArray.from_arrays(offsets, flat)


def _numbers(source: SourceTable, name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return a column as float64 of shape (n,), NaN where the cell is empty."""
    column = source.table.column(name)
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    if (
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_decimal(kind)
    ):
        plain = column.cast(pa.float64())
        values = np.array(pc.fill_null(plain, float("nan")).to_numpy(), dtype=np.float64)
        # A NaN is how pandas writes a missing label; in a file of numbers it is one that was given.
        wrong = np.isinf(values) | (np.isnan(values) & np.asarray(plain.is_valid().to_numpy(), dtype=bool))
        if wrong.any():
            at = int(np.flatnonzero(wrong)[0])
            raise InputError(f"{source.where(at)}, column {name}: the label is {values[at]}; expected a number")
        return values
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        try:
            column = column.cast(pa.string())
        except pa.ArrowException:
            raise InputError(f"{source.name}, column {name}: holds {kind}; expected numbers") from None
    text = pc.utf8_trim_whitespace(column)
    blank = pc.or_kleene(pc.is_null(text), pc.equal(text, ""))
    try:
        numbers = pc.if_else(pc.fill_null(blank, True), None, text).cast(pa.float64())
    except pa.ArrowInvalid:
        numbers = None
    if numbers is not None:
        values = np.array(pc.fill_null(numbers, float("nan")).to_numpy(), dtype=np.float64)
        if not (np.isinf(values) | (np.isnan(values) & np.asarray(numbers.is_valid().to_numpy(), dtype=bool))).any():
            return values
    raise _first_wrong(source, name, text)


def _first_wrong(source: SourceTable, name: str, text: pa.ChunkedArray) -> InputError:
    """Return the error for the first cell that is no finite number."""
    place = 0
    for chunk in text.chunks:
        for cell in chunk.to_pylist():
            if cell:
                try:
                    fine = math.isfinite(float(cell)) and "_" not in cell
                except ValueError:
                    fine = False
                if not fine:
                    hint = f" (a decimal point: {cell.replace(',', '.')})" if _is_comma_number(cell) else ""
                    shown = cell if len(cell) <= _CUT else f"{cell[:_CUT]}…"
                    return InputError(
                        f"{source.where(place)}, column {name}: the label {shown!r} is no number;"
                        f" expected one such as 2 or 0.5{hint}"
                    )
            place += 1
    return InputError(f"{source.name}, column {name}: holds a label that is no number")


def _is_comma_number(cell: str) -> bool:
    whole, comma, part = cell.partition(",")
    return bool(comma) and whole.lstrip("+-").isdigit() and part.isdigit()
