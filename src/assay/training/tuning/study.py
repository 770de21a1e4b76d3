"""A study: trials in a database that processes and machines share. The number of a trial determines its draws."""

from __future__ import annotations

import random
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna import Study
from optuna.distributions import BaseDistribution
from optuna.exceptions import DuplicatedStudyError, ExperimentalWarning, StorageInternalError
from optuna.pruners import MedianPruner, NopPruner
from optuna.samplers import BaseSampler, TPESampler
from optuna.storages import RDBStorage
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, Trial, TrialState, create_trial
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from assay.common.addresses import public_address, public_reason
from assay.common.messages import Message, Setting
from assay.exceptions import InputError
from assay.training.tuning.settings import Choices, Dimension, Space

#: Attribute of a trial that repeats one left unfinished by a process that ended: the number of the repeated trial.
RETRY_OF = "retry_of"


class TrialSeededSampler(BaseSampler):  # type: ignore[misc]  # optuna is not always installed where types are checked
    """Tree-structured Parzen estimators (Bergstra et al. 2011), seeded anew for every trial.

    A sampler with a single generator would repeat its first draws in every process and after every restart. Here the
    seed of a trial derives from the study's seed and the number of earlier trials, not counting retries.

    Args:
        seed: the seed of the study.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._number, self._sampler = -1, TPESampler()  # no trial yet

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """Return an empty space: no settings are drawn jointly."""
        return {}

    def sample_relative(self, study: Study, trial: FrozenTrial, search_space: dict[str, Any]) -> dict[str, Any]:
        """Return no values, since no settings are drawn jointly."""
        return {}

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """Return the value of one setting for a trial; the first call for a trial seeds the sampler anew.

        Args:
            study: the study of the trial.
            trial: the trial, whose number determines the draw.
            param_name: the name of the setting.
            param_distribution: the values to draw from.
        """
        if trial.number != self._number:
            trials = study.get_trials(deepcopy=False)
            first_number = first_attempt(study, trial.number)
            draw_index = sum(earlier.number < first_number and RETRY_OF not in earlier.user_attrs for earlier in trials)
            seed = int(np.random.SeedSequence([self._seed, draw_index]).generate_state(1)[0])
            # constant_liar treats running trials as bad ones; without it, parallel trials would draw similar settings.
            self._number, self._sampler = trial.number, TPESampler(seed=seed, constant_liar=True)
            # A retry keeps the settings drawn before its process ended; drawing them again advances the generator.
            for name, distribution in trial.distributions.items():
                self._sampler.sample_independent(study, trial, name, distribution)
        return self._sampler.sample_independent(study, trial, param_name, param_distribution)


def suggest_all(trial: Trial, space: Space) -> dict[str, Any]:
    """Return the settings of a trial by name: for a retry those that the repeated trial has drawn, else new ones."""
    return {name: _suggest_setting(trial, name, dimension) for name, dimension in space.items()}


def _suggest_setting(trial: Trial, name: str, dimension: Dimension) -> Any:
    """Return the value of one setting for a trial, an integer if both bounds of its range are integers."""
    if isinstance(dimension, Choices):
        return trial.suggest_categorical(name, dimension.values)
    if isinstance(dimension.low, int) and isinstance(dimension.high, int):
        return trial.suggest_int(name, dimension.low, dimension.high, log=dimension.log)
    return trial.suggest_float(name, dimension.low, dimension.high, log=dimension.log)


#: Attributes of a trial: the runner that started it, the error it failed with, and whether it was started although
#: the study had enough trials already.
RUNNER, ERROR, SURPLUS = "runner", "error", "surplus"
#: Attribute of a study: the search request it was created by.
REQUEST = "request"
#: Seconds between two heartbeats of a trial, and seconds without one after which its process counts as ended.
HEARTBEAT_SECONDS, GRACE_SECONDS = 30, 120
#: Seconds that SQLite waits for a lock held by another process.
SQLITE_TIMEOUT = 60
#: The number of tries for an operation that another process may have begun.
ATTEMPTS = 20
#: Parts of the error messages of databases if another process has just created the tables of a study.
_ALREADY_CREATED_MESSAGES = ("already exists", "UNIQUE constraint", "duplicate key")
#: The number of trials before any is pruned, and of epochs before a trial may be pruned. After its first epoch, a
#: training of several epochs is behind a training of one epoch, whose learning rate has already fallen to 0.
TRIALS_BEFORE_PRUNING, EPOCHS_BEFORE_PRUNING = 3, 2
_FINISHED_STATES = (TrialState.COMPLETE, TrialState.PRUNED)


@contextmanager
def quiet_optuna() -> Iterator[None]:
    """Inside the block, silence Optuna's log below critical errors, and its warnings on experimental features."""
    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExperimentalWarning)
            yield
    finally:
        optuna.logging.set_verbosity(level)


