"""How far annotators agree with each other: Krippendorff's alpha, and each with the mean of the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.statistics.agreement import measure
from assay.statistics.concordance import Floats
from assay.statistics.reliability import are_sorted

#: Levels of measurement, and what they take from two labels: whether they differ, by how many ranks, or by how much.
LEVELS = ("nominal", "ordinal", "interval")


def krippendorff_alpha(annotations: Floats, level: str) -> float | None:
    """Return Krippendorff's alpha: 1 less the disagreement within pairs over that expected by chance, at most 1.

    Any number of annotators, and labels that are missing; a pair with one label has nothing to compare and is left out.
    Source: Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), whose coincidence matrix is summed here
    without making it: the ordinal difference of two labels is that of their mid-ranks among all labels, so that the sum
    of its squares, as that of the interval difference, follows from sums and sums of squares.

    Args:
        annotations: shape (n, annotators), NaN where an annotator gave no label.
        level: one of :data:`LEVELS`.

    Returns:
        None where no pair has two labels, or all labels are equal.

    Raises:
        ValueError: there is no such level.
    """
    if level not in LEVELS:
        raise ValueError(f"{level}: there is no such level of measurement")
    known = ~np.isnan(annotations)
    usable = known.sum(axis=1) >= 2
    annotations, known = annotations[usable], known[usable]
    labels = annotations[known]
    if not len(labels):
        return None
    pair_of_label = np.nonzero(known)[0]
    counts = known.sum(axis=1)
    if level == "nominal":
        codes = np.unique(labels, return_inverse=True)[1]
        cells, times = np.unique(np.stack([pair_of_label, codes]), axis=1, return_counts=True)
        equal = np.bincount(cells[0], weights=times**2.0, minlength=len(counts))
        within: Floats = counts.astype(np.float64) ** 2 - equal
        overall = len(labels) ** 2 - float((np.bincount(codes) ** 2.0).sum())
    else:
        values = _mid_ranks(labels) if level == "ordinal" else labels
        # centred, so that the difference of large sums keeps its digits
        values = values - values.mean()
        within = _squared_differences(values, pair_of_label, counts)
        overall = float(_squared_differences(values, np.zeros(len(values), dtype=np.intp), np.array([len(values)]))[0])
    if overall <= 0:
        return None
    observed = float((within / (counts - 1)).sum()) / len(labels)
    expected = overall / (len(labels) * (len(labels) - 1))
    return 1 - observed / expected


def _mid_ranks(labels: Floats) -> Floats:
    from scipy.stats import rankdata

    ranks: Floats = rankdata(labels)
    return ranks


def _squared_differences(values: Floats, rows: NDArray[np.intp], counts: NDArray[np.intp]) -> Floats:
    """Return the sum of squared differences of all ordered pairs of values of each row, shape (rows,)."""
    sums = np.bincount(rows, weights=values, minlength=len(counts))
    squares = np.bincount(rows, weights=values**2, minlength=len(counts))
    total = 2 * (counts * squares - sums**2)
    return np.asarray(total, dtype=np.float64)


@dataclass(frozen=True)
class OneAnnotator:
    """How far one annotator agrees with the mean of the others, over the n pairs that have both.

    Attributes:
        pearson, spearman: None where undefined.
        n: pairs.
    """

    pearson: float | None
    spearman: float | None
    n: int


def each_with_the_others(annotations: Floats) -> list[OneAnnotator]:
    """Return how each annotator agrees with the mean label of the others: what one more annotator would reach.

    Args:
        annotations: shape (n, annotators), a column an annotator, NaN where one gave no label.

    Returns:
        One a column; empty where somebody sorted the labels of each pair, so that a column is nobody's.
    """
    if are_sorted(annotations):
        return []
    known = ~np.isnan(annotations)
    counts = known.sum(axis=1)
    sums = np.where(known, annotations, 0.0).sum(axis=1)
    found = []
    for column in range(annotations.shape[1]):
        rows = known[:, column] & (counts >= 2)
        if not rows.any():
            found.append(OneAnnotator(None, None, 0))
            continue
        own = annotations[rows, column]
        others = (sums[rows] - own) / (counts[rows] - 1)
        coefficients = measure({"one": own}, others, statistics=("pearson", "spearman"), resamples=0, seed=(0,))
        r, rho = (None if np.isnan(value) else float(value) for value in coefficients["one"].values)
        found.append(OneAnnotator(r, rho, int(rows.sum())))
    return found
