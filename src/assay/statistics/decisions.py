"""Measures of decided classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def class_measures(classes: NDArray[np.integer], decided: NDArray[np.integer]) -> dict[str, float]:
    """Return the measures of decided classes by name, each in [0, 1].

    ``accuracy`` is the share that is right, ``f1-macro`` the mean F1 of the classes that are labelled or decided. If
    only the classes 0 and 1 are labelled, ``f1`` is the F1 of class 1; else it is left out.

    Args:
        classes: the labelled class numbers, shape (n,), n at least 1.
        decided: the decided class numbers, shape (n,).

    Example:
        >>> class_measures(np.array([1, 1, 0, 0]), np.array([1, 0, 0, 0]))["accuracy"]
        0.75
    """
    f1_of_class = {}
    for number in np.union1d(classes, decided).tolist():
        is_labelled, is_decided = classes == number, decided == number
        f1_of_class[number] = 2 * float((is_labelled & is_decided).sum()) / float(is_labelled.sum() + is_decided.sum())
    measures = {"accuracy": float((classes == decided).mean())}
    # what is decided does not count here, so that all methods on the same pairs have the same measures
    if np.isin(classes, (0, 1)).all():
        measures["f1"] = f1_of_class.get(1, 0.0)
    return measures | {"f1-macro": float(np.mean(list(f1_of_class.values())))}