def file_address(path: Path) -> str:
    """Return the SQLAlchemy address of a SQLite file.

    Raises:
        InputError: an address cannot express the path, such as one with a question mark before SQLAlchemy 2.1.
    """
    address: str = URL.create("sqlite", database=str(path)).render_as_string()
    if make_url(address).database != str(path):
        raise InputError(f"{path}: cannot be part of the address of a database; name the folder without ?, # and %")
    return address


def connect(address: str) -> RDBStorage:
    """Open the database of an address, create its tables if they are missing, and return it.

    Args:
        address: a SQLAlchemy address, such as ``sqlite:///study.db`` or ``postgresql+psycopg://user@host/name``.

    Raises:
        InputError: the address is invalid, the database cannot be reached, or its driver is not installed.
    """
    remedy = Message("give ", Setting("storage"), " an address of SQLAlchemy, such as sqlite:///study.db")
    try:
        return _connect_with_retries(address)
    except (ArgumentError, ValueError):
        raise InputError("is not an address of a database; ", remedy, setting="storage") from None
    except ImportError as error:
        raise InputError(
            f"its driver is not installed ({public_reason(_root_cause(error), address)}); install it, or ",
            remedy,
            setting="storage",
            value=public_address(address),
        ) from None
    except (SQLAlchemyError, StorageInternalError, RuntimeError) as error:
        raise InputError(
            f"cannot be used ({public_reason(_root_cause(error), address)})",
            setting="storage",
            value=public_address(address),
        ) from None


def _connect_with_retries(address: str) -> RDBStorage:
    """Return the database of an address; retry for some seconds if another process is just creating its tables."""
    for _ in range(ATTEMPTS):
        try:
            return _open_storage(address)
        except (SQLAlchemyError, StorageInternalError) as error:
            # Databases have no common error class for this, so the message tells.
            if not any(message in str(_root_cause(error)) for message in _ALREADY_CREATED_MESSAGES):
                raise
        time.sleep(random.uniform(0.1, 0.5))
    return _open_storage(address)


def _open_storage(address: str) -> RDBStorage:
    """Return the database of an address, whose trials send heartbeats and are queued again if their process ends."""
    engine_settings: dict[str, Any] = {"pool_pre_ping": True}
    if address.startswith("sqlite"):
        engine_settings["connect_args"] = {"timeout": SQLITE_TIMEOUT}
    return RDBStorage(
        address.replace("{", "{{").replace("}", "}}"),  # Optuna calls str.format on it
        engine_kwargs=engine_settings,
        heartbeat_interval=HEARTBEAT_SECONDS,
        grace_period=GRACE_SECONDS,
        heartbeat_stale_trial_callback=_add_retry,
    )


def _root_cause(error: BaseException) -> BaseException:
    """Return the exception that led to an error, such as that of the database's driver."""
    # SQLAlchemy keeps the error of the driver in the attribute orig.
    while (cause := getattr(error, "orig", None) or error.__cause__) is not None:
        error = cause
    return error


def open_study(storage: RDBStorage, name: str, request: Mapping[str, Any], seed: int, *, prune: bool) -> Study:
    """Return a study that maximises its value; it is created, with the request stored in it, if it does not exist.

    Args:
        storage: the database, from :func:`connect`.
        name: the name of the study.
        request: everything that the values of the trials depend on, as plain values.
        seed: the seed of the draws.
        prune: whether to stop a trial whose best value so far is below the median of complete trials at the same epoch;
            none is stopped before its second epoch, or before three trials are complete.

    Raises:
        InputError: the study was created by a different request, or has none after a few seconds.
    """
    pruner = NopPruner()
    if prune:
        pruner = MedianPruner(n_startup_trials=TRIALS_BEFORE_PRUNING, n_warmup_steps=EPOCHS_BEFORE_PRUNING)
    settings: dict[str, Any] = {"storage": storage, "study_name": name, "pruner": pruner}
    try:
        study = optuna.create_study(sampler=TrialSeededSampler(seed), direction=StudyDirection.MAXIMIZE, **settings)
        study.set_user_attr(REQUEST, dict(request))
    except DuplicatedStudyError:
        study = optuna.load_study(sampler=TrialSeededSampler(seed), **settings)
    stored_request = _stored_request(study)
    if stored_request != request:
        keys = _differing_keys(stored_request, request)
        raise InputError(
            f"belongs to another request (it differs in {', '.join(keys)}); repeat that request, or give ",
            Setting("study"),
            " another name",
            setting="study",
            value=name,
        )
    return study


