"""Labels as a model learns them: on a scale from 0 to 1, or as numbers of classes; and as they are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from assay.datasets.load import is_own_file
from assay.errors import InputError
from assay.training.data import Examples

__all__ = ["class_numbers", "plain_labels", "scaled_labels"]

Floats = NDArray[np.float64]


def scaled_labels(examples: Examples, scale: tuple[float, float] | None) -> Floats:
    """Return the labels of n pairs on a scale from 0 to 1, shape (n,).

    Args:
        examples: the pairs.
        scale: lowest and highest label; None for what the card of each dataset says, or 0 to 1 where it says nothing.

    Raises:
        InputError: a pair has no label, or one outside its scale.
    """
    given, made = plain_labels(examples), np.empty(len(examples))
    for number, source in enumerate(examples.sources):
        rows = np.flatnonzero(examples.origins == number)
        low, high = scale or source.scale or (0.0, 1.0)
        labels = given[rows]
        for row in rows[(labels < low) | (labels > high)][:1]:
            remedy = "" if source.scale and not scale else "; say what the scale is with --scale LOW,HIGH"
            raise InputError(
                f"{examples.place(row)}: its label {given[row]:g} is not between {low:g} and {high:g}{remedy}"
            )
        made[rows] = (labels - low) / (high - low)
    return made


def plain_labels(examples: Examples) -> Floats:
    """Return the labels of n pairs as they are, shape (n,): all that a correlation needs.

    Raises:
        InputError: a pair has no label.
    """
    missing = np.isnan(examples.labels)
    for row in np.flatnonzero(missing)[:1]:
        number, remedy = examples.origins[row], "; leave it out, or label it"
        if missing[examples.origins == number].all() and is_own_file(examples.sources[number].spec):
            remedy = ", nor has another one; say which column they are: --columns label=COLUMN"
        raise InputError(f"{examples.place(row)}: has no label{remedy}")
    return examples.labels


def class_numbers(examples: Examples, names: Sequence[str]) -> NDArray[np.int64]:
    """Return the number of each pair's class in *names*, shape (n,).

    Raises:
        InputError: a pair has another class.
    """
    numbers = {name: number for number, name in enumerate(names)}
    for row, name in enumerate(examples.classes):
        if name not in numbers:
            raise InputError(
                f"{examples.place(row)}: its class {name!r} is not in the training pairs, which have {', '.join(names)}"
            )
    return np.array([numbers[name] for name in examples.classes], dtype=np.int64)
