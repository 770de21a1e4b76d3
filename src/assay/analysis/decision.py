"""The evidence for a decision: the recommended metric, its threshold, and its errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, cycle

import numpy as np
from numpy.typing import NDArray

from assay.analysis.categories.vocabulary import LAST_RESORTS
from assay.analysis.data import ALL, ScoredDataset, choose_datasets
from assay.analysis.errors.categories import Share, categorise_pairs, ratio_intervals
from assay.analysis.errors.divergence import Divergence, find_divergence
from assay.analysis.errors.settings import Rule
from assay.analysis.folder import RunFolder, missing_metric_lines
from assay.analysis.leaderboard.board import Board, Line
from assay.analysis.rate.kept import KeptRating, kept_ratings
from assay.analysis.recommend.advice import Advice
from assay.analysis.recommend.best_systems import BestSystems, best_systems
from assay.analysis.recommend.evidence import NO_COMMON_WORD, evidence_of, with_decision
from assay.analysis.recommend.settings import Limits
from assay.analysis.report import PageSettings
from assay.analysis.settings import PairedTests
from assay.analysis.thresholds.intervals import error_share
from assay.analysis.thresholds.labels import have_majority, positive_labels_of
from assay.analysis.thresholds.planning import DatasetThresholds, find_thresholds
from assay.analysis.thresholds.search import decide
from assay.analysis.thresholds.settings import Criterion, ThresholdSettings
from assay.analysis.thresholds.study import Decision
from assay.common.messages import Setting
from assay.common.numbers import Number
from assay.common.tables import exact_number
from assay.exceptions import InputError
from assay.manifest import BucketRecord, MetricRecord
from assay.statistics.agreement import agreement
from assay.statistics.coefficients import have_two_values
from assay.statistics.resampling import seed_of

#: The most parts with more errors that the page names.
MAX_PARTS = 3
#: The fewest pairs of such a part.
MIN_PART_PAIRS = 20
#: The most pairs for which error categories are assigned.
MAX_TAGGED_PAIRS = 10_000


@dataclass(frozen=True)
class YesNoDecisions:
    """The decisions of the recommended metric by the threshold that ``assay thresholds`` learns.

    Attributes:
        settings: the settings with which the threshold was learned.
        subject: the rule for the positive class (yes), the division of the pairs, and notes.
        decision: the thresholds and measures.
        rows: the row indices of the tested pairs, shape (m,).
        wrong: the mask of the pairs that were decided differently from people, by thresholds learned on other pairs,
            shape (n,).
    """

    settings: ThresholdSettings
    subject: DatasetThresholds
    decision: Decision
    rows: NDArray[np.intp]
    wrong: NDArray[np.bool_]

    @property
    def is_rising(self) -> bool:
        """Whether a higher score means yes, the positive class."""
        (metric,) = self.subject.decisions
        return self.subject.rising[metric]

    @property
    def share_wrong(self) -> Number:
        """The share of wrong decisions on held-out pairs, with its interval."""
        return error_share(self.decision.tested["accuracy"])

    @property
    def counts(self) -> dict[str, int]:
        """The numbers of tested pairs by kind of decision.

        They are the true positives (``hits``), false negatives (``misses``), false positives (``alarms``) and true
        negatives (``rests``).
        """
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
    """A part of the pairs, and the share of wrong decisions on it.

    Attributes:
        name: the name of the bucket, or the displayed name of the category.
        found_by: who assigned pairs to the category, people or simple rules; empty for a bucket of the run.
        wrong: the share of wrong decisions on the part.
        ratio: the bounds of the ratio of that share to the share on all pairs; None without an interval.
    """

    name: str
    found_by: str
    wrong: Share
    ratio: tuple[float, float] | None


@dataclass(frozen=True)
class Choice:
    """The recommended metric, and what to expect of it.

    Attributes:
        line: the metric's line on the board of all pairs.
        record: the metric's entry in the manifest.
        order: the share of comparisons of a higher with a lower label that the score orders as people do, on the pairs
            that the metrics were compared on.
        compared: the number of these pairs.
        scored: the number of pairs that the metric scored.
        yes_no: the decisions by a threshold; None without one.
        why_no_threshold: a sentence on why there is no threshold; empty if there is one.
        parts: the parts of the pairs with more errors than others, the worst first.
        without_common_word: the part without a common word; None without such pairs or without decisions.
    """

    line: Line
    record: MetricRecord
    order: Number
    compared: int
    scored: int
    yes_no: YesNoDecisions | None
    why_no_threshold: str
    parts: Sequence[Part]
    without_common_word: Part | None


@dataclass(frozen=True)
class Evidence:
    """The contents of the page for a decision.

    Attributes:
        run: the run.
        data: the dataset.
        by: the coefficient that decides.
        positive: the rule for yes, if metrics were chosen for that decision; else None.
        tests: the settings of the comparison of metrics.
        advice: the recommendation of ``assay recommend`` from all pairs.
        advice_without_common_word: the recommendation from pairs whose texts share no word; None without such pairs.
        compared: the number of metrics that have scores on the dataset.
        choice: the recommended metric; None if none can be recommended.
        missing: one line per metric without scores.
        systems: the two best systems by people and by the chosen metric; None without systems or a choice.
        ratings: the estimates for new answers that the folder keeps, of the chosen metric.
    """

    run: RunFolder
    data: ScoredDataset
    by: str
    positive: str | None
    tests: PairedTests
    advice: Advice
    advice_without_common_word: Advice | None
    compared: int
    choice: Choice | None
    missing: Sequence[str]
    systems: BestSystems | None
    ratings: Sequence[KeptRating]

    @property
    def all_pairs_bucket(self) -> BucketRecord | None:
        """The manifest entry of the bucket of all pairs; None if there is none."""
        for bucket in self.run.manifest.buckets:
            if (bucket.dataset, bucket.bucket) == (self.data.name, ALL):
                return bucket
        return None


def gather_evidence(run: RunFolder, settings: PageSettings, metric: str | None = None) -> Evidence:
    """Return the evidence for a decision on one dataset of a run.

    Args:
        run: the run.
        settings: the dataset, the limits, the labels that mean yes, and the criterion of the threshold.
        metric: the metric to decide by; None for the recommended one.

    Raises:
        InputError: the run cannot be read, has no scores, or lacks the dataset or the metric; several datasets have
            scores, and none or more than one is chosen; a limit or criterion is invalid; a rule does not fit the
            labels; or estimates in the folder were changed by hand.
    """
    data = _only_dataset(run, settings)
    evidence = evidence_of(data, [ALL, NO_COMMON_WORD], positive=settings.positive)
    if settings.positive is None and evidence.positive is not None:
        # the decision that the metrics were chosen for
        settings = replace(settings, positive=evidence.positive)
    advice = evidence.advice(_limits_of_page(settings, evidence.limits))
    board = advice[ALL].board
    line = advice[ALL].recommended
    if metric is not None:
        (name,) = data.find_metrics([metric])
        line = next(line for line in board.lines if line.metric == name)
    choice, systems, ratings = None, None, []
    if line is not None:
        choice = _choice_of_metric(run, data, board, line, settings, evidence.tests)
        systems = best_systems(run, data, line.metric)
        ratings = [rating for rating in kept_ratings(run) if rating.metric == line.metric]
    return Evidence(
        run=run,
        data=data,
        by=evidence.by,
        positive=evidence.positive,
        tests=evidence.tests,
        advice=advice[ALL],
        advice_without_common_word=advice.get(NO_COMMON_WORD),
        compared=len(data.scores),
        choice=choice,
        missing=missing_metric_lines([run]),
        systems=systems,
        ratings=ratings,
    )


def _limits_of_page(settings: PageSettings, limits_of_run: Limits) -> Limits:
    """Return the limits of speed, price and loss that the settings name; of those they do not name, the run's."""
    limits_of_settings = Limits.parse(settings.budget, settings.max_price, settings.max_loss)
    return Limits(
        limits_of_run.speed if settings.budget is None else limits_of_settings.speed,
        limits_of_run.price if settings.max_price is None else limits_of_settings.price,
        limits_of_run.max_loss if settings.max_loss is None else limits_of_settings.max_loss,
    )


