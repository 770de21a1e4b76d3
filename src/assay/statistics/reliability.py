"""How high agreement could be: the best that a tie-free score could reach on the labels, and how far annotators
agree with each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.statistics.agreement import agreement
from assay.statistics.coefficients import STATISTICS

__all__ = ["Reliability", "random_halves", "spearman_brown", "split_half_reliability", "tie_free_ceiling", "tie_share"]


# How high agreement could be: the best a tie-free score could reach on these labels, and how far people agree.

Floats = NDArray[np.float64]


def _tied_couples(labels: Floats) -> float:
    counts = np.unique(labels, return_counts=True)[1].astype(np.float64)
    return float((counts * (counts - 1) / 2).sum())


def tie_share(labels: Floats) -> float | None:
    """Return the share of couples of pairs that have the same label, in [0, 1]; None below two pairs."""
    n = len(labels)
    return _tied_couples(labels) / (n * (n - 1) / 2) if n > 1 else None


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
#
# Source: Spearman (1910) and Brown (1910) for the correction to full length; Abdalla, Vishnubhotla & Mohammad (2023),
# section 3.3, for split-half reliability over many random splits.

#: Random splits for small data; fewer for large, where each is as good as many.
SPLITS = 1000
#: Pairs times splits that are worth their time.
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
    """Split the labels of each pair at random into halves and correlate the halves' means.

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
    found: dict[str, list[float]] = {"pearson": [], "spearman": []}
    for _ in range(splits):
        first, second = _halves(usable, rng)
        for estimate in agreement(
            {"half": first}, second, statistics=tuple(found), resamples=0, confidence=0.95, seed=(0,)
        ):
            if estimate.value is not None:
                found[estimate.statistic].append(estimate.value)
    stepped = {name: _step_up(values) for name, values in found.items()}
    return Reliability(stepped["pearson"], stepped["spearman"], annotators, n, splits)


def random_halves(known: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return which entries of each line fall into the first of two random halves, shape as *known*.

    Of an odd number either half may take the one more.

    Args:
        known: which entries there are, shape (lines, entries).
        rng: draws.
    """
    # unknown ones sort last
    places = np.argsort(np.argsort(np.where(known, rng.random(known.shape), 2.0), axis=1), axis=1)
    sizes = known.sum(axis=1)
    first: NDArray[np.bool_] = places < ((sizes + rng.integers(2, size=len(sizes)) * (sizes % 2)) // 2)[:, None]
    return first


def _halves(annotations: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return the mean labels of two random halves of each pair's annotators, each of shape (n,)."""
    known = ~np.isnan(annotations)
    first = random_halves(known, rng)
    means = [np.where(half, annotations, 0).sum(axis=1) / half.sum(axis=1) for half in (first, known & ~first)]
    return means[0], means[1]


def spearman_brown(correlation: float, times: float = 2.0) -> float:
    """Return the reliability that a measurement would have at *times* its length.

    Args:
        correlation: of two parallel measurements, above -1 / (times - 1).
        times: factor of the length; 2 steps up from a half to the whole.
    """
    return times * correlation / (1 + (times - 1) * correlation)


def _step_up(values: list[float]) -> float | None:
    """Return the Spearman-Brown reliability of the whole from correlations of halves."""
    mean = float(np.mean(values)) if values else 0.0
    return spearman_brown(mean) if mean > 0 else None
