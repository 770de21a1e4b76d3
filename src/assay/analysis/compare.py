"""Which of two metrics, or of two runs, agrees better with people, and whether that is more than chance."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from assay.analysis.contests import Contest
from assay.analysis.data import ScoredDataset
from assay.analysis.settings import BucketsOfRun, CorrectedTests, MetricsOfRun, PermutationTests
from assay.common.declarations import setting
from assay.common.numbers import none_if_nan
from assay.exceptions import InputError
from assay.settings import WithProgress
from assay.statistics.agreement import agreement
from assay.statistics.cells import score_codes
from assay.statistics.comparison import Difference, compare_all
from assay.statistics.concordance import Floats
from assay.statistics.draws import MetricPair
from assay.statistics.missing import share_pairs
from assay.statistics.rare_values import RareValues
from assay.statistics.significance import adjust_p_values


@dataclass(frozen=True, kw_only=True)
class CompareSettings(MetricsOfRun, BucketsOfRun, PermutationTests, WithProgress):
    """What of one or two runs is compared, and how.

    Raises:
        InputError: a value is out of its range.
    """

    pairs: int | None = setting(
        "Pairs to show for each metric pair on which its metrics differ most [default: 10 in all].",
        None,
        at_least=0,
        metavar="N",
    )
    force: bool = setting("Compare runs on different data on the pairs that both have.", False)


Verdict = Literal["first", "second", "cannot be told apart", "not tested", "undefined"]


@dataclass(frozen=True)
class ComparedMetrics:
    """One coefficient of two scores in one bucket.

    Attributes:
        dataset, split, bucket: the names of dataset, split and bucket.
        first, second: the names of the scores.
        difference: the first coefficient minus the second, uncorrected.
        p_jackknife, p_permutation, p_williams: the p-values, corrected for the number of metric pairs in the bucket;
            None for a test that was not made.
        detectable: the smallest difference that this number of pairs would have shown with probability
            :data:`~assay.statistics.coefficients.POWER`, if its p-value had been the smallest of the bucket; None
            without a t-test.
        verdict: the better score by the corrected jackknife t-test or, where that is undefined, the permutation test.
    """

    dataset: str
    split: str
    bucket: str
    first: str
    second: str
    difference: Difference
    p_jackknife: float | None
    p_permutation: float | None
    p_williams: float | None
    detectable: float | None
    verdict: Verdict


def compare_metrics(
    contest: Contest,
    settings: PermutationTests,
    *,
    buckets: Sequence[str] = (),
    advance: Callable[[int], None] | None = None,
) -> list[ComparedMetrics]:
    """Return the comparison of every metric pair, by bucket and statistic; buckets without pairs are left out.

    The p-values of one statistic in one bucket are corrected as one family.

    The metrics of one run are compared on the pairs that :func:`~assay.statistics.missing.share_pairs` leaves, and a
    metric of two runs on those that have both scores.

    Args:
        contest: the scores to compare.
        settings: the settings of intervals and tests.
        buckets: the names of the buckets; all by default.
        advance: a progress callback that receives the number of permutations drawn since its last call; None for no
            progress.

    Raises:
        InputError: the pairs were resampled in groups that the folder, of an older assay, did not keep.
    """
    data = contest.data
    comparisons: list[ComparedMetrics] = []
    for bucket in used_buckets(data, buckets):
        pairs = data.pairs_in_bucket(bucket, settings.seed)
        bucket_scores = {name: pairs.take(scores) for name, scores in contest.scores.items()}
        if contest.other is None:
            # the metrics of one run are compared on the pairs on which a leaderboard ranks them
            bucket_scores = share_pairs(bucket_scores, pairs.labels).scores
        differences = compare_all(
            bucket_scores,
            pairs.labels,
            statistics=settings.statistics,
            permutations=settings.permutation_count(len(contest.metric_pairs), len(pairs)),
            resamples=settings.resamples,
            interval=settings.interval,
            confidence=settings.confidence,
            seed=pairs.seed,
            groups=pairs.groups,
            metric_pairs=contest.metric_pairs,
            advance=advance,
        )
        location = (data.name, data.facts.split, bucket)
        for index in range(len(settings.statistics)):
            differences_in_statistic = {names: by_statistic[index] for names, by_statistic in differences.items()}
            comparisons += _corrected_differences(location, differences_in_statistic, settings)
    return comparisons


def used_buckets(data: ScoredDataset, buckets: Sequence[str] = ()) -> list[str]:
    """Return the names of the non-empty buckets of a dataset; only those in *buckets* unless it is empty."""
    return [name for name, mask in data.buckets.items() if mask.any() and (not buckets or name in buckets)]


def check_buckets(datasets: Sequence[ScoredDataset], buckets: Sequence[str]) -> None:
    """Raise InputError for a bucket that no dataset has."""
    known_buckets = list(dict.fromkeys(bucket for data in datasets for bucket in data.buckets))
    for bucket in buckets:
        if bucket not in known_buckets:
            raise InputError(
                f"no run has it; the runs have {', '.join(known_buckets)}", setting="buckets", value=bucket
            )


def _corrected_differences(
    location: tuple[str, str, str], differences: Mapping[MetricPair, Difference], settings: PermutationTests
) -> Iterator[ComparedMetrics]:
    """Yield the comparison of each metric pair of a bucket by one coefficient, with corrected p-values and verdict.

    Args:
        location: the names of dataset, split and bucket.
        differences: the differences in the coefficient, by metric pair.
        settings: the settings of the tests.
    """
    dataset, split, bucket = location
    family = list(differences.values())
    deciding = corrected_p_values([difference.p for difference in family], settings)
    jackknife = corrected_p_values([difference.p_jackknife for difference in family], settings)
    permutation = corrected_p_values([difference.p_permutation for difference in family], settings)
    williams = corrected_p_values([difference.p_williams for difference in family], settings)
    level = settings.sufficient_level(sum(p is not None for p in deciding))
    for index, ((first, second), difference) in enumerate(differences.items()):
        yield ComparedMetrics(
            dataset,
            split,
            bucket,
            first,
            second,
            difference,
            p_jackknife=jackknife[index],
            p_permutation=permutation[index],
            p_williams=williams[index],
            detectable=difference.detectable(level),
            verdict=_verdict(difference.value, deciding[index], settings),
        )


def corrected_p_values(p_values: Sequence[float | None], settings: CorrectedTests) -> list[float | None]:
    """Return p-values corrected as one family, for the number of tests that were made.

    A test that was not made has None in both, and does not count.

    Args:
        p_values: the uncorrected p-values.
        settings: the settings of the tests, with the correction.
    """
    numbers = np.array([np.nan if p is None else p for p in p_values])
    return [none_if_nan(p) for p in adjust_p_values(numbers, settings.correction)]


def _verdict(value: float | None, p: float | None, settings: PermutationTests) -> Verdict:
    """Return which of two scores is better, if either is, or that they were not tested.

    Args:
        value: the difference, first minus second; None if undefined.
        p: its corrected p-value of the test that decides; None without a test.
        settings: the settings of the tests, with their level.
    """
    if value is None:
        return "undefined"
    if p is None:
        return "not tested"
    if value == 0 or not settings.rejects(p):
        return "cannot be told apart"
    return "first" if value > 0 else "second"


@dataclass(frozen=True)
class Disagreement:
    """A pair of texts that two metrics rank differently. Ranks are mid-ranks from 1 (least similar) to n.

    Attributes:
        row: the index of the pair in the dataset.
        label: the human label.
        label_rank: the rank of the label.
        scores: the scores of the first and the second metric, as they give them.
        ranks: the ranks of these scores.
        n: the number of pairs that have both scores.
    """

    row: int
    label: float
    label_rank: float
    scores: tuple[float, float]
    ranks: tuple[float, float]
    n: int


def disagreements(contest: Contest, names: MetricPair, limit: int, buckets: Sequence[str]) -> list[Disagreement]:
    """Return the pairs of texts with the largest rank differences between two metrics, in descending order.

    Ranks are those among the pairs of the buckets that have both scores. Pairs with the same rank under both metrics
    are left out, so there may be fewer than *limit*, or none.

    Args:
        contest: the scores.
        names: the names of the two metrics among its scores.
        limit: the most pairs to return.
        buckets: the buckets whose pairs are considered, at least one.
    """
    from scipy.stats import rankdata

    first, second = (contest.scores[name] for name in names)
    in_buckets = np.any([contest.data.buckets[bucket] for bucket in buckets], axis=0)
    rows = np.flatnonzero(in_buckets & np.isfinite(first) & np.isfinite(second))
    labels = contest.data.labels[rows]
    first_ranks, second_ranks, label_ranks = rankdata(first[rows]), rankdata(second[rows]), rankdata(labels)
    distances = np.abs(first_ranks - second_ranks)
    farthest = []
    for position in np.argsort(-distances, kind="stable")[:limit]:
        if not distances[position]:
            break
        row = int(rows[position])
        farthest.append(
            Disagreement(
                row=row,
                label=float(labels[position]),
                label_rank=float(label_ranks[position]),
                scores=(_score_as_given(contest, names[0], row), _score_as_given(contest, names[1], row)),
                ranks=(float(first_ranks[position]), float(second_ranks[position])),
                n=len(rows),
            )
        )
    return farthest


def _score_as_given(contest: Contest, name: str, row: int) -> float:
    """Return a score as its metric gives it; in a contest, the sign is turned if low scores mean similar."""
    score = float(contest.scores[name][row])
    # in a contest of two runs, the name ends in the title of the run
    record = contest.data.metrics.get(name) or contest.data.metrics.get(name.rpartition(" [")[0])
    # subtracted, since the negative of 0 is shown as -0
    return score if record is None or record.declared.higher_is_better else 0 - score


def unit_count(contest: Contest, bucket: str) -> tuple[int, str]:
    """Return the number of resampled units in a bucket, and their plural noun: pairs or groups."""
    in_bucket = contest.data.buckets[bucket]
    groups = contest.data.groups
    if groups is None:
        return int(in_bucket.sum()), "pairs"
    return len(np.unique(groups[in_bucket])), "groups"


def rare_values_of(contest: Contest, bucket: str) -> tuple[RareValues | None, dict[str, RareValues]]:
    """Return the labels that few pairs, or groups, of a bucket have, and the scores that few have, by name.

    The labels are None if there are enough of each, or no pairs; a name without rare scores is absent.

    Raises:
        InputError: the pairs are resampled in groups that an older folder did not keep.
    """
    in_bucket, groups = contest.data.buckets[bucket], contest.data.groups
    rare_labels = _rare_values("label", contest.data.labels[in_bucket], None if groups is None else groups[in_bucket])
    rare_scores = {}
    for name, scores in contest.scores.items():
        is_scored = in_bucket & np.isfinite(scores)
        rare = _rare_values("score", scores[is_scored], None if groups is None else groups[is_scored])
        if rare is not None:
            rare_scores[name] = rare
    return rare_labels, rare_scores


def _rare_values(kind: str, values: Floats, groups: NDArray[np.intp] | None) -> RareValues | None:
    """Return the rare values among labels or scores of shape (n,); None if there are enough, or no values."""
    return RareValues.of(kind, score_codes(values), groups) if len(values) else None


@dataclass(frozen=True)
class DifferenceCaveats:
    """What is to be said of one difference on the pairs that both scores have.

    Attributes:
        undefined: the reason why the coefficient is undefined, by score; empty if the difference is defined.
        is_same: whether both scores are equal on all pairs.
    """

    undefined: Mapping[str, str]
    is_same: bool


def caveats_of_difference(contest: Contest, row: ComparedMetrics) -> DifferenceCaveats:
    """Return the caveats of a difference between two scores that at least one pair of its bucket has.

    Args:
        contest: the scores that were compared.
        row: the difference, and the bucket and the scores that it is of.
    """
    names = (row.first, row.second)
    groups = contest.data.groups
    scores = np.where(contest.data.buckets[row.bucket], [contest.scores[name] for name in names], np.nan)
    has_both_scores = np.isfinite(scores).all(axis=0)
    undefined = {}
    if row.difference.value is None:
        # compute the agreement once more for the notes that say why a coefficient is undefined; without resamples, the
        # level and the seed have no effect
        estimates = agreement(
            {name: values[has_both_scores] for name, values in zip(names, scores, strict=True)},
            contest.data.labels[has_both_scores],
            statistics=(row.difference.statistic,),
            resamples=0,
            confidence=0.95,
            seed=(0,),
            groups=None if groups is None else np.unique(groups[has_both_scores], return_inverse=True)[1],
        )
        undefined = {estimate.metric: estimate.note for estimate in estimates if estimate.value is None}
    return DifferenceCaveats(undefined, bool(np.array_equal(scores[0, has_both_scores], scores[1, has_both_scores])))
