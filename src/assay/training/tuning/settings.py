"""The settings of a hyperparameter search, and the space that is searched: choices or a range for each setting."""

from __future__ import annotations

import itertools
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assay.common.declarations import Settings, declarations_of, setting
from assay.exceptions import InputError, suggestion_for
from assay.paths import read_settings_file, user_path
from assay.statistics.coefficients import CLASS_MEASURES
from assay.training.pairwise.settings import (
    BATCHES,
    BERTSCORE,
    LEARNING,
    STEP_MEASURES,
    LabelledPairs,
    PairRecipe,
    PairSettings,
    check_recipe,
)

# The space that is searched: settings of a training, each with choices or a range.

#: The keys of the table of a setting.
_KEYS = ("choices", "low", "high", "log")


@dataclass(frozen=True)
class Choices:
    """Values to choose from, without an order.

    Attributes:
        values: the distinct values.
    """

    values: tuple[int | float | str, ...]

    @property
    def checked_values(self) -> tuple[int | float | str, ...]:
        """The values that have to be valid for all values to be valid: all of them."""
        return self.values

    def plain_values(self) -> dict[str, Any]:
        """Return the choices as plain values, as in the file."""
        return {"choices": list(self.values)}


@dataclass(frozen=True)
class Range:
    """The numbers between two bounds, both included; only integers if the bounds are integers.

    Attributes:
        low, high: the bounds.
        log: whether numbers are drawn on a logarithmic scale.
    """

    low: int | float
    high: int | float
    log: bool = False

    @property
    def checked_values(self) -> tuple[int | float, ...]:
        """The values that have to be valid for all values to be valid: the bounds."""
        return self.low, self.high

    def plain_values(self) -> dict[str, Any]:
        """Return the range as plain values, as in the file."""
        return {"low": self.low, "high": self.high, "log": self.log}


Dimension = Choices | Range
Space = Mapping[str, Dimension]

#: The space without a file: Mustafazade and Ebbinghaus 2022, table 5.
DEFAULT: Space = {
    "batch_size": Choices((16, 32, 64, 128, 256)),
    "epochs": Range(1, 4),
    "warmup": Range(0.0, 0.5),
}


def plain_space(space: Space) -> dict[str, dict[str, Any]]:
    """Return the choices or the range of each setting of a space as plain values, by setting, in the same order."""
    return {name: dimension.plain_values() for name, dimension in space.items()}


def read_space(path: Path | None, settings: PairSettings) -> Space:
    """Return the space in a TOML file that has a table ``[space.SETTING]`` for each setting that is searched.

    A table has ``choices``, or ``low`` and ``high`` and, for a logarithmic scale, ``log = true``.

    Args:
        path: the file; None for :data:`DEFAULT`.
        settings: the settings of every trial, with which every value must be valid.

    Raises:
        InputError: the file cannot be read, a setting cannot be searched, or a value is invalid; the message names the
            file and the key.
    """
    source = "the default space" if path is None else str(path)
    space = DEFAULT if path is None else _parse_space_file(path)
    for name, dimension in space.items():
        for value in dimension.checked_values:
            _check_settings(f"{source}: space.{name}", settings, {name: value})
    # Settings with texts, such as the loss and the batches, may exclude each other: all combinations are checked.
    text_values = {}
    for name, dimension in space.items():
        if isinstance(dimension, Choices) and LEARNING[name] is str:
            text_values[name] = dimension.values
    location = f"{source}: space.{', space.'.join(text_values)}"
    for values in itertools.product(*text_values.values()):
        _check_settings(location, settings, dict(zip(text_values, values, strict=True)))
    return space


def _check_settings(location: str, settings: PairSettings, changes: dict[str, Any]) -> None:
    """Raise InputError, with a location in the file, if settings are invalid with these changes."""
    try:
        replace(settings, **changes)
    except InputError as error:
        raise InputError(f"{location}: ", error.message) from None


