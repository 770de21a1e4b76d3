"""Settings of a verb: declared once, read by the command line, by the signature for Python users and by the checks.

A verb's settings are a frozen dataclass whose fields are made by :func:`setting`. :func:`takes_settings` gives a Python
function the fields as keyword arguments, and ``assay.cli.command`` gives a command the same fields as options.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
import re
import shlex
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, overload

from assay.errors import InputError

__all__ = [
    "Declared",
    "Hardware",
    "Resampling",
    "Settings",
    "check_level",
    "check_resamples",
    "check_seed",
    "declared",
    "flag_of",
    "is_whole",
    "on_command_line",
    "setting",
    "takes_settings",
]

P = ParamSpec("P")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
R = TypeVar("R")
S = TypeVar("S", covariant=True)

#: Where the declaration of a setting lies in the metadata of its field.
KEY = "assay"


@dataclass(frozen=True)
class Declared:
    """What is declared of a setting beside its type and default.

    Attributes:
        help: what it is, for ``--help`` and for the docstring of the Python function.
        flags: on the command line, such as ``("--metric", "-m")``; made of the name where empty.
        choices: the values that are allowed; empty for any.
        at_least: lowest whole number that is allowed.
        above: the value is a finite number above this.
        metavar: what ``--help`` shows for the value.
        python_only: whether the command line leaves it out, such as an object or a callback.
    """

    help: str
    flags: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    at_least: int | None = None
    above: float | None = None
    metavar: str | None = None
    python_only: bool = False


def setting(
    help: str,  # the word of every library for command lines
    default: Any = dataclasses.MISSING,
    *,
    flags: Sequence[str] = (),
    choices: Iterable[str] = (),
    at_least: int | None = None,
    above: float | None = None,
    metavar: str | None = None,
    python_only: bool = False,
) -> Any:
    """Return a field of a settings dataclass; see :class:`Declared` for the arguments."""
    declaration = Declared(help, tuple(flags), tuple(choices), at_least, above, metavar, python_only)
    return dataclasses.field(default=default, metadata={KEY: declaration})


def declared(kind: type) -> dict[str, Declared]:
    """Return what is declared of each setting of a settings class, its own settings before inherited ones."""
    own = inspect.get_annotations(kind)
    fields = sorted(dataclasses.fields(kind), key=lambda field: field.name not in own)
    return {field.name: field.metadata[KEY] for field in fields if KEY in field.metadata}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Base of the settings of a verb: tuples made of lists, and each value compared with what is declared.

    Subclasses are frozen, keyword-only dataclasses; what concerns several settings at once is checked in
    :meth:`check`.

    Raises:
        InputError: a value outside its range.
    """

    def __post_init__(self) -> None:
        for name, declaration in declared(type(self)).items():
            value = getattr(self, name)
            if self._is_sequence(name):
                value = sequence_of(name, value)
                object.__setattr__(self, name, value)
            for item in value if isinstance(value, tuple) else (value,):
                _check_value(name, item, declaration)
        self.check()

    @classmethod
    def _is_sequence(cls, name: str) -> bool:
        return cls.__dataclass_fields__[name].type.startswith(("Sequence[", "tuple["))

    def check(self) -> None:
        """Compare settings with each other; nothing by default.

        Raises:
            InputError: they contradict each other.
        """

    def plain(self) -> dict[str, Any]:
        """Return the settings as plain values, without those for Python alone."""
        return {name: getattr(self, name) for name, item in declared(type(self)).items() if not item.python_only}

    def words(self) -> list[str]:
        """Return the words that ask for these settings on the command line; defaults are left out."""
        words = []
        defaults = {field.name: field.default for field in dataclasses.fields(self)}
        for field in dataclasses.fields(self):
            declaration: Declared | None = field.metadata.get(KEY)
            value = getattr(self, field.name)
            if declaration is None or declaration.python_only or value == defaults[field.name]:
                continue
            flag = flag_of(field.name, declaration)
            if isinstance(value, bool):
                words.append(flag if value else _opposite(flag, declaration))
                continue
            for item in value if isinstance(value, tuple) else (value,):
                words += [flag, str(item)]
        return words

    def command(self, *verb: str) -> str:
        """Return the command that asks for these settings, such as ``assay train s3bert --base …``."""
        return shlex.join(["assay", *verb, *self.words()])


