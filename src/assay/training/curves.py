"""The course of a training: losses by step, as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from assay.delimited import write_records

__all__ = ["CURVES", "write_curves"]

#: The file in a model's folder.
CURVES = "curves.csv"
#: What a trainer logs besides losses; of no use to a reader of the curves.
_LEFT_OUT = ("runtime", "per_second", "total_flos", "epoch", "grad_norm")


def write_curves(history: Sequence[Mapping[str, float]], folder: Path) -> None:
    """Write what a trainer logged as CSV, a row a step; what is of the development set begins with ``dev_``.

    Args:
        history: records with ``step``, as transformers' trainer keeps them.
        folder: of the model.
    """
    rows: dict[int, dict[str, float]] = {}
    for record in history:
        row = rows.setdefault(int(record["step"]), {"step": int(record["step"])})
        for key, value in record.items():
            if key != "step" and not key.startswith("train_") and not any(part in key for part in _LEFT_OUT):
                row["dev_" + key.removeprefix("eval_") if key.startswith("eval_") else key] = value
    heads = list(dict.fromkeys(["step", *sorted({key for row in rows.values() for key in row})]))
    with (folder / CURVES).open("w", encoding="utf-8", newline="") as stream:
        write_records(stream, heads, (rows[step] for step in sorted(rows)))