def _choice_of_metric(
    run: RunFolder, data: ScoredDataset, board: Board, line: Line, settings: PageSettings, tests: PairedTests
) -> Choice:
    """Return the metric to decide by, with its order, decisions and errors.

    Error categories are among its parts if the settings ask for them and there are at most :data:`MAX_TAGGED_PAIRS`
    pairs.

    Args:
        run: the run.
        data: the dataset.
        board: the board of all pairs.
        line: the line of the metric on it.
        settings: the settings of the page.
        tests: the settings of intervals.
    """
    yes_no, why_no_threshold = _decisions_by_threshold(run, data, line.metric, settings)
    parts: list[Part] = []
    if yes_no is not None:
        buckets = {name: mask for name, mask in data.buckets.items() if name != ALL and mask.any()}
        parts = _error_shares_by_part(data, yes_no, buckets, tests)
        if settings.categories and len(data) <= MAX_TAGGED_PAIRS:
            parts += _error_shares_by_category(data, yes_no, tests)
    without_common_word = next((part for part in parts if part.name == NO_COMMON_WORD), None)
    other_parts = [part for part in parts if part is not without_common_word]
    is_compared = _compared_mask(data, board, line)
    compared_data, _ = with_decision(data.take(np.flatnonzero(is_compared)), settings.positive)
    return Choice(
        line=line,
        record=data.metrics[line.metric],
        order=_share_in_order(compared_data, line.metric, tests),
        compared=int(is_compared.sum()),
        scored=int(np.isfinite(data.scores[line.metric]).sum()),
        yes_no=yes_no,
        why_no_threshold=why_no_threshold,
        parts=_worst_parts(other_parts),
        without_common_word=without_common_word,
    )


