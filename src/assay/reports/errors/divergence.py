"""The pairs on which a metric and people diverge, by scores, by ranks, or by decisions with a threshold."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from assay.errors import InputError
from assay.manifest import MetricRecord, identity_of
from assay.reports.data import ScoredDataset
from assay.reports.errors.settings import By, Rule
from assay.reports.thresholds.planning import out_of_fold, read_positive
from assay.reports.thresholds.settings import ThresholdSettings
from assay.statistics.concordance import Floats


@dataclass(frozen=True)
class Divergence:
    """The pairs of a dataset on which one metric and people diverge.

    Attributes:
        metric: the name of the metric.
        by: the criterion, scores or ranks.
        condition: the criterion in words, with its numbers.
        rows: the row indices of the k diverging pairs, worst first, shape (k,).
        distances: how far each of these pairs is off, shape (k,). By threshold, the distance of the score from the end
            of its scale that the label is at; by rank, the difference of ranks as a share of the pairs; both in
            [0, 1]. If a threshold decides between yes and no, the distance of the score from the threshold.
        too_low: which of these pairs have a score that is too low; the others are too high. Shape (k,).
        considered: which of all n pairs were considered: those in the bucket that have a score, shape (n,).
        decisions: the decisions by a threshold between yes and no; None if there is none.
    """

    metric: str
    by: By
    condition: str
    rows: NDArray[np.intp]
    distances: NDArray[np.float64]
    too_low: NDArray[np.bool_]
    considered: NDArray[np.bool_]
    decisions: Decisions | None = None

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

    By threshold: the highest label with a score below ``low``, or the lowest label with a score above ``high``. By
    rank: the ranks of score and label among the pairs (ties share their mean rank) differ by ``residual`` * n or more.
    With a ``threshold`` in the rule: the pairs that it decides wrongly.

    Args:
        data: n pairs.
        metric: a metric that has scores in the data.
        rule: the criterion, see :class:`~assay.reports.errors.settings.Rule`; the paper's by default.
        inside: which pairs to consider, shape (n,); all by default.
        seed: the seed of the folds, if a threshold is learned.

    Raises:
        InputError: a threshold is outside the bounds of the metric, or cannot be learned or read; or all labels are
            equal and no scale is given.
    """
    rule = rule or Rule()
    record = data.metrics[metric]
    by = rule.by_for(record)
    scores = data.scores[metric]
    considered = np.isfinite(scores) if inside is None else np.isfinite(scores) & inside
    decisions = None
    if rule.threshold is not None:
        from assay.reports.thresholds.measures import decide

        decisions = decide_pairs(data, metric, rule, seed)
        similar = data.oriented(metric)
        is_yes = decide(similar, decisions.thresholds)
        too_low = considered & ~is_yes & decisions.positive
        too_high = considered & is_yes & ~decisions.positive
        distance = np.abs(similar - decisions.thresholds)
        condition = decisions.condition(record.declared.higher_is_better)
    elif by == "threshold":
        rule.check_bounds(record)
        similar = scores if record.declared.higher_is_better else 1 - scores
        low, high = rule.scale or label_scale(data)
        if low == high and len(data):
            raise InputError(
                f"{data.run.title}: all labels of {data.name} are {low:g}; give the scale: `scale=LOW,HIGH`"
            )
        too_low = considered & (similar < rule.low) & (data.labels >= high)
        too_high = considered & (similar > rule.high) & (data.labels <= low)
        distance = np.where(too_low, 1 - similar, similar)
        value = "score" if record.declared.higher_is_better else "1 − score"
        condition = f"{value} < {rule.low:g} and label = {high:g}, or {value} > {rule.high:g} and label = {low:g}"
    else:
        residual = _residuals(data.oriented(metric), data.labels, considered)
        too_low, too_high = residual <= -rule.residual, residual >= rule.residual
        distance = np.abs(residual)
        condition = f"ranks of score and label differ by {rule.residual:g} of n or more"
    rows = np.flatnonzero(too_low | too_high)
    rows = rows[np.argsort(-distance[rows], kind="stable")]
    return Divergence(metric, by, condition, rows, distance[rows], too_low[rows], considered, decisions)


