"""Runs of equal neighbours in sorted arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["add_runs", "run_starts"]


def run_starts(changes: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return where runs begin, given for each item but the first whether it differs from the one before."""
    return np.concatenate([[0], np.flatnonzero(changes) + 1]).astype(np.intp)


def add_runs(rows: NDArray[np.float64], starts: NDArray[np.intp]) -> NDArray[np.float64]:
    """Sum neighbouring rows: shape (k, b) to (len(starts), b); *rows* itself where every run has one row."""
    return rows if len(starts) == len(rows) else np.add.reduceat(rows, starts, axis=0)
