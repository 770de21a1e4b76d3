"""Scores of items from best-worst annotations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from assay.api.values import Report
from assay.api.writing import check_out, write_table
from assay.datasets import read_table_file
from assay.datasets.best_worst import read_best_worst
from assay.errors import InputError
from assay.reports.best_worst import COLUMNS, Annotated, to_document
from assay.settings import check_seed
from assay.statistics.best_worst import SPLITS, count, split_half

__all__ = ["best_worst"]


def best_worst(tuples: str | Path, *, out: str | Path | None = None, splits: int = SPLITS, seed: int = 0) -> Report:
    """Turn best-worst annotations into a score for each item, and say how reliable the scores are.

    Counting, as in STR-2022 (Abdalla, Vishnubhotla and Mohammad 2023), sections 3.2.2 and 4.

    Args:
        tuples: a file of annotations, see :func:`assay.datasets.best_worst.read_best_worst`.
        out: a file to write the scores to: CSV, TSV, JSONL or Parquet; None to write nothing. Scores of these items
            that stand there, or an empty file, are replaced, nothing else is.
        splits: random splits for the reliability.
        seed: of the splits.

    Returns:
        A report whose records are the items, the highest score first.

    Raises:
        InputError: the file cannot be read, a row cannot be, or *out* cannot be written or holds something else.
    """
    file = Path(tuples)
    if splits < 1:
        raise InputError(f"`splits={splits}`: expected 1 or more")
    check_seed(seed)
    if out is not None:
        check_out(file, Path(out))
    found = read_best_worst(file)
    if out is not None and Path(out).exists():
        _check_held(Path(out), found.items)
    counts = count(found.shown, found.best, found.worst, len(found.items))
    reliability = None
    if found.per_tuple.max() > 1:
        codes = found.shown, found.best, found.worst, found.tuples
        reliability = split_half(*codes, len(found.items), splits=splits, seed=seed)
    annotated = Annotated(
        title=file.name,
        items=found.items,
        size=found.shown.shape[1],
        per_tuple=found.per_tuple,
        per_item=found.per_item,
        annotators=found.annotators,
        warnings=found.warnings,
    )
    document = to_document(annotated, counts, reliability)
    if out is not None:
        import pyarrow as pa

        write_table(pa.Table.from_pylist(list(map(dict, document.records))), Path(out))
    return Report(replace(document, notes=[f"draws: splits:{splits}|seed:{seed}"] if reliability else []))


def _check_held(out: Path, items: Sequence[str]) -> None:
    """Raise InputError where *out* holds anything but scores of these items: it would be lost.

    An empty file has nothing to lose.
    """
    if not out.stat().st_size:
        return
    try:
        held = read_table_file(out).table
        ours = tuple(held.column_names) == COLUMNS and set(map(str, held.column("item").to_pylist())) <= set(items)
    except InputError:
        ours = False
    if not ours:
        raise InputError(
            f"{out}: holds something else than scores of these items; give `out` another name or remove it"
        )
