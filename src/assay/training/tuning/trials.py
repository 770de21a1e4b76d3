"""Trials of a search: one training each, judged on the development set, run one after another or in parallel
processes.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from multiprocessing.connection import wait
from pathlib import Path
from queue import Empty
from typing import Any

import optuna
from optuna import Study
from optuna.exceptions import UpdateFinishedTrialError
from optuna.trial import Trial, TrialState
from transformers import TrainerCallback

from assay.errors import AssayError, InputError, UnavailableError
from assay.metrics.neural.runtime import Runtime, device_of, free_cores, use_runtime
from assay.progress import Progress
from assay.training.pairwise.job import PairwiseJob, fit, prepare, start
from assay.training.pairwise.trainer import DivergedError
from assay.training.tuning.settings import Search
from assay.training.tuning.study import (
    ERROR,
    RETRY_OF,
    RUNNER,
    SURPLUS,
    connect,
    number_begun,
    open_study,
    quiet_optuna,
    suggest_all,
)

__all__ = ["Named", "TrialOrder", "run_in_processes", "run_trial", "run_trials", "without_test"]


# One trial: a training with the settings that were drawn, judged on the development set alone.


def without_test(job: PairwiseJob) -> PairwiseJob:
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


def run_trial(job: PairwiseJob, trial: Trial, settings: Mapping[str, Any], objective: str, checkpoints: Path) -> float:
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


# Trials run one after another until a study has as many as are wanted.


class _SurplusError(Exception):
    """Other processes began as many trials as were wanted at the same moment."""


@dataclass(frozen=True)
class TrialOrder:
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


def run_trials(order: TrialOrder, job: PairwiseJob, study: Study, progress: Progress) -> None:
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

    while number_begun(study) < order.search.trials:
        try:
            with quiet_optuna():
                study.optimize(objective, n_trials=1, catch=(_SurplusError,))
        except (UpdateFinishedTrialError, ValueError):  # Optuna says so once more where the trial is over
            if not lost:
                raise
            progress.say(f"trial {lost.pop()}: gave no sign of life for too long, and is tried once more")


def _objective(order: TrialOrder, job: PairwiseJob, trial: Trial, progress: Progress) -> float:
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


# Trials at the same time, each in a process of its own that ends with this one.

#: Seconds between two looks at whether a process has ended.
GLANCE = 0.5


class _Sender:
    """A progress that sends its lines to the process that shows them; several bars would overwrite each other."""

    def __init__(self, queue: Any) -> None:
        self._queue = queue
        self.silent = True

    def begin(self, what: str, total: int) -> None:
        """Show no bar."""

    def advance(self, units: int) -> None:
        """Show no bar."""

    def say(self, line: str) -> None:
        """Send a line."""
        if not self.silent:
            self._queue.put(line)


def run_in_processes(order: TrialOrder, progress: Progress) -> None:
    """Run trials until as many as are wanted are over or running, as many at a time as the request says.

    Args:
        order: what to run; GPUs are dealt out, the threads of a CPU are shared out.
        progress: told the lines of all processes.

    Raises:
        AssayError: what a process raised; the others are stopped, and their trials are tried once more the next time.
        UnavailableError: a process has ended, such as for want of memory.
    """
    jobs = order.search.jobs
    devices = device_of(order.runtime)
    threads = max(1, (order.runtime.threads or free_cores()) // jobs)
    # fork would copy locks that other threads hold, such as those of a progress bar
    context = multiprocessing.get_context("spawn")
    queue: Any = context.Queue()
    runtimes = [Runtime(device=devices[k % len(devices)], threads=threads) for k in range(jobs)]
    processes = [context.Process(target=_process, args=(replace(order, runtime=one), queue)) for one in runtimes]
    try:
        for process in processes:
            process.start()
        while any(process.exitcode is None for process in processes):
            _tell_all(queue, progress, GLANCE)
            if any(process.exitcode for process in processes):
                break
        _tell_all(queue, progress, 0)
    finally:
        for process in processes:
            if process.is_alive():
                process.terminate()
        for process in processes:
            if process.pid is not None:
                process.join()
    if any(process.exitcode for process in processes):
        raise UnavailableError(
            "a process that ran trials has ended, such as for want of memory",
            "ask again with fewer `jobs`; a script that calls assay needs `if __name__ == '__main__':` around the call",
        )


def _tell_all(queue: Any, progress: Progress, patience: float) -> None:
    """Say the lines that have come, and raise the error that has.

    Args:
        queue: of the processes.
        progress: gets the lines.
        patience: seconds to wait for the first one.
    """
    try:
        while True:
            found = queue.get(timeout=patience) if patience else queue.get_nowait()
            patience = 0
            if isinstance(found, tuple):
                kind, line = found
                raise InputError(line) if kind == InputError.exit_code else UnavailableError(line)
            progress.say(found)
    except Empty:
        pass


def _process(order: TrialOrder, queue: Any) -> None:
    """Run trials in a process that ends with its parent, and leaves an interrupt to it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_follow, args=(parent.sentinel,), daemon=True).start()
    sender = _Sender(queue)
    try:
        with use_runtime(order.runtime):
            job = without_test(prepare(order.search.settings, order.runtime, sender))
            sender.silent = False  # the parent has said what is left out
            run_trials(order, job, order.study(), sender)
    except AssayError as error:
        queue.put((error.exit_code, str(error)))


def _follow(sentinel: int) -> None:
    """End this process when the parent has ended, which a kill keeps it from saying."""
    wait([sentinel])
    os._exit(1)