def sequence_of(name: str, value: Any) -> tuple[Any, ...]:
    """Return a sequence, or a single text as a sequence of one, as a tuple.

    Raises:
        InputError: it is neither.
    """
    if value is None:
        return ()
    if isinstance(value, str | Path):
        return (value,)
    if not isinstance(value, Iterable):
        raise InputError(f"`{name}={value!r}`: expected a list, not {type(value).__name__}")
    return tuple(value)


def is_whole(value: object) -> bool:
    """Tell whether a value is a whole number, of Python or NumPy, and no truth value."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def _check_value(name: str, value: Any, declaration: Declared) -> None:
    if value is None:
        return
    if declaration.choices and value not in declaration.choices:
        raise InputError(f"`{name}={value}`: must be one of {', '.join(declaration.choices)}")
    if declaration.at_least is not None and not (is_whole(value) and value >= declaration.at_least):
        raise InputError(f"`{name}={value}`: must be a whole number, at least {declaration.at_least}")
    above = declaration.above
    if above is not None and not (isinstance(value, Real) and math.isfinite(value) and float(value) > above):
        raise InputError(f"`{name}={value}`: must be above {above:g}")


def flag_of(name: str, declaration: Declared | None = None) -> str:
    """Return the first flag of a setting on the command line."""
    if declaration is not None and declaration.flags:
        return declaration.flags[0].partition("/")[0]
    return f"--{name.replace('_', '-')}"


def _opposite(flag: str, declaration: Declared) -> str:
    """Return the flag that turns a switch off."""
    both = declaration.flags[0] if declaration.flags else ""
    return both.partition("/")[2] or flag.replace("--", "--no-", 1)


class _TakesSettings(Protocol[P, S]):
    """What :func:`takes_settings` returns: it adds the fields of the settings to a function of up to three subjects."""

    @overload
    def __call__(self, function: Callable[[S], R], /) -> Callable[P, R]: ...
    @overload
    def __call__(self, function: Callable[[A, S], R], /) -> Callable[Concatenate[A, P], R]: ...
    @overload
    def __call__(self, function: Callable[[A, B, S], R], /) -> Callable[Concatenate[A, B, P], R]: ...
    @overload
    def __call__(self, function: Callable[[A, B, C, S], R], /) -> Callable[Concatenate[A, B, C, P], R]: ...


def takes_settings(kind: Callable[P, S]) -> _TakesSettings[P, S]:
    """Return a decorator: what a function takes as ``settings``, its last parameter, becomes keyword arguments.

    The signature and the docstring of the function then list every setting, as if they were written out, and a type
    checker sees them as well.

    Example:
        >>> @takes_settings(ThresholdSettings)  # doctest: +SKIP
        ... def thresholds(run, settings): ...
        >>> thresholds("runs/main", positive="label>=2")  # doctest: +SKIP
    """
    settings_class: Any = kind

    def decorate(function: Callable[..., R]) -> Callable[..., R]:
        signature = inspect.signature(function)
        subjects = [parameter for name, parameter in signature.parameters.items() if name != "settings"]

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> R:
            own = {parameter.name: kwargs.pop(parameter.name) for parameter in subjects if parameter.name in kwargs}
            # by position: the subjects that are not named, then the settings that are not keyword-only
            unnamed = len(subjects) - len(own)
            return function(*args[:unnamed], **own, settings=settings_class(*args[unnamed:], **kwargs))

        fields = {field.name: field for field in dataclasses.fields(settings_class)}
        missing = dataclasses.MISSING
        options = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY if fields[name].kw_only else inspect.Parameter.POSITIONAL_OR_KEYWORD,
                default=inspect.Parameter.empty if fields[name].default is missing else fields[name].default,
                annotation=fields[name].type,
            )
            for name in sorted(declared(settings_class), key=lambda name: bool(fields[name].kw_only))
        ]
        call.__signature__ = signature.replace(parameters=[*subjects, *options])  # type: ignore[attr-defined]
        call.__doc__ = _with_settings(inspect.getdoc(function) or "", settings_class)
        return call

    return decorate


def _with_settings(docstring: str, kind: type) -> str:
    """Return a docstring with every setting under ``Args:``."""
    lines = []
    for name, declaration in declared(kind).items():
        lines += textwrap.wrap(f"{name}: {declaration.help}", 110, initial_indent="    ", subsequent_indent="        ")
    head, found, rest = docstring.partition("Args:\n")
    if not found:
        head, rest = f"{docstring.rstrip()}\n\n", ""
    arguments, blank, after = rest.partition("\n\n")
    listed = "\n".join([*arguments.splitlines(), *lines])
    return f"{head}Args:\n{listed}{blank}{after}"


def on_command_line(message: str, flags: Mapping[str, str]) -> str:
    """Return a message in which settings, written `` `name` `` or `` `name=value` ``, are flags of the command line.

    Args:
        message: of an error.
        flags: the flag of each setting whose flag is not made of its name.
    """

    def flag(match: re.Match[str]) -> str:
        name, value = match["name"], match["value"]
        shown = flags.get(name, flag_of(name))
        return shown if value is None else f"{shown} {value}"

    return re.sub(r"`(?P<name>[a-z][a-z0-9_]*)(?:=(?P<value>[^`]*))?`", flag, message)


#: Draws that an interval or a test needs: of fewer, the tails hold two or three.
FEWEST_DRAWS = 100
#: Draws that must lie beyond each bound of a percentile interval, or the bound is a single extreme draw: as many as
#: :data:`FEWEST_DRAWS` leaves at a level of 95%.
DRAWS_BEYOND = 2.5


def check_seed(seed: int) -> None:
    """Raise InputError for what is no whole number from 0 on."""
    if not is_whole(seed):
        raise InputError(f"`seed={seed}`: must be a whole number")
    if seed < 0:
        raise InputError(f"`seed={seed}`: must not be negative")


def check_level(confidence: float, resamples: int = 0) -> None:
    """Raise InputError for a level of confidence outside (0.5, 1), or one that the draws cannot resolve.

    Args:
        confidence: the level.
        resamples: draws whose percentiles are the bounds of an interval; 0 where there is no such interval.
    """
    if not isinstance(confidence, Real) or not 0.5 < confidence < 1:
        raise InputError(f"`confidence={confidence}`: must lie between 0.5 and 1, such as 0.95")
    # 1 - .95 is a little more than .05
    needed = math.ceil(round(2 * DRAWS_BEYOND / (1 - confidence), 3))
    if 0 < resamples < needed:
        raise InputError(
            f"`confidence={confidence}`: {resamples:,} resamples leave {resamples * (1 - confidence) / 2:.1g} beyond "
            f"each bound, too few to place it; take `resamples={needed}` or more, or a lower level"
        )


def check_resamples(
    resamples: int, *, none_allowed: bool = False, most: int | None = None, option: str = "resamples"
) -> None:
    """Raise InputError for what is no whole number, or for fewer draws than :data:`FEWEST_DRAWS`.

    Args:
        resamples: number of draws.
        none_allowed: whether 0 may be asked for.
        most: more than these are refused; None for no bound.
        option: what messages call the number.
    """
    if not is_whole(resamples):
        raise InputError(f"`{option}={resamples}`: must be a whole number")
    if resamples < FEWEST_DRAWS and not (none_allowed and resamples == 0):
        none = "; 0 for none" if none_allowed else ""
        raise InputError(f"`{option}={resamples}`: an interval or a test needs at least {FEWEST_DRAWS} draws{none}")
    if most is not None and resamples > most:
        raise InputError(f"`{option}={resamples}`: more than {most:,} draws tell no more")


@dataclass(frozen=True, kw_only=True)
class Resampling(Settings):
    """How intervals are drawn.

    Attributes:
        resamples: bootstrap resamples, at least :data:`FEWEST_DRAWS` and as many as the level needs; 0 for no
            intervals.
        confidence: level of the intervals, in (0.5, 1).
        seed: seeds the resamples, see :func:`~assay.statistics.resampling.seed_of`; not negative.

    Raises:
        InputError: a value out of its range.
    """

    resamples: int = setting("Bootstrap resamples for the intervals; 0 for none.", 1000)
    confidence: float = setting("Level of the intervals.", 0.95)
    seed: int = setting("Seeds the resampling.", 0)

    def check(self) -> None:
        """Compare the number of draws with what the level needs."""
        super().check()
        check_resamples(self.resamples, none_allowed=True)
        check_level(self.confidence, self.resamples)
        check_seed(self.seed)


@dataclass(frozen=True, kw_only=True)
class Hardware(Settings):
    """Where models run."""

    device: str = setting("Where models run: auto, cpu, cuda, cuda:N, mps, all (every GPU).", "auto")
    threads: int | None = setting("Threads of the CPU for models [default: the cores that are free].", None, at_least=1)
