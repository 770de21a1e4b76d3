"""Mean scores of aspects of meaning by error category: which aspects are low on which errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.analysis.data import ScoredDataset
from assay.analysis.errors.divergence import find_divergence
from assay.analysis.errors.settings import Rule
from assay.analysis.errors.tags import TagColumns

#: The difference of ranks, as a share of the pairs, from which a pair diverges. It is half the default of the error
#: report, with which most categories would have one pair or none.
RESIDUAL = 0.25
#: The smallest number of pairs for which a category has a row.
MIN_PAIRS_PER_CATEGORY = 3


@dataclass(frozen=True)
class CategoryMeans:
    """The mean scores of the diverging pairs of a category, or of all pairs.

    Attributes:
        title: the name of the category.
        n: the number of pairs.
        too_high: the number of diverging pairs that the metric scores too high.
        means: the mean score of each aspect, shape (aspects,); NaN if no pair has a score.
        differences: the means less those of all pairs, shape (aspects,).
        deviations: the differences in standard deviations of the scores of all pairs, shape (aspects,); NaN for an
            aspect without scores, or whose scores are all equal.
    """

    title: str
    n: int
    too_high: int
    means: NDArray[np.float64]
    differences: NDArray[np.float64]
    deviations: NDArray[np.float64]

    @property
    def lowest(self) -> int | None:
        """The index of the aspect that deviates most downwards from all pairs; None if all are undefined."""
        return int(np.nanargmin(self.deviations)) if np.isfinite(self.deviations).any() else None


@dataclass(frozen=True)
class AspectProfile:
    """The mean aspect scores by error category.

    Attributes:
        metric: the metric whose diverging pairs it shows.
        aspects: the names of the aspects.
        all_pairs: the means over all pairs.
        categories: the means over the diverging pairs of each category.
        left_out: the same for categories with fewer pairs than :data:`MIN_PAIRS_PER_CATEGORY`, but at least one.
    """

    metric: str
    aspects: list[str]
    all_pairs: CategoryMeans
    categories: list[CategoryMeans]
    left_out: list[CategoryMeans]


def profile_aspects(
    data: ScoredDataset, whole: str, aspects: Mapping[str, str], tagged: TagColumns
) -> AspectProfile | None:
    """Return the mean aspect scores of the diverging pairs in each category, beside those of all pairs.

    Pairs diverge by rank, from a difference of :data:`RESIDUAL` on. The result is None if the dataset has no scores of
    any aspect, or if no category has at least :data:`MIN_PAIRS_PER_CATEGORY` such pairs.

    Args:
        data: the dataset.
        whole: the metric of the overall score, which decides which pairs diverge; if the dataset lacks it, the first
            aspect does.
        aspects: the metric of each aspect, by its name; the dataset may lack some.
        tagged: the categories of the pairs.
    """
    metrics = {name: metric for name, metric in aspects.items() if metric in data.scores}
    if not metrics:
        return None
    metric = whole if whole in data.scores else next(iter(metrics.values()))
    scores = np.stack([data.scores[name] for name in metrics.values()])
    divergence = find_divergence(data, metric, Rule(by="rank", residual=RESIDUAL))
    spreads = _standard_deviations(scores)
    everywhere = np.ones(len(data), dtype=bool)
    means_of_all = _means(scores, everywhere)

    def category_means(title: str, mask: NDArray[np.bool_]) -> CategoryMeans:
        """Return the means of the pairs of a mask, shape (n,), compared with those of all pairs."""
        means = _means(scores, mask)
        differences = means - means_of_all
        with np.errstate(invalid="ignore", divide="ignore"):
            deviations = np.where(spreads > 0, differences / spreads, np.nan)
        too_high = int(mask[divergence.rows[~divergence.too_low]].sum())
        return CategoryMeans(
            title=title,
            n=int(mask.sum()),
            too_high=too_high,
            means=means,
            differences=differences,
            deviations=deviations,
        )

    categories = [
        category_means(name, mask & divergence.mask) for name, mask in _category_masks(tagged, len(data)).items()
    ]
    large_categories = [row for row in categories if row.n >= MIN_PAIRS_PER_CATEGORY]
    left_out = [row for row in categories if 0 < row.n < MIN_PAIRS_PER_CATEGORY]
    all_pairs = category_means("all pairs", everywhere)
    return AspectProfile(metric, list(metrics), all_pairs, large_categories, left_out) if large_categories else None


def _means(scores: NDArray[np.float64], mask: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the mean of each aspect over some pairs, shape (aspects,); NaN for an aspect that has a score of none.

    Args:
        scores: the scores, shape (aspects, n); NaN for a missing score, which is left out of the mean.
        mask: the pairs, shape (n,).
    """
    chosen_scores = scores[:, mask]
    is_finite = np.isfinite(chosen_scores)
    with np.errstate(invalid="ignore", divide="ignore"):
        means: NDArray[np.float64] = np.where(is_finite, chosen_scores, 0).sum(axis=1) / is_finite.sum(axis=1)
    return means


def _standard_deviations(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the standard deviation of each aspect over its scores other than NaN, shape (aspects,).

    It is NaN for an aspect whose scores are all NaN. *scores* has shape (aspects, n).
    """
    deviations = np.full(len(scores), np.nan)
    for index, aspect_scores in enumerate(scores):
        # numpy warns of an aspect without scores
        if np.isfinite(aspect_scores).any():
            deviations[index] = np.nanstd(aspect_scores)
    return deviations


def _category_masks(tagged: TagColumns, n: int) -> dict[str, NDArray[np.bool_]]:
    """Return the mask of the n pairs in each category, shape (n,) each, by the name of the category."""
    tags_per_pair = np.diff(tagged.starts)
    row_of_tag = np.repeat(np.arange(n), tags_per_pair)
    masks = {}
    for index, name in enumerate(tagged.names):
        masks[name] = np.zeros(n, dtype=bool)
        masks[name][row_of_tag[tagged.categories == index]] = True
    return masks
