"""The agreement of a model with people on held-out pairs, before and after training."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import ttest_1samp

from assay.analysis.thresholds.training import measures_at_threshold
from assay.statistics.comparison import compare_all
from assay.statistics.decisions import class_measures
from assay.training.data import Examples

STATISTICS = ("pearson", "spearman", "kendall")
#: The number of resamples of the paired bootstrap, and the confidence level of its intervals.
RESAMPLES, CONFIDENCE = 1000, 0.95
Floats = NDArray[np.float64]


def agreement_before_and_after(
    test: Examples, labels: NDArray[Any], before: Floats | None, after: Floats, seed: int
) -> list[dict[str, Any]]:
    """Return the agreement with the labels before and after training, and its gain, per test dataset and statistic.

    If the labels are numbers, the statistics are Pearson, Spearman and Kendall. The interval of the gain is from a
    paired bootstrap over pairs, or over whole groups if a group has several pairs; p is from a two-sided jackknife
    t-test over the same units. If the labels are classes, the statistics are
    :func:`~assay.statistics.decisions.class_measures`, which only the trained model has.

    Args:
        test: the n test pairs.
        labels: the label of each pair, shape (n,): numbers of type float64, or class numbers of type int64.
        before: the base model's scores, shape (n,), or None if it gives none; not used if the labels are classes.
        after: the trained model's scores, shape (n,), or the class numbers it predicts if the labels are classes.
        seed: the seed of the resamples.

    Returns:
        One record per dataset and statistic: ``dataset``, ``statistic``, ``n``, ``before``, ``after``, ``gain``,
        ``low``, ``high``, ``p``; a value is None if it is undefined, or needs scores of the base model that are absent.
    """
    records = []
    for origin, source in enumerate(test.sources):
        rows = np.flatnonzero(test.origins == origin)
        # int64 marks class numbers; labels that are numbers are float64
        if labels.dtype == np.int64:
            dataset_records = _class_records(labels[rows], after[rows])
        else:
            base_scores = None if before is None else before[rows]
            group_codes = np.unique(test.groups[rows], return_inverse=True)[1].astype(np.intp)
            # if every pair is a group of its own, single pairs are resampled
            has_groups = group_codes.max() + 1 < len(rows)
            groups = group_codes if has_groups else None
            dataset_records = _coefficient_records(labels[rows], base_scores, after[rows], groups, seed)
        records += [{"dataset": source.full_name, "n": len(rows)} | record for record in dataset_records]
    return records


#: The fields of a record that describe the gain.
_GAIN_FIELDS = ("gain", "low", "high", "p")


def _coefficient_records(
    labels: Floats, before: Floats | None, after: Floats, groups: NDArray[np.intp] | None, seed: int
) -> list[dict[str, Any]]:
    """Return one record per statistic for the n pairs of a dataset with numeric labels, without ``dataset`` and ``n``.

    Args:
        labels: the labels, shape (n,).
        before, after: the scores, shape (n,); without *before*, its coefficient and the gain are None.
        groups: the group number of each pair, shape (n,); None to resample single pairs.
        seed: the seed of the resamples.
    """
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
        record: dict[str, Any] = {
            "statistic": difference.statistic,
            "before": difference.second,
            "after": difference.first,
            "gain": difference.value,
            "low": difference.low,
            "high": difference.high,
            "p": difference.p_jackknife,
        }
        if before is None:
            record |= dict.fromkeys(("before", *_GAIN_FIELDS))
        records.append(record)
    return records


def _class_records(labels: NDArray[np.int64], after: Floats) -> list[dict[str, Any]]:
    """Return one record per measure of the classes of a dataset, without ``dataset`` and ``n``.

    They have no gain, since a base model does not know the classes.

    Args:
        labels: the class numbers of n pairs, shape (n,).
        after: the predicted class numbers, shape (n,).
    """
    return [
        {"statistic": name, "before": None, "after": value} | dict.fromkeys(_GAIN_FIELDS)
        for name, value in class_measures(labels, after.astype(np.int64)).items()
    ]


def decisions_before_and_after(
    test: Examples,
    labels: Floats,
    scores: tuple[Floats | None, Floats],
    thresholds: Sequence[float | None],
) -> list[dict[str, Any]]:
    """Return one record per dataset and measure of yes/no decisions before and after training.

    The records have the fields of :func:`agreement_before_and_after`. There are no intervals and tests: ``low``,
    ``high`` and ``p`` are None, as are ``before`` and ``gain`` without scores of the base model.

    Args:
        test: the n test pairs.
        labels: the labels 0 and 1, shape (n,).
        scores: the scores of the base model, or None if it gives none, and of the trained model, shape (n,) each.
        thresholds: the threshold of each of the two, found on the development pairs; None without scores.
    """
    records: list[dict[str, Any]] = []
    for origin, source in enumerate(test.sources):
        rows = np.flatnonzero(test.origins == origin)
        measures_of_models: list[Mapping[str, float]] = []
        for model_scores, threshold in zip(scores, thresholds, strict=True):
            if model_scores is None or threshold is None:
                measures_of_models.append({})
            else:
                measures_of_models.append(measures_at_threshold(model_scores[rows], labels[rows], threshold))
        before, after = measures_of_models
        for name, value in after.items():
            gain = value - before[name] if name in before else None
            record = {"dataset": source.full_name, "n": len(rows), "statistic": name, "before": before.get(name)}
            records.append(record | {"after": value, "gain": gain, "low": None, "high": None, "p": None})
    return records


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
    """Return the records of two or more seeds merged into one record per dataset and statistic.

    ``before``, ``after`` and ``gain`` are means over the seeds; ``sd`` is the standard deviation of ``after``. A value
    is None if it is None for one of the seeds.

    All seeds have the same test pairs. ``p_seeds``, from :func:`p_value_of_gains`, therefore reflects only the
    randomness of batches and of a new head, not the sampling of pairs. The sampling of pairs is covered by ``low`` and
    ``high``, the outermost bounds of the seeds' intervals, and by ``p``, the largest p of the seeds.

    Args:
        runs: for each seed, its records from :func:`agreement_before_and_after`, in the same order for all seeds.
    """
    records = []
    for seed_records in zip(*runs, strict=True):
        record: dict[str, Any] = {name: seed_records[0][name] for name in ("dataset", "n", "statistic")}
        for name, merge in _MERGES.items():
            record[name] = merged_values([record_of_seed[name] for record_of_seed in seed_records], merge)
        record["sd"] = standard_deviation([record_of_seed["after"] for record_of_seed in seed_records])
        record["p_seeds"] = p_value_of_gains([record_of_seed["gain"] for record_of_seed in seed_records])
        records.append(record)
    return records


#: The functions that merge the values of several seeds into one, by field.
_MERGES: dict[str, Callable[[Sequence[float]], Any]] = {
    "before": np.mean,
    "after": np.mean,
    "gain": np.mean,
    "low": min,
    "high": max,
    "p": max,
}


def merged_values(values: Sequence[float | None], merge: Callable[[Sequence[float]], Any]) -> float | None:
    """Return the values of several seeds merged into one by *merge*, such as their mean; None if any value is None."""
    defined = [value for value in values if value is not None]
    return float(merge(defined)) if len(defined) == len(values) else None


def standard_deviation(values: Sequence[float | None]) -> float | None:
    """Return the sample standard deviation over two or more seeds; None if a value is None."""
    return merged_values(values, lambda defined: np.std(defined, ddof=1))


def p_value_of_gains(gains: Sequence[float | None]) -> float | None:
    """Return p of Student's one-sample, two-sided t-test of the hypothesis that the mean gain over seeds is 0.

    The result is None if a gain is None, or if all gains are equal, as a single one is: the test is then undefined.
    """
    spread = merged_values(gains, np.ptp)
    if not spread:
        return None
    return merged_values(gains, lambda defined: ttest_1samp(defined, 0.0).pvalue)
