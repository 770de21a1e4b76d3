"""A whole search: trials on the development set, the winner trained once more, and its only evaluation on test."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import optuna
from optuna import Study
from optuna.trial import FrozenTrial, TrialState

from assay.common.addresses import public_address
from assay.common.messages import Message, Setting
from assay.common.progress import Progress
from assay.exceptions import InputError, UnavailableError
from assay.training.folder import Render, open_work_folder, write_json
from assay.training.pairwise.job import PairwiseJob, check_measure, prepare_job
from assay.training.pairwise.recipe import make_all_models
from assay.training.ranks import process_count
from assay.training.settings import versions
from assay.training.tuning.settings import Search
from assay.training.tuning.study import (
    ERROR,
    RETRY_OF,
    SURPLUS,
    connect,
    count_begun,
    count_finished,
    fail_unfinished,
    file_address,
    quiet_optuna,
)
from assay.training.tuning.trials import TrialOrder, drop_test_set, run_in_processes, run_trials

#: The version of the format of :data:`STUDY`.
SCHEMA = 1
#: The file that describes the study, in the folder of the result.
STUDY = "study.json"
#: The states of the trials that are written. Trials in other states belong to processes that asked for more trials.
_LISTED_STATES = (TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL)
#: Seconds between two checks of trials that run elsewhere.
POLL_SECONDS = 5.0
#: Renders a study as files; returns a mapping from file name to contents.
RenderStudy = Callable[[Mapping[str, Any]], Mapping[str, str]]


def search_and_train(
    search: Search,
    *,
    render: Render,
    render_study: RenderStudy,
    progress: Progress,
) -> dict[str, Any]:
    """Search, train the winner from the start on all training pairs, and evaluate it once on the test set.

    The output folder gets the winner's model, ``study.json`` and further files that describe the study. An interrupted
    search resumes with the same command: finished trials are kept, and trials that were running are repeated with the
    same settings.

    Args:
        search: the search space and the settings of the training, with the output folder.
        render: returns the results of the winner as Markdown.
        render_study: returns the further files from the contents of ``study.json``.
        progress: receives every step.

    Returns:
        The contents of ``study.json``: ``schema``, ``name``, ``storage``, ``objective``, ``request``, ``seed``,
        ``trials``, ``winner`` (a trial number), ``settings`` (the winner's values of the searched settings),
        ``command``, ``results`` (of the winner on test, see
        :func:`~assay.training.pairwise.recipe.train_on_pairs`), ``versions``.

    Raises:
        InputError: a setting, a dataset or the output folder cannot be used, the database cannot be reached, the study
            was created by a different request, the winner's training diverged, the disk is full, or the process was
            started by torchrun.
        UnavailableError: the model or a dataset is unavailable, a process that ran trials was killed, or no trial was
            completed.
    """
    if process_count() > 1:
        raise InputError(
            "assay tune is one process that starts others by ", Setting("jobs"), "; start it without torchrun"
        )
    if search.storage is not None:
        with quiet_optuna():
            connect(search.storage).engine.dispose()  # an unreachable database is reported before anything is written
    runtime = search.settings.runtime
    job = prepare_job(search.settings, runtime, progress)
    check_measure(search.objective, "objective", job.labels[job.rows["dev"]], job.classes)
    request = search.request(job.base.digest, job.digests)
    storage = None if search.storage is None else public_address(search.storage)
    seeds = search.settings.seeds
    folder_request = request | {
        "recipe": f"tune {search.settings.recipe}",
        "study": search.study,
        "storage": storage,
        "seeds": seeds,
    }
    with open_work_folder(search.settings.out, folder_request) as work:
        address = search.storage or file_address(work.folder / "study.db")
        runner = _runner_id(work.folder / "runner")
        order = TrialOrder(
            search=search, request=request, address=address, folder=work.folder, runner=runner, runtime=runtime
        )
        study = order.open_study()
        _run_until_finished(order, drop_test_set(job), study, progress)
        winner = _best_trial(study)
        progress.say(f"trial {winner.number} is the best; its settings are trained once more and evaluated on test")
        winning_job = replace(job, settings=replace(search.settings, **winner.params))
        results = make_all_models(winning_job, work, render)
        study_facts = _study_record(search, study, winner) | {
            "storage": storage,
            "command": winning_job.settings.training_command(),
            "results": results,
            "versions": versions() | {"optuna": optuna.__version__},
        }
        for name, text in render_study(study_facts).items():
            (work.result_folder / name).write_text(text, encoding="utf-8")
        write_json(work.result_folder / STUDY, study_facts)
        return study_facts


def _runner_id(path: Path) -> str:
    """Return the random identifier of a working folder's runs, read from *path* or created there.

    The working folder is locked, so that only one run at a time uses the identifier.
    """
    if not path.is_file():
        path.write_text(uuid.uuid4().hex, encoding="ascii")
    return path.read_text(encoding="ascii")


def _run_until_finished(order: TrialOrder, job: PairwiseJob, study: Study, progress: Progress) -> None:
    """Run trials, or wait for trials of other processes, until the study has the requested number of finished ones.

    Before that, trials that an earlier run left unfinished are marked as failed and queued again.

    Args:
        order: what this run needs to run trials.
        job: the job of the search, without a test set.
        study: the opened study of the order.
        progress: receives every step and line.

    Raises:
        InputError, UnavailableError: a trial failed, or a process that ran trials was killed.
    """
    search = order.search
    with quiet_optuna():
        for number in fail_unfinished(study, order.runner, alone=search.storage is None):
            progress.say(f"trial {number} was not finished; it is repeated")
    if finished_before := count_finished(study):
        progress.say(f"study {search.study}: {finished_before} trials are finished")
    is_waiting = False
    while count_finished(study) < search.trials:
        if count_begun(study) < search.trials:
            if search.jobs == 1:
                run_trials(order, job, study, progress)
            else:
                run_in_processes(order, progress)
            continue
        if not is_waiting:
            progress.say(f"study {search.study}: waits for trials of other processes")
            is_waiting = True
        time.sleep(POLL_SECONDS)
        with quiet_optuna():
            optuna.storages.fail_stale_trials(study)


def _best_trial(study: Study) -> FrozenTrial:
    """Return the trial with the highest value, the earliest in a tie.

    Raises:
        UnavailableError: no trial is complete.
    """
    complete = study.get_trials(states=(TrialState.COMPLETE,))
    if not complete:
        raise UnavailableError(
            f"study {study.study_name}: no trial was completed", Message("ask for more with ", Setting("trials"))
        )
    return max(complete, key=lambda trial: (trial.value, -trial.number))


def _study_record(search: Search, study: Study, winner: FrozenTrial) -> dict[str, Any]:
    """Return the request, the trials and the winner of a study as plain values, for :data:`STUDY`.

    Trials that are still waiting or running are left out, as are those that were started beyond the requested number.
    """
    listed_trials = [
        trial for trial in study.get_trials() if trial.state in _LISTED_STATES and SURPLUS not in trial.user_attrs
    ]
    return {
        "schema": SCHEMA,
        "name": search.study,
        "objective": search.objective,
        "seed": search.settings.seed,
        "request": dict(study.user_attrs["request"]),
        "trials": [_trial_record(trial) for trial in listed_trials],
        "winner": winner.number,
        "settings": dict(winner.params),
    }


def _trial_record(trial: FrozenTrial) -> dict[str, Any]:
    """Return a trial as plain values.

    ``value`` is None unless the trial is complete; ``best_step``, ``steps``, ``seconds``, ``retry_of`` and ``error``
    are None where the trial has none.
    """
    return {
        "number": trial.number,
        "state": trial.state.name.lower(),
        "settings": dict(trial.params),
        "value": trial.value if trial.state == TrialState.COMPLETE else None,
        "epochs": {str(epoch): value for epoch, value in sorted(trial.intermediate_values.items())},
        "best_step": trial.user_attrs.get("best_step"),
        "steps": trial.user_attrs.get("train_steps"),
        "seconds": None if trial.duration is None else round(trial.duration.total_seconds(), 3),
        "retry_of": trial.user_attrs.get(RETRY_OF),
        "error": trial.user_attrs.get(ERROR),
    }
