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
    if len(starts) == len(rows):
        return rows
    lengths = np.diff(np.append(starts, len(rows)))
    long = np.flatnonzero(lengths > 1)
    if 2 * len(long) > len(starts):
        return np.add.reduceat(rows, starts, axis=0)
    # adding up is dear for a run of one row, which is most of them
    sums = rows.take(starts, axis=0)
    inside = np.repeat(lengths > 1, lengths)
    sums[long] = np.add.reduceat(rows[inside], np.cumsum(lengths[long]) - lengths[long], axis=0)
    return sums
