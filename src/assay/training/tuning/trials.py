"""Trials of a search: each is one training, evaluated on the development set. They run one after another or in
parallel processes.
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

from assay.common.messages import Message, Setting
from assay.common.processes import free_cores
from assay.common.progress import Progress
from assay.exceptions import AssayError, InputError, UnavailableError
from assay.metrics.neural.runtime import Runtime, devices_of, use_runtime
from assay.training.pairwise.job import PairwiseJob, fit_model, prepare_job, start_model
from assay.training.pairwise.trainer import DivergedError
from assay.training.tuning.settings import Search
from assay.training.tuning.study import (
    ERROR,
    RETRY_OF,
    RUNNER,
    SURPLUS,
    connect,
    count_begun,
    first_attempt,
    open_study,
    quiet_optuna,
    suggest_all,
)

# One trial: a training with drawn settings, evaluated on the development set alone.


def drop_test_set(job: PairwiseJob) -> PairwiseJob:
    """Return a job without the texts and labels of its test set."""
    sets = {name: examples for name, examples in job.sets.items() if name != "test"}
    rows = {name: job.rows[name] for name in sets}
    # The rows of the test set are the last ones, so the rows of the other sets keep their indices.
    remaining_count = sum(len(examples) for examples in sets.values())
    return replace(job, sets=sets, rows=rows, labels=job.labels[:remaining_count])


class TrialProgress:
    """A progress that forwards everything to another one, with the name of a trial before each step and line.

    Args:
        progress: the progress to forward to.
        name: the prefix, such as ``trial 3``.
    """

    def __init__(self, progress: Progress, name: str) -> None:
        self._progress, self._name = progress, name

    def begin(self, what: str, total: int) -> None:
        """Start a step of *total* units, with the name of the trial before its title *what*."""
        self._progress.begin(f"{self._name}: {what}", total)

    def advance(self, units: int) -> None:
        """Report that further units of the current step are done."""
        self._progress.advance(units)

    def say(self, line: str) -> None:
        """Report one line, with the name of the trial before it."""
        self._progress.say(f"{self._name}: {line}")


class EpochReporter(TrainerCallback):  # type: ignore[misc]  # transformers has no types here
    """A callback that reports the development value of every epoch to Optuna and stops a training that Optuna prunes.

    Values are reported by epoch, because trainings with different batch sizes have different numbers of steps.

    Args:
        trial: the trial of the study.
        key: the name of the value among the evaluation metrics, such as ``eval_spearman``.
    """

    def __init__(self, trial: Trial, key: str) -> None:
        self._trial, self._key = trial, key

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Report the epochs that a resumed training completed before its interruption."""
        for record in state.log_history:  # empty unless a training resumes from a checkpoint
            if self._key in record:
                self._report_epoch(args, state, int(record["step"]), record[self._key])

    def on_evaluate(self, args: Any, state: Any, control: Any, metrics: Mapping[str, float], **_: Any) -> None:
        """Report the value if an epoch has ended, and stop the training if Optuna prunes the trial.

        Raises:
            TrialPruned: the trial is worse than others at the same epoch.
        """
        epoch_ended = self._report_epoch(args, state, int(state.global_step), metrics[self._key])
        # Pruning after the last epoch would save no time and lose the value.
        if epoch_ended and state.global_step < state.max_steps and self._trial.should_prune():
            raise optuna.TrialPruned

    def _report_epoch(self, args: Any, state: Any, step: int, value: float) -> bool:
        """Report a value to Optuna if *step* ends an epoch, counted from 1, and return whether it does."""
        steps_per_epoch = state.max_steps // int(args.num_train_epochs)
        epoch, remainder = divmod(step, steps_per_epoch)
        if remainder != 0:
            return False
        self._trial.report(value, epoch)
        return True


def run_trial(job: PairwiseJob, trial: Trial, settings: Mapping[str, Any], objective: str, checkpoints: Path) -> float:
    """Train with drawn settings, and return the agreement on the development set at the best step.

    The model is not kept, except in its checkpoints.

    Args:
        job: the job of the search, without a test set.
        trial: the trial; it receives the value of every epoch, and the attributes ``best_step`` and ``train_steps``.
        settings: the drawn settings, which override the job's settings.
        objective: the statistic that measures the agreement, such as ``spearman``.
        checkpoints: the folder of checkpoints; an interrupted training resumes from the last one.

    Raises:
        TrialPruned: the trial is worse than others at the same epoch.
        DivergedError: a loss on the development set is no longer a finite number.
        InputError: the model has fewer layers than the settings train, or the checkpoint of its best step is damaged.
        UnavailableError: the base model cannot be loaded or trained.
    """
    trial_job = replace(job, settings=replace(job.settings, **settings))
    seed = trial_job.settings.seed
    metric_key = f"eval_{objective}"
    loss = start_model(trial_job, seed)
    training = fit_model(trial_job, loss, seed, checkpoints, [EpochReporter(trial, metric_key)])
    values = {int(record["step"]): float(record[metric_key]) for record in training.history if metric_key in record}
    trial.set_user_attr("best_step", training.best_step)
    trial.set_user_attr("train_steps", training.steps)
    return values[training.best_step]