def _parse_space_file(path: Path) -> Space:
    """Return the space in a TOML file; raises InputError if the file cannot be read or is malformed."""
    try:
        tables_by_name = tomllib.loads(read_settings_file(path).decode("utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: is not a TOML file ({error})") from None
    for key in tables_by_name:
        if key != "space":
            raise InputError(f"{path}: {key}: expected tables [space.SETTING] alone, such as [space.batch_size]")
    tables = tables_by_name.get("space")
    if not isinstance(tables, dict) or not tables:
        raise InputError(f"{path}: space: there is no table [space.SETTING], such as [space.batch_size]")
    return {name: _parse_dimension(f"{path}: space.{name}", name, table) for name, table in tables.items()}


def _parse_dimension(location: str, name: str, table: Any) -> Dimension:
    """Return the choices or the range of a setting.

    Args:
        location: the location of the table, for messages.
        name: the name of the setting.
        table: the parsed table of the setting.

    Raises:
        InputError: the setting cannot be searched, or the table is malformed.
    """
    if name not in LEARNING:
        raise InputError(
            f"{location}: can not be searched; valid: {', '.join(LEARNING)}.{suggestion_for(name, LEARNING)}"
        )
    if not isinstance(table, dict):
        raise InputError(f"{location}: must be a table with choices, or with low and high")
    for key in table:
        if key not in _KEYS:
            raise InputError(
                f"{location}.{key}: there is no such key; valid: {', '.join(_KEYS)}.{suggestion_for(key, _KEYS)}"
            )
    has_choices = "choices" in table
    has_range = "low" in table and "high" in table
    if has_choices == has_range or (has_choices and len(table) > 1):
        raise InputError(f"{location}: must have choices alone, or low and high (and log)")
    return _parse_choices(location, name, table["choices"]) if has_choices else _parse_range(location, name, table)


def _parse_choices(location: str, name: str, choices: Any) -> Choices:
    """Return the choices of a setting; raises InputError if they are not a list of distinct, valid values."""
    if not isinstance(choices, list) or not choices:
        raise InputError(f"{location}.choices: must be a list of values")
    values = tuple(_parse_value(f"{location}.choices", name, choice) for choice in choices)
    if len(set(values)) < len(values):
        raise InputError(f"{location}.choices: names a value twice")
    return Choices(values)


def _parse_range(location: str, name: str, table: Mapping[str, Any]) -> Range:
    """Return the range of a setting; raises InputError if it can have none, or if a bound or ``log`` is invalid."""
    if LEARNING[name] is str:
        raise InputError(f"{location}: has no range; give it choices")
    low, high = (_parse_value(f"{location}.{key}", name, table[key]) for key in ("low", "high"))
    log = table.get("log", False)
    if not isinstance(log, bool):
        raise InputError(f"{location}.log: must be true or false")
    # Neither bound is a text, since the setting is a number; the test narrows the types.
    if isinstance(low, str) or isinstance(high, str) or not low < high:
        raise InputError(f"{location}: low must be below high")
    if log and not low > 0:
        raise InputError(f"{location}.low: must be above 0 with log = true")
    return Range(low, high, log)


def _parse_value(location: str, name: str, value: Any) -> int | float | str:
    """Return a value in the type of its setting; raises InputError if it has another type or is not finite."""
    kind = LEARNING[name]
    if kind is str and isinstance(value, str):
        return value
    is_number = isinstance(value, int | float) and not isinstance(value, bool)  # bool is a subclass of int
    if kind is int and is_number and isinstance(value, int):
        return value
    # The comparison is False for NaN, and for integers that are too large for a float.
    if kind is float and is_number and abs(value) <= sys.float_info.max:
        return float(value)
    noun = {str: "a text", int: "a whole number", float: "a number"}[kind]
    raise InputError(f"{location}: {value!r} is not {noun}")


# The settings of a search.

#: The statistics of agreement with the development labels that a search can maximise, by task, the default first.
OBJECTIVES = STEP_MEASURES
#: Settings on which the trials do not depend, or whose content is in the request under another name.
_NOT_IN_REQUEST = ("base", "pairs", "dev", "test", "tokens", "seeds")


@dataclass(frozen=True)
class _RecipeByPosition(Settings):
    recipe: PairRecipe = setting("What is trained.", argument=True)


@dataclass(frozen=True, kw_only=True)
class TuneSettings(_RecipeByPosition, LabelledPairs):
    """The settings of a search.

    Those of :data:`~assay.training.pairwise.settings.LEARNING` hold for every trial; None stands for the default of the
    training. A setting that is in the space must be None.
    """

    space: str | Path | None = setting(
        "A TOML file with the search space [default: batch size, epochs, warm-up].", None, metavar="FILE"
    )
    trials: int = setting(
        "Number of complete or pruned trials, including those that the study already has.", 5, at_least=1
    )
    objective: str | None = setting(
        "spearman, pearson, kendall; accuracy, f1, f1-macro of decisions; bertscore, Spearman of BERTScore on the last "
        "layer of a bi-encoder [default: spearman; accuracy with classes].",
        None,
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
    measure: str | None = setting(
        "Which step of a trial is kept, as in assay train [default: the objective, if it is bertscore or one of "
        "decisions].",
        None,
    )
    epochs: int | None = setting("If the space has none [default: 4].", None, at_least=1)
    batch_size: int | None = setting("If the space has none [default: 16].", None, at_least=1)
    learning_rate: float | None = setting("If the space has none [default: 2e-05].", None, above=0)
    warmup: float | None = setting("If the space has none [default: 0.1].", None)
    layers: int | None = setting("Train the last N layers [default: all of the model].", None, at_least=1)

    def pair_settings(self) -> PairSettings:
        """Return the settings of every trial, in which the searched settings have their defaults.

        The measure that decides which step is kept is the objective, if it is of decisions or bertscore and no other
        measure is named.

        Raises:
            InputError: the settings do not go together.
        """
        shared = {name: getattr(self, name) for name in declarations_of(LabelledPairs) if name != "progress"}
        learning = {name: getattr(self, name) for name in LEARNING if getattr(self, name) is not None}
        if self.objective in (*CLASS_MEASURES, BERTSCORE):
            learning.setdefault("measure", self.objective)
        return PairSettings(**shared, **learning)

    def search(self) -> Search:
        """Return the search with its space.

        Raises:
            InputError: the space cannot be read, contains a setting that is also set here, or does not go with the
                other settings; or the settings, such as the objective and the measure, do not go together.
        """
        settings = self.pair_settings()
        space = read_space(None if self.space is None else user_path(self.space), settings)
        for name in LEARNING:
            if name in space and getattr(self, name) is not None:
                raise InputError("is searched; leave it out, or take it out of the space", setting=name)
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
        settings: the settings of every trial, in which the searched settings are replaced.
        space: the space that is searched.
        trials: the number of complete or pruned trials, including those that the study already has.
        objective: one of :data:`OBJECTIVES`, measured on the development set at the best step of a training.
        prune: whether to end trials early that are worse than the median of earlier trials.
        storage: the address of the database, in the form of SQLAlchemy; None for a file of this search alone.
        study: the name of the study in the database.
        jobs: the number of trials at a time.

    Raises:
        InputError: the objective does not go with the task, the recipe or the measure of the steps, or the study has no
            name.
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
            raise InputError(f"must be one of {', '.join(valid)}", setting="objective", value=self.objective)
        check_recipe(self.objective, "objective", self.settings.recipe)
        if self.objective == BERTSCORE and self.settings.chosen_measure != BERTSCORE:
            raise InputError("must be the objective, which is bertscore", setting="measure")
        if not self.study.strip():
            raise InputError("must be a name", setting="study")

    def request(self, base_digest: str, data_digests: dict[str, list[str]]) -> dict[str, Any]:
        """Return what the trials of a study have in common, as plain values.

        This is the recipe, the base, the data, the settings that are not searched, the space, the objective and whether
        trials are pruned, but no versions of packages. A study accepts only trials with the same request.

        Args:
            base_digest: the digest of the base model.
            data_digests: the digests of the datasets of each set.
        """
        settings = self.settings.plain_values()
        fixed = {name: value for name, value in settings.items() if name not in (*_NOT_IN_REQUEST, *self.space)}
        return {
            "recipe": self.settings.recipe,
            "base": base_digest,
            "data": data_digests,
            "fixed": fixed,
            "space": plain_space(self.space),
            "objective": self.objective,
            "prune": self.prune,
        }
