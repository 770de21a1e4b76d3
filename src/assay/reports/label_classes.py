"""Labels in a few classes, for colours, strips and filters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.reports.layout import label_texts

__all__ = ["LabelClasses", "classify"]

#: More different labels than this are cut into quarters.
MOST = 7


@dataclass(frozen=True)
class LabelClasses:
    """Titles of the classes in ascending order, and the class of each pair, shape (n,)."""

    titles: list[str]
    codes: NDArray[np.uint8]


def classify(labels: NDArray[np.float64]) -> LabelClasses:
    """Return each label as a class of its own, or quarters of the pairs where there are more than seven.

    Equal labels are always in one class, so that there may be fewer than four quarters.
    """
    values, codes = np.unique(labels, return_inverse=True)
    if len(values) <= MOST:
        return LabelClasses(label_texts(values.tolist()), codes.astype(np.uint8))
    cuts = np.unique(np.quantile(labels, [0.25, 0.5, 0.75]))
    _, codes = np.unique(np.searchsorted(cuts, labels, side="left"), return_inverse=True)
    titles = []
    for code in range(int(codes.max()) + 1):
        inside = labels[codes == code]
        titles.append("–".join(label_texts(sorted({float(inside.min()), float(inside.max())}))))
    return LabelClasses(titles, codes.astype(np.uint8))
