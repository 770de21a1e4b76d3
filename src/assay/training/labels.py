"""Labels in the form that a model learns: scaled to [0, 1], as class numbers, or unchanged."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from assay.common.messages import Message, Setting
from assay.datasets.load import is_own_file
from assay.exceptions import InputError
from assay.training.data import Examples

Floats = NDArray[np.float64]


def scaled_labels(examples: Examples, scale: tuple[float, float] | None) -> Floats:
    """Return the labels of n pairs scaled to [0, 1], shape (n,).

    Args:
        examples: the pairs.
        scale: the lowest and the highest label of all datasets; None for the scale on each dataset's card, or 0 to 1
            for a dataset that states none.

    Raises:
        InputError: a pair has no label, or one outside its scale.
    """
    labels = plain_labels(examples)
    scaled = np.empty(len(examples))
    for origin, source in enumerate(examples.sources):
        rows = np.flatnonzero(examples.origins == origin)
        low, high = scale or source.scale or (0.0, 1.0)
        outside = rows[(labels[rows] < low) | (labels[rows] > high)]
        if len(outside):
            row = outside[0]
            is_known = source.scale and not scale
            remedy = "" if is_known else Message("; say what the scale is with ", Setting("scale", "LOW,HIGH"))
            raise InputError(
                f"{examples.location(row)}: its label {labels[row]:g} is not between {low:g} and {high:g}", remedy
            )
        scaled[rows] = (labels[rows] - low) / (high - low)
    return scaled


def plain_labels(examples: Examples) -> Floats:
    """Return the labels of n pairs as they are, shape (n,), which is enough for a correlation.

    Raises:
        InputError: a pair has no label.
    """
    is_missing = np.isnan(examples.labels)
    if is_missing.any():
        row = int(np.argmax(is_missing))
        origin = examples.origins[row]
        remedy = "; leave it out, or label it"
        # A file without any label more likely has its labels in a column of another name.
        if is_missing[examples.origins == origin].all() and is_own_file(examples.sources[origin].spec):
            remedy = Message(", nor has another one; say which column they are: ", Setting("columns", "label=COLUMN"))
        raise InputError(f"{examples.location(row)}: has no label", remedy)
    return examples.labels


def class_numbers(examples: Examples, names: Sequence[str]) -> NDArray[np.int64]:
    """Return the index of each pair's class in *names*, shape (n,).

    Raises:
        InputError: a pair has a class that is not among *names*.
    """
    numbers = {name: number for number, name in enumerate(names)}
    for row, name in enumerate(examples.classes):
        if name not in numbers:
            raise InputError(
                f"{examples.location(row)}: its class {name!r} is not in the training pairs, which have "
                f"{', '.join(names)}"
            )
    return np.array([numbers[name] for name in examples.classes], dtype=np.int64)
