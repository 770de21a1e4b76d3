"""Stress: how scores and verdicts move when pairs are changed in ways that must, or must not, matter."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, FiniteFloat, PlainSerializer, TypeAdapter, ValidationError

from assay.analysis.folder import STRESS_FILE
from assay.analysis.thresholds.objectives import MeasureObjective
from assay.analysis.thresholds.parts import LabelledScores, draw_folds
from assay.analysis.thresholds.settings import OPTIMISED
from assay.analysis.thresholds.study import tune_and_decide
from assay.common.declarations import declarations_of, setting
from assay.common.messages import Setting
from assay.common.numbers import Number
from assay.common.output import atomic_write, json_text
from assay.exceptions import InputError
from assay.perturbations.base import Expected
from assay.settings import ChosenRows, Limited, OwnData, PaidScoring, Resampling
from assay.statistics.coefficients import MIN_UNITS
from assay.statistics.concordance import Floats
from assay.statistics.crossvalidation import Rows, join_codes
from assay.statistics.intervals import percentile_interval
from assay.statistics.resampling import Resampler
from assay.statistics.shares import share_interval


@dataclass(frozen=True)
class StressSettings(OwnData, ChosenRows, Resampling, Limited, PaidScoring):
    """What is stressed, by which perturbations, and from which score on a verdict is yes.

    Raises:
        InputError: settings that contradict each other or are out of their range.
    """

    datasets: Any | Sequence[Any] = setting(
        "A dataset (NAME[@VERSION][:SPLIT]) or a CSV, TSV, JSONL, Parquet file; with `run`, one of the run.",
        (),
        argument=True,
        flags=("--dataset", "-d"),
        metavar="DATASET",
    )
    metrics: Sequence[Any] = setting(
        "Metrics: name[:subject][,option=value]…; with `run`, by default those of the run.",
        (),
        flags=("--metric", "-m"),
        metavar="METRIC",
    )
    run: str | Path | None = setting(
        "Take metrics and pairs from this run folder, and add the result to it and its page.", None, metavar="RUN"
    )
    perturbations: Sequence[str] = setting(
        "A perturbation, such as denied-gold [default: every one].",
        (),
        flags=("--perturbation", "-p"),
        metavar="NAME",
    )
    positive: str | None = setting(
        "The labels that mean yes, such as 'label>=2' [default: the higher of two].", None, metavar="RULE"
    )
    threshold: float | None = setting(
        "The lowest score that means yes [default: .5 for a judge's probability, else learned in folds].",
        None,
        metavar="SCORE",
    )

    def check(self) -> None:
        """Raise InputError if settings are out of range, or choose rows although the pairs of a run are taken."""
        super().check()
        if self.run is None:
            return
        for name in declarations_of(ChosenRows) | declarations_of(Limited):
            # the class has the defaults
            if getattr(self, name) != getattr(type(self), name):
                raise InputError(
                    "the pairs of a run are taken as they were; give ",
                    Setting("datasets"),
                    " in place of ",
                    Setting("run"),
                    setting=name,
                )


#: The number of folds in which thresholds are learned.
FOLDS = 5


def _read_number(values: Any) -> Any:
    """Return the fields of a number from its object in the file, which has one text in place of a list of notes.

    Anything but an object is returned as it is, for the validation to refuse.

    Raises:
        ValueError: a number is infinite or NaN.
    """
    if not isinstance(values, dict):
        return values
    for name in ("value", "low", "high"):
        if isinstance(values.get(name), float) and not math.isfinite(values[name]):
            raise ValueError(f"{name} must be finite")
    note = values.get("note")
    return {name: value for name, value in values.items() if name != "note"} | {"notes": (note,) if note else ()}


def _write_number(number: Number) -> dict[str, Any]:
    return {"value": number.value, "low": number.low, "high": number.high, "note": number.note}


#: A mean over pairs with its interval.
Mean = Annotated[Number, BeforeValidator(_read_number), PlainSerializer(_write_number)]


@dataclass(frozen=True)
class Example:
    """A pair on which the expectation is broken.

    Of all such pairs, it is the one with the highest score for similarity if its candidate must be judged wrong
    (``negative``), else the one whose score changes most.

    Attributes:
        question, reference, candidate: the original texts; several gold answers are joined by `` | ``.
        changed: the perturbed candidate.
        before, after: the scores before and after the perturbation, as the metric gives them.
    """

    question: str
    reference: str
    candidate: str
    changed: str
    before: FiniteFloat
    after: FiniteFloat


@dataclass(frozen=True)
class Effect:
    """The effect of one perturbation on one metric.

    Attributes:
        perturbation: the name of the perturbation.
        summary: a description of what it changes.
        expected: the expected effect.
        n: the number of pairs that it applies to and that have a score before and after.
        unscored: the number of pairs that it applies to and that lack one of the two scores.
        fooled: the share of the n pairs on which the expectation is broken.
        flipped: the share of pairs whose verdict changes.
        to_yes, to_no: the shares of pairs whose verdict becomes yes, and whose verdict becomes no.
        moved: the share of pairs whose score changes by more than the metric's rounding.
        shift: the mean change of the score, with its sign reversed if lower scores mean more similar.
        example: a pair on which the expectation is broken; None without one, or if the changed texts were not kept.
    """

    perturbation: str
    summary: str
    expected: Expected
    n: int
    unscored: int
    fooled: Mean
    flipped: Mean
    to_yes: Mean
    to_no: Mean
    moved: Mean
    shift: Mean
    example: Example | None = None


def learned_thresholds(
    name: str, scores: Floats, positive: NDArray[np.bool_], texts: Rows, groups: Rows | None, seed: int
) -> Floats:
    """Return the threshold for each pair, shape (n,), learned as by ``assay thresholds`` on the folds without the pair.

    Args:
        name: the metric and the dataset by name, for messages.
        scores: the scores, shape (n,), of which higher means more similar; a pair with NaN has the threshold NaN.
        positive: whether each pair is positive (labelled yes), shape (n,).
        texts: codes that are equal for pairs with the same texts, shape (n,); such pairs stay in one fold.
        groups: the group code of each pair, shape (n,), or None; groups stay in one fold.
        seed: the seed of the folds.

    Raises:
        InputError: there are too few pairs, only one class, or only one distinct score.
    """
    rows = np.flatnonzero(np.isfinite(scores))
    codes = texts[rows] if groups is None else join_codes(groups[rows], texts[rows])
    (folds,) = draw_folds(codes, FOLDS, 1, seed)
    tested = LabelledScores(scores[rows], positive[rows])
    learned = tune_and_decide(name, tested, tested, [folds], MeasureObjective(OPTIMISED[0]))
    thresholds = np.full(len(scores), np.nan)
    for fold, threshold in zip(folds, learned.thresholds[0], strict=True):
        thresholds[rows[fold.test]] = threshold
    return thresholds


def effects_and_violations(
    expected: Expected, before: Floats, after: Floats, thresholds: Floats, tolerance: float
) -> tuple[dict[str, Floats], Floats]:
    """Return the effects on each of n pairs by name, and on which pairs the expectation is broken, shape (n,) each.

    Values are 1 for yes, 0 for no and NaN for undefined, except that ``shift`` is the change of the score. The verdict
    on a pair is yes if its score is at least its threshold. The expectation ``same`` is broken if the verdict changes,
    ``not higher`` if it becomes yes, ``lower`` if the score does not fall by more than the tolerance, and ``negative``
    if the verdict is yes.

    Args:
        expected: the expected effect of the perturbation.
        before, after: the scores, shape (n,), finite, of which higher means more similar.
        thresholds: the thresholds, shape (n,); NaN without one.
        tolerance: the largest difference between two computations of the same score.
    """
    has_verdict = np.isfinite(thresholds)
    was_yes, is_yes = before >= thresholds, after >= thresholds
    # differences within the tolerance of the computation are not a shift
    shift = np.where(np.abs(after - before) > tolerance, after - before, 0.0)
    effects = {
        "flipped": _values_where_known(has_verdict, was_yes != is_yes),
        "to_yes": _values_where_known(has_verdict, ~was_yes & is_yes),
        "to_no": _values_where_known(has_verdict, was_yes & ~is_yes),
        "moved": (shift != 0).astype(np.float64),
        "shift": shift,
    }
    if expected == "same":
        return effects, effects["flipped"]
    if expected == "not higher":
        return effects, effects["to_yes"]
    # a yes is a violation here whatever the verdict was before the perturbation
    if expected == "negative":
        return effects, _values_where_known(has_verdict, is_yes)
    return effects, (shift >= 0).astype(np.float64)


def _values_where_known(is_known: NDArray[np.bool_], values: NDArray[np.bool_]) -> Floats:
    """Return a mask as numbers: 1 or 0 where *is_known* is true, and NaN elsewhere; all have shape (n,)."""
    return np.where(is_known, values.astype(np.float64), np.nan)


def mean_estimates(
    values: dict[str, Floats], drawing: Resampling, seed: tuple[int, ...], groups: Rows | None
) -> dict[str, Number]:
    """Return the mean of each quantity over n pairs, by name, with its interval.

    A share has the interval of :func:`~assay.statistics.shares.share_interval`, the shift of the score that of
    resamples, of whole groups if there are any. Below :data:`~assay.statistics.coefficients.MIN_UNITS` pairs or groups
    there is none.

    Args:
        values: the values by name, shape (n,); a quantity is undefined if there are no pairs, or NaN for any of them.
        drawing: the settings of the resamples; with 0 resamples, there are no intervals.
        seed: the seed of the resamples.
        groups: the group code of each pair, shape (n,); None without groups.
    """
    estimates = {name: Number() for name in values}
    # the resampler expects codes without gaps
    codes = None if groups is None else np.unique(groups, return_inverse=True)[1]
    for name, measured_values in values.items():
        if not len(measured_values) or np.isnan(measured_values).any():
            continue
        resampler = Resampler(len(measured_values), drawing.resamples, seed, codes)
        bounds = None
        if drawing.resamples and resampler.units >= MIN_UNITS:
            if name == "shift":
                resampled = [measured_values @ weights / weights.sum(axis=0) for weights in resampler.blocks()]
                bounds = percentile_interval(np.concatenate(resampled), resampler.units, drawing.confidence)
            else:
                bounds = share_interval(measured_values, drawing.confidence, groups=codes)
        low, high = bounds or (None, None)
        estimates[name] = Number(float(measured_values.mean()), low, high)
    return estimates


#: The version of the schema of the file.
SCHEMA = 1


@dataclass(frozen=True)
class Subject:
    """One metric on one dataset.

    Attributes:
        dataset: the name of the dataset.
        title: the title of the dataset in tables.
        metric: the name of the metric.
        n: the number of pairs of the dataset.
        verdicts: the origin of the verdicts, in words; empty without verdicts.
        agreement: the share of verdicts on the original pairs that people agree with; None without labels.
        effects: the effects of the perturbations that apply.
        signature: the short signature of the metric.
        notes: caveats.
    """

    dataset: str
    title: str
    metric: str
    n: int
    verdicts: str
    agreement: FiniteFloat | None
    effects: tuple[Effect, ...]
    signature: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class StressStudy:
    """The effects of perturbations on metrics.

    Attributes:
        subjects: the results, ordered by dataset and then by metric.
        notes: lines on rows, metrics and perturbations that were left out, with the reason.
        draws: the signature of intervals and perturbations.
        interval: a description of the intervals; empty without intervals.
        hints: hints that the data may have been read differently than the user intended.
        schema: the version of the file's schema.
    """

    subjects: tuple[Subject, ...]
    notes: tuple[str, ...]
    draws: str
    interval: str
    hints: tuple[str, ...] = ()
    schema: int = SCHEMA


_STUDY = TypeAdapter(StressStudy)


def save_study(study: StressStudy, folder: Path) -> Path:
    """Write a study into a run folder atomically, in place of an earlier one, and return the path of the file.

    Raises:
        OSError: the file cannot be written.
    """
    path = folder / STRESS_FILE
    with atomic_write(path) as scratch:
        # texts may have lone surrogates, which UTF-8 refuses; in JSON strings their escapes stand for them
        scratch.write_text(
            json_text(_STUDY.dump_python(study, mode="json")), encoding="utf-8", errors="backslashreplace"
        )
    return path


def read_study(folder: Path) -> StressStudy | None:
    """Return the study in a run folder, validated; None if there is none.

    Raises:
        InputError: the file cannot be read, is none that ``assay stress`` wrote, or is that of a newer assay.
    """
    path = folder / STRESS_FILE
    if not path.is_file():
        return None
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(values, dict) and isinstance(values.get("schema"), int) and values["schema"] > SCHEMA:
            raise InputError(f"{path}: was written by a newer assay (schema {values['schema']}); update assay")
        study = _STUDY.validate_python(values)
        if not any(subject.effects for subject in study.subjects):
            raise ValueError("it has no perturbation")
        return study
    # a ValidationError is a ValueError; deeply nested JSON exhausts the recursion of the parser
    except (OSError, ValueError, RecursionError) as error:
        reason = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
        raise InputError(
            f"{path}: is not a result of assay stress ({reason}); remove it, or run assay stress again"
        ) from None
