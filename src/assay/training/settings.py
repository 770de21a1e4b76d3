"""What every recipe's settings can do: be checked, written as plain values and as a command line; and the packages
that training needs.
"""

from __future__ import annotations

import dataclasses
import math
import platform
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol

from assay.datasets.columns import parse_columns
from assay.datasets.load import is_own_file
from assay.errors import InputError, MissingExtraError
from assay.metrics.provenance import ABSENT, own_version, version_of

__all__ = ["Progress", "RecipeSettings", "check_packages", "flag", "versions"]


# How a training tells how far it is.


class Progress(Protocol):
    """Receives the steps of a training; a run's progress is one."""

    def begin(self, what: str, total: int) -> None:
        """Start a step of *total* units; ends the step before."""
        ...

    def advance(self, units: int) -> None:
        """Report units done in the step at hand."""
        ...

    def say(self, line: str) -> None:
        """Report one line."""
        ...


# The packages that training needs, and their versions.

_NEEDED = ("torch", "transformers", "sentence-transformers", "accelerate", "datasets")


def check_packages() -> None:
    """Return when all of them are installed.

    Raises:
        MissingExtraError: one is not.
    """
    for package in _NEEDED:
        if version_of(package) == ABSENT:
            raise MissingExtraError(package, "train")


def versions() -> dict[str, str]:
    """Return what can change the result of a training: versions of packages, of Python and of assay."""
    return {
        "assay": own_version(),
        "python": platform.python_version(),
        **{package: version_of(package) for package in (*_NEEDED, "numpy", "scipy")},
    }


# What every recipe's settings can do: be checked, be written as plain values, and as the line that asks for them.


class RecipeSettings:
    """Base of settings, which are frozen dataclasses.

    Attributes:
        recipe: the word after ``assay train``.
        flags: settings whose flag on the command line has another form than ``--name value``.
    """

    recipe: ClassVar[str]
    flags: ClassVar[Mapping[str, str]] = {}

    def command(self, out: str) -> str:
        """Return the line that asks for this training and writes to *out*; what is left at its default is left out."""
        words = ["assay", "train", self.recipe]
        for item in dataclasses.fields(self):  # type: ignore[arg-type]  # every subclass is a dataclass
            value = getattr(self, item.name)
            if value == item.default:
                continue
            if item.name in self.flags:
                words.append(self.flags[item.name])
                continue
            values = value if isinstance(value, tuple) else (value,)
            words += [word for one in values for word in (flag(item.name), str(one))]
        return shlex.join([*words, "--out", out])

    def plain(self) -> dict[str, Any]:
        """Return the settings as plain values."""
        return dataclasses.asdict(self)  # type: ignore[call-overload, no-any-return]  # every subclass is a dataclass

    def check_columns(self, *specs: str) -> None:
        """Return when the setting ``columns`` is None, or can be read and is for one of *specs*, all the datasets.

        Raises:
            InputError: it is not.
        """
        columns: str | None = getattr(self, "columns", None)
        if columns is None:
            return
        parse_columns(columns)
        if not any(is_own_file(spec) for spec in specs):
            raise InputError("`columns` is for files of your own; the datasets named here have their own readers")

    def check_at_least(self, **lows: int) -> None:
        """Return when each named setting is None or not below its bound.

        Raises:
            InputError: one is.
        """
        for name, low in lows.items():
            value = getattr(self, name)
            if value is not None and value < low:
                raise InputError(f"`{name}={value}`: must be at least {low}")

    def check_positive(self, *names: str) -> None:
        """Return when each named setting is a number above 0.

        Raises:
            InputError: one is not.
        """
        for name in names:
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) > 0):
                raise InputError(f"`{name}={getattr(self, name)}`: must be above 0")

    def check_one_of(self, name: str, values: Sequence[str]) -> None:
        """Return when a setting is one of some values.

        Raises:
            InputError: it is another.
        """
        if getattr(self, name) not in values:
            raise InputError(f"`{name}={getattr(self, name)}`: must be one of {', '.join(values)}")


def flag(name: str) -> str:
    """Return the flag of a setting on the command line."""
    return f"--{name.replace('_', '-')}"
