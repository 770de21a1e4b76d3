"""What a decision rests on: the recommended metric, its threshold, where it goes wrong, and examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError
from assay.manifest import BucketRecord, MetricRecord
from assay.reports.categories.vocabulary import LAST_RESORTS
from assay.reports.data import ALL, ScoredDataset
from assay.reports.errors.categories import Share, ratio_intervals, tag_all
from assay.reports.errors.divergence import Divergence
from assay.reports.folder import RunFolder
from assay.reports.leaderboard.board import Filters, Joined, Line, boards, join, missing_metrics
from assay.reports.page.settings import PageSettings
from assay.reports.recommend import Advice, Limits, advise_on
from assay.reports.settings import PairedTests
from assay.reports.thresholds.intervals import Value
from assay.reports.thresholds.planning import DatasetThresholds, find_thresholds, read_positive
from assay.reports.thresholds.settings import Criterion, ThresholdSettings
from assay.reports.thresholds.study import Decision
from assay.statistics.agreement import agreement
from assay.statistics.coefficients import deciding_statistic, have_two_values
from assay.statistics.resampling import seed_of

#: The bucket of pairs without a common word.
NO_COMMON_WORD = "f1=0"
#: Parts of the pairs that are said to go wrong more often, at most.
MOST_PARTS = 3
#: Pairs that such a part has at least.
FEWEST = 20
#: Pairs whose error categories are looked for.
MOST_TAGGED = 10_000


@dataclass(frozen=True)
class YesNo:
    """The decisions of the recommended metric by the threshold that ``assay thresholds`` learns.

    Attributes:
        settings: with which it was learned.
        subject: which labels mean yes, how pairs were parted, notes.
        decision: thresholds and measures.
        rows: of the pairs tested, shape (m,).
        wrong: which of all n pairs were decided otherwise than by people, by thresholds learned on other pairs,
            shape (n,).
    """

    settings: ThresholdSettings
    subject: DatasetThresholds
    decision: Decision
    rows: NDArray[np.intp]
    wrong: NDArray[np.bool_]

    @property
    def rises(self) -> bool:
        """Whether a higher score means yes."""
        (metric,) = self.subject.decisions
        return self.subject.rising[metric]

    @property
    def share_wrong(self) -> Value:
        """Share of wrong decisions on pairs that the threshold was not learned on, with its interval."""
        right = self.decision.tested["accuracy"]
        value, low, high = (None if end is None else 1 - end for end in (right.value, right.high, right.low))
        return Value(value, low, high)

    @property
    def counts(self) -> dict[str, int]:
        """The pairs tested by what people and the metric say: hits, misses, alarms (a false yes) and rests."""
        called_yes = self.decision.decided[:, 0]
        wrong = self.wrong[self.rows]
        return {
            "hits": int((called_yes & ~wrong).sum()),
            "misses": int((~called_yes & wrong).sum()),
            "alarms": int((called_yes & wrong).sum()),
            "rests": int((~called_yes & ~wrong).sum()),
        }


@dataclass(frozen=True)
class Part:
    """Pairs of one kind, and how many decisions on them are wrong.

    Attributes:
        name: of the bucket, or what a reader sees of the category.
        found_by: who found the category in the pairs, people or simple rules; empty for a bucket of the run.
        wrong: decisions that are wrong, of those on the part.
        low, high: interval of that share over the share of all pairs; None without one.
    """

    name: str
    found_by: str
    wrong: Share
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Choice:
    """The recommended metric, and what to expect of it.

    Attributes:
        line: the metric on the board of all pairs.
        record: what the run recorded of it.
        order: share of the comparisons of a higher and a lower label that its score orders as people do.
        yes_no: decisions; None where there are none.
        why_no_threshold: why there are none, in a sentence; else empty.
        parts: pairs on which decisions go wrong more often than on others, the worst first.
        without_common_word: decisions on pairs without a common word; None without such pairs, or decisions.
    """

    line: Line
    record: MetricRecord
    order: Value
    yes_no: YesNo | None
    why_no_threshold: str
    parts: Sequence[Part]
    without_common_word: Part | None


@dataclass(frozen=True)
class Evidence:
    """What the page for a decision is made of.

    Attributes:
        run: the run.
        data: its dataset.
        by: the coefficient that decides.
        tests: how metrics were compared.
        advice: on all pairs, as ``assay recommend`` gives it.
        advice_without_common_word: likewise where reference and candidate share no word; None without such pairs.
        compared: how many metrics have scores of the dataset.
        choice: the recommended metric; None where none can be recommended.
        missing: metrics that gave no scores, a line each.
    """

    run: RunFolder
    data: ScoredDataset
    by: str
    tests: PairedTests
    advice: Advice
    advice_without_common_word: Advice | None
    compared: int
    choice: Choice | None
    missing: Sequence[str]

    @property
    def bucket(self) -> BucketRecord | None:
        """What the run recorded of all pairs."""
        for bucket in self.run.manifest.buckets:
            if (bucket.dataset, bucket.bucket) == (self.data.name, ALL):
                return bucket
        return None


def gather(run: RunFolder, settings: PageSettings) -> Evidence:
    """Return what a decision on one dataset of a run rests on.

    Raises:
        InputError: the run has several datasets and none is named, or no scores; a rule or criterion that does not fit.
    """
    joined = _only_dataset(run, settings)
    data = joined.data
    by = deciding_statistic([have_two_values(data.labels)])
    tests = PairedTests(statistics=(by,))
    wanted = [name for name in (ALL, NO_COMMON_WORD) if name in data.buckets and data.buckets[name].any()]
    limits = Limits.of(settings.budget, settings.max_price)
    advice = advise_on(joined, boards([joined], tests, by=by, buckets=wanted), limits, by, tests)
    use = advice[0].use
    return Evidence(
        run=run,
        data=data,
        by=by,
        tests=tests,
        advice=advice[0],
        advice_without_common_word=advice[1] if len(advice) > 1 else None,
        compared=len(joined.scores),
        choice=None if use is None else _choice(run, data, use, settings, tests),
        missing=missing_metrics([run]),
    )


def _choice(run: RunFolder, data: ScoredDataset, use: Line, settings: PageSettings, tests: PairedTests) -> Choice:
    """Return what to expect of the recommended metric."""
    yes_no, why = _yes_no(run, data, use.metric, settings)
    found: list[Part] = []
    if yes_no is not None:
        masks = {name: mask for name, mask in data.buckets.items() if name != ALL and mask.any()}
        found = _parts(data, yes_no, masks, tests)
        if settings.categories and len(data) <= MOST_TAGGED:
            tagged = tag_all(data)
            masks = {tagged.labels[name]: mask for name, mask in tagged.masks.items() if name not in LAST_RESORTS}
            by_people = any(one.source == "people" for categories in tagged.categories for one in categories)
            found += _parts(data, yes_no, masks, tests, found_by="people" if by_people else "simple rules")
    without_common_word = next((part for part in found if part.name == NO_COMMON_WORD), None)
    worse = []
    for part in found:
        if part is not without_common_word and part.wrong.of >= FEWEST and part.low is not None and part.low > 1:
            worse.append(part)
    return Choice(
        line=use,
        record=data.metrics[use.metric],
        order=_order(data, use.metric, tests),
        yes_no=yes_no,
        why_no_threshold=why,
        parts=sorted(worse, key=lambda part: -(part.wrong.value or 0.0))[:MOST_PARTS],
        without_common_word=without_common_word,
    )


def _only_dataset(run: RunFolder, settings: PageSettings) -> Joined:
    if not run.manifest.has_scores:
        raise InputError(f"{run.title}: no metric gave scores: {'; '.join(missing_metrics([run]))}")
    joined = join([run], Filters(datasets=tuple(settings.datasets)))
    if len(joined) > 1:
        names = [dataset.data.name for dataset in joined]
        raise InputError(
            f"{run.title}: has the datasets {', '.join(names)}; a page for a decision is about one of them, such as "
            f"`datasets={names[0]}`"
        )
    return joined[0]


def _order(data: ScoredDataset, metric: str, tests: PairedTests) -> Value:
    """Return the share of comparisons of different labels that a score orders as people do, ties counting half.

    It is (1 + D) / 2 for Somers' D, and the AUC where labels have two values.
    """
    pairs = data.within(ALL, tests.seed)
    two_values = have_two_values(pairs.labels)
    (estimate,) = agreement(
        {metric: data.oriented(metric)},
        pairs.labels,
        statistics=("auc" if two_values else "somers-d",),
        resamples=tests.resamples,
        confidence=tests.confidence,
        seed=pairs.seed,
        groups=pairs.groups,
        interval=tests.interval,
    )
    ends = (estimate.value, estimate.low, estimate.high)
    return Value(*ends) if two_values else Value(*(None if end is None else (1 + end) / 2 for end in ends))


def _yes_no(run: RunFolder, data: ScoredDataset, metric: str, settings: PageSettings) -> tuple[YesNo | None, str]:
    """Return the decisions of a metric, or why there are none.

    Raises:
        InputError: the rule for yes cannot be read or leaves one class only.
    """
    if settings.positive is None and not have_two_values(data.labels):
        several = len(np.unique(data.labels))
        if several < 2:
            return None, "All pairs have the same label, so there is nothing to tell apart."
        lowest, highest = data.labels.min(), data.labels.max()
        return None, (
            f"The labels have {several} values from {lowest:g} to {highest:g}, and nobody has said from which one on a "
            f"pair counts as yes. With --positive 'label>={highest:g}', or another label, this page names a threshold "
            "and the errors to expect."
        )
    criterion = settings.values_of(Criterion)
    for_metric = ThresholdSettings(metrics=(metric,), datasets=(data.name,), **criterion)
    _, positive = read_positive(data, settings.positive)
    try:
        (subject,) = find_thresholds(run, for_metric)
    except InputError as error:
        return None, f"No threshold could be learned from these pairs: {error}."
    decision = subject.decisions[metric]
    rows = np.flatnonzero(np.isfinite(data.scores[metric]))
    wrong = np.zeros(len(data), dtype=bool)
    wrong[rows] = decision.decided[:, 0] != positive[rows]
    return YesNo(for_metric, subject, decision, rows, wrong), ""


def _parts(
    data: ScoredDataset, yes_no: YesNo, masks: Mapping[str, NDArray[np.bool_]], tests: PairedTests, found_by: str = ""
) -> list[Part]:
    """Return how many decisions are wrong on each part of the pairs."""
    tested = np.zeros(len(data), dtype=bool)
    tested[yes_no.rows] = True
    rows = np.flatnonzero(yes_no.wrong)
    wrong = Divergence("", "threshold", "", rows, np.zeros(len(rows)), np.zeros(len(rows), dtype=bool), tested)
    seed = seed_of(tests.seed, data.name, data.facts.split, ALL)
    intervals = ratio_intervals(masks, wrong, data.groups, tests, seed)
    parts = []
    for name, mask in masks.items():
        low, high = intervals.get(name, (None, None))
        share = Share.count_in(yes_no.wrong, mask & tested, tests.confidence)
        if share.of:
            parts.append(Part(name, found_by, share, low, high))
    return parts