def _worst_parts(parts: Sequence[Part]) -> list[Part]:
    """Return the parts with surely more errors than all pairs have, the highest share first, at most :data:`MAX_PARTS`.

    Parts of fewer than :data:`MIN_PART_PAIRS` pairs are left out.
    """
    worse = []
    for part in parts:
        has_more_errors = part.ratio is not None and part.ratio[0] > 1
        if has_more_errors and part.wrong.of >= MIN_PART_PAIRS:
            worse.append(part)
    return sorted(worse, key=lambda part: -(part.wrong.value or 0.0))[:MAX_PARTS]


def _only_dataset(run: RunFolder, settings: PageSettings) -> ScoredDataset:
    """Return the only dataset with scores among those that the settings name, or among all if they name none.

    Raises:
        InputError: there are several, or none; or the run cannot be read or lacks a named one.
    """
    if not run.manifest.has_scores:
        raise InputError(f"{run.title}: no metric gave scores: {'; '.join(missing_metric_lines([run]))}")
    datasets = [data for data in choose_datasets(run, settings.datasets) if data.scores]
    if len(datasets) > 1:
        names = [data.name for data in datasets]
        raise InputError(
            f"{run.title}: has the datasets {', '.join(names)}; a page for a decision is about one of them, such as ",
            Setting("datasets", names[0]),
        )
    if not datasets:
        raise InputError(f"{run.title}: no metric gave scores on {', '.join(settings.datasets)}")
    return datasets[0]


def _compared_mask(data: ScoredDataset, board: Board, line: Line) -> NDArray[np.bool_]:
    """Return the mask of the pairs on which a metric was compared, shape (n,): those that all compared metrics scored.

    For a metric that was set apart they are those of its own scores.
    """
    names = [line.metric]
    if line.apart is None:
        names += [other.metric for other in board.lines if other.apart is None]
    mask: NDArray[np.bool_] = np.all([np.isfinite(data.scores[name]) for name in names], axis=0)
    return mask


