"""The agreement of a model with people on held-out pairs, before and after training."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import ttest_1samp

from assay.statistics.comparison import compare_all
from assay.training.data import Examples

STATISTICS = ("pearson", "spearman", "kendall")
#: The number of resamples of the paired bootstrap, and the confidence level of its intervals.
RESAMPLES, CONFIDENCE = 1000, 0.95
Floats = NDArray[np.float64]


def agreement_before_and_after(
    test: Examples, labels: NDArray[Any], before: Floats | None, after: Floats, seed: int
) -> list[dict[str, Any]]:
    """Return the agreement with the labels before and after training, and its gain, per test dataset and statistic.

    The interval of the gain is from a paired bootstrap over pairs, or over whole groups if the data has groups; p is
    from a two-sided jackknife t-test over the same units.

    Args:
        test: the n test pairs.
        labels: numbers (for Pearson, Spearman and Kendall) or int64 class numbers (for the accuracy), shape (n,).
        before: the base model's scores, shape (n,), or None if it returns none.
        after: the trained model's scores, shape (n,).
        seed: the seed of the resamples.

    Returns:
        One record per dataset and statistic: ``dataset``, ``statistic``, ``n``, ``before``, ``after``, ``gain``,
        ``low``, ``high``, ``p``; a value is None if undefined.
    """
    records = []
    for number, source in enumerate(test.sources):
        rows = np.flatnonzero(test.origins == number)
        first = None if before is None else before[rows]
        groups = np.unique(test.groups[rows], return_inverse=True)[1].astype(np.intp)
        grouped = groups if groups.max() + 1 < len(groups) else None
        compare = _accuracy_records if labels.dtype == np.int64 else _coefficient_records
        for record in compare(labels[rows], first, after[rows], grouped, seed):
            records.append({"dataset": source.full_name, "n": len(rows)} | record)
    return records


def _coefficient_records(
    labels: Floats, before: Floats | None, after: Floats, groups: NDArray[np.intp] | None, seed: int
) -> list[dict[str, Any]]:
    """Return the records of one dataset with numeric labels; see :func:`agreement_before_and_after`."""
    # Without scores before, the comparison needs a second metric all the same; its results are then removed below.
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


#: The fields of a record that describe the gain.
_GAIN = ("gain", "low", "high", "p")


def _accuracy_records(
    labels: NDArray[Any], before: Floats | None, after: Floats, groups: NDArray[np.intp] | None, seed: int
) -> list[dict[str, Any]]:
    right = (after == labels).astype(np.float64)
    record: dict[str, Any] = {"statistic": "accuracy", "before": None, "after": float(right.mean())}
    return [record | dict.fromkeys(_GAIN)]


def comparable_scores(records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return records of ``dataset``, ``statistic`` and ``value`` of the trained model, for a comparison over seeds.

    Undefined values are left out.
    """
    return [
        {"dataset": record["dataset"], "statistic": record["statistic"], "value": record["after"]}
        for record in records
        if record["after"] is not None
    ]


def agreement_over_seeds(runs: Sequence[Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Combine the records of two or more seeds: means, the standard deviation ``sd`` over the seeds, and two tests.

    All seeds have the same test pairs. ``p_seeds``, from :func:`t_test_of_gains`, therefore reflects only the
    randomness of batches and of a new head, not the sampling of pairs. The sampling of pairs is covered by ``low`` and
    ``high``, the outermost bounds of the seeds' intervals, and by ``p``, the largest p of the seeds.
    """
    records = []
    for of_seeds in zip(*runs, strict=True):
        record: dict[str, Any] = {name: of_seeds[0][name] for name in ("dataset", "n", "statistic")}
        for name, merge in _MERGED.items():
            record[name] = merged_values([of_seed[name] for of_seed in of_seeds], merge)
        record["sd"] = standard_deviation([of_seed["after"] for of_seed in of_seeds])
        record["p_seeds"] = t_test_of_gains([of_seed["gain"] for of_seed in of_seeds])
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


def merged_values(values: Sequence[float | None], merge: Callable[[Sequence[float]], Any]) -> float | None:
    """Return the values of several seeds merged into one, such as their mean; None if any of them is undefined."""
    defined = [value for value in values if value is not None]
    return float(merge(defined)) if len(defined) == len(values) else None


def standard_deviation(values: Sequence[float | None]) -> float | None:
    """Return the sample standard deviation over seeds; None if a value is undefined."""
    return merged_values(values, lambda defined: np.std(defined, ddof=1))


def t_test_of_gains(gains: Sequence[float | None]) -> float | None:
    """Return p of Student's one-sample, two-sided t-test that the mean gain over seeds is 0.

    None if a gain is undefined or all gains are equal.
    """
    spread = merged_values(gains, np.ptp)
    return merged_values(gains, lambda defined: ttest_1samp(defined, 0.0).pvalue) if spread else None
