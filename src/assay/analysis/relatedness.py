"""The correlation of features of pairs with their labels: on all labels, and on the lower and upper half.

Source: Abdalla, Vishnubhotla & Mohammad, What Makes Sentences Semantically Related? (2023), section 5, table 4 and
appendix B.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.analysis.data import ALL, BucketPairs, ScoredDataset
from assay.common.declarations import setting
from assay.common.tables import exact_number
from assay.settings import AgreementIntervals, Limited, Offline, OwnData, ScoreStore, WithProgress
from assay.statistics.agreement import Estimate, agreement
from assay.statistics.concordance import Floats

#: Parts of speech that occur in at most this share of the pairs are left out, as in STR-2022.
MAX_RARE_SHARE = 0.1


@dataclass(frozen=True)
class RelatednessSettings(OwnData, AgreementIntervals, Limited, Offline, ScoreStore, WithProgress):
    """Settings of ``assay relatedness``."""

    dataset: Any = setting(
        "A dataset (NAME[@VERSION][:SPLIT]) or a labelled file.",
        argument=True,
        flags=("--dataset", "-d"),
        metavar="DATASET",
    )
    vectors: str | Path = setting("Word vectors: word2vec, GloVe, fastText .vec, or a folder.", metavar="FILE")
    _: KW_ONLY
    pipeline: str | Path | None = setting("A spaCy pipeline, folder or name, that reads parts of speech.", None)
    drop_duplicates: bool = setting("Drop repeated pairs with the same label.", False)
    read_with: Callable[[str | Path], Any] | None = setting(
        "Makes a reader of words of `pipeline`; spaCy by default.", None, python_only=True
    )


@dataclass(frozen=True, eq=False)
class Feature:
    """A feature of n pairs.

    Attributes:
        question: the research question of the paper, such as Q1.
        name: the name of the feature.
        scores: the scores, shape (n,); NaN for a pair without one.
        present: the mask of pairs with such words in both sentences, shape (n,).
        is_left_out_if_rare: whether the feature is left out if it is present in at most :data:`MAX_RARE_SHARE` of the
            pairs.
    """

    question: str
    name: str
    scores: Floats
    present: NDArray[np.bool_]
    is_left_out_if_rare: bool = False

    @property
    def without_vector(self) -> int:
        """The number of pairs with such words of which a sentence has none with a vector."""
        return int(np.count_nonzero(self.present & ~np.isfinite(self.scores)))


@dataclass(frozen=True, eq=False)
class RelatednessStudy:
    """The correlation of features with the labels of a dataset, on all pairs and on either half of the labels.

    Attributes:
        data: the pairs.
        features: the features that are not left out.
        rare: the features that are left out since they are rare; they have no correlations.
        halves: a phrase on the labels and their middle, which separates the halves.
        sizes: the number of pairs by range of the labels.
        correlations: Spearman's correlation of each of *features*, in their order, by range of the labels.
    """

    data: ScoredDataset
    features: Sequence[Feature]
    rare: Sequence[Feature]
    halves: str
    sizes: Mapping[str, int]
    correlations: Mapping[str, Sequence[Estimate]]


def correlate_features(
    data: ScoredDataset, features: Sequence[Feature], drawing: AgreementIntervals
) -> RelatednessStudy:
    """Return the rank correlation of each feature with the labels, on all pairs and on either half of the labels.

    Features that are left out since they are rare have no correlation.

    Args:
        data: the pairs, at least one.
        features: the features of these pairs.
        drawing: the settings of the intervals.

    Raises:
        InputError: the pairs are resampled in groups that an older folder did not keep.
    """
    middle, halves = _middle_label(data)
    rare, correlated = [], []
    for feature in features:
        if feature.is_left_out_if_rare and feature.present.mean() <= MAX_RARE_SHARE:
            rare.append(feature)
        else:
            correlated.append(feature)
    middle_text = _middle_text(middle, data)
    ranges = {
        "all": data.pairs_in_bucket(ALL, drawing.seed),
        # the names of the buckets determine the seeds, so intervals equal those of a run with these buckets
        f"< {middle_text}": data.pairs_in_bucket(f"label<{middle_text}", drawing.seed, data.labels < middle),
        f"≥ {middle_text}": data.pairs_in_bucket(f"label>={middle_text}", drawing.seed, data.labels >= middle),
    }
    return RelatednessStudy(
        data,
        features=correlated,
        rare=rare,
        halves=halves,
        sizes={name: len(pairs) for name, pairs in ranges.items()},
        correlations={name: _feature_correlations(pairs, correlated, drawing) for name, pairs in ranges.items()},
    )


def _middle_label(data: ScoredDataset) -> tuple[float, str]:
    """Return the label in the middle of the scale, which separates the two halves, and a phrase on its origin.

    Without a declared scale, the label is the mean of the smallest and the largest label.
    """
    scale = data.facts.scale
    if scale:
        middle = (float(scale[0]) + float(scale[1])) / 2
        lowest, highest = map(exact_number, scale)
        return middle, f"labels from {lowest} to {highest}, halves below and from {_middle_text(middle, data)}"
    low, high = float(data.labels.min()), float(data.labels.max())
    middle = (low + high) / 2
    phrase = f"the middle of the labels that occur ({exact_number(low)} to {exact_number(high)})"
    return middle, f"halves below and from {_middle_text(middle, data)}, {phrase}"


def _middle_text(middle: float, data: ScoredDataset) -> str:
    """Return the middle label as text: to six digits, or exactly if the rounded one would divide the labels otherwise.

    Args:
        middle: the label in the middle of the scale.
        data: the pairs, for their labels.
    """
    text = f"{middle:g}"
    divides_alike = ((data.labels < float(text)) == (data.labels < middle)).all()
    return text if divides_alike else exact_number(middle)


def _feature_correlations(
    pairs: BucketPairs, features: Sequence[Feature], drawing: AgreementIntervals
) -> list[Estimate]:
    """Return Spearman's correlation of each feature with the labels of some pairs, in the order of *features*.

    All correlations are computed on the same resamples.
    """
    return agreement(
        {str(number): pairs.take(feature.scores) for number, feature in enumerate(features)},
        pairs.labels,
        statistics=("spearman",),
        resamples=drawing.resamples,
        confidence=drawing.confidence,
        seed=pairs.seed,
        groups=pairs.groups,
        interval=drawing.interval,
    )
