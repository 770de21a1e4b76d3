"""Thresholds that decide pairs: learned on other pairs, given as a number, or read from a file."""

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
from assay.reports.errors.settings import Rule
from assay.reports.thresholds.planning import out_of_fold, read_positive
from assay.reports.thresholds.settings import ThresholdSettings
from assay.statistics.concordance import Floats


@dataclass(frozen=True)
class Decisions:
    """The n pairs of a dataset, decided by the scores of one metric.

    Attributes:
        rule: which labels mean yes, such as ``label>=2``.
        positive: which pairs people call yes, shape (n,).
        thresholds: of each pair, for scores that rise with similarity, shape (n,); NaN where there is no score.
        origin: where they come from, as a line; empty for a number that the user gave.
    """

    rule: str
    positive: NDArray[np.bool_]
    thresholds: Floats
    origin: str

    def condition(self, rising: bool) -> str:
        """Return in words which pairs are decided wrongly; *rising*: whether a higher score means more similar."""
        values = np.unique(self.thresholds[np.isfinite(self.thresholds)])
        limit = f"{values[0] if rising else -values[0]:.3g}" if len(values) == 1 else "threshold"
        below, reached = ("<", "≥") if rising else (">", "≤")
        no = self.rule.replace(">=", "<") if ">=" in self.rule else self.rule.replace(">", "<=")
        return f"score {below} {limit} and {self.rule}, or score {reached} {limit} and {no}"


def decide_pairs(data: ScoredDataset, metric: str, rule: Rule, seed: int) -> Decisions:
    """Return how the threshold of a rule decides the pairs of a dataset.

    Args:
        data: n pairs.
        metric: a metric that the data has scores of.
        rule: one with a threshold.
        seed: of the folds on which thresholds are learned.

    Raises:
        InputError: there are no pairs of one class, a number outside the bounds of the metric, or a file that has no
            threshold for the metric, the dataset or the labels that mean yes.
    """
    if rule.threshold == "auto":
        return _learned(data, metric, rule, seed)
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
    words, is_yes = read_positive(data, positive)
    turned = number if record.declared.higher_is_better else -number
    return Decisions(words, is_yes, np.where(np.isfinite(data.scores[metric]), turned, np.nan), origin)


def _learned(data: ScoredDataset, metric: str, rule: Rule, seed: int) -> Decisions:
    words, is_yes = read_positive(data, rule.positive)
    settings = ThresholdSettings(positive=rule.positive, seed=seed)
    try:
        thresholds, way = out_of_fold(data, metric, words, settings)
    except InputError as error:
        raise InputError(f"`threshold=auto`: none can be learned ({error}); give a number") from error
    shown = thresholds if data.metrics[metric].declared.higher_is_better else -thresholds
    ends = dict.fromkeys(f"{value:.3g}" for value in (np.nanmin(shown), np.nanmax(shown)))
    origin = f"threshold {' to '.join(ends)}: by {settings.measure}, learned without the pairs that it decides; {way}"
    return Decisions(words, is_yes, thresholds, origin)


def _check_range(record: MetricRecord, number: float) -> None:
    """Raise InputError for a number that the scores of a metric cannot reach."""
    lowest = -math.inf if record.declared.low is None else record.declared.low
    highest = math.inf if record.declared.high is None else record.declared.high
    if not lowest <= number <= highest:
        raise InputError(f"`threshold={number:g}`: {record.metric} gives scores from {lowest:g} to {highest:g}")


# Files of thresholds


class _SavedThreshold(BaseModel):
    """The threshold of one metric, as ``assay thresholds --format json`` prints it; what else is there is not read."""

    metric: str
    positive: str
    threshold: Annotated[float, Field(allow_inf_nan=False)]
    # older files have the median of the folds alone, and no signature
    deploy: Annotated[float | None, Field(allow_inf_nan=False)] = None
    signature: dict[str, str] = {}


class _SavedDataset(BaseModel):
    dataset: str
    metrics: list[_SavedThreshold]


_FILE = TypeAdapter(list[_SavedDataset])


def _saved_threshold(path: Path, data: ScoredDataset, metric: str) -> _SavedThreshold:
    """Return the threshold that a file has for a metric on a dataset.

    Raises:
        InputError: the file cannot be read, is none of thresholds, or has none for this metric or dataset.
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
    return _of_metric(path, of_dataset, data.metrics[metric])


def _of_metric(path: Path, saved: _SavedDataset, record: MetricRecord) -> _SavedThreshold:
    """Return the threshold of a metric: that of its name where the signature is the same, else of its signature."""
    named = next((one for one in saved.metrics if one.metric == record.metric), None)
    if named is not None and not named.signature:
        return named
    wanted = identity_of(record.signature)
    by_signature = {identity_of(one.signature): one for one in saved.metrics if one.signature}
    if named is not None and identity_of(named.signature) == wanted:
        return named
    if wanted in by_signature:
        return by_signature[wanted]
    if named is not None:
        raise InputError(
            f"`threshold={path}`: {record.metric} there is another metric, of other options or weights; learn the "
            "threshold anew by assay thresholds"
        )
    names = ", ".join(one.metric for one in saved.metrics) or "nothing"
    raise InputError(
        f"`threshold={path}`: has no threshold of {record.metric} for {saved.dataset}, only of {names}; choose by "
        "`metrics`"
    )
