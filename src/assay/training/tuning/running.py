"""Trials run one after another until a study has as many as are wanted."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import optuna
from optuna import Study
from optuna.exceptions import UpdateFinishedTrialError
from optuna.trial import Trial, TrialState

from assay.metrics.neural.runtime import Runtime
from assay.training.pairwise.job import Job
from assay.training.pairwise.trainer import DivergedError
from assay.training.progress import Progress
from assay.training.tuning.sampler import RETRY_OF, suggest_all
from assay.training.tuning.settings import Search
from assay.training.tuning.study import ERROR, RUNNER, SURPLUS, connect, counted, open_study, quiet_optuna
from assay.training.tuning.trial import Named, run_trial

__all__ = ["Order", "run_trials"]


class _SurplusError(Exception):
    """Other processes began as many trials as were wanted at the same moment."""


@dataclass(frozen=True)
class Order:
    """What a process needs to run trials; it can be pickled.

    Attributes:
        search: the request.
        request: the same as the study holds it.
        address: of the database.
        folder: for checkpoints.
        runner: who runs these trials.
        runtime: device and threads of one process.
    """

    search: Search
    request: Mapping[str, Any]
    address: str
    folder: Path
    runner: str
    runtime: Runtime

    def study(self) -> Study:
        """Open the study.

        Raises:
            InputError: the database cannot be reached, or the study was made by another request.
        """
        search = self.search
        with quiet_optuna():
            return open_study(
                connect(self.address), search.study, self.request, search.settings.seed, prune=search.prune
            )


def run_trials(order: Order, job: Job, study: Study, progress: Progress) -> None:
    """Run trials in this process until as many as are wanted are over or running.

    Args:
        order: what to run.
        job: of the search, without a test set.
        study: of the order.
        progress: told of every step.
    """
    lost: list[int] = []

    def objective(trial: Trial) -> float:
        try:
            return _objective(order, job, trial, progress)
        except UpdateFinishedTrialError:
            lost.append(trial.number)
            raise

    while counted(study) < order.search.trials:
        try:
            with quiet_optuna():
                study.optimize(objective, n_trials=1, catch=(_SurplusError,))
        except (UpdateFinishedTrialError, ValueError):  # Optuna says so once more where the trial is over
            if not lost:
                raise
            progress.say(f"trial {lost.pop()}: gave no sign of life for too long, and is tried once more")


def _objective(order: Order, job: Job, trial: Trial, progress: Progress) -> float:
    search, study = order.search, trial.study
    trial.set_user_attr(RUNNER, order.runner)
    states = (TrialState.COMPLETE, TrialState.PRUNED, TrialState.RUNNING)
    if sum(one.number < trial.number for one in study.get_trials(deepcopy=False, states=states)) >= search.trials:
        trial.set_user_attr(SURPLUS, True)
        raise _SurplusError
    named = Named(progress, f"trial {trial.number}")
    settings = suggest_all(trial, search.space)
    again = trial.user_attrs.get(RETRY_OF)
    named.say(_line(settings) + ("" if again is None else f" (trial {again} once more)"))
    checkpoints = order.folder / f"trial-{_origin(study, trial.number)}"
    try:
        value = run_trial(replace(job, progress=named), trial, settings, search.objective, checkpoints)
        named.say(f"dev {search.objective} {value:.5f}")
    except optuna.TrialPruned:
        named.say("pruned")
        shutil.rmtree(checkpoints, ignore_errors=True)
        raise
    except UpdateFinishedTrialError:
        raise
    except DivergedError as error:  # a setting to keep away from, and no reason to end the search
        named.say(f"pruned: {error}")
        trial.set_user_attr(ERROR, f"{type(error).__name__}: {error}"[:1000])
        shutil.rmtree(checkpoints, ignore_errors=True)
        raise optuna.TrialPruned from error
    except Exception as error:
        trial.set_user_attr(ERROR, f"{type(error).__name__}: {error}"[:1000])
        shutil.rmtree(checkpoints, ignore_errors=True)
        raise
    shutil.rmtree(checkpoints, ignore_errors=True)
    return value


def _line(settings: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name.replace('_', ' ')} {f'{value:.4g}' if isinstance(value, float) else value}"
        for name, value in settings.items()
    )


def _origin(study: Study, number: int) -> int:
    """Return the number of the first trial that a trial tries once more, or its own."""
    held = {trial.number: trial.user_attrs.get(RETRY_OF) for trial in study.get_trials(deepcopy=False)}
    while (before := held.get(number)) is not None:
        number = before
    return number