def _stored_request(study: Study) -> dict[str, Any]:
    """Return the request of a study, or an empty dict if none appears within a few seconds.

    The process that creates a study stores the request in a second step, so another process may have to wait for it.
    """
    for _ in range(ATTEMPTS):
        request = study.user_attrs.get(REQUEST)
        if request is not None:
            return dict(request)
        time.sleep(0.2)
    return {}


def _differing_keys(earlier: Mapping[str, Any], request: Mapping[str, Any], prefix: str = "") -> list[str]:
    """Return the keys at which two requests differ, in alphabetical order.

    Nested keys are joined by dots, such as ``fixed.loss``.

    Args:
        earlier: the request that is stored in the study.
        request: the new request.
        prefix: what precedes the keys, if both are values of a key: that key and a dot.
    """
    keys = []
    for key in sorted({*earlier, *request}):
        earlier_value, new_value = earlier.get(key), request.get(key)
        if isinstance(earlier_value, dict) and isinstance(new_value, dict):
            keys += _differing_keys(earlier_value, new_value, f"{prefix}{key}.")
        elif earlier_value != new_value:
            keys.append(f"{prefix}{key}")
    return keys


def first_attempt(study: Study, number: int) -> int:
    """Return the number of the trial that a retry repeats, directly or through other retries.

    For a trial that is not a retry, this is its own number.
    """
    repeated_by_number = {trial.number: trial.user_attrs.get(RETRY_OF) for trial in study.get_trials(deepcopy=False)}
    while (earlier := repeated_by_number.get(number)) is not None:
        number = earlier
    return number


def count_begun(study: Study) -> int:
    """Return the number of trials that are finished or running."""
    return len(study.get_trials(deepcopy=False, states=(*_FINISHED_STATES, TrialState.RUNNING)))


def count_finished(study: Study) -> int:
    """Return the number of finished trials: complete or pruned."""
    return len(study.get_trials(deepcopy=False, states=_FINISHED_STATES))


def _add_retry(study: Study, trial: FrozenTrial) -> None:
    """Queue a trial that repeats an unfinished one with the same settings."""
    study.add_trial(
        create_trial(
            state=TrialState.WAITING,
            params=trial.params,
            distributions=trial.distributions,
            user_attrs={RETRY_OF: trial.number},
        )
    )


def fail_unfinished(study: Study, runner: str, *, alone: bool) -> list[int]:
    """Mark trials whose process has ended as failed, queue their retries, and return the numbers of the retried trials.

    Running trials of other runs are left alone, since Optuna checks their heartbeats before every trial; those whose
    process ended before it stored a runner are marked here. Trials that failed with an error, or that were started
    beyond the requested number, are not retried.

    Args:
        study: the study, whose trials are changed in the database.
        runner: the identifier of the run that is about to start; a running trial with the same identifier is left
            over from an earlier process.
        alone: whether no other run uses the database.
    """
    ended_numbers = set()
    for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
        is_own = alone or trial.user_attrs.get(RUNNER) == runner
        if is_own or _has_never_begun(trial):
            study.tell(trial.number, state=TrialState.FAIL, skip_if_finished=True)
            ended_numbers.add(trial.number)
    trials = study.get_trials(deepcopy=False)
    repeated_numbers = {trial.user_attrs.get(RETRY_OF) for trial in trials}
    retried_numbers = []
    for trial in trials:
        is_for_this_run = alone or trial.number in ended_numbers or trial.user_attrs.get(RUNNER) == runner
        is_unfinished = trial.state == TrialState.FAIL and not trial.user_attrs.keys() & {ERROR, SURPLUS}
        if is_for_this_run and is_unfinished and trial.number not in repeated_numbers:
            _add_retry(study, trial)
            retried_numbers.append(trial.number)
    return retried_numbers


def _has_never_begun(trial: FrozenTrial) -> bool:
    """Return whether a trial is older than the grace period and its process ended before it stored a runner."""
    start_time = trial.datetime_start
    is_old = start_time is not None and datetime.now(start_time.tzinfo) - start_time > timedelta(seconds=GRACE_SECONDS)
    return is_old and RUNNER not in trial.user_attrs