def _residuals(
    scores: NDArray[np.float64], labels: NDArray[np.float64], considered: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return rank of the score minus rank of the label as a share of the pairs, shape (n,); 0 for pairs left out."""
    from scipy.stats import rankdata

    residual = np.zeros(len(scores))
    if considered.any():
        ranks = rankdata(scores[considered]) - rankdata(labels[considered])
        residual[considered] = ranks / int(considered.sum())
    return residual


# Thresholds that decide pairs: learned on other pairs, given as a number, or read from a file.


@dataclass(frozen=True)
class Decisions:
    """Yes/no decisions on the n pairs of a dataset by the scores of one metric.

    Attributes:
        rule: the rule by which labels mean yes, such as ``label>=2``.
        positive: which pairs people call yes, shape (n,).
        thresholds: the threshold of each pair, for scores that rise with similarity, shape (n,); NaN without a score.
        origin: a line on the origin of the thresholds; empty for a number that the user gave.
    """

    rule: str
    positive: NDArray[np.bool_]
    thresholds: Floats
    origin: str

    def condition(self, rising: bool) -> str:
        """Return in words which pairs are decided wrongly.

        Args:
            rising: whether a higher score means more similar.
        """
        values = np.unique(self.thresholds[np.isfinite(self.thresholds)])
        limit = f"{values[0] if rising else -values[0]:.3g}" if len(values) == 1 else "threshold"
        below, reached = ("<", "≥") if rising else (">", "≤")
        no = self.rule.replace(">=", "<") if ">=" in self.rule else self.rule.replace(">", "<=")
        return f"score {below} {limit} and {self.rule}, or score {reached} {limit} and {no}"


def decide_pairs(data: ScoredDataset, metric: str, rule: Rule, seed: int) -> Decisions:
    """Return the decisions on the pairs of a dataset by the threshold of a rule.

    Args:
        data: n pairs.
        metric: a metric that has scores in the data.
        rule: a rule with a threshold: ``auto``, a number, or a file.
        seed: the seed of the folds, if thresholds are learned.

    Raises:
        InputError: all pairs are of one class, the number is outside the bounds of the metric, or the file has no
            threshold for the metric, the dataset or the rule for yes.
    """
    if rule.threshold == "auto":
        return _decide_by_learned_threshold(data, metric, rule, seed)
    number = rule.threshold_number
    positive, origin = rule.positive, ""
    if number is None:
        path = Path(str(rule.threshold))
        saved = _saved_threshold(path, data, metric)
        if positive is not None and positive.replace(" ", "") != saved.positive:
            raise InputError(
                f"`positive={positive}`: {path} has thresholds for {saved.positive}; leave `positive` out, or learn "
                "them anew by assay thresholds"
            )
        number = saved.threshold if saved.deploy is None else saved.deploy
        positive, origin = saved.positive, f"threshold from {path.name}"
    record = data.metrics[metric]
    _check_range(record, number)
    yes_rule, is_yes = read_positive(data, positive)
    oriented = number if record.declared.higher_is_better else -number
    return Decisions(yes_rule, is_yes, np.where(np.isfinite(data.scores[metric]), oriented, np.nan), origin)


def _decide_by_learned_threshold(data: ScoredDataset, metric: str, rule: Rule, seed: int) -> Decisions:
    yes_rule, is_yes = read_positive(data, rule.positive)
    settings = ThresholdSettings(positive=rule.positive, seed=seed)
    try:
        thresholds, split = out_of_fold(data, metric, yes_rule, settings)
    except InputError as error:
        raise InputError(f"`threshold=auto`: none can be learned ({error}); give a number") from error
    on_metric_scale = thresholds if data.metrics[metric].declared.higher_is_better else -thresholds
    ends = dict.fromkeys(f"{value:.3g}" for value in (np.nanmin(on_metric_scale), np.nanmax(on_metric_scale)))
    origin = f"threshold {' to '.join(ends)}: by {settings.measure}, learned without the pairs that it decides; {split}"
    return Decisions(yes_rule, is_yes, thresholds, origin)


def _check_range(record: MetricRecord, number: float) -> None:
    """Raise InputError for a threshold outside the declared range of the scores of a metric."""
    lowest = -math.inf if record.declared.low is None else record.declared.low
    highest = math.inf if record.declared.high is None else record.declared.high
    if not lowest <= number <= highest:
        raise InputError(f"`threshold={number:g}`: {record.metric} gives scores from {lowest:g} to {highest:g}")


# Files of thresholds


class _SavedThreshold(BaseModel):
    """The threshold of one metric in the output of ``assay thresholds --format json``; other fields are ignored."""

    metric: str
    positive: str
    threshold: Annotated[float, Field(allow_inf_nan=False)]
    # files of older versions have only the median over the folds, and no signature
    deploy: Annotated[float | None, Field(allow_inf_nan=False)] = None
    signature: dict[str, str] = {}


class _SavedDataset(BaseModel):
    dataset: str
    metrics: list[_SavedThreshold]


_FILE = TypeAdapter(list[_SavedDataset])


def _saved_threshold(path: Path, data: ScoredDataset, metric: str) -> _SavedThreshold:
    """Return the threshold for a metric on a dataset in a file.

    Raises:
        InputError: the file cannot be read, is not a file of thresholds, or has none for the metric or the dataset.
    """
    try:
        datasets = _FILE.validate_json(path.read_bytes())
    except OSError as error:
        raise InputError(
            f"`threshold={path}`: must be auto, a number, or a file; the file cannot be read ({error.strerror})"
        ) from error
    except ValidationError as error:
        raise InputError(
            f"`threshold={path}`: is no file of thresholds; assay thresholds RUN --format json > FILE writes one"
        ) from error
    of_dataset = next((saved for saved in datasets if saved.dataset == data.name), None)
    if of_dataset is None:
        others = ", ".join(saved.dataset for saved in datasets) or "nothing"
        raise InputError(
            f"`threshold={path}`: has thresholds learned on {others}, none for {data.name}; give the number if it is "
            "meant for other data"
        )
    return _threshold_of_metric(path, of_dataset, data.metrics[metric])


def _threshold_of_metric(path: Path, saved: _SavedDataset, record: MetricRecord) -> _SavedThreshold:
    """Return the threshold of a metric: by name if the signature matches too, else by signature.

    Raises:
        InputError: the dataset has no threshold of the metric, or one of another metric with the same name.
    """
    same_name = next(
        (saved_threshold for saved_threshold in saved.metrics if saved_threshold.metric == record.metric), None
    )
    if same_name is not None and not same_name.signature:
        return same_name
    wanted = identity_of(record.signature)
    by_signature = {
        identity_of(saved_threshold.signature): saved_threshold
        for saved_threshold in saved.metrics
        if saved_threshold.signature
    }
    if same_name is not None and identity_of(same_name.signature) == wanted:
        return same_name
    if wanted in by_signature:
        return by_signature[wanted]
    if same_name is not None:
        raise InputError(
            f"`threshold={path}`: {record.metric} there is another metric, of other options or weights; learn the "
            "threshold anew by assay thresholds"
        )
    names = ", ".join(saved_threshold.metric for saved_threshold in saved.metrics) or "nothing"
    raise InputError(
        f"`threshold={path}`: has no threshold of {record.metric} for {saved.dataset}, only of {names}; choose by "
        "`metrics`"
    )