def _share_in_order(data: ScoredDataset, metric: str, tests: PairedTests) -> Number:
    """Return the share of comparisons of two pairs with different labels in which a score orders them as people do.

    Two equal scores count as half. The share is (1 + D) / 2 with Somers' D, which is the AUC if labels have two values.
    It and its bounds are None if undefined.
    """
    pairs = data.pairs_in_bucket(ALL, tests.seed)
    has_two_values = have_two_values(pairs.labels)
    (estimate,) = agreement(
        {metric: data.oriented_scores(metric)},
        pairs.labels,
        statistics=("auc" if has_two_values else "somers-d",),
        resamples=tests.resamples,
        confidence=tests.confidence,
        seed=pairs.seed,
        groups=pairs.groups,
        interval=tests.interval,
    )
    if has_two_values:
        return estimate
    value, low, high = (None if number is None else (1 + number) / 2 for number in estimate.value_and_bounds)
    return Number(value, low, high)


def _decisions_by_threshold(
    run: RunFolder, data: ScoredDataset, metric: str, settings: PageSettings
) -> tuple[YesNoDecisions | None, str]:
    """Return the decisions of a metric and an empty string; or None and a sentence on why there are none.

    There are none for labels that are grades without a rule for yes, and if no threshold can be learned.
    """
    if settings.positive is None and data.votes is None:
        label_count = len(np.unique(data.labels))
        if label_count < 2:
            return None, "All pairs have the same label, so there is nothing to tell apart."
        lowest, highest = exact_number(data.labels.min()), exact_number(data.labels.max())
        return None, (
            f"The labels have {label_count} values from {lowest} to {highest}, and nobody has said from which one "
            f"on a pair counts as yes. With --positive 'label>={highest}', or another label, a threshold and "
            "the errors to expect are named."
        )
    criterion = settings.values_of(Criterion)
    threshold_settings = ThresholdSettings(metrics=(metric,), datasets=(data.name,), **criterion)
    try:
        (subject,) = find_thresholds(run, threshold_settings)
    except InputError as error:
        return None, f"No threshold could be learned from these pairs: {error.message.with_flags({})}."
    decision = subject.decisions[metric]
    _, positive = positive_labels_of(data, subject.rule)
    rows = np.flatnonzero(np.isfinite(data.scores[metric]) & have_majority(data, settings.positive))
    wrong = np.zeros(len(data), dtype=bool)
    wrong[rows] = decision.decided[:, 0] != positive[rows]
    return YesNoDecisions(threshold_settings, subject, decision, rows, wrong), ""


def _error_shares_by_category(data: ScoredDataset, yes_no: YesNoDecisions, tests: PairedTests) -> list[Part]:
    """Return the share of wrong decisions in each error category with tested pairs.

    The categories of last resort are left out: the rules read them from the label, which also makes a decision wrong.
    """
    tagged = categorise_pairs(data)
    masks = {tagged.labels[name]: mask for name, mask in tagged.masks.items() if name not in LAST_RESORTS}
    is_by_people = any(category.source == "people" for category in chain.from_iterable(tagged.categories))
    return _error_shares_by_part(data, yes_no, masks, tests, "people" if is_by_people else "simple rules")


def _error_shares_by_part(
    data: ScoredDataset,
    yes_no: YesNoDecisions,
    masks: Mapping[str, NDArray[np.bool_]],
    tests: PairedTests,
    found_by: str = "",
) -> list[Part]:
    """Return the share of wrong decisions on each part with tested pairs, in the order of *masks*.

    Args:
        data: the dataset.
        yes_no: the decisions.
        masks: the mask of each part, shape (n,), by the name of the part.
        tests: the settings of intervals.
        found_by: who assigned the pairs to the parts, see :class:`Part`.
    """
    tested = np.zeros(len(data), dtype=bool)
    tested[yes_no.rows] = True
    rows = np.flatnonzero(yes_no.wrong)
    # of the divergence, the intervals use the wrong rows and the tested pairs alone
    wrong = Divergence(
        metric="",
        by="threshold",
        condition="",
        rows=rows,
        distances=np.zeros(len(rows)),
        too_low=np.zeros(len(rows), dtype=bool),
        considered=tested,
    )
    seed = seed_of(tests.seed, data.name, data.facts.split, ALL)
    intervals = ratio_intervals(masks, wrong, data.groups, tests, seed)
    parts = []
    for name, mask in masks.items():
        share = Share.from_masks(yes_no.wrong, mask & tested, tests.confidence, data.groups)
        if share.of:
            parts.append(Part(name, found_by, share, intervals.get(name)))
    return parts


