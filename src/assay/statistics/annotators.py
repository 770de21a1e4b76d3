"""Agreement among annotators: Krippendorff's alpha, and each annotator's correlation with the mean of the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.common.numbers import none_if_nan
from assay.statistics.agreement import measure_all
from assay.statistics.concordance import Floats
from assay.statistics.reliability import are_sorted

#: Levels of measurement, which compare two labels by whether they differ, by how many ranks, or by how much.
LEVELS = ("nominal", "ordinal", "interval")


def krippendorff_alpha(annotations: Floats, level: str) -> float | None:
    """Return Krippendorff's alpha: 1 less the ratio of observed to expected disagreement within pairs, at most 1.

    Labels may be missing; a pair with a single label is left out. Source: Krippendorff, Computing Krippendorff's
    Alpha-Reliability (2011). The coincidence matrix is not built: the ordinal difference of two labels is the
    difference of their mid-ranks among all labels, so that squared differences follow from sums and sums of squares.

    Args:
        annotations: the annotators' labels, shape (n, annotators), NaN for a missing label.
        level: one of :data:`LEVELS`.

    Returns:
        Alpha; None if no pair has two labels, or all labels are equal.

    Raises:
        ValueError: *level* is not one of :data:`LEVELS`.
    """
    if level not in LEVELS:
        raise ValueError(f"{level}: there is no such level of measurement")
    has_label = ~np.isnan(annotations)
    has_two_labels = has_label.sum(axis=1) >= 2
    annotations, has_label = annotations[has_two_labels], has_label[has_two_labels]
    labels = annotations[has_label]
    if not len(labels):
        return None
    pair_of_label = np.nonzero(has_label)[0]
    counts = has_label.sum(axis=1)
    if level == "nominal":
        # two labels differ by 1 unless they are equal, so that the squared differences are a count
        codes = np.unique(labels, return_inverse=True)[1]
        pairs_and_codes, occurrences = np.unique(np.stack([pair_of_label, codes]), axis=1, return_counts=True)
        equal_labels = np.bincount(pairs_and_codes[0], weights=occurrences**2.0, minlength=len(counts))
        within_pairs: Floats = counts.astype(np.float64) ** 2 - equal_labels
        overall = len(labels) ** 2 - float((np.bincount(codes) ** 2.0).sum())
    else:
        from scipy.stats import rankdata

        # equal labels share the mean of their ranks
        positions: Floats = rankdata(labels) if level == "ordinal" else labels
        # centred, so that the difference of large sums keeps its digits
        values = positions - positions.mean()
        within_pairs = _squared_differences(values, pair_of_label, counts)
        overall = float(_squared_differences(values, np.zeros(len(values), dtype=np.intp), np.array([len(values)]))[0])
    if overall <= 0:
        return None
    observed = float((within_pairs / (counts - 1)).sum()) / len(labels)
    expected = overall / (len(labels) * (len(labels) - 1))
    return 1 - observed / expected


def _squared_differences(values: Floats, rows: NDArray[np.intp], counts: NDArray[np.intp]) -> Floats:
    """Return the sum of squared differences over all ordered pairs of values in each of n rows, shape (n,).

    Over the k values of a row it is 2 (k Σx² - (Σx)²).

    Args:
        values: the m values of all rows, shape (m,).
        rows: the row index of each value, shape (m,).
        counts: the number of values in each row, shape (n,).
    """
    sums = np.bincount(rows, weights=values, minlength=len(counts))
    squares = np.bincount(rows, weights=values**2, minlength=len(counts))
    # of equal values it may be below 0 by rounding
    total: Floats = np.maximum(2 * (counts * squares - sums**2), 0.0)
    return total


@dataclass(frozen=True)
class AnnotatorAgreement:
    """The agreement of one annotator with the mean of the others, over the pairs that have both.

    Attributes:
        pearson, spearman: the correlations of the annotator's labels with these means; None if undefined.
        n: the number of pairs with both.
    """

    pearson: float | None
    spearman: float | None
    n: int


def agreements_with_other_annotators(annotations: Floats) -> list[AnnotatorAgreement]:
    """Return the agreement of each annotator with the mean label of the others.

    Args:
        annotations: the labels, shape (n, annotators), one column per annotator, NaN for a missing label.

    Returns:
        One entry per column, with n = 0 and no correlations for an annotator who labelled no pair with another one;
        empty if the labels of each pair are sorted, so that no column is one annotator's.
    """
    if are_sorted(annotations):
        return []
    has_label = ~np.isnan(annotations)
    counts = has_label.sum(axis=1)
    sums = np.where(has_label, annotations, 0.0).sum(axis=1)
    agreements = []
    for column in range(annotations.shape[1]):
        has_both = has_label[:, column] & (counts >= 2)
        if not has_both.any():
            agreements.append(AnnotatorAgreement(None, None, 0))
            continue
        own_labels = annotations[has_both, column]
        means_of_others = (sums[has_both] - own_labels) / (counts[has_both] - 1)
        coefficients = measure_all(
            {"own": own_labels}, means_of_others, statistics=("pearson", "spearman"), resamples=0, seed=(0,)
        )
        r, rho = map(none_if_nan, coefficients["own"].values)
        agreements.append(AnnotatorAgreement(r, rho, int(has_both.sum())))
    return agreements
