"""What encoders know for tasks: measures of decided classes over folds, seeds or test items, and tests in pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from assay.analysis.settings import CORRECTIONS
from assay.common.declarations import setting
from assay.common.messages import Setting
from assay.common.numbers import Number, none_if_nan
from assay.exceptions import InputError, unknown_name
from assay.settings import Hardware, Offline, RunFolderOutput, Seeded, WithProgress, check_level
from assay.statistics.concordance import Floats
from assay.statistics.paired_results import (
    exchange_test,
    mcnemar,
    mean_interval,
    mean_over_seeds,
    mean_test,
    measure_of,
    resampled_interval,
)
from assay.statistics.shares import share_interval
from assay.statistics.significance import adjust_p_values

Classes = NDArray[np.int64]

#: The suites of tasks, each with the groups of cards that it consists of.
SUITES = {
    "sentence-tasks": ("probing", "transfer"),
    "probing": ("probing",),
    "transfer": ("transfer",),
    "validation": ("validation",),
    "fine-tuning": ("fine-tuning",),
}
#: Resamples and exchanges of items for measures other than the accuracy.
DRAWS = 2000
#: The settings of fine-tuning alone, and those that it does not read.
_OF_FINE_TUNING = ("seeds", "epochs", "steps", "batch_size", "learning_rate")
_OF_FROZEN_EMBEDDINGS = ("classifier", "folds", "fresh")


@dataclass(frozen=True)
class DownstreamSettings(Hardware, Offline, WithProgress, RunFolderOutput, Seeded):
    """Which encoders are judged by which tasks, and how.

    Raises:
        InputError: a value out of its range, or settings that contradict each other.
    """

    datasets: Sequence[str] = setting(
        "A task: a dataset whose card has the table classification, such as rte.",
        (),
        argument=True,
        flags=("--dataset", "-d"),
        metavar="TASK",
    )
    metrics: Sequence[str] = setting(
        "An encoder: bi-encoder:MODEL, or pooled:MODEL,pooling=cls; with NAME= before it, its name in tables.",
        (),
        flags=("--metric", "-m"),
        metavar="ENCODER",
    )
    suite: str | None = setting(
        "Tasks together: sentence-tasks (probing and transfer), probing, transfer, validation (folds of validation "
        "parts), fine-tuning.",
        None,
        choices=tuple(SUITES),
    )
    baseline: str | None = setting(
        "The encoder that the others are compared with, such as the one before training [default: the first].",
        None,
        metavar="ENCODER",
    )
    classifier: Literal["logistic", "hidden"] = setting(
        "What reads the embeddings: logistic regression, or a network with one hidden layer.",
        "logistic",
        choices=("logistic", "hidden"),
    )
    folds: int = setting("Number of folds of tasks without a test part.", 10, at_least=2)
    sample: int | None = setting(
        "At most N random rows of each part of a task; groups stay whole.", None, at_least=1, metavar="N"
    )
    fine_tune: bool = setting(
        "Fine-tune a copy of each encoder for each task, instead of reading frozen embeddings.", False
    )
    seeds: int = setting("With `fine_tune`: the number of seeds.", 3, at_least=1)
    epochs: int = setting("With `fine_tune`: the number of epochs.", 3, at_least=1)
    steps: int | None = setting("With `fine_tune`: steps to train for, instead of epochs.", None, at_least=1)
    batch_size: int = setting("With `fine_tune`: pairs in a batch.", 8, at_least=1)
    learning_rate: float = setting("With `fine_tune`: the highest learning rate.", 2e-5, above=0)
    confidence: float = setting("Level of the intervals and, together, of the tests.", 0.95)
    correction: Literal["holm", "benjamini-hochberg", "bonferroni", "none"] = setting(
        "Correction for the number of tests, over tasks and encoders.", "holm", choices=tuple(CORRECTIONS)
    )
    fresh: bool = setting("Embed texts again whose embeddings are stored.", False)

    def check(self) -> None:
        """Check that there are tasks and encoders, and that settings of fine-tuning are given with it alone.

        Raises:
            InputError: there is no task or no encoder; a setting of fine-tuning is given without ``fine_tune``, or one
                of classifiers with it; or the seed or the level is invalid.
        """
        super().check()
        check_level(self.confidence)
        if not self.datasets and self.suite is None:
            raise InputError("no task: give ", Setting("suite", "sentence-tasks"), " or ", Setting("datasets", "TASK"))
        if not self.metrics:
            raise InputError("no encoder: give ", Setting("metrics", "bi-encoder:MODEL"))
        for name in _OF_FROZEN_EMBEDDINGS if self.fine_tune else _OF_FINE_TUNING:
            value = getattr(self, name)
            # the attributes of the class are the defaults
            if value == getattr(DownstreamSettings, name):
                continue
            problem = "has no effect with " if self.fine_tune else "is for "
            raise InputError(problem, Setting("fine_tune"), setting=name, value=value)


@dataclass(frozen=True, eq=False)
class TaskOutcome:
    """The decisions for one task that follow from one encoder.

    Attributes:
        task: the name of the task.
        encoder: the name of the encoder.
        protocol: whether every row is tested by a fold, one part is tested, or one part is tested with several seeds.
        measures: the names of the measures, the one of tables first.
        train_rows: the number of rows to train on.
        classes: the class numbers of the m tested rows, shape (m,).
        decided: the decided class numbers, shape (s, m), one row per seed.
        right, wrong: the score of the right class and the highest one of another class, shape (s, m).
        parts: the fold that tested each row, shape (m,); zeros without folds.
        groups: the codes of groups of tested rows, shape (m,); None if each row is one of its own.
        strengths: the chosen regularisation of each fit.
        unconverged: the number of fits that did not converge.
        texts, computed: the numbers of distinct texts, and of those that were embedded now.
        embed_seconds, fit_seconds: the time of embedding them; the CPU time of classifiers, or the time of training.
    """

    task: str
    encoder: str
    protocol: Literal["folds", "test", "seeds"]
    measures: tuple[str, ...]
    train_rows: int
    classes: Classes
    decided: Classes
    right: Floats
    wrong: Floats
    parts: NDArray[np.intp]
    groups: NDArray[np.intp] | None = None
    strengths: tuple[float, ...] = ()
    unconverged: int = 0
    texts: int = 0
    computed: int = 0
    embed_seconds: float = 0.0
    fit_seconds: float = 0.0

    def results(self, measure: str) -> Floats:
        """Return a measure per fold or per seed, shape (k,); of the only test part, shape (1,)."""
        if self.protocol == "folds":
            rows_of_parts = [self.parts == number for number in np.unique(self.parts)]
            return np.array([measure_of(measure, self.classes[rows], self.decided[0, rows]) for rows in rows_of_parts])
        return np.array([measure_of(measure, self.classes, decided) for decided in self.decided])

    @property
    def test_to_train(self) -> float:
        """The test rows over the training rows of a fold; 0 without folds."""
        return 1 / (len(np.unique(self.parts)) - 1) if self.protocol == "folds" else 0.0

    @property
    def by_items(self) -> bool:
        """Whether intervals and tests are over the items of the test part, since there is one result."""
        return len(self.decided) == 1 and self.protocol != "folds"


@dataclass(frozen=True)
class Difference:
    """What an encoder gains over the baseline on a task.

    Attributes:
        task, encoder, baseline: their names.
        measure: the measure.
        change: the difference with its interval.
        p: the p-value, corrected if :func:`differences` returned it; NaN without a test.
        significant: whether the corrected p-value is at most 1 less the level of confidence.
    """

    task: str
    encoder: str
    baseline: str
    measure: str
    change: Number
    p: float
    significant: bool = False


def number_of(outcome: TaskOutcome, measure: str, settings: DownstreamSettings) -> Number:
    """Return a measure with its interval: over folds, over seeds, or over the items of the test part.

    The interval is cut to the range of the measure. Where all folds, seeds or resamples are alike there is none, and a
    note says so.

    Args:
        outcome: the decisions for a task.
        measure: the name of the measure.
        settings: the level of the interval and the seed of its resamples.
    """
    results = outcome.results(measure)
    value = float(np.mean(results))
    if outcome.protocol == "folds":
        bounds = mean_interval(results, settings.confidence, outcome.test_to_train)
    elif not outcome.by_items:
        bounds, _ = _bounds_and_p_over_seeds(measure, outcome, None, settings)
    elif measure == "accuracy" and outcome.groups is None:
        bounds = share_interval(outcome.decided[0] == outcome.classes, settings.confidence)
    else:
        bounds = _resampled_bounds(measure, outcome, None, settings)
    if bounds is None:
        return Number(value, notes=(_why_no_interval(outcome),))
    lowest = -1.0 if measure == "matthews" else 0.0
    low, high = bounds
    return Number(value, max(lowest, low), min(1.0, high))


def _why_no_interval(outcome: TaskOutcome) -> str:
    """Return in words why a measure of a task has no interval."""
    if outcome.by_items:
        return "no interval: all resamples alike"
    if outcome.protocol == "folds":
        return "no interval: all folds alike"
    return "no interval: all seeds and resamples alike"


def differences(outcomes: Sequence[TaskOutcome], settings: DownstreamSettings) -> list[Difference]:
    """Return what each encoder gains over the baseline on each task, with p-values corrected over all of them.

    A task that the baseline lacks has no difference.

    Args:
        outcomes: the outcome of each encoder on each task, at least one.
        settings: the baseline, by default the first encoder, and how intervals and tests are computed.

    Raises:
        InputError: the baseline is none of the encoders.
    """
    encoders = list(dict.fromkeys(outcome.encoder for outcome in outcomes))
    baseline = settings.baseline or encoders[0]
    if baseline not in encoders:
        raise InputError(unknown_name("there is no encoder", baseline, encoders), setting="baseline")
    of_baseline = {outcome.task: outcome for outcome in outcomes if outcome.encoder == baseline}
    gains = []
    for outcome in outcomes:
        if outcome.encoder != baseline and outcome.task in of_baseline:
            gains.append(_difference(of_baseline[outcome.task], outcome, settings))
    corrected_p_values = adjust_p_values(np.array([gain.p for gain in gains]), settings.correction)
    # 1 - .95 is not exactly .05 in floating point; a p-value equal to the level must count nevertheless
    level = 1 - settings.confidence + 1e-9
    corrected = []
    for gain, p in zip(gains, corrected_p_values, strict=True):
        corrected.append(replace(gain, p=float(p), significant=bool(p <= level)))
    return corrected


def _difference(before: TaskOutcome, after: TaskOutcome, settings: DownstreamSettings) -> Difference:
    """Return the first measure of one encoder on a task minus that of another, with an interval and a test.

    The p-value is uncorrected. The test is a t-test over folds, one over seeds, McNemar's for the accuracy on single
    items, and an exchange of decisions for all else.

    Args:
        before: the outcome of the baseline.
        after: the outcome of the other encoder on the same task.
        settings: the level of the interval and the seed of resamples.
    """
    measure = after.measures[0]
    gains = after.results(measure) - before.results(measure)
    if after.protocol == "folds":
        bounds = mean_interval(gains, settings.confidence, after.test_to_train)
        p = mean_test(gains, after.test_to_train)
    elif not after.by_items:
        bounds, p = _bounds_and_p_over_seeds(measure, after, before, settings)
    else:
        bounds = _resampled_bounds(measure, after, before, settings)
        if measure == "accuracy" and after.groups is None:
            p = mcnemar(before.decided[0] == before.classes, after.decided[0] == after.classes)
        else:
            p = exchange_test(
                partial(measure_of, measure),
                after.classes,
                before.decided[0],
                after.decided[0],
                groups=after.groups,
                permutations=DRAWS,
                seed=settings.seed,
            )
    notes = () if bounds else (_why_no_interval(after),)
    low, high = bounds or (None, None)
    change = Number(float(np.mean(gains)), low, high, notes)
    return Difference(
        task=after.task, encoder=after.encoder, baseline=before.encoder, measure=measure, change=change, p=p
    )


def _resampled_bounds(
    measure: str, outcome: TaskOutcome, other: TaskOutcome | None, settings: DownstreamSettings
) -> tuple[float, float] | None:
    """Return percentile bounds over resampled items of a measure, or of its excess over that of another encoder.

    They are None if all resamples give the same value.

    Args:
        measure: the name of the measure.
        outcome: the decisions of an encoder.
        other: those of another one for the same task; None for the measure itself.
        settings: the level of the interval and the seed of the resamples.
    """
    return resampled_interval(
        partial(measure_of, measure),
        outcome.classes,
        outcome.decided[0],
        None if other is None else other.decided[0],
        groups=outcome.groups,
        confidence=settings.confidence,
        resamples=DRAWS,
        seed=settings.seed,
    )


def _bounds_and_p_over_seeds(
    measure: str, outcome: TaskOutcome, other: TaskOutcome | None, settings: DownstreamSettings
) -> tuple[tuple[float, float] | None, float]:
    """Return the bounds of a measure's mean over seeds, or of its excess over that of another encoder, and the p-value.

    The bounds are None if seeds and resamples are all alike, see :func:`mean_over_seeds`. The arguments are those of
    :func:`_resampled_bounds`.
    """
    return mean_over_seeds(
        partial(measure_of, measure),
        outcome.classes,
        outcome.decided,
        None if other is None else other.decided,
        groups=outcome.groups,
        confidence=settings.confidence,
        resamples=DRAWS,
        seed=settings.seed,
    )


def records_of(outcomes: Sequence[TaskOutcome], settings: DownstreamSettings) -> list[dict[str, Any]]:
    """Return one flat record per task, encoder and measure, with the gain over the baseline for the first measure.

    Args:
        outcomes: the outcome of each encoder on each task, at least one.
        settings: the baseline, and how intervals and tests are computed.

    Raises:
        InputError: the baseline is none of the encoders.
    """
    gains = {(gain.task, gain.encoder): gain for gain in differences(outcomes, settings)}
    records = []
    for outcome in outcomes:
        for measure in outcome.measures:
            gain = gains.get((outcome.task, outcome.encoder)) if measure == outcome.measures[0] else None
            number = number_of(outcome, measure, settings)
            record = {
                "task": outcome.task,
                "encoder": outcome.encoder,
                "measure": measure,
                "value": number.value,
                "low": number.low,
                "high": number.high,
                **_gain_fields(gain),
                "protocol": outcome.protocol,
                "train": outcome.train_rows,
                "n": len(outcome.classes),
                "results": " ".join(f"{result:.6f}" for result in outcome.results(measure)),
                "regularisation": " ".join(f"{strength:g}" for strength in outcome.strengths),
                "unconverged": outcome.unconverged,
                "texts": outcome.texts,
                "embedded": outcome.computed,
                "embed_seconds": round(outcome.embed_seconds, 3),
                "fit_seconds": round(outcome.fit_seconds, 3),
                "note": number.note,
                "difference_note": "" if gain is None else gain.change.note,
            }
            records.append(record)
    return records


def _gain_fields(gain: Difference | None) -> dict[str, Any]:
    """Return the fields of a record on the gain over the baseline, all None if there is none."""
    if gain is None:
        return dict.fromkeys(("baseline", "difference", "difference_low", "difference_high", "p"))
    return {
        "baseline": gain.baseline,
        "difference": gain.change.value,
        "difference_low": gain.change.low,
        "difference_high": gain.change.high,
        "p": none_if_nan(gain.p),
    }
