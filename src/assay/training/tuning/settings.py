"""The settings of a hyperparameter search, and the space that is searched: choices or a range for each setting."""

from __future__ import annotations

import itertools
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assay.errors import InputError, suggest
from assay.paths import user_path
from assay.settings import declared, setting
from assay.training.pairwise.settings import BATCHES, LEARNING, LabelledPairs, PairSettings

# The space that is searched: settings of a training, each with choices or a range.

_KEYS = ("choices", "low", "high", "log")


@dataclass(frozen=True)
class Choices:
    """One of some values, of which no two are nearer to each other than others."""

    values: tuple[int | float | str, ...]

    @property
    def tried(self) -> tuple[int | float | str, ...]:
        """What decides whether all values are valid."""
        return self.values

    def plain(self) -> dict[str, Any]:
        """Return it as in the file."""
        return {"choices": list(self.values)}


@dataclass(frozen=True)
class Range:
    """A number between two bounds, both included; whole where the bounds are integers.

    Attributes:
        low, high: the bounds.
        log: whether the logarithm is drawn uniformly, in place of the number.
    """

    low: int | float
    high: int | float
    log: bool = False

    @property
    def tried(self) -> tuple[int | float, ...]:
        """What decides whether all values are valid."""
        return self.low, self.high

    def plain(self) -> dict[str, Any]:
        """Return it as in the file."""
        return {"low": self.low, "high": self.high, "log": self.log}


Dimension = Choices | Range
Space = Mapping[str, Dimension]

#: Mustafazade and Ebbinghaus 2022, table 5.
DEFAULT: Space = {
    "batch_size": Choices((16, 32, 64, 128, 256)),
    "epochs": Range(1, 4),
    "warmup": Range(0.0, 0.5),
}


def plain_space(space: Space) -> dict[str, dict[str, Any]]:
    """Return a space as plain values, in its order."""
    return {name: dimension.plain() for name, dimension in space.items()}


def read_space(path: Path | None, settings: PairSettings) -> Space:
    """Read a space from a TOML file with a table ``[space.SETTING]`` for each setting that is searched.

    A table has ``choices``, or ``low`` and ``high`` and, for a logarithmic scale, ``log = true``.

    Args:
        path: the file; None for :data:`DEFAULT`.
        settings: the request, with which every value must go together.

    Raises:
        InputError: the file cannot be read, a setting cannot be searched, or a value is invalid; with file and key.
    """
    source = "the default space" if path is None else str(path)
    space = DEFAULT if path is None else _parsed(path)
    for name, dimension in space.items():
        for value in dimension.tried:
            _check_settings(f"{source}: space.{name}", settings, {name: value})
    named = {name: one.values for name, one in space.items() if isinstance(one, Choices) and LEARNING[name] is str}
    for values in itertools.product(*named.values()):
        _check_settings(f"{source}: space.{', space.'.join(named)}", settings, dict(zip(named, values, strict=True)))
    return space


def _check_settings(place: str, settings: PairSettings, changes: dict[str, Any]) -> None:
    try:
        replace(settings, **changes)
    except InputError as error:
        raise InputError(f"{place}: {error}") from None


def _parsed(path: Path) -> Space:
    try:
        held = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: is no TOML file ({error})") from None
    for key in held:
        if key != "space":
            raise InputError(f"{path}: {key}: expected tables [space.SETTING] alone, such as [space.batch_size]")
    tables = held.get("space")
    if not isinstance(tables, dict) or not tables:
        raise InputError(f"{path}: space: there is no table [space.SETTING], such as [space.batch_size]")
    return {name: _parse_dimension(f"{path}: space.{name}", name, table) for name, table in tables.items()}


def _parse_dimension(place: str, name: str, table: Any) -> Dimension:
    if name not in LEARNING:
        raise InputError(f"{place}: can not be searched; valid: {', '.join(LEARNING)}.{suggest(name, LEARNING)}")
    if not isinstance(table, dict):
        raise InputError(f"{place}: must be a table with choices, or with low and high")
    for key in table:
        if key not in _KEYS:
            raise InputError(f"{place}.{key}: there is no such key; valid: {', '.join(_KEYS)}.{suggest(key, _KEYS)}")
    if ("choices" in table) == ("low" in table and "high" in table) or ("choices" in table and len(table) > 1):
        raise InputError(f"{place}: must have choices alone, or low and high (and log)")
    if "choices" in table:
        values = table["choices"]
        if not isinstance(values, list) or not values:
            raise InputError(f"{place}.choices: must be a list of values")
        made = tuple(_parse_value(f"{place}.choices", name, value) for value in values)
        if len(set(made)) < len(made):
            raise InputError(f"{place}.choices: names a value twice")
        return Choices(made)
    return _parse_range(place, name, table)


def _parse_range(place: str, name: str, table: Mapping[str, Any]) -> Range:
    if LEARNING[name] is str:
        raise InputError(f"{place}: has no range; give it choices")
    low, high = (_parse_value(f"{place}.{key}", name, table[key]) for key in ("low", "high"))
    log = table.get("log", False)
    if not isinstance(log, bool):
        raise InputError(f"{place}.log: must be true or false")
    if isinstance(low, str) or isinstance(high, str) or not low < high:
        raise InputError(f"{place}: low must be below high")
    if log and not low > 0:
        raise InputError(f"{place}.low: must be above 0 with log = true")
    return Range(low, high, log)


