"""Agreement of a model with people on held-out pairs, before training and after it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import ttest_1samp

from assay.statistics.comparison import compare_all
from assay.training.data import Examples

STATISTICS = ("pearson", "spearman", "kendall")
#: Resamples of the paired bootstrap, and the level of its intervals.
RESAMPLES, CONFIDENCE = 1000, 0.95
Floats = NDArray[np.float64]


def agreement_before_and_after(
    test: Examples, labels: NDArray[Any], before: Floats | None, after: Floats, seed: int
) -> list[dict[str, Any]]:
    """Return for each test dataset and statistic the agreement with its labels, and its gain.

    Intervals are of the paired bootstrap over pairs, or over whole groups where the data has them; p is that of the
    two-sided jackknife t-test over the same.

    Args:
        test: n pairs.
        labels: numbers (Pearson, Spearman, Kendall), or int64 numbers of classes (accuracy), shape (n,).
        before: scores of the model that was started from, or None where it gives none.
        after: scores of the trained one, shape (n,).
        seed: of the resamples.

    Returns:
        A record a dataset and statistic: ``dataset``, ``statistic``, ``n``, ``before``, ``after``, ``gain``, ``low``,
        ``high``, ``p``; None where undefined.
    """
    records = []
    for number, source in enumerate(test.sources):
        rows = np.flatnonzero(test.origins == number)
        first = None if before is None else before[rows]
        groups = np.unique(test.groups[rows], return_inverse=True)[1].astype(np.intp)
        grouped = groups if groups.max() + 1 < len(groups) else None
        compare = _accuracies if labels.dtype == np.int64 else _coefficients
        for record in compare(labels[rows], first, after[rows], grouped, seed):
            records.append({"dataset": source.full_name, "n": len(rows)} | record)
    return records


def _coefficients(
    labels: Floats, before: Floats | None, after: Floats, groups: NDArray[np.intp] | None, seed: int
) -> list[dict[str, Any]]:
    scores = {"after": after, "before": after if before is None else before}
    differences = compare_all(
        scores,
        labels,
        statistics=STATISTICS,
        confidence=CONFIDENCE,
        seed=(seed,),
        metric_pairs=[("after", "before")],
        permutations=0,
        resamples=RESAMPLES if before is not None else 0,
        groups=groups,
    )["after", "before"]
    records = []
    for difference in differences:
        record: dict[str, Any] = {"statistic": difference.statistic}
        record |= {"before": difference.second, "after": difference.first, "gain": difference.value}
        record |= {"low": difference.low, "high": difference.high, "p": difference.p_jackknife}
        if before is None:
            record |= dict.fromkeys(("before", *_GAIN))
        records.append(record)
    return records


#: What a record says of the gain.
_GAIN = ("gain", "low", "high", "p")


def _accuracies(
    labels: NDArray[Any], before: Floats | None, after: Floats, groups: NDArray[np.intp] | None, seed: int
) -> list[dict[str, Any]]:
    right = (after == labels).astype(np.float64)
    record: dict[str, Any] = {"statistic": "accuracy", "before": None, "after": float(right.mean())}
    return [record | dict.fromkeys(_GAIN)]


def comparable_scores(records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return ``dataset``, ``statistic`` and ``value`` of the trained model, which a comparison over seeds reads."""
    return [
        {"dataset": record["dataset"], "statistic": record["statistic"], "value": record["after"]}
        for record in records
        if record["after"] is not None
    ]


def agreement_over_seeds(runs: Sequence[Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Return the records of two seeds or more as one: means, the deviation over the seeds, and two tests.

    All seeds have the same test pairs. ``p_seeds``, of :func:`t_test` over the gains, therefore tests the drawing of
    batches and of a head, not the drawing of pairs. For that, ``low`` and ``high`` are the outermost bounds of any
    seed's interval and ``p`` is the largest of any seed.
    """
    records = []
    for of_seeds in zip(*runs, strict=True):
        record: dict[str, Any] = {name: of_seeds[0][name] for name in ("dataset", "n", "statistic")}
        for name, merge in _MERGED.items():
            record[name] = merged([of_seed[name] for of_seed in of_seeds], merge)
        record["sd"] = standard_deviation([of_seed["after"] for of_seed in of_seeds])
        record["p_seeds"] = t_test([of_seed["gain"] for of_seed in of_seeds])
        records.append(record)
    return records


#: How the values of several seeds become one.
_MERGED: dict[str, Callable[[Sequence[float]], Any]] = {
    "before": np.mean,
    "after": np.mean,
    "gain": np.mean,
    "low": min,
    "high": max,
    "p": max,
}


def merged(values: Sequence[float | None], merge: Callable[[Sequence[float]], Any]) -> float | None:
    """Return the values of several seeds as one, such as their mean; None where one of them is undefined."""
    defined = [value for value in values if value is not None]
    return float(merge(defined)) if len(defined) == len(values) else None


def standard_deviation(values: Sequence[float | None]) -> float | None:
    """Return the sample standard deviation over seeds; None where a value is undefined."""
    return merged(values, lambda defined: np.std(defined, ddof=1))


def t_test(gains: Sequence[float | None]) -> float | None:
    """Return p of Student's t over the gains of several seeds (one sample, two-sided).

    None where a gain is undefined, or where all are equal.
    """
    spread = merged(gains, np.ptp)
    return merged(gains, lambda defined: ttest_1samp(defined, 0.0).pvalue) if spread else None