# Trials run one after another until a study has the requested number.


class _SurplusError(Exception):
    """The trial is not needed: other processes started enough trials at the same moment."""


@dataclass(frozen=True)
class TrialOrder:
    """What a process needs to run trials; picklable, so that it can be sent to a child process.

    Attributes:
        search: the settings and space of the search.
        request: the search request as stored in the study.
        address: the address of the database.
        folder: the folder for checkpoints.
        runner: the identifier of the working folder whose processes run these trials.
        runtime: the device and threads of one process.
    """

    search: Search
    request: Mapping[str, Any]
    address: str
    folder: Path
    runner: str
    runtime: Runtime

    def open_study(self) -> Study:
        """Open the study, creating it if it does not exist.

        Raises:
            InputError: the database cannot be reached, or the study was created by a different request.
        """
        search = self.search
        with quiet_optuna():
            storage = connect(self.address)
            return open_study(storage, search.study, self.request, search.settings.seed, prune=search.prune)


def run_trials(order: TrialOrder, job: PairwiseJob, study: Study, progress: Progress) -> None:
    """Run trials in this process until the requested number is finished or running, here or elsewhere.

    The checkpoints of a trial are deleted once the study has stored its outcome. A trial that another process gave up
    because it sent no heartbeat, and a training that diverged, are reported as lines and do not end the run.

    Args:
        order: the search to run and its study.
        job: the job of the search, without a test set.
        study: the opened study of the order.
        progress: receives every step and line.

    Raises:
        Exception: the training of a trial failed by another error, which is stored with the trial.
    """
    given_up_trials: list[int] = []  # other processes marked the trial as failed, since it sent no heartbeat
    unneeded_checkpoints: list[Path] = []  # folders that no retry will resume from

    def objective(trial: Trial) -> float:
        """Return the value of a trial, and note what becomes of its checkpoints."""
        checkpoints = order.folder / f"trial-{first_attempt(trial.study, trial.number)}"
        try:
            value = _evaluate_drawn_settings(order, job, trial, progress, checkpoints)
        except UpdateFinishedTrialError:
            given_up_trials.append(trial.number)
            raise
        except Exception:
            unneeded_checkpoints.append(checkpoints)
            raise
        unneeded_checkpoints.append(checkpoints)
        return value

    while count_begun(study) < order.search.trials:
        try:
            with quiet_optuna():
                study.optimize(objective, n_trials=1, catch=(_SurplusError,))
        except (UpdateFinishedTrialError, ValueError):  # Optuna raises either one if the trial is already finished
            if not given_up_trials:
                raise
            progress.say(f"trial {given_up_trials.pop()}: gave no sign of life for too long, and is repeated")
        finally:
            # Deleted only once the study has the outcome: a kill before that could leave half a checkpoint to a retry.
            while unneeded_checkpoints:
                shutil.rmtree(unneeded_checkpoints.pop(), ignore_errors=True)


def _evaluate_drawn_settings(
    order: TrialOrder, job: PairwiseJob, trial: Trial, progress: Progress, checkpoints: Path
) -> float:
    """Draw the settings of a trial, train with them, and return the value that Optuna maximises.

    The runner and any error are stored with the trial, and the progress receives lines on its settings and its outcome.

    Args:
        order: the search that the trial belongs to, and who runs it.
        job: the training, without the settings that are drawn.
        trial: the trial of Optuna.
        progress: the display of progress.
        checkpoints: the folder for the checkpoints of the trial.

    Raises:
        TrialPruned: the trial is worse than others at the same epoch, or its loss diverged.
        _SurplusError: the study has enough trials without this one.
        UpdateFinishedTrialError: another process marked the trial as failed, and will repeat it.
        Exception: the training failed; the message is stored with the trial.
    """
    search, study = order.search, trial.study
    trial.set_user_attr(RUNNER, order.runner)
    if _count_earlier_trials(study, trial) >= search.trials:
        trial.set_user_attr(SURPLUS, True)
        raise _SurplusError
    trial_progress = TrialProgress(progress, f"trial {trial.number}")
    settings = suggest_all(trial, search.space)
    retried_trial = trial.user_attrs.get(RETRY_OF)
    retry_note = "" if retried_trial is None else f" (retry of trial {retried_trial})"
    trial_progress.say(f"{_format_settings(settings)}{retry_note}")
    try:
        value = run_trial(replace(job, progress=trial_progress), trial, settings, search.objective, checkpoints)
        trial_progress.say(f"dev {search.objective} {value:.5f}")
    except optuna.TrialPruned:
        trial_progress.say("pruned")
        raise
    except UpdateFinishedTrialError:  # without an error to record: the trial is already marked as failed
        raise
    except DivergedError as error:  # settings to avoid, but no reason to end the search
        trial_progress.say(Message("pruned: ", error.message))
        _record_error(trial, error)
        raise optuna.TrialPruned from error
    except Exception as error:
        _record_error(trial, error)
        raise
    return value