#: The number of examples of each kind.
EXAMPLES = 3
#: Without a threshold, a judgement is right if ranks of score and label differ by less than this share of the pairs.
NEAR = 0.1


@dataclass(frozen=True)
class Example:
    """A pair that shows a right or a wrong judgement.

    Attributes:
        row: the index of the pair in the dataset.
        positive: whether people said yes; None without a threshold.
        decided: whether the metric says yes; None without a threshold.
    """

    row: int
    positive: bool | None = None
    decided: bool | None = None


def draw_examples(data: ScoredDataset, choice: Choice) -> tuple[list[Example], list[Example]]:
    """Return random examples of right and of wrong judgements, at most :data:`EXAMPLES` of each.

    No two of them are from one group or have the same candidate. With a threshold, they are tested pairs, judged by the
    threshold for new answers, and the metric says yes and no in turn as far as there are examples of both. Without
    one, a judgement is wrong if ``assay errors`` finds the ranks of score and label far apart, and right if they differ
    by less than :data:`NEAR`.

    Args:
        data: n pairs.
        choice: the metric that judges, with its decisions by a threshold if there are any.
    """
    metric, yes_no = choice.line.metric, choice.yes_no
    scores = data.oriented_scores(metric)
    shown: set[object] = set()
    if yes_no is None:
        has_score = np.isfinite(scores)
        right = [has_score & ~find_divergence(data, metric, Rule(by="rank", residual=NEAR)).mask]
        wrong = [find_divergence(data, metric, Rule(by="rank")).mask]
        right_rows, wrong_rows = _draw_rows(data, right, shown), _draw_rows(data, wrong, shown)
        return [Example(row) for row in right_rows], [Example(row) for row in wrong_rows]
    _, positive = positive_labels_of(data, yes_no.subject.rule)
    called_yes = decide(scores, yes_no.decision.deployed)
    as_people = called_yes == positive
    tested = np.zeros(len(data), dtype=bool)
    tested[yes_no.rows] = True
    right = [tested & as_people & called_yes, tested & as_people & ~called_yes]
    wrong = [tested & ~as_people & called_yes, tested & ~as_people & ~called_yes]
    right_rows, wrong_rows = _draw_rows(data, right, shown), _draw_rows(data, wrong, shown)
    return (
        [Example(row, bool(positive[row]), bool(called_yes[row])) for row in right_rows],
        [Example(row, bool(positive[row]), bool(called_yes[row])) for row in wrong_rows],
    )


def _draw_rows(data: ScoredDataset, masks: Sequence[NDArray[np.bool_]], used: set[object]) -> list[int]:
    """Return at most :data:`EXAMPLES` random row indices, taken from the masks in turn; the draw has a fixed seed.

    Args:
        data: n pairs.
        masks: the masks of the pairs to draw from, each of shape (n,).
        used: the candidates and groups of earlier examples. Pairs with one of them are skipped, and those of the
            returned rows are added.
    """
    rng = np.random.default_rng(seed_of(0, data.name, data.facts.split, ALL))
    queues = [list(rng.permutation(np.flatnonzero(mask))) for mask in masks]
    candidates = data.table.column("candidate").to_pylist()
    rows: list[int] = []
    for queue in cycle(queues):
        if len(rows) == EXAMPLES or not any(queues):
            break
        while queue:
            row = int(queue.pop())
            keys: set[object] = {candidates[row]}
            if data.groups is not None:
                keys.add(int(data.groups[row]))
            if not keys & used:
                used |= keys
                rows.append(row)
                break
    return rows
