"""A study: trials in a database that processes and machines share, with draws that a trial's number decides."""

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

from assay.errors import InputError
from assay.training.tuning.settings import Choices, Dimension, Space

#: Attribute of a trial that tries once more what an ended process left unfinished: the number of that trial.
RETRY_OF = "retry_of"


class PlacedSampler(BaseSampler):  # type: ignore[misc]  # optuna is not always installed where types are checked
    """Tree-structured Parzen estimators (Bergstra et al. 2011), seeded anew for every trial.

    A sampler with a single generator would repeat its first draws in every process and after every restart. Here the
    seed of a trial derives from the study's seed and the number of earlier trials, not counting retries.

    Args:
        seed: the seed of the study.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._number, self._sampler = -1, TPESampler()

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """Return nothing: every setting is drawn by itself."""
        return {}

    def sample_relative(self, study: Study, trial: FrozenTrial, search_space: dict[str, Any]) -> dict[str, Any]:
        """Return nothing."""
        return {}

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """Return the value of one setting."""
        if trial.number != self._number:
            trials = study.get_trials(deepcopy=False)
            first = first_attempt(study, trial.number)
            place = sum(one.number < first and RETRY_OF not in one.user_attrs for one in trials)
            seed = int(np.random.SeedSequence([self._seed, place]).generate_state(1)[0])
            # constant_liar counts running trials as bad, or parallel trials would draw similar settings
            self._number, self._sampler = trial.number, TPESampler(seed=seed, constant_liar=True)
            # A retry keeps the settings drawn before its process ended; drawing them again advances the generator.
            for name, distribution in trial.distributions.items():
                self._sampler.sample_independent(study, trial, name, distribution)
        return self._sampler.sample_independent(study, trial, param_name, param_distribution)


def suggest_all(trial: Trial, space: Space) -> dict[str, Any]:
    """Return the settings of a trial: newly drawn, or, for a retry, those of the trial that it repeats."""
    return {name: _suggest(trial, name, dimension) for name, dimension in space.items()}


def _suggest(trial: Trial, name: str, dimension: Dimension) -> Any:
    if isinstance(dimension, Choices):
        return trial.suggest_categorical(name, dimension.values)
    if isinstance(dimension.low, int) and isinstance(dimension.high, int):
        return trial.suggest_int(name, dimension.low, dimension.high, log=dimension.log)
    return trial.suggest_float(name, dimension.low, dimension.high, log=dimension.log)


#: Attributes of a trial: who runs it, why it failed, and whether it began when there were enough already.
RUNNER, ERROR, SURPLUS = "runner", "error", "surplus"
#: Attribute of a study: what was asked for.
REQUEST = "request"
#: Seconds between two signs of life of a trial, and after how many without one its process counts as ended.
HEARTBEAT, GRACE = 30, 120
#: Seconds that SQLite waits for another process to be done.
PATIENCE = 60
#: How often an operation is repeated that another process has begun.
ATTEMPTS = 20
#: What databases say when another process has just created the tables of a study.
_CREATED_MEANWHILE = ("already exists", "UNIQUE constraint", "duplicate key")
#: Trials before any is pruned, and epochs of a trial before it may be: in the first one a training of several epochs
#: is behind one of a single epoch, whose learning rate has fallen to 0.
STARTUP, UNPRUNED = 3, 2
_FINISHED = (TrialState.COMPLETE, TrialState.PRUNED)


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


def without_password(address: str) -> str:
    """Return an address without its password."""
    try:
        return str(make_url(address).render_as_string(hide_password=True))
    except (ArgumentError, ValueError):
        return "the address"


def file_address(path: Path) -> str:
    """Return the address of a file of SQLite.

    Raises:
        InputError: an address cannot hold its path, as before SQLAlchemy 2.1 one with a question mark.
    """
    address: str = URL.create("sqlite", database=str(path)).render_as_string()
    if make_url(address).database != str(path):
        raise InputError(f"{path}: cannot stand in the address of a database; name the folder without ?, # and %")
    return address


def connect(address: str) -> RDBStorage:
    """Open a database and create its tables if they are missing.

    Args:
        address: a SQLAlchemy address, such as ``sqlite:///study.db`` or ``postgresql+psycopg://user@host/name``.

    Raises:
        InputError: it cannot be reached, or its driver is not installed.
    """
    remedy = "give `storage` an address of SQLAlchemy, such as sqlite:///study.db"
    try:
        return _connected(address)
    except (ArgumentError, ValueError):
        raise InputError(f"`storage`: is no address of a database; {remedy}") from None
    except ImportError as error:
        raise InputError(
            f"`storage={without_password(address)}`: its driver is not installed ({_reason(error)}); install it, or "
            f"{remedy}"
        ) from None
    except (SQLAlchemyError, StorageInternalError, RuntimeError) as error:
        raise InputError(f"`storage={without_password(address)}`: cannot be used ({_reason(error)})") from None


def _connected(address: str) -> RDBStorage:
    """Open a database; retries if another process creates its tables at the same moment."""
    for _ in range(ATTEMPTS):
        try:
            return _storage(address)
        except (SQLAlchemyError, StorageInternalError) as error:
            if not any(word in _reason(error) for word in _CREATED_MEANWHILE):
                raise
        time.sleep(random.uniform(0.1, 0.5))
    return _storage(address)


def _storage(address: str) -> RDBStorage:
    settings: dict[str, Any] = {"connect_args": {"timeout": PATIENCE}} if address.startswith("sqlite") else {}
    return RDBStorage(
        address.replace("{", "{{").replace("}", "}}"),  # Optuna formats it
        engine_kwargs=settings | {"pool_pre_ping": True},
        heartbeat_interval=HEARTBEAT,
        grace_period=GRACE,
        heartbeat_stale_trial_callback=_retry,
    )


def _reason(error: BaseException) -> str:
    """Return the first line of an error's root cause, at most 300 characters."""
    while (cause := getattr(error, "orig", None) or error.__cause__) is not None:
        error = cause
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)[:300]


