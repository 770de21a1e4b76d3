"""The pairs and the scores of a run as Parquet files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from assay.benchmark.buckets import ALL
from assay.benchmark.outcome import DatasetScores
from assay.tables import GRAPH_COLUMNS

__all__ = ["write_pairs", "write_scores"]

#: Scores written at a time.
_ROWS = 1 << 16
#: Columns of the pairs table that are kept as they are.
_KEPT = (
    "pair_id",
    "question",
    "reference",
    "candidate",
    "label",
    "subset",
    "split",
    "language",
    "group",
    *GRAPH_COLUMNS,
)


def write_scores(datasets: tuple[DatasetScores, ...], path: Path) -> None:
    """Write ``scores.parquet``: dataset, pair_id, metric, score; null where a pair has none."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    text = pa.dictionary(pa.int32(), pa.string())
    schema = pa.schema([("dataset", text), ("pair_id", pa.string()), ("metric", text), ("score", pa.float64())])
    with pq.ParquetWriter(path, schema) as writer:
        for dataset in datasets:
            ids = dataset.pairs.column("pair_id")
            for metric, scores in dataset.scores.items():
                for start in range(0, len(scores), _ROWS):
                    part = scores[start : start + _ROWS]
                    columns = [
                        _repeated(dataset.pairs.name, len(part)),
                        ids.slice(start, _ROWS).combine_chunks(),
                        _repeated(metric, len(part)),
                        pa.array(part, from_pandas=True),
                    ]
                    writer.write_table(pa.table(columns, schema=schema))


def _repeated(value: str, times: int) -> Any:
    import numpy as np
    import pyarrow as pa

    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(times, dtype=np.int32)), pa.array([value]))


def write_pairs(datasets: tuple[DatasetScores, ...], path: Path) -> None:
    """Write ``pairs.parquet``: the pairs with their dataset, their group and the buckets they are in."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    tables = []
    for dataset in datasets:
        table = dataset.pairs.table
        table = table.select([name for name in table.column_names if _is_kept(name, table.column(name))])
        column = table.column("reference")
        if not pa.types.is_list(column.type):
            # one form for all datasets: a list of gold answers
            offsets = pa.array(np.arange(len(table) + 1, dtype=np.int32))
            lists = pa.ListArray.from_arrays(offsets, column.combine_chunks().cast(pa.string()))
            table = table.set_column(table.column_names.index("reference"), "reference", lists)
        for name in set(table.column_names) - set(_KEPT):
            table = table.set_column(table.column_names.index(name), name, table.column(name).cast(pa.string()))
        if dataset.group_column is not None:
            # under its own name a column may be called otherwise in the source
            group = dataset.pairs.column(dataset.group_column).cast(pa.string())
            table = table.drop_columns(["group"]) if "group" in table.column_names else table
            table = table.append_column("group", group)
        names = _repeated(dataset.pairs.name, len(table)).cast(pa.string())
        table = table.add_column(0, "dataset", names)
        tables.append(table.append_column("buckets", _memberships(dataset)))
    pq.write_table(pa.concat_tables(tables, promote_options="default") if tables else pa.table({}), path)


def _is_kept(name: str, column: Any) -> bool:
    """Tell whether a column goes into the run folder: the pair, and what names or counts something about it.

    Further columns of measured numbers are recorded scores, which stand in ``scores.parquet``; the cells of a CSV are
    text also where they are numbers.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if name in _KEPT:
        return True
    texts = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    if not name.strip() or not (texts or pa.types.is_integer(column.type) or pa.types.is_boolean(column.type)):
        return False
    if not texts:
        return True
    cells = column.filter(pc.not_equal(column, ""))
    try:
        values = pc.cast(cells, pa.float64())
    except pa.ArrowInvalid:
        return True
    return bool(pc.all(pc.equal(values, pc.floor(values))).as_py())


def _memberships(dataset: DatasetScores) -> Any:
    """Return the names of the buckets of each pair, in order; the bucket of all pairs goes without saying."""
    import numpy as np
    import pyarrow as pa

    buckets = [bucket for bucket in dataset.buckets if bucket.name != ALL]
    n = len(dataset.pairs)
    inside = np.stack([bucket.mask for bucket in buckets], axis=1) if buckets else np.zeros((n, 0), dtype=bool)
    offsets = np.concatenate([[0], np.cumsum(inside.sum(axis=1))]).astype(np.int32)
    names = pa.array([bucket.name for bucket in buckets], pa.string()).take(pa.array(np.nonzero(inside)[1]))
    return pa.ListArray.from_arrays(pa.array(offsets), names)
