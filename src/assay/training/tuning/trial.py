"""One trial: a training with the settings that were drawn, judged on the development set alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import optuna
from optuna.trial import Trial
from transformers import TrainerCallback

from assay.training.pairwise.job import Job, fit, start
from assay.training.progress import Progress

__all__ = ["Named", "run_trial", "without_test"]


def without_test(job: Job) -> Job:
    """Return a job that has no test set: neither texts nor labels."""
    sets = {name: one for name, one in job.sets.items() if name != "test"}
    rows = {name: job.rows[name] for name in sets}
    # the test set stands last, so that the rows of the others stay what they are
    return replace(job, sets=sets, rows=rows, labels=job.labels[: sum(map(len, sets.values()))])


class Named:
    """A progress whose steps and lines say which trial they are of."""

    def __init__(self, progress: Progress, name: str) -> None:
        self._progress, self._name = progress, name

    def begin(self, what: str, total: int) -> None:
        """Start a step."""
        self._progress.begin(f"{self._name}: {what}", total)

    def advance(self, units: int) -> None:
        """Report units done."""
        self._progress.advance(units)

    def say(self, line: str) -> None:
        """Report one line."""
        self._progress.say(f"{self._name}: {line}")


class Reporting(TrainerCallback):  # type: ignore[misc]  # transformers has no types here
    """Tells Optuna the value at the end of every epoch, and ends a training that it prunes.

    Epochs are what trainings of other batch sizes have in common.
    """

    def __init__(self, trial: Trial, key: str) -> None:
        self._trial, self._key = trial, key

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        for record in state.log_history:  # of a training that continues from a checkpoint
            if self._key in record:
                self._tell(args, state, int(record["step"]), record[self._key])

    def on_evaluate(self, args: Any, state: Any, control: Any, metrics: Mapping[str, float], **_: Any) -> None:
        ended = self._tell(args, state, int(state.global_step), metrics[self._key])
        # after the last epoch there is nothing to save, and a value to lose
        if ended and state.global_step < state.max_steps and self._trial.should_prune():
            raise optuna.TrialPruned

    def _tell(self, args: Any, state: Any, step: int, value: float) -> bool:
        """Report a value if an epoch ends at a step, and return whether it does."""
        epoch, rest = divmod(step, state.max_steps // int(args.num_train_epochs))
        if rest != 0:
            return False
        self._trial.report(value, epoch)
        return True


def run_trial(job: Job, trial: Trial, settings: Mapping[str, Any], objective: str, checkpoints: Path) -> float:
    """Train with some settings, and return the agreement on the development set where the training was best there.

    Args:
        job: of the search, without a test set.
        trial: is told the value of every epoch.
        settings: those that were drawn.
        objective: name of the agreement.
        checkpoints: a folder for them; a training that was killed continues from the last one.

    Raises:
        TrialPruned: it is worse than others at the same epoch.
    """
    job = replace(job, settings=replace(job.settings, **settings))
    seed = job.settings.seed
    key = f"eval_{objective}"
    trained = fit(job, start(job, seed), seed, checkpoints, [Reporting(trial, key)])
    values = {int(one["step"]): float(one[key]) for one in trained.history if key in one}
    trial.set_user_attr("best_step", trained.best_step)
    trial.set_user_attr("train_steps", trained.steps)
    return values[trained.best_step]