def _parse_value(place: str, name: str, value: Any) -> int | float | str:
    """Return a value as the setting takes it."""
    kind = LEARNING[name]
    if kind is str and isinstance(value, str):
        return value
    if kind is int and isinstance(value, int) and not isinstance(value, bool):
        return value
    if (
        kind is float
        and isinstance(value, int | float)
        and not isinstance(value, bool)
        and abs(value) <= sys.float_info.max
    ):
        return float(value)
    noun = {str: "a text", int: "a whole number", float: "a number"}[kind]
    raise InputError(f"{place}: {value!r} is not {noun}")


# What can be asked of a search.

#: Agreement with the development labels that can be searched for, by task, the first being the default.
OBJECTIVES = {"regression": ("spearman", "pearson", "kendall"), "classification": ("accuracy",)}
#: Settings that change from machine to machine, or that the trials do not depend on.
_NOT_OF_TRIALS = ("base", "pairs", "dev", "test", "tokens", "seeds")


@dataclass(frozen=True, kw_only=True)
class TuneSettings(LabelledPairs):
    """The settings of a search; those of :data:`~assay.training.pairwise.settings.LEARNING` hold for every trial.

    Of these, None stands for the default of the training; what the space has cannot be set.
    """

    space: str | Path | None = setting(
        "A TOML file with the search space [default: batch size, epochs, warm-up].", None, metavar="FILE"
    )
    trials: int = setting(
        "Number of complete or pruned trials, including those that the study already has.", 5, at_least=1
    )
    objective: str | None = setting(
        "spearman, pearson, kendall; accuracy for classes [default: the first that fits].", None
    )
    prune: bool = setting("End trials early that are worse than the median of earlier trials at the same epoch.", True)
    storage: str | None = setting(
        "A database to share between processes and machines, such as sqlite:///study.db [default: a file of this "
        "search alone].",
        None,
    )
    study: str | None = setting("The name of the study in the database [default: that of the folder].", None)
    jobs: int = setting("Trials at a time, each in its own process.", 1, at_least=1)
    loss: str | None = setting("For every trial, as in assay train.", None)
    batches: str | None = setting("For every trial, as in assay train [default: length].", None, choices=BATCHES)
    epochs: int | None = setting("If the space has none [default: 4].", None, at_least=1)
    batch_size: int | None = setting("If the space has none [default: 16].", None, at_least=1)
    learning_rate: float | None = setting("If the space has none [default: 2e-05].", None, above=0)
    warmup: float | None = setting("If the space has none [default: 0.1].", None)
    layers: int | None = setting("Train the last N layers [default: all of the model].", None, at_least=1)

    def training(self) -> PairSettings:
        """Return the settings that every trial has, but for what is searched."""
        shared = {name: getattr(self, name) for name in declared(LabelledPairs) if name != "progress"}
        named = {name: getattr(self, name) for name in LEARNING if getattr(self, name) is not None}
        return PairSettings(**shared, **named)

    def search(self) -> Search:
        """Return the search, with its space.

        Raises:
            InputError: the space cannot be read, has a setting that is set as well, or does not go with the others.
        """
        settings = self.training()
        space = read_space(None if self.space is None else user_path(self.space), settings)
        for name in LEARNING:
            if name in space and getattr(self, name) is not None:
                raise InputError(f"`{name}`: is searched; leave it out, or take it out of the space")
        return Search(
            settings,
            space,
            trials=self.trials,
            objective=self.objective or OBJECTIVES[settings.task][0],
            prune=self.prune,
            storage=self.storage,
            study=self.study or Path(self.out).absolute().name,
            jobs=self.jobs,
        )


@dataclass(frozen=True)
class Search:
    """A search as it is run.

    Attributes:
        settings: of every trial, but for what is searched.
        space: what is searched.
        trials: complete or pruned ones, with those that the study has already.
        objective: one of :data:`OBJECTIVES`, on the development set, at the step at which a training was best there.
        prune: whether trials end early that are worse than the median.
        storage: address of the database, as SQLAlchemy has it; None for a file beside the result.
        study: its name there.
        jobs: trials at a time.

    Raises:
        InputError: a value outside its range.
    """

    settings: PairSettings
    space: Space
    trials: int
    objective: str
    prune: bool
    storage: str | None
    study: str
    jobs: int

    def __post_init__(self) -> None:
        valid = OBJECTIVES[self.settings.task]
        if self.objective not in valid:
            raise InputError(f"`objective={self.objective}`: must be one of {', '.join(valid)}")
        if not self.study.strip():
            raise InputError("`study`: must be a name")

    def request(self, base: str, data: dict[str, list[str]]) -> dict[str, Any]:
        """Return all that the values of trials depend on, as plain values; trials of one study share it.

        Args:
            base: digest of the model that is started from.
            data: digests of the datasets of each set.
        """
        settings = self.settings.plain()
        fixed = {name: value for name, value in settings.items() if name not in (*_NOT_OF_TRIALS, *self.space)}
        return {
            "recipe": self.settings.recipe,
            "base": base,
            "data": data,
            "fixed": fixed,
            "space": plain_space(self.space),
            "objective": self.objective,
            "prune": self.prune,
        }
