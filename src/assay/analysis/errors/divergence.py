"""The pairs on which a metric and people diverge, by scores, by ranks, or by decisions with a threshold."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from assay.analysis.data import ScoredDataset
from assay.analysis.errors.settings import By, Rule
from assay.common.messages import Setting
from assay.common.numbers import label_texts
from assay.common.tables import exact_number
from assay.exceptions import InputError
from assay.manifest import MetricRecord, identity_of
from assay.paths import read_settings_file
from assay.statistics.concordance import Floats

#: Fewer diverging pairs than this number and this share of the considered pairs are next to nothing.
FEW_PAIRS, FEW_SHARE = 10, 0.01


@dataclass(frozen=True)
class Divergence:
    """The pairs of a dataset on which one metric and people diverge.

    Attributes:
        metric: the name of the metric.
        by: the criterion, ``threshold`` or ``rank``.
        condition: the criterion in words, with its numbers.
        rows: the row indices of the k diverging pairs, worst first, shape (k,).
        distances: how far each of these pairs is off, shape (k,). By threshold, the distance of the score from the end
            of its scale that the label is at; by rank, the difference of ranks as a share of the pairs; both in
            [0, 1]. If a threshold decides between two classes, the distance of the score from the threshold.
        too_low: which of these pairs have a score that is too low; the others are too high. Shape (k,).
        considered: which of all n pairs were considered: those in the bucket that have a score and, if a threshold
            decides between two classes, are in one of them, shape (n,).
        decisions: the decisions by a threshold between two classes; None if there is no such threshold.
        threshold_count: the number of pairs that diverge by threshold, if those are next to nothing and ranks were used
            instead; else None.
    """

    metric: str
    by: By
    condition: str
    rows: NDArray[np.intp]
    distances: NDArray[np.float64]
    too_low: NDArray[np.bool_]
    considered: NDArray[np.bool_]
    decisions: Decisions | None = None
    threshold_count: int | None = None

    @property
    def is_next_to_nothing(self) -> bool:
        """Whether fewer pairs diverge than :data:`FEW_PAIRS` and than :data:`FEW_SHARE` of the considered pairs."""
        return len(self.rows) < min(FEW_PAIRS, FEW_SHARE * int(self.considered.sum()))

    @property
    def mask(self) -> NDArray[np.bool_]:
        """Which of all n pairs diverge, shape (n,)."""
        mask = np.zeros(len(self.considered), dtype=bool)
        mask[self.rows] = True
        return mask


def label_scale(data: ScoredDataset) -> tuple[float, float]:
    """Return the lowest and highest label of the declared scale, else of the data; (0, 0) for no pairs."""
    scale = data.facts.scale
    if scale:
        return float(scale[0]), float(scale[1])
    return (float(data.labels.min()), float(data.labels.max())) if len(data) else (0.0, 0.0)


def find_divergence(
    data: ScoredDataset,
    metric: str,
    rule: Rule | None = None,
    inside: NDArray[np.bool_] | None = None,
    seed: int = 0,
) -> Divergence:
    """Return the pairs on which a metric and people diverge.

    By threshold, these are the pairs with the highest label and a score below ``low``, and those with the lowest label
    and a score above ``high``; of a metric of which lower is better, 1 - score is compared. By rank, these are the
    pairs whose ranks of score and label (ties share their mean rank) differ by ``residual`` times the number of
    considered pairs or more. With a ``threshold`` in the rule, these are the pairs that it decides wrongly. If the rule
    is the default and its bounds find next to nothing, ranks are used instead, unless they find next to nothing as
    well: where labels are means, few of them are at the very end of a scale such as 1 to 5.

    Args:
        data: n pairs.
        metric: a metric that has scores in the data.
        rule: the criterion, see :class:`~assay.analysis.errors.settings.Rule`; the paper's by default.
        inside: which pairs to consider, shape (n,); all by default.
        seed: the seed of the folds, if a threshold is learned.

    Raises:
        InputError: a threshold is outside the bounds of the metric, or cannot be learned or read; all labels are equal
            and no scale is given; or the rule for the positive class does not fit the labels.
    """
    criterion = rule or Rule()
    by = criterion.criterion_for(data.metrics[metric])
    considered = np.isfinite(data.scores[metric])
    if inside is not None:
        considered &= inside
    decisions = None
    if criterion.threshold is not None:
        decisions = decide_pairs(data, metric, criterion, seed)
        considered &= decisions.has_majority
        sides = _wrongly_decided(data, metric, decisions)
    elif by == "threshold":
        sides = _beyond_bounds(data, metric, criterion)
    else:
        sides = _diverges_in_rank(data, metric, criterion, considered)
    diverging_rows = np.flatnonzero(considered & (sides.too_low | sides.too_high))
    worst_first = np.argsort(-sides.distances[diverging_rows], kind="stable")
    rows = diverging_rows[worst_first]
    divergence = Divergence(
        metric,
        by=by,
        condition=sides.condition,
        rows=rows,
        distances=sides.distances[rows],
        too_low=sides.too_low[rows],
        considered=considered,
        decisions=decisions,
    )
    nobody_chose_bounds = by == "threshold" and criterion == Rule()
    if nobody_chose_bounds and divergence.is_next_to_nothing:
        by_rank = find_divergence(data, metric, replace(criterion, by="rank"), inside, seed)
        if not by_rank.is_next_to_nothing:
            return replace(by_rank, threshold_count=len(rows))
    return divergence


class _Sides(NamedTuple):
    """Which of n pairs a metric scores too low or too high under one criterion.

    Attributes:
        condition: the criterion in words, with its numbers.
        too_low, too_high: the pairs, shape (n,) each.
        distances: how far each pair is off, see :attr:`Divergence.distances`, shape (n,).
    """

    condition: str
    too_low: NDArray[np.bool_]
    too_high: NDArray[np.bool_]
    distances: Floats


def _wrongly_decided(data: ScoredDataset, metric: str, decisions: Decisions) -> _Sides:
    """Return the pairs that thresholds decide otherwise than people, with their distances from the thresholds."""
    from assay.analysis.thresholds.search import decide

    similarity = data.oriented_scores(metric)
    decided_positive = decide(similarity, decisions.thresholds)
    return _Sides(
        decisions.condition(data.metrics[metric].declared.higher_is_better),
        ~decided_positive & decisions.positive,
        decided_positive & ~decisions.positive,
        np.abs(similarity - decisions.thresholds),
    )


def _beyond_bounds(data: ScoredDataset, metric: str, rule: Rule) -> _Sides:
    """Return the pairs with the highest label and a score below ``low``, and with the lowest and one above ``high``.

    Of a metric of which lower is better, 1 - score is compared. Without a scale in the rule, the highest and the lowest
    label are those of :func:`label_scale`.

    Raises:
        InputError: a bound is outside those of the metric; or all labels are equal and no scale is given.
    """
    record, scores = data.metrics[metric], data.scores[metric]
    rule.check_bounds(record)
    low, high = rule.scale or label_scale(data)
    if low == high and len(data):
        raise InputError(
            f"{data.run.title}: all labels of {data.name} are {exact_number(low)}; give the scale: ",
            Setting("scale", "LOW,HIGH"),
        )
    # 1 - score is in [0, 1] too, as the bounds are, which a score with its sign turned would not be
    similarity, term = (scores, "score") if record.declared.higher_is_better else (1 - scores, "1 − score")
    too_low = (similarity < rule.low) & (data.labels >= high)
    too_high = (similarity > rule.high) & (data.labels <= low)
    lowest, highest = label_texts([low, high])
    condition = f"{term} < {rule.low:g} and label = {highest}, or {term} > {rule.high:g} and label = {lowest}"
    return _Sides(condition, too_low, too_high, np.where(too_low, 1 - similarity, similarity))


def _diverges_in_rank(data: ScoredDataset, metric: str, rule: Rule, considered: NDArray[np.bool_]) -> _Sides:
    """Return the pairs whose ranks of score and label, among the considered ones, differ by ``residual`` * n or more.

    Args:
        data: the pairs.
        metric: the metric, which has a score of each considered pair.
        rule: the rule with the residual.
        considered: the mask of the n considered pairs among all; the other pairs have the distance 0.
    """
    from scipy.stats import rankdata

    # the rank of each score minus the rank of its label, as a share of the considered pairs
    residuals = np.zeros(len(data))
    if considered.any():
        scores, labels = data.oriented_scores(metric)[considered], data.labels[considered]
        residuals[considered] = (rankdata(scores) - rankdata(labels)) / len(scores)
    condition = f"ranks of score and label differ by {rule.residual:g} of n or more"
    return _Sides(condition, residuals <= -rule.residual, residuals >= rule.residual, np.abs(residuals))


# Thresholds that decide pairs: learned on other pairs, given as a number, or read from a file.


@dataclass(frozen=True)
class Decisions:
    """Binary decisions on the n pairs of a dataset by the scores of one metric.

    Attributes:
        rule: the rule for the labels of the positive class, such as ``label>=2``.
        positive: which pairs are in the positive class by their labels, shape (n,).
        has_majority: which pairs are in a class; on the others people are divided, shape (n,).
        thresholds: the threshold of each pair, for scores that rise with similarity, shape (n,); NaN without a score.
        origin: a line on the origin of the thresholds; empty for a number that the user gave.
        divided: a line on the pairs that are in no class; empty if there are none.
    """

    rule: str
    positive: NDArray[np.bool_]
    has_majority: NDArray[np.bool_]
    thresholds: Floats
    origin: str
    divided: str

    def condition(self, higher_is_better: bool) -> str:
        """Return the condition under which a pair is decided wrongly, for a metric of that direction.

        It has the number of the threshold if all pairs have the same one, else the word.
        """
        values = np.unique(self.thresholds[np.isfinite(self.thresholds)])
        limit = "threshold"
        if len(values) == 1:
            limit = f"{values[0] if higher_is_better else -values[0]:.3g}"
        negative_sign, positive_sign = ("<", "≥") if higher_is_better else (">", "≤")
        # >= is replaced first, since > occurs in it
        negative_rule = self.rule.replace(">=", "<").replace(">", "<=")
        return f"score {negative_sign} {limit} and {self.rule}, or score {positive_sign} {limit} and {negative_rule}"


def decide_pairs(data: ScoredDataset, metric: str, rule: Rule, seed: int) -> Decisions:
    """Return the decisions on the pairs of a dataset by the threshold of a rule.

    Args:
        data: n pairs.
        metric: a metric that has scores in the data.
        rule: a rule with a threshold: ``auto``, a number, or a file.
        seed: the seed of the folds, if thresholds are learned.

    Raises:
        InputError: all pairs are of one class, or the labels are grades and no rule says which mean yes; no threshold
            can be learned; the number is outside the bounds of the metric; or the file cannot be read, or has no
            threshold for the metric, the dataset or the rule for the positive class.
    """
    if rule.threshold == "auto":
        return _decide_by_learned_threshold(data, metric, rule, seed)
    threshold = rule.threshold_number
    positive, origin = rule.positive, ""
    if threshold is None:
        path = Path(str(rule.threshold))
        saved = _saved_threshold(path, data, metric)
        if positive is None:
            # by the majority as it is here, as the threshold was learned
            positive = None if saved.by_majority and data.votes is not None else saved.positive
        elif positive.replace(" ", "") != saved.positive:
            raise InputError(
                f"{path} has thresholds for {saved.positive}; leave ",
                Setting("positive"),
                " out, or learn them anew by assay thresholds",
                setting="positive",
                value=positive,
            )
        threshold = saved.threshold if saved.deploy is None else saved.deploy
        origin = f"threshold from {path.name}"
    record = data.metrics[metric]
    _check_range(record, threshold)
    oriented_threshold = threshold if record.declared.higher_is_better else -threshold
    thresholds = np.where(np.isfinite(data.scores[metric]), oriented_threshold, np.nan)
    return _decisions(data, positive, thresholds, origin)


def _decisions(data: ScoredDataset, positive: str | None, thresholds: Floats, origin: str) -> Decisions:
    """Return the decisions on n pairs by thresholds.

    Args:
        data: the n pairs.
        positive: the rule for the positive class; None for what the majority of votes calls yes.
        thresholds: the threshold of each pair, for scores that rise with similarity, shape (n,); NaN without a score.
        origin: a line on the origin of the thresholds; empty for none.

    Raises:
        InputError: all pairs are of one class, or the rule is missing although the labels are grades.
    """
    # the page and most rules need no thresholds
    from assay.analysis.thresholds.labels import divided_note, have_majority, positive_labels_of, with_majority

    plain_rule, _ = positive_labels_of(with_majority(data, positive), positive)
    _, is_positive = positive_labels_of(data, plain_rule)
    has_majority, divided = have_majority(data, positive), divided_note(data, positive)
    return Decisions(
        rule=plain_rule,
        positive=is_positive,
        has_majority=has_majority,
        thresholds=thresholds,
        origin=origin,
        divided=divided,
    )


def _decide_by_learned_threshold(data: ScoredDataset, metric: str, rule: Rule, seed: int) -> Decisions:
    """Return the decisions by thresholds that are learned on other pairs than those that they decide.

    Raises:
        InputError: no threshold can be learned, such as for pairs of one class.
    """
    from assay.analysis.thresholds.labels import positive_labels_of, with_majority
    from assay.analysis.thresholds.planning import out_of_fold_thresholds
    from assay.analysis.thresholds.settings import ThresholdSettings

    positive_rule, _ = positive_labels_of(with_majority(data, rule.positive), rule.positive)
    settings = ThresholdSettings(positive=rule.positive, seed=seed)
    try:
        thresholds, split = out_of_fold_thresholds(data, metric, positive_rule, settings)
    except InputError as error:
        raise InputError(
            "none can be learned (", error.message, "); give a number", setting="threshold", value="auto"
        ) from error
    on_metric_scale = thresholds if data.metrics[metric].declared.higher_is_better else -thresholds
    # a dict as an ordered set: one number if the ends look the same
    ends = dict.fromkeys(f"{value:.3g}" for value in (np.nanmin(on_metric_scale), np.nanmax(on_metric_scale)))
    origin = f"threshold {' to '.join(ends)}: by {settings.measure}, learned without the pairs that it decides; {split}"
    return _decisions(data, rule.positive, thresholds, origin)


def _check_range(record: MetricRecord, threshold: float) -> None:
    """Raise InputError for a threshold outside the declared range of the scores of a metric."""
    lowest = -math.inf if record.declared.low is None else record.declared.low
    highest = math.inf if record.declared.high is None else record.declared.high
    if not lowest <= threshold <= highest:
        raise InputError(
            f"{record.metric} gives scores from {lowest:g} to {highest:g}", setting="threshold", value=f"{threshold:g}"
        )


# Files of thresholds


class _SavedThreshold(BaseModel):
    """The threshold of one metric in the output of ``assay thresholds --format json``; other fields are ignored."""

    metric: str
    positive: str
    threshold: Annotated[float, Field(allow_inf_nan=False)]
    # files of older versions have only the median over the folds, and no signature
    deploy: Annotated[float | None, Field(allow_inf_nan=False)] = None
    signature: dict[str, str] = {}
    by_majority: bool = False


class _SavedDataset(BaseModel):
    """The thresholds of all metrics for one dataset in that output."""

    dataset: str
    metrics: list[_SavedThreshold]


_THRESHOLDS_FILE = TypeAdapter(list[_SavedDataset])


def _saved_threshold(path: Path, data: ScoredDataset, metric: str) -> _SavedThreshold:
    """Return the threshold for a metric on a dataset in a file.

    Raises:
        InputError: the file cannot be read, is not a file of thresholds, or has none for the metric or the dataset.
    """
    try:
        datasets = _THRESHOLDS_FILE.validate_json(read_settings_file(path))
    except OSError as error:
        raise InputError(
            f"must be auto, a number, or a file; the file cannot be read ({error.strerror})",
            setting="threshold",
            value=path,
        ) from error
    except ValidationError as error:
        raise InputError(
            "is not a file of thresholds; assay thresholds RUN --format json > FILE writes one",
            setting="threshold",
            value=path,
        ) from error
    saved_dataset = next((saved for saved in datasets if saved.dataset == data.name), None)
    if saved_dataset is None:
        saved_names = ", ".join(saved.dataset for saved in datasets) or "nothing"
        raise InputError(
            f"has thresholds learned on {saved_names}, none for {data.name}; give the number if it "
            "is meant for other data",
            setting="threshold",
            value=path,
        )
    return _threshold_of_metric(path, saved_dataset, data.metrics[metric])


def _threshold_of_metric(path: Path, saved: _SavedDataset, record: MetricRecord) -> _SavedThreshold:
    """Return the threshold of a metric: that of its signature, under its own name if several metrics have it.

    In a file of an older version, which has no signatures, it is the threshold under the metric's name.

    Raises:
        InputError: the dataset has no threshold of the metric, or one of another metric with the same name.
    """
    of_same_name = next((entry for entry in saved.metrics if entry.metric == record.metric), None)
    if of_same_name is not None and not of_same_name.signature:
        return of_same_name
    identity = identity_of(record.signature)
    of_same_metric = [entry for entry in saved.metrics if entry.signature and identity_of(entry.signature) == identity]
    if of_same_metric:
        # the same metric may be there under several names
        return next((entry for entry in of_same_metric if entry.metric == record.metric), of_same_metric[0])
    if of_same_name is not None:
        raise InputError(
            f"{record.metric} there is another metric, of other options or weights; learn the "
            "threshold anew by assay thresholds",
            setting="threshold",
            value=path,
        )
    names = ", ".join(entry.metric for entry in saved.metrics) or "nothing"
    raise InputError(
        f"has no threshold of {record.metric} for {saved.dataset}, only of {names}; choose by ",
        Setting("metrics"),
        setting="threshold",
        value=path,
    )
