"""How high agreement could be: the best that a tie-free score could reach on the labels, and how far annotators
agree with each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.statistics.agreement import agreement, measure
from assay.statistics.coefficients import STATISTICS
from assay.statistics.concordance import Floats

# What the labels allow.


def tie_share(labels: Floats) -> float | None:
    """Return the share of comparisons that are ties in the labels, in [0, 1]; None for fewer than two labels.

    Args:
        labels: shape (n,), of which any two are compared.
    """
    n = len(labels)
    if n < 2:
        return None
    counts = np.unique(labels, return_counts=True)[1].astype(np.float64)
    tied = float((counts * (counts - 1) / 2).sum())
    return tied / (n * (n - 1) / 2)


def tie_free_ceiling(
    labels: Floats, statistics: Sequence[str], groups: NDArray[np.intp] | None = None
) -> dict[str, float | None]:
    """Return the largest value of each statistic for a score without ties that orders the labels perfectly.

    With tied labels Spearman and Kendall stay below 1 for any score without ties. Statistics that tied labels do not
    cap reach 1, if not exactly then as nearly as one likes: a score can come as near to the labels as Pearson's r asks.

    Args:
        labels: shape (n,).
        statistics: names out of :data:`~assay.statistics.coefficients.STATISTICS`.
        groups: codes of the groups of pairs, shape (n,), or None.

    Returns:
        By statistic; None where it is undefined for these labels.
    """
    order = np.argsort(labels, kind="stable")
    perfect = np.empty(len(labels))
    perfect[order] = np.arange(len(labels))
    estimates = agreement(
        {"perfect": perfect}, labels, statistics=statistics, resamples=0, confidence=0.95, seed=(0,), groups=groups
    )
    ceilings: dict[str, float | None] = {}
    for estimate in estimates:
        is_capped = STATISTICS[estimate.statistic].tied_labels_cap_it
        ceilings[estimate.statistic] = estimate.value if is_capped or estimate.value is None else 1.0
    return ceilings


# How far annotators agree with each other: the human ceiling.

#: Random splits, as in Abdalla, Vishnubhotla & Mohammad (2023).
SPLITS = 1000
#: Pairs times splits that are worth their time: of large data, a few splits tell as much as many.
BUDGET = 5_000_000


@dataclass(frozen=True)
class Reliability:
    """Split-half reliability of the mean label.

    Attributes:
        pearson: mean over the splits of r between the halves, stepped up to full length (Spearman-Brown), in (0, 1];
            None where that mean is not positive: such labels have no reliability to step up.
        spearman: the same for the rank correlation.
        annotators: number of annotators.
        n: pairs that have at least two labels.
        splits: number of random splits.
    """

    pearson: float | None
    spearman: float | None
    annotators: int
    n: int
    splits: int


def split_half_reliability(annotations: Floats, *, splits: int | None = None, seed: int = 0) -> Reliability | None:
    """Return how the mean labels of two random halves of the annotators correlate, over many random splits.

    Sources: Spearman (1910) and Brown (1910) for the correction to full length; Abdalla, Vishnubhotla & Mohammad
    (2023), section 3.3, for the mean over random splits.

    Args:
        annotations: shape (n, annotators), NaN where an annotator gave no label.
        splits: number of random splits; by default 1,000, for large data fewer but at least 50.
        seed: seeds the splits.

    Returns:
        None where fewer than three pairs have two labels.
    """
    usable = annotations[np.count_nonzero(~np.isnan(annotations), axis=1) >= 2]
    n, annotators = usable.shape
    if n < 3:
        return None
    splits = splits or max(50, min(SPLITS, BUDGET // n))
    rng = np.random.default_rng(seed)
    pearson: list[float] = []
    spearman: list[float] = []
    for _ in range(splits):
        first, second = _mean_labels_of_halves(usable, rng)
        coefficients = measure({"half": first}, second, statistics=("pearson", "spearman"), resamples=0, seed=(0,))
        r, rho = coefficients["half"].values.tolist()
        pearson.append(r)
        spearman.append(rho)
    return Reliability(_step_up(pearson), _step_up(spearman), annotators, n, splits)


def _mean_labels_of_halves(annotations: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return the mean labels of two random halves of each pair's annotators, each of shape (n,)."""
    known = ~np.isnan(annotations)
    first = random_halves(known, rng)
    second = known & ~first
    return _mean_labels(annotations, first), _mean_labels(annotations, second)


def _mean_labels(annotations: Floats, chosen: NDArray[np.bool_]) -> Floats:
    """Return the mean of the chosen labels of each pair, shape (n,)."""
    means: Floats = np.where(chosen, annotations, 0).sum(axis=1) / chosen.sum(axis=1)
    return means


def random_halves(known: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return which entries of each line fall into the first of two random halves, shape as *known*.

    Of an odd number of entries either half may take one more than the other.

    Args:
        known: which entries there are, shape (lines, entries).
        rng: draws the halves.
    """
    # unknown ones sort last
    random_ranks = np.argsort(np.argsort(np.where(known, rng.random(known.shape), 2.0), axis=1), axis=1)
    sizes = known.sum(axis=1)
    gets_the_odd_entry = rng.integers(2, size=len(sizes)) * (sizes % 2)
    first_sizes = (sizes + gets_the_odd_entry) // 2
    first: NDArray[np.bool_] = random_ranks < first_sizes[:, None]
    return first


def spearman_brown(correlation: float, times: float = 2.0) -> float:
    """Return the reliability that a measurement would have at *times* its length.

    Args:
        correlation: of two parallel measurements, above -1 / (times - 1).
        times: factor of the length; 2 steps up from a half to the whole.
    """
    return times * correlation / (1 + (times - 1) * correlation)


def _step_up(values: list[float]) -> float | None:
    """Return the Spearman-Brown reliability of the whole from the correlations of halves, NaN where undefined."""
    defined = [value for value in values if not np.isnan(value)]
    mean = float(np.mean(defined)) if defined else 0.0
    return spearman_brown(mean) if mean > 0 else None
