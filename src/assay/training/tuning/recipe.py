"""The whole search: trials on the development set, the winner trained once more, and its one evaluation on test."""

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

from assay.errors import InputError, UnavailableError
from assay.progress import Progress
from assay.training.folder import Render, open_work_folder, write_json
from assay.training.pairwise.job import PairwiseJob, prepare
from assay.training.pairwise.recipe import make_all
from assay.training.ranks import processes
from assay.training.settings import versions
from assay.training.tuning.settings import Search
from assay.training.tuning.study import (
    ERROR,
    RETRY_OF,
    SURPLUS,
    connect,
    file_address,
    give_up,
    number_begun,
    number_finished,
    quiet_optuna,
    without_password,
)
from assay.training.tuning.trials import TrialOrder, run_in_processes, run_trials, without_test

#: Version of the form of :data:`STUDY`.
SCHEMA = 1
#: The study as a file of the result.
STUDY = "study.json"
#: States of trials that are written; others belong to processes that wanted more of them.
_SHOWN = (TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL)
#: Seconds between two looks at trials that run elsewhere.
PAUSE = 5.0
#: What a study is written as: contents by file name.
RenderStudy = Callable[[Mapping[str, Any]], Mapping[str, str]]


def search_and_train(
    search: Search,
    *,
    render: Render,
    render_study: RenderStudy,
    progress: Progress,
) -> dict[str, Any]:
    """Search, train the winner from the start on all training pairs, and evaluate it on test, once.

    An interrupted search resumes with the same command: finished trials are kept, those that were running are tried
    again with the same settings.

    Args:
        search: what is searched, and the settings of the training; the folder of these gets the study, too.
        render: gives the results of the winner as Markdown.
        render_study: gives further files of the study.
        progress: receives every step.

    Returns:
        What ``study.json`` holds: ``schema``, ``name``, ``storage``, ``objective``, ``request``, ``seed``, ``trials``,
        ``winner`` (number of a trial), ``settings`` (those of the winner that were searched), ``command``,
        ``results`` (of the winner on test, see :func:`~assay.training.pairwise.recipe.train_on_pairs`), ``versions``.

    Raises:
        InputError: a setting or a dataset cannot be used.
        UnavailableError: the model is unavailable, or no trial was completed.
    """
    if processes() > 1:
        raise InputError("assay tune is one process that starts others by `jobs`; start it without torchrun")
    if search.storage is not None:
        with quiet_optuna():
            connect(search.storage).engine.dispose()  # what cannot be reached is said before anything is made
    runtime = search.settings.runtime
    job = prepare(search.settings, runtime, progress)
    request = search.request(job.base.digest, job.digests)
    storage = None if search.storage is None else without_password(search.storage)
    seeds = search.settings.seeds
    asked = request | {"recipe": f"tune {search.settings.recipe}", "study": search.study}
    with open_work_folder(search.settings.out, asked | {"storage": storage, "seeds": seeds}) as work:
        address = search.storage or file_address(work.folder / "study.db")
        runner = _runner(work.folder / "runner")
        order = TrialOrder(search, request, address, work.folder, runner, runtime)
        study = order.study()
        _run(order, without_test(job), study, progress)
        winner = _winner(study)
        progress.say(f"trial {winner.number} is the best; its settings are trained once more and evaluated on test")
        chosen = replace(job, settings=replace(search.settings, **winner.params))
        results = make_all(chosen, work, render)
        found = _facts(search, study, winner) | {
            "storage": storage,
            "command": chosen.settings.training_command(),
            "results": results,
            "versions": versions() | {"optuna": optuna.__version__},
        }
        for name, text in render_study(found).items():
            (work.made / name).write_text(text, encoding="utf-8")
        write_json(work.made / STUDY, found)
        return found


def _runner(path: Path) -> str:
    """Return who runs trials in a working folder; nobody else does, since it is locked."""
    if not path.is_file():
        path.write_text(uuid.uuid4().hex, encoding="ascii")
    return path.read_text(encoding="ascii")


def _run(order: TrialOrder, job: PairwiseJob, study: Study, progress: Progress) -> None:
    """Return when a study has as many trials as are wanted, those counted that ran elsewhere."""
    search, waiting = order.search, False
    with quiet_optuna():
        for number in give_up(study, order.runner, alone=search.storage is None):
            progress.say(f"trial {number} was not finished; it is repeated")
    if before := number_finished(study):
        progress.say(f"study {search.study}: {before} trials are finished")
    while number_finished(study) < search.trials:
        if number_begun(study) < search.trials:
            if search.jobs == 1:
                run_trials(order, job, study, progress)
            else:
                run_in_processes(order, progress)
            continue
        if not waiting:
            progress.say(f"study {search.study}: waits for trials of other processes")
            waiting = True
        time.sleep(PAUSE)
        with quiet_optuna():
            optuna.storages.fail_stale_trials(study)


def _winner(study: Study) -> FrozenTrial:
    """Return the trial with the highest value, of equal ones the first."""
    complete = study.get_trials(states=(TrialState.COMPLETE,))
    if not complete:
        raise UnavailableError(f"study {study.study_name}: no trial was completed", "ask for more with `trials`")
    return max(complete, key=lambda trial: (trial.value, -trial.number))


def _facts(search: Search, study: Study, winner: FrozenTrial) -> dict[str, Any]:
    """Return what is known of a study, as plain values."""
    return {
        "schema": SCHEMA,
        "name": search.study,
        "objective": search.objective,
        "seed": search.settings.seed,
        "request": dict(study.user_attrs["request"]),
        "trials": [_plain(one) for one in study.get_trials() if one.state in _SHOWN and SURPLUS not in one.user_attrs],
        "winner": winner.number,
        "settings": dict(winner.params),
    }


def _plain(trial: FrozenTrial) -> dict[str, Any]:
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
