"""Trials of a search: one training each, evaluated on the development set, run one after another or in parallel
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
    first_attempt,
    number_begun,
    open_study,
    quiet_optuna,
    suggest_all,
)

# One trial: a training with drawn settings, evaluated on the development set alone.


def without_test(job: PairwiseJob) -> PairwiseJob:
    """Return a job without the texts and labels of its test set."""
    sets = {name: examples for name, examples in job.sets.items() if name != "test"}
    rows = {name: job.rows[name] for name in sets}
    # the rows of the test set are the last ones, so those of the other sets keep their numbers
    remaining = sum(len(examples) for examples in sets.values())
    return replace(job, sets=sets, rows=rows, labels=job.labels[:remaining])


class TrialProgress:
    """A progress that puts the name of a trial before each step and line."""

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
    """Reports the value at the end of every epoch to Optuna, and ends a training that Optuna prunes.

    Values are reported by epoch, since trainings with different batch sizes have different numbers of steps.

    Args:
        trial: of the study.
        key: of the value among the metrics of an evaluation, such as ``eval_spearman``.
    """

    def __init__(self, trial: Trial, key: str) -> None:
        self._trial, self._key = trial, key

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Report the epochs that a resumed training has behind it."""
        for record in state.log_history:  # not empty where a training resumes from a checkpoint
            if self._key in record:
                self._report_epoch(args, state, int(record["step"]), record[self._key])

    def on_evaluate(self, args: Any, state: Any, control: Any, metrics: Mapping[str, float], **_: Any) -> None:
        """Report the epoch that an evaluation ends, and stop the training where the trial is pruned."""
        epoch_ended = self._report_epoch(args, state, int(state.global_step), metrics[self._key])
        # pruned after its last epoch, a training would save no time and lose its value
        if epoch_ended and state.global_step < state.max_steps and self._trial.should_prune():
            raise optuna.TrialPruned

    def _report_epoch(self, args: Any, state: Any, step: int, value: float) -> bool:
        """Report a value if an epoch ends at a step, and return whether it does."""
        steps_per_epoch = state.max_steps // int(args.num_train_epochs)
        epoch, remainder = divmod(step, steps_per_epoch)
        if remainder != 0:
            return False
        self._trial.report(value, epoch)
        return True


def run_trial(job: PairwiseJob, trial: Trial, settings: Mapping[str, Any], objective: str, checkpoints: Path) -> float:
    """Train with drawn settings, and return the agreement on the development set at its best step.

    Args:
        job: of the search, without a test set.
        trial: gets the value of every epoch, and attributes for the best step and the number of steps.
        settings: the drawn ones, which replace those of the job.
        objective: name of the agreement.
        checkpoints: a folder for them; an interrupted training resumes from the last one.

    Raises:
        TrialPruned: it is worse than others at the same epoch.
    """
    job = replace(job, settings=replace(job.settings, **settings))
    seed = job.settings.seed
    key = f"eval_{objective}"
    trained = fit(job, start(job, seed), seed, checkpoints, [Reporting(trial, key)])
    values = {int(record["step"]): float(record[key]) for record in trained.history if key in record}
    trial.set_user_attr("best_step", trained.best_step)
    trial.set_user_attr("train_steps", trained.steps)
    return values[trained.best_step]


# Trials run one after another until a study has the number requested.


class _SurplusError(Exception):
    """This trial is one too many: other processes began theirs at the same moment."""


