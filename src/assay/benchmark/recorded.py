"""Scores that the data carries, or a file beside it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError, unknown

if TYPE_CHECKING:
    import pyarrow as pa

    from assay.datasets import Pairs
    from assay.metrics import ColumnMetric

__all__ = ["read_recorded"]


def read_recorded(metric: ColumnMetric, pairs: Pairs) -> NDArray[np.float64] | None:
    """Return the recorded score of every pair, shape (n,), NaN where the cell is empty; None without that column.

    A file of its own is joined by ``pair_id`` where it has that column, else by row.

    Raises:
        InputError: a file without that column, with another number of rows or a pair twice; a cell that is no number.
    """
    if metric.file is None:
        if metric.column not in pairs.source_columns:
            return None
        return _numbers(pairs.column(metric.column), pairs.source or pairs.name, metric.column, pairs)
    table = _beside(metric, pairs)
    if metric.column not in table.column_names:
        raise InputError(unknown(f"{metric.file}: has no column", metric.column, table.column_names))
    return _numbers(table.column(metric.column), metric.file, metric.column, pairs)


def _beside(metric: ColumnMetric, pairs: Pairs) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc

    from assay.datasets import read_table_file

    table: pa.Table = read_table_file(Path(str(metric.file))).table
    if "pair_id" in table.column_names:
        ids = table.column("pair_id").cast(pa.string()).combine_chunks()
        if pc.count_distinct(ids).as_py() < len(ids):
            twice = (
                pc.value_counts(ids).filter(pc.greater(pc.value_counts(ids).field("counts"), 1))[0]["values"].as_py()
            )
            raise InputError(f"{metric.file}: the pair_id {twice!r} stands there twice; each pair needs one score")
        place = pc.index_in(pairs.table.column("pair_id").combine_chunks(), ids)
        if place.null_count:
            missing = pairs.table.column("pair_id").filter(pc.is_null(place))[0].as_py()
            raise InputError(f"{metric.file}: no row has pair_id {missing!r} of {pairs.name}")
        return table.take(place)
    if len(table) != len(pairs):
        raise InputError(
            f"{metric.file}: has {len(table)} rows, {pairs.name} has {len(pairs)}; rows must be in step, "
            "or both need a column pair_id"
        )
    return table


def _numbers(column: pa.ChunkedArray, where: str, name: str, pairs: Pairs) -> NDArray[np.float64]:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        return np.asarray(pc.cast(column, pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)
    values = np.full(len(column), np.nan)
    for row, cell in enumerate(column.to_pylist()):
        if cell is None or str(cell).strip() == "":
            continue
        try:
            values[row] = float(cell)
        except (TypeError, ValueError):
            raise InputError(
                f"{where}, pair {pairs.column('pair_id')[row].as_py()}, column {name}: "
                f"a recorded score must be a number, not {cell!r}"
            ) from None
    return values
