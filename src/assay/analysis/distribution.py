"""The distribution of labels and scores: labels in a few classes, and histograms of scores between round numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from assay.common.numbers import label_texts, ticks

#: Labels with more distinct values than this are grouped into quarters.
MAX_LABEL_CLASSES = 7


@dataclass(frozen=True)
class LabelClasses:
    """Labels grouped into classes.

    Attributes:
        titles: the titles of the classes, in ascending order of the labels.
        codes: the index of each pair's class, shape (n,).
    """

    titles: list[str]
    codes: NDArray[np.uint8]


def classify_labels(labels: NDArray[np.float64]) -> LabelClasses:
    """Return one class per distinct label, or quarters of the pairs for more than :data:`MAX_LABEL_CLASSES` labels.

    Equal labels are always in the same class, so there may be fewer than four quarters.

    Args:
        labels: the labels, shape (n,), finite.
    """
    values, codes = np.unique(labels, return_inverse=True)
    if len(values) <= MAX_LABEL_CLASSES:
        return LabelClasses(label_texts(values.tolist()), codes.astype(np.uint8))
    quartiles = np.unique(np.quantile(labels, [0.25, 0.5, 0.75]))
    # numbered without gaps: with equal quartiles or many equal labels, some quarter may be empty
    _, codes = np.unique(np.searchsorted(quartiles, labels, side="left"), return_inverse=True)
    titles = []
    for code in range(int(codes.max()) + 1):
        class_labels = labels[codes == code]
        # a set, so that a class with a single label is not titled "3–3"
        ends = sorted({float(class_labels.min()), float(class_labels.max())})
        titles.append("–".join(label_texts(ends)))
    return LabelClasses(titles, codes.astype(np.uint8))


# The distribution of a metric's scores: one histogram per class of pairs.

#: The number of bins of a histogram.
BIN_COUNT = 20
#: The shares of scores below each of the quantiles that describe them.
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
#: Quantiles of the scores that limit the axis if it would otherwise be more than twice as long because of outliers.
AXIS_QUANTILES = (0.005, 0.995)


@dataclass(frozen=True)
class HistogramAxis:
    """The axis of a histogram.

    Attributes:
        edges: the edges of the bins.
        marks: the round numbers at the ticks.
        has_scores_beyond: whether there are scores below the first and above the last edge; the outermost bins count
            them.
    """

    edges: NDArray[np.float64]
    marks: list[float]
    has_scores_beyond: tuple[bool, bool]

    @property
    def labels(self) -> list[str]:
        """The labels of the ticks; an end with scores beyond it has ``≤`` or ``≥``."""
        labels = [f"{mark:g}" for mark in self.marks]
        if self.has_scores_beyond[0]:
            labels[0] = f"≤{labels[0]}"
        if self.has_scores_beyond[1]:
            labels[-1] = f"≥{labels[-1]}"
        return labels


@dataclass(frozen=True)
class Strip:
    """The histogram of the scores of one class of pairs.

    Attributes:
        title: the title of the class.
        scores: the scores, without NaN.
        counts: the number of scores in each bin; scores beyond the ends of the axis count in the outermost bins.
        median: the median, clipped to the axis; None without scores.
    """

    title: str
    scores: NDArray[np.float64]
    counts: NDArray[np.intp]
    median: float | None

    @cached_property
    def quantiles(self) -> list[float] | None:
        """The :data:`QUANTILES` of the scores; None without scores."""
        return np.quantile(self.scores, QUANTILES).tolist() if len(self.scores) else None

    @property
    def heights(self) -> NDArray[np.float64]:
        """The heights of the bars, one per bin, scaled so that the highest is 1; there must be at least one score."""
        heights: NDArray[np.float64] = self.counts / self.counts.max()
        return heights


def histogram_axis(scores: NDArray[np.float64]) -> HistogramAxis:
    """Return the histogram axis for the scores of a metric; it is from 0 to 1 if there are none.

    NaN is ignored. The axis covers all scores, or those between :data:`AXIS_QUANTILES` if outliers would make it more
    than twice as long, and extends to the next round numbers.

    Args:
        scores: the scores, shape (n,).
    """
    finite_scores = scores[np.isfinite(scores)]
    low, high = 0.0, 1.0
    if len(finite_scores):
        low, high = float(finite_scores.min()), float(finite_scores.max())
        inner_low, inner_high = (float(end) for end in np.quantile(finite_scores, AXIS_QUANTILES))
        if 0 < inner_high - inner_low < (high - low) / 2:
            low, high = inner_low, inner_high
    marks = ticks(low, high, 4)
    # 32-bit scores may exceed the last tick by a rounding error
    has_scores_below = bool((finite_scores < marks[0]).any())
    has_scores_above = bool((finite_scores > marks[-1] + 1e-6).any())
    edges = np.linspace(marks[0], marks[-1], BIN_COUNT + 1)
    return HistogramAxis(edges, marks, (has_scores_below, has_scores_above))


def histogram_strip(title: str, scores: NDArray[np.float64], axis: HistogramAxis) -> Strip:
    """Return the histogram of the scores of one class of pairs, shape (n,), on an axis; NaN is ignored."""
    finite_scores = scores[np.isfinite(scores)]
    low, high = axis.edges[0], axis.edges[-1]
    counts = np.histogram(np.clip(finite_scores, low, high), axis.edges)[0]
    median = float(np.clip(np.median(finite_scores), low, high)) if len(finite_scores) else None
    return Strip(title, finite_scores, counts, median)