@dataclass(frozen=True)
class TrialOrder:
    """What a process needs to run trials; it can be pickled.

    Attributes:
        search: the request.
        request: the request as the study stores it.
        address: of the database.
        folder: for checkpoints.
        runner: identifies the working folder whose processes run these trials.
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
    """Run trials in this process until the number requested is finished or running, here or elsewhere.

    Args:
        order: what to run.
        job: of the search, without a test set.
        study: of the order.
        progress: gets every step and line.
    """
    lost: list[int] = []  # a trial that others gave up, as its process reported nothing for too long
    decided: list[Path] = []  # checkpoints that no retry needs

    def objective(trial: Trial) -> float:
        checkpoints = order.folder / f"trial-{first_attempt(trial.study, trial.number)}"
        try:
            value = _evaluate_trial(order, job, trial, progress, checkpoints)
        except UpdateFinishedTrialError:
            lost.append(trial.number)
            raise
        except Exception:
            decided.append(checkpoints)
            raise
        decided.append(checkpoints)
        return value

    while number_begun(study) < order.search.trials:
        try:
            with quiet_optuna():
                study.optimize(objective, n_trials=1, catch=(_SurplusError,))
        except (UpdateFinishedTrialError, ValueError):  # Optuna raises either for a trial that is finished
            if not lost:
                raise
            progress.say(f"trial {lost.pop()}: gave no sign of life for too long, and is repeated")
        finally:
            # only now that the study has the value: a retry would read what a kill leaves of half a checkpoint
            while decided:
                shutil.rmtree(decided.pop(), ignore_errors=True)


def _evaluate_trial(order: TrialOrder, job: PairwiseJob, trial: Trial, progress: Progress, checkpoints: Path) -> float:
    """Return the value of a trial, which Optuna maximises.

    Raises:
        TrialPruned: it is worse than others at the same epoch, or its loss diverged.
        _SurplusError: the study has enough trials without it.
        UpdateFinishedTrialError: another process gave the trial up, and will repeat it.
        Exception: what ended the training; the trial keeps its text.
    """
    search, study = order.search, trial.study
    trial.set_user_attr(RUNNER, order.runner)
    if _number_before(study, trial) >= search.trials:
        trial.set_user_attr(SURPLUS, True)
        raise _SurplusError
    trial_progress = TrialProgress(progress, f"trial {trial.number}")
    settings = suggest_all(trial, search.space)
    repeated = trial.user_attrs.get(RETRY_OF)
    trial_progress.say(_settings_line(settings) + ("" if repeated is None else f" (retry of trial {repeated})"))
    try:
        value = run_trial(replace(job, progress=trial_progress), trial, settings, search.objective, checkpoints)
        trial_progress.say(f"dev {search.objective} {value:.5f}")
    except optuna.TrialPruned:
        trial_progress.say("pruned")
        raise
    except UpdateFinishedTrialError:
        raise
    except DivergedError as error:  # settings to avoid, but no reason to end the search
        trial_progress.say(f"pruned: {error}")
        _record_error(trial, error)
        raise optuna.TrialPruned from error
    except Exception as error:
        _record_error(trial, error)
        raise
    return value


#: The most characters of an error that a study stores.
_ERROR_LENGTH = 1000


def _record_error(trial: Trial, error: Exception) -> None:
    """Store the class and message of an error with a trial."""
    trial.set_user_attr(ERROR, f"{type(error).__name__}: {error}"[:_ERROR_LENGTH])


def _number_before(study: Study, trial: Trial) -> int:
    """Return how many trials of lower number are running or ended with a value, on any machine."""
    states = (TrialState.COMPLETE, TrialState.PRUNED, TrialState.RUNNING)
    return sum(earlier.number < trial.number for earlier in study.get_trials(deepcopy=False, states=states))


def _settings_line(settings: Mapping[str, Any]) -> str:
    """Return settings in one line, such as ``batch size 32, learning rate 2e-05``."""
    parts = []
    for name, value in settings.items():
        value_text = f"{value:.4g}" if isinstance(value, float) else str(value)
        parts.append(f"{name.replace('_', ' ')} {value_text}")
    return ", ".join(parts)


# Trials at the same time, each in a process of its own that ends with this one.

#: Seconds between two checks whether a process has ended.
POLL_INTERVAL = 0.5


class _QueueProgress:
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
    """Run trials in ``jobs`` processes until the number requested is finished or running.

    Args:
        order: what to run; each process gets one of the GPUs in turn and an equal share of the CPU threads.
        progress: gets the lines of all processes.

    Raises:
        AssayError: what a process raised; the others are stopped, and their trials are repeated the next time.
        UnavailableError: a process was killed, for instance as memory ran out.
    """
    jobs = order.search.jobs
    devices = device_of(order.runtime)
    threads = max(1, (order.runtime.threads or free_cores()) // jobs)
    # fork would copy locks that other threads hold, such as those of a progress bar
    context = multiprocessing.get_context("spawn")
    queue: Any = context.Queue()
    processes = []
    for number in range(jobs):
        runtime = Runtime(device=devices[number % len(devices)], threads=threads)
        processes.append(context.Process(target=_run_in_child, args=(replace(order, runtime=runtime), queue)))
    try:
        for process in processes:
            process.start()
        while any(process.exitcode is None for process in processes):
            _forward_lines(queue, progress, POLL_INTERVAL)
            if any(process.exitcode for process in processes):
                break
        _forward_lines(queue, progress, 0)
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


def _forward_lines(queue: Any, progress: Progress, patience: float) -> None:
    """Hand the lines that are in the queue on to *progress*, in order.

    Args:
        queue: of the processes: lines as text, an error as its exit code and message.
        progress: gets the lines.
        patience: seconds to wait for the first one.

    Raises:
        InputError, UnavailableError: the error that a process sent.
    """
    try:
        while True:
            message = queue.get(timeout=patience) if patience else queue.get_nowait()
            patience = 0  # whatever else is there is taken at once
            if isinstance(message, tuple):
                exit_code, line = message
                raise InputError(line) if exit_code == InputError.exit_code else UnavailableError(line)
            progress.say(message)
    except Empty:
        pass


def _run_in_child(order: TrialOrder, queue: Any) -> None:
    """Run trials in a child process, which ends when its parent does; interrupts are handled by the parent.

    Lines go into the queue, and an :class:`AssayError` as its exit code and message.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_exit_with_parent, args=(parent.sentinel,), daemon=True).start()
    sender = _QueueProgress(queue)
    try:
        with use_runtime(order.runtime):
            job = without_test(prepare(order.search.settings, order.runtime, sender))
            sender.silent = False  # the parent has reported already what preparing leaves out
            run_trials(order, job, order.study(), sender)
    except AssayError as error:
        queue.put((error.exit_code, str(error)))


def _exit_with_parent(sentinel: int) -> None:
    """End this process when its parent has ended, which a killed parent cannot announce."""
    wait([sentinel])
    os._exit(1)
