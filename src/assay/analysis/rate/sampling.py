"""Which new answers to label next: drawn so that ``assay rate`` gains most, with known probabilities.

Answers are put into strata by system and by the label to expect of their score. More are drawn where
labels vary more (Neyman's allocation), and some everywhere: answers of which the metric is sure are where its errors
would go unseen. Source: Neyman, On the Two Different Aspects of the Representative Method (1934).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from assay.exceptions import InputError
from assay.statistics.concordance import Floats
from assay.statistics.prediction_powered import neyman_allocation

#: The most strata of one system.
MOST_BINS = 4
#: The fewest answers to draw from a stratum on average; with fewer, there are fewer strata.
DRAWN_PER_STRATUM = 6
#: The least standard deviation of the labels of a stratum, since the metric may be wrong where it is sure.
LEAST_DEVIATION = 0.15


@dataclass(frozen=True, eq=False)
class Drawn:
    """The answers to label.

    Attributes:
        rows: the row indices of the n drawn answers in random order, shape (n,).
        strata: the name of the stratum of each, such as ``gpt-4 2 of 4``.
        sizes: the number of answers in the stratum of each, shape (n,).
        weights: how many answers each one stands for, shape (n,).
        second: the rows among them that a second person labels as well.
    """

    rows: NDArray[np.intp]
    strata: Sequence[str]
    sizes: NDArray[np.intp]
    weights: Floats
    second: NDArray[np.intp]


def draw_answers(
    expected: Floats,
    systems: Sequence[str | None] | None,
    n: int,
    *,
    kind: Literal["share", "mean"],
    doubles: int,
    seed: int,
) -> Drawn:
    """Return n answers to label, drawn at random within strata.

    Args:
        expected: the expected label of each of N answers, shape (N,), in [0, 1]; NaN where there is no score.
        systems: the system of each answer, length N, None where it is unknown; None without systems.
        n: how many to draw.
        kind: whether labels are shares of yes or grades.
        doubles: how many of them a second person labels as well.
        seed: the seed of the draw.

    Raises:
        InputError: there are fewer answers than are to be drawn, or more doubles than answers.
    """
    count = len(expected)
    if n > count:
        raise InputError(f"there are only {count:,} answers", setting="n", value=n)
    if doubles > n:
        raise InputError(f"at most the {n:,} drawn answers can be labelled twice", setting="doubles", value=doubles)
    names = _names_of_strata(expected, systems, n, kind)
    strata = list(dict.fromkeys(names))
    codes = np.array([strata.index(name) for name in names], dtype=np.intp)
    sizes = np.bincount(codes)
    deviations = [_deviation(expected[codes == code], kind) for code in range(len(strata))]
    rng = np.random.default_rng(seed)
    rows_of_strata = []
    for code, drawn_count in enumerate(neyman_allocation(list(sizes), deviations, n)):
        rows = np.flatnonzero(codes == code)
        rows_of_strata.append(rng.choice(rows, size=drawn_count, replace=False))
    drawn_counts = np.array([len(rows) for rows in rows_of_strata])
    rows = rng.permutation(np.concatenate(rows_of_strata))
    drawn_codes = codes[rows]
    return Drawn(
        rows=rows,
        strata=[strata[code] for code in drawn_codes],
        sizes=sizes[drawn_codes],
        weights=sizes[drawn_codes] / drawn_counts[drawn_codes],
        second=rng.permutation(rows)[:doubles],
    )


def _names_of_strata(expected: Floats, systems: Sequence[str | None] | None, n: int, kind: str) -> list[str]:
    """Return the name of the stratum of each answer: its system, and its bin of the expected labels of that system.

    Without systems, or with so many that n answers are too few for a stratum each, the name is that of the bin alone.
    The answers of a system without a score are a stratum of their own. The arguments are those of :func:`draw_answers`.
    """
    unnamed = [""] * len(expected)
    system_of = unnamed if systems is None else [system or "" for system in systems]
    if len(set(system_of)) * DRAWN_PER_STRATUM > n:
        system_of = unnamed
    system_names = list(dict.fromkeys(system_of))
    bin_count = max(1, min(MOST_BINS, n // (DRAWN_PER_STRATUM * len(system_names))))
    names = np.empty(len(expected), dtype=object)
    for system in system_names:
        rows = np.flatnonzero([name == system for name in system_of])
        has_score = np.isfinite(expected[rows])
        scored_rows = rows[has_score]
        bin_of_row = _bins(expected[scored_rows], bin_count, kind)
        bins = int(bin_of_row.max(initial=0)) + 1
        for row, bin_index in zip(scored_rows, bin_of_row, strict=True):
            names[row] = f"{system} {bin_index + 1} of {bins}".strip()
        names[rows[~has_score]] = f"{system} without score".strip()
    return list(names)


def _bins(expected: Floats, count: int, kind: str) -> NDArray[np.intp]:
    """Return the bin of each expected label, shape (n,), from 0 on, the lowest labels first.

    There are at most *count* bins, in which the standard deviations of the labels have about equal sums. Answers with
    the same expected label are in one bin, since a score that many share cannot be divided.

    Args:
        expected: the expected labels, shape (n,), finite.
        count: the largest number of bins, at least 1.
        kind: ``share`` of yes, or ``mean`` for grades.
    """
    values, value_indices, sizes = np.unique(expected, return_inverse=True, return_counts=True)
    if len(values) < 2:
        return np.zeros(len(expected), dtype=np.intp)
    sums = np.cumsum(sizes * [_deviation(values[[index]], kind) for index in range(len(values))])
    goals = np.arange(1, count) / count * sums[-1]
    # a bin ends behind the value where the sum comes nearest to the wanted one, and never behind the last
    ends = {int(np.abs(sums[:-1] - goal).argmin()) for goal in goals}
    bins: NDArray[np.intp] = np.searchsorted(np.array(sorted(ends), dtype=np.intp), value_indices, side="left")
    return bins


def _deviation(expected: Floats, kind: str) -> float:
    """Return the standard deviation of labels to expect in a stratum, as a share of their range.

    It is .5, the highest, for grades, and where no label is expected; else at least :data:`LEAST_DEVIATION`.
    """
    known_labels = expected[np.isfinite(expected)]
    if kind == "mean" or not len(known_labels):
        return 0.5
    return max(float(np.sqrt(np.mean(known_labels * (1 - known_labels)))), LEAST_DEVIATION)