#: The number of characters after which the text of a stored error is cut.
_MAX_ERROR_CHARS = 1000


def _record_error(trial: Trial, error: Exception) -> None:
    """Store the class and the message of an error with a trial, cut at a maximal length."""
    trial.set_user_attr(ERROR, f"{type(error).__name__}: {error}"[:_MAX_ERROR_CHARS])


def _count_earlier_trials(study: Study, trial: Trial) -> int:
    """Return the number of trials with a lower number that are running, complete or pruned, on any machine."""
    states = (TrialState.COMPLETE, TrialState.PRUNED, TrialState.RUNNING)
    return sum(earlier.number < trial.number for earlier in study.get_trials(deepcopy=False, states=states))


def _format_settings(settings: Mapping[str, Any]) -> str:
    """Format settings as one line, such as ``batch size 32, learning rate 2e-05``."""
    settings_texts = []
    for name, value in settings.items():
        value_text = f"{value:.4g}" if isinstance(value, float) else str(value)
        settings_texts.append(f"{name.replace('_', ' ')} {value_text}")
    return ", ".join(settings_texts)


# Parallel trials, each in a child process that ends with this one.

#: Seconds between two checks whether a process has ended.
POLL_INTERVAL = 0.5


class _QueueProgress:
    """A progress that sends its lines to the parent process, but no bars: those of several processes would overlap.

    Args:
        queue: the queue to the parent process.

    Attributes:
        silent: whether lines are dropped.
    """

    def __init__(self, queue: Any) -> None:
        self._queue = queue
        self.silent = True

    def begin(self, what: str, total: int) -> None:
        """Show no bar."""

    def advance(self, units: int) -> None:
        """Show no bar."""

    def say(self, line: str) -> None:
        """Send a line, unless silent."""
        if not self.silent:
            self._queue.put(line)


def run_in_processes(order: TrialOrder, progress: Progress) -> None:
    """Run trials in as many child processes as the search has ``jobs``, until enough trials are finished or running.

    Processes get the GPUs in turn and equal shares of the CPU threads. When this function returns or raises, all of
    them have ended.

    Args:
        order: the search to run.
        progress: receives the lines of all processes.

    Raises:
        InputError, UnavailableError: the error of a child process; the others are terminated, and their trials are
            repeated the next time.
        UnavailableError: a process was killed, for instance when memory ran out, or ended with an error that is no
            AssayError.
    """
    jobs = order.search.jobs
    devices = devices_of(order.runtime)
    threads = max(1, (order.runtime.threads or free_cores()) // jobs)
    # A fork would copy locks that other threads hold, such as those of a progress bar.
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
            Message(
                "ask again with fewer ",
                Setting("jobs"),
                "; a script that calls assay needs `if __name__ == '__main__':` around the call",
            ),
        )


def _forward_lines(queue: Any, progress: Progress, patience: float) -> None:
    """Forward the queued lines to *progress*, in order.

    Args:
        queue: the queue of the processes; a line is a string, an error a tuple of exit code and message.
        progress: receives the lines.
        patience: the seconds to wait for the first line; 0 to return at once if there is none.

    Raises:
        InputError, UnavailableError: a process sent an error.
    """
    try:
        while True:
            message = queue.get(timeout=patience) if patience else queue.get_nowait()
            patience = 0  # lines after the first are not waited for
            if isinstance(message, tuple):
                exit_code, line = message
                error_class = InputError if exit_code == InputError.exit_code else UnavailableError
                raise error_class(line)
            progress.say(message)
    except Empty:
        pass


def _run_in_child(order: TrialOrder, queue: Any) -> None:
    """Load the data and run trials in a child process, which ends when its parent ends.

    Args:
        order: the search to run.
        queue: the queue to the parent; receives lines, and an :class:`AssayError` as a tuple of exit code and message.
    """
    # Ctrl+C reaches the whole process group; only the parent reacts and terminates its children.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_exit_with_parent, args=(parent.sentinel,), daemon=True).start()
    queue_progress = _QueueProgress(queue)
    try:
        with use_runtime(order.runtime):
            job = drop_test_set(prepare_job(order.search.settings, order.runtime, queue_progress))
            queue_progress.silent = False  # the parent has already reported what the preparation leaves out
            run_trials(order, job, order.open_study(), queue_progress)
    except AssayError as error:
        queue.put((error.exit_code, error.message))


def _exit_with_parent(sentinel: int) -> None:
    """Wait for the parent process to end, even by a kill, and then end this process at once with exit code 1.

    Args:
        sentinel: the handle of the parent process that becomes ready when it ends.
    """
    wait([sentinel])
    os._exit(1)