def open_study(storage: RDBStorage, name: str, request: Mapping[str, Any], seed: int, *, prune: bool) -> Study:
    """Open a study that maximises its value, creating it if it does not exist.

    Args:
        storage: the database, from :func:`connect`.
        name: the name of the study.
        request: everything that the values of its trials depend on, as plain values.
        seed: the seed of its draws.
        prune: whether to stop a trial that is worse than the median of earlier trials at the same epoch.

    Raises:
        InputError: the study was made by another request.
    """
    pruner = MedianPruner(n_startup_trials=STARTUP, n_warmup_steps=UNPRUNED) if prune else NopPruner()
    settings: dict[str, Any] = {"storage": storage, "study_name": name, "pruner": pruner}
    try:
        study = optuna.create_study(sampler=PlacedSampler(seed), direction=StudyDirection.MAXIMIZE, **settings)
        study.set_user_attr(REQUEST, dict(request))
    except DuplicatedStudyError:
        study = optuna.load_study(sampler=PlacedSampler(seed), **settings)
    earlier = _request_of(study)
    if earlier != request:
        keys = _differences(earlier, request)
        raise InputError(
            f"`study={name}`: was made by another request (it differs in {', '.join(keys)}); ask as before, or give "
            "`study` another name"
        )
    return study


def _request_of(study: Study) -> dict[str, Any]:
    """Return the request of a study, which the process that creates the study writes right after."""
    for _ in range(ATTEMPTS):
        request = study.user_attrs.get(REQUEST)
        if request is not None:
            return dict(request)
        time.sleep(0.2)
    return {}


def _differences(earlier: Mapping[str, Any], request: Mapping[str, Any], prefix: str = "") -> list[str]:
    """Return the keys at which two requests differ; keys of an inner object follow a dot."""
    keys = []
    for key in sorted({*earlier, *request}):
        first, second = earlier.get(key), request.get(key)
        if isinstance(first, dict) and isinstance(second, dict):
            keys += _differences(first, second, f"{prefix}{key}.")
        elif first != second:
            keys.append(f"{prefix}{key}")
    return keys


def first_attempt(study: Study, number: int) -> int:
    """Return the number of the trial that a trial repeats, directly or through other retries; its own if none."""
    repeated = {trial.number: trial.user_attrs.get(RETRY_OF) for trial in study.get_trials(deepcopy=False)}
    while (earlier := repeated.get(number)) is not None:
        number = earlier
    return number


def number_begun(study: Study) -> int:
    """Return how many trials are finished or running."""
    return len(study.get_trials(deepcopy=False, states=(*_FINISHED, TrialState.RUNNING)))


def number_finished(study: Study) -> int:
    """Return how many trials are finished: complete or pruned."""
    return len(study.get_trials(deepcopy=False, states=_FINISHED))


def _retry(study: Study, trial: FrozenTrial) -> None:
    """Add a trial that repeats an unfinished one."""
    study.add_trial(
        create_trial(
            state=TrialState.WAITING,
            params=trial.params,
            distributions=trial.distributions,
            user_attrs={RETRY_OF: trial.number},
        )
    )


def give_up(study: Study, runner: str, *, alone: bool) -> list[int]:
    """Mark trials whose process has ended as failed, have them repeated, and return their numbers.

    Trials that run elsewhere are known by their heartbeat, which Optuna checks before every trial.

    Args:
        study: the study.
        runner: who is about to run trials; a trial of its own that is running is left from before.
        alone: whether nobody else uses the database.
    """
    ended = set()
    for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
        own = alone or trial.user_attrs.get(RUNNER) == runner
        if own or _never_begun(trial):
            study.tell(trial.number, state=TrialState.FAIL, skip_if_finished=True)
            ended.add(trial.number)
    trials = study.get_trials(deepcopy=False)
    repeated = {trial.user_attrs.get(RETRY_OF) for trial in trials}
    retried = []
    for trial in trials:
        own = alone or trial.number in ended or trial.user_attrs.get(RUNNER) == runner
        unfinished = trial.state == TrialState.FAIL and not trial.user_attrs.keys() & {ERROR, SURPLUS}
        if own and unfinished and trial.number not in repeated:
            _retry(study, trial)
            retried.append(trial.number)
    return retried


def _never_begun(trial: FrozenTrial) -> bool:
    """Return whether a process ended between the making of a trial and its first sign of life."""
    began = trial.datetime_start
    old = began is not None and datetime.now(began.tzinfo) - began > timedelta(seconds=GRACE)
    return old and RUNNER not in trial.user_attrs
