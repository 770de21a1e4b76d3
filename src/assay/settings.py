"""Settings of a verb: declared once for the command line, the signatures of Python functions, and the checks.

The settings of a verb are a frozen dataclass whose fields are made by :func:`setting`. :func:`takes_settings` turns the
fields into arguments of a Python function, and ``assay.cli.command`` turns them into options of a command. Fields
before ``_: KW_ONLY`` may be passed by position in Python. Settings that several verbs share are base classes, at the
end of this file; a verb lists them in the order of its ``--help``.

Help texts write a setting as `` `name` `` or `` `name=value` ``, which ``--help`` shows as the flag. Errors hold it as
an object, see :mod:`assay.common.messages`.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
import re
import sys
import textwrap
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from types import NoneType
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Concatenate,
    Literal,
    ParamSpec,
    Protocol,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from assay.common.addresses import command_line, public_address, public_values
from assay.common.messages import Setting, default_flag
from assay.common.progress import shown_progress
from assay.exceptions import InputError
from assay.statistics.coefficients import INTERVALS, MIN_INFLUENCE_PAIRS, statistics_help

if TYPE_CHECKING:
    from assay.common.progress import Progress

P = ParamSpec("P")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
R = TypeVar("R")
S = TypeVar("S", covariant=True)

#: Key of the declaration in the metadata of a dataclass field.
KEY = "assay"


@dataclass(frozen=True)
class SettingDeclaration:
    """The declaration of a setting, apart from its type and default.

    Attributes:
        help: the description in ``--help`` and in the docstring of the Python function; other settings are written in
            it as `` `name` ``, which ``--help`` shows as the flag.
        argument: whether the command line accepts it by position, without a flag; by position as well as by its flags
            if *flags* are written out.
        flags: the flags on the command line, such as ``("--metric", "-m")``; derived from the name if empty.
        choices: the allowed values; empty if any value is allowed.
        at_least: the lowest whole number allowed; None for no such check.
        above: the exclusive lower bound of a finite number; None for no such check.
        parse: a function that raises InputError for a malformed value, such as a wrong range ``LOW,HIGH``.
        metavar: the placeholder for the value in ``--help``.
        python_only: whether the command line lacks it, as for an object or a callback.
    """

    help: str
    argument: bool = False
    flags: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    at_least: int | None = None
    above: float | None = None
    parse: Callable[[str], object] | None = None
    metavar: str | None = None
    python_only: bool = False


def setting(
    help: str,  # shadows the built-in, but is the usual name in libraries for command lines
    default: Any = dataclasses.MISSING,
    *,
    argument: bool = False,
    flags: Sequence[str] = (),
    choices: Iterable[str] = (),
    at_least: int | None = None,
    above: float | None = None,
    parse: Callable[[str], object] | None = None,
    metavar: str | None = None,
    python_only: bool = False,
) -> Any:
    """Return a dataclass field that declares a setting, for the command line as well as for Python.

    Args:
        help: the description of the setting.
        default: the default value; a setting without one must be given.
        argument, flags, choices, at_least, above, parse, metavar, python_only: as the attributes of
            :class:`SettingDeclaration`.
    """
    declaration = SettingDeclaration(
        help, argument, tuple(flags), tuple(choices), at_least, above, parse, metavar, python_only
    )
    return dataclasses.field(default=default, metadata={KEY: declaration})


def declarations_of(kind: type) -> dict[str, SettingDeclaration]:
    """Return the declaration of each setting of a class, by name, in the order to show them.

    First come settings that Python users may pass by position, then the other settings of the class itself, then those
    of its base classes, in method resolution order.
    """
    fields = {field.name: field for field in dataclasses.fields(kind) if KEY in field.metadata}
    names = [name for name, field in fields.items() if not field.kw_only]
    for base in kind.__mro__:
        names += [name for name in inspect.get_annotations(base) if name in fields]
    # a dictionary keeps a repeated name where it occurs first
    return {name: fields[name].metadata[KEY] for name in names}


def union_members(hint: Any) -> tuple[Any, ...]:
    """Return the types in a union, or the type itself if it is not a union."""
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)


def is_sequence_type(hint: Any) -> bool:
    """Tell whether a type is a sequence of items, such as ``Sequence[str]``; False for text."""
    return inspect.isclass(get_origin(hint)) and issubclass(get_origin(hint), Sequence)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Base of the settings of a verb, which makes sequences tuples and checks each value against its declaration.

    Subclasses are frozen, keyword-only dataclasses. They check settings against each other in :meth:`check`.

    Raises:
        InputError: a value is invalid, or settings contradict each other.
    """

    def __post_init__(self) -> None:
        """Make sequences tuples and numbers of NumPy plain, check each value, then call :meth:`check`.

        Each item of a sequence is checked against the declaration. An item of a setting for text has to be text.

        Raises:
            InputError: a value is not of its declaration, or the settings contradict each other.
        """
        types_by_name = self.setting_types()
        for name, declaration in declarations_of(type(self)).items():
            setting_type = types_by_name.get(name)
            is_sequence = is_sequence_type(setting_type)
            passed = getattr(self, name)
            value = tuple(map(_plain_number, to_tuple(passed))) if is_sequence else _plain_number(passed)
            # the dataclass is frozen
            object.__setattr__(self, name, value)
            item_type = get_args(setting_type)[0] if is_sequence else setting_type
            takes_text_only = set(union_members(item_type)) - {NoneType} == {str}
            for item in value if isinstance(value, tuple) else (value,):
                if takes_text_only and not isinstance(item, str | None):
                    raise InputError(f"expected text, not {type(item).__name__}", setting=name, value=repr(item))
                check_value(name, item, declaration)
        self.check()

    @classmethod
    @functools.cache
    def setting_types(cls) -> dict[str, Any]:
        """Return the type of each setting that the command line has, by name, such as ``Sequence[str]``.

        Settings for Python alone are left out: their types may be imported for type checking only.
        """
        names = {name for name, declaration in declarations_of(cls).items() if not declaration.python_only}
        hints: dict[str, Any] = {}
        # each class is resolved by itself, since its annotations are text that its own module explains
        for base in reversed(cls.__mro__):
            annotations = {name: hint for name, hint in inspect.get_annotations(base).items() if name in names}
            module_globals = vars(sys.modules[base.__module__])
            hints |= get_type_hints(types.SimpleNamespace(__annotations__=annotations), globalns=module_globals)
        return hints

    def check(self) -> None:
        """Check settings against each other; does nothing by default.

        Raises:
            InputError: settings contradict each other.
        """

    def plain_values(self) -> dict[str, Any]:
        """Return the value of each setting, by name, as records keep it.

        Settings for Python alone are left out, and so are the secrets in addresses, see
        :func:`assay.common.addresses.public_address`.
        """
        declarations = declarations_of(type(self))
        return {name: public_values(getattr(self, name)) for name, item in declarations.items() if not item.python_only}

    def values_of(self, *groups: type[Settings]) -> dict[str, Any]:
        """Return the values of the settings that some base classes declare, by name, to pass them on."""
        return {name: getattr(self, name) for group in groups for name in declarations_of(group)}

    def words(self, leave_out: Sequence[str] = ()) -> list[str]:
        """Return these settings as words of a command line, such as ``["--seed", "1"]``, for people to read.

        A setting with several items has its flag before each; one that the command line accepts by position has no
        flag. Settings for Python alone and those that have their default are left out, and so are secrets in addresses.

        Args:
            leave_out: the names of further settings to leave out.
        """
        words: list[str] = []
        defaults = {field.name: field.default for field in dataclasses.fields(self)}
        for name, declaration in declarations_of(type(self)).items():
            value = getattr(self, name)
            if name in leave_out or declaration.python_only or value == defaults[name]:
                continue
            flag = flag_of(name, declaration)
            if isinstance(value, bool):
                words.append(flag if value else _off_flag(flag, declaration))
                continue
            for item in value if isinstance(value, tuple) else (value,):
                words += [str(item)] if declaration.argument else [flag, str(item)]
        return [public_address(word) for word in words]

    def command(self, *verb: str) -> str:
        """Return the command line with these settings, such as ``assay train s3bert --base …``."""
        return command_line(*verb, *self.words())


def to_tuple(value: Any) -> tuple[Any, ...]:
    """Return a sequence as a tuple; a single text or object becomes a tuple of one, None an empty tuple.

    A mapping becomes its pairs of key and value. An object that can be called is one, though it may hold others, as a
    model holds its modules.
    """
    if value is None:
        return ()
    if isinstance(value, str) or callable(value) or not isinstance(value, Iterable):
        return (value,)
    return tuple(value.items() if isinstance(value, Mapping) else value)


def _plain_number(value: Any) -> Any:
    """Return a number of NumPy, which JSON does not know, as one of Python; any other value unchanged."""
    if not isinstance(value, Real) or isinstance(value, int | float):
        return value
    return int(value) if isinstance(value, Integral) else float(value)


def is_whole_number(value: object) -> bool:
    """Tell whether a value is an integer of Python or NumPy; False for a bool."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def check_value(name: str, value: Any, declaration: SettingDeclaration) -> None:
    """Check a value, or one item of a sequence, against the declaration of its setting; None is allowed.

    Args:
        name: the name of the setting, for messages.
        value: the value or item.
        declaration: the declaration.

    Raises:
        InputError: the value is not among the choices, is not a whole number or a number in its range where that is
            declared, is too large for a float, or cannot be parsed.
    """
    if value is None:
        return
    if declaration.choices and value not in declaration.choices:
        *other_choices, last = declaration.choices
        raise InputError(f"must be {', '.join(other_choices)} or {last}", setting=name, value=value)
    # such a number cannot be converted to a float, which some later computation does
    if is_whole_number(value) and abs(value) > sys.float_info.max:
        raise InputError("this number is too large", setting=name)
    if declaration.at_least is not None and not (is_whole_number(value) and value >= declaration.at_least):
        raise InputError(f"must be a whole number, at least {declaration.at_least}", setting=name, value=repr(value))
    above = declaration.above
    if above is not None and not (isinstance(value, Real) and math.isfinite(value) and float(value) > above):
        raise InputError(f"must be above {above:g}", setting=name, value=value)
    if declaration.parse is not None:
        declaration.parse(value)


def flag_of(name: str, declaration: SettingDeclaration | None = None) -> str:
    """Return the first flag of a setting, or the placeholder in ``--help`` of one that is passed by position.

    Args:
        name: the name of the setting.
        declaration: its declaration; None for a setting whose flag is derived from its name.
    """
    if declaration is not None and declaration.argument and not declaration.flags:
        return declaration.metavar or name.upper()
    if declaration is not None and declaration.flags:
        return declaration.flags[0].partition("/")[0]
    return default_flag(name)


def _off_flag(flag: str, declaration: SettingDeclaration) -> str:
    """Return the flag that turns a switch off, which *flag* turns on: a declared one, or ``--no-NAME``."""
    on_and_off = declaration.flags[0] if declaration.flags else ""
    _, _, off = on_and_off.partition("/")
    return off or flag.replace("--", "--no-", 1)


class _SettingsDecorator(Protocol[P, S]):
    """The type of the decorator that :func:`takes_settings` returns, for functions of up to three subjects."""

    @overload
    def __call__(self, function: Callable[[S], R], /) -> Callable[P, R]: ...
    @overload
    def __call__(self, function: Callable[[A, S], R], /) -> Callable[Concatenate[A, P], R]: ...
    @overload
    def __call__(self, function: Callable[[A, B, S], R], /) -> Callable[Concatenate[A, B, P], R]: ...
    @overload
    def __call__(self, function: Callable[[A, B, C, S], R], /) -> Callable[Concatenate[A, B, C, P], R]: ...


def takes_settings(kind: Callable[P, S]) -> _SettingsDecorator[P, S]:
    """Return a decorator that replaces the last parameter of a function, ``settings``, by one argument per setting.

    The signature and the docstring of the function then list every setting as if they were written out, also for type
    checkers. A setting that the docstring already describes keeps that description. Calls raise TypeError for wrong
    arguments, and InputError for invalid values. A setting ``progress`` reaches the function as an object that shows
    progress, see :func:`~assay.common.progress.shown_progress`.

    Args:
        kind: the class of the settings.

    Example:
        >>> @takes_settings(ThresholdSettings)  # doctest: +SKIP
        ... def thresholds(run, settings): ...
        >>> thresholds("runs/main", positive="label>=2")  # doctest: +SKIP
    """
    # for type checkers *kind* is a function, whose parameters are those of the decorated one
    settings_class: Any = kind

    def decorate(function: Callable[..., R]) -> Callable[..., R]:
        """Return a function with an argument per setting, which calls *function* with them as one object."""
        written_signature = inspect.signature(function)
        has_progress = "progress" in declarations_of(settings_class)
        subjects = [parameter for name, parameter in written_signature.parameters.items() if name != "settings"]
        # sorted by kind, since those for keywords must come last
        parameters = sorted([*subjects, *_setting_parameters(settings_class)], key=lambda parameter: parameter.kind)
        signature = written_signature.replace(parameters=parameters)

        @functools.wraps(function)
        def call_with_settings(*args: Any, **kwargs: Any) -> R:
            """Call the function; its own docstring takes the place of this one."""
            try:
                values = signature.bind(*args, **kwargs).arguments
            except TypeError as error:
                # the message of bind lacks the name of the function
                message = f"{function.__name__}() {error}"
                # such as run(references, candidates, labels)
                passes_columns_apart = len(args) > 2 and "datasets" in signature.parameters
                if passes_columns_apart:
                    one_dataset = '{"reference": …, "candidate": …, "label": …}'
                    message += f"; columns in hand are one dataset: {function.__name__}({one_dataset}, metrics)"
                raise TypeError(message) from None
            subject_values = {subject.name: values.pop(subject.name) for subject in subjects if subject.name in values}
            if not has_progress:
                return function(**subject_values, settings=settings_class(**values))
            with shown_progress(values.get("progress")) as progress:
                return function(**subject_values, settings=settings_class(**values | {"progress": progress}))

        # mypy does not know this attribute of functions, which inspect.signature reads
        call_with_settings.__signature__ = signature  # type: ignore[attr-defined]
        call_with_settings.__doc__ = _docstring_with_settings(inspect.getdoc(function) or "", settings_class)
        return call_with_settings

    return decorate


def verb(
    settings: Callable[P, S],
    help: str,
    *examples: str,
    output: str = "table",
    next: str = "",
    estimate: str = "",
    **subjects: str,
) -> _SettingsDecorator[P, S]:
    """Return the decorator of :func:`takes_settings` for a function that is a verb of the command line, too.

    The command line reads these words in the source text (:mod:`assay.cli.declared`), since importing the function
    takes longer than showing help. They must therefore be written out, and *settings* must be a name that is imported.
    The function has the name of the verb, is in the module ``assay.api.VERB``, and returns a report, a run, the path of
    what it wrote, or a list of failures. If no function there has the name of the verb, those named ``VERB_NAME`` are
    its subcommands ``assay VERB NAME``.

    Args:
        settings: the class of the settings.
        help: what the verb does, for its ``--help``.
        examples: commands, such as ``assay compare runs/answers``.
        output: the format that the verb prints unless another is asked for.
        next: the words of a command to suggest afterwards, in which ``{out}`` stands for what was written, and
            ``--gold={gold}`` for the setting ``gold``, if it has a value.
        estimate: the name of the function that ``--dry-run`` calls instead; empty if the verb has no such option.
        subjects: the help of each parameter that is not a setting; all are passed by position, except ``out``.
    """
    return takes_settings(settings)


def _setting_parameters(kind: type) -> list[inspect.Parameter]:
    """Return one parameter of a Python function per setting of a class, in the order of :func:`declarations_of`."""
    fields = {field.name: field for field in dataclasses.fields(kind)}
    parameters = []
    for name in declarations_of(kind):
        field = fields[name]
        passing = inspect.Parameter.KEYWORD_ONLY if field.kw_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
        default = inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default
        parameters.append(inspect.Parameter(name, passing, default=default, annotation=field.type))
    return parameters


def _docstring_with_settings(docstring: str, kind: type) -> str:
    """Return a docstring with a description of every setting of a class under ``Args:``.

    Settings that it describes already keep their description; the others follow, in the order of
    :func:`declarations_of`.

    Args:
        docstring: the docstring without indentation; its section ``Args:`` may be absent, or describe some settings.
        kind: the class of the settings.
    """
    head, args_heading, text_after = docstring.partition("Args:\n")
    if not args_heading:
        head = f"{docstring.rstrip()}\n\n"
    arguments, blank, after = text_after.partition("\n\n")
    described_names = set(re.findall(r"^    (\w+):", arguments, flags=re.MULTILINE))
    lines = arguments.splitlines()
    for name, declaration in declarations_of(kind).items():
        if name not in described_names:
            text = f"{name}: {declaration.help}"
            lines += textwrap.wrap(text, 110, initial_indent="    ", subsequent_indent="        ")
    return "\n".join([f"{head}Args:", *lines]) + blank + after


def help_with_flags(text: str, flags: Mapping[str, str]) -> str:
    """Return a help text with settings, written `` `name` `` or `` `name=value` ``, replaced by command-line flags.

    Args:
        text: the help of a declared setting. No other text, which might hold words of users, comes here.
        flags: the flag of each setting whose flag is not derived from its name.
    """

    def flag_with_value(match: re.Match[str]) -> str:
        name, value = match["name"], match["value"]
        flag = flags.get(name, flag_of(name))
        return flag if value is None else f"{flag} {value}"

    return re.sub(r"`(?P<name>[a-z][a-z0-9_]*)(?:=(?P<value>[^`]*))?`", flag_with_value, text)


#: Minimum number of draws for an interval or a test; with fewer, each tail has only two or three.
FEWEST_DRAWS = 100
#: Minimum number of draws beyond each bound of a percentile interval, so that no bound is a single extreme draw; equal
#: to the number that :data:`FEWEST_DRAWS` draws leave at a level of 95%.
DRAWS_BEYOND = 2.5


def check_seed(seed: int) -> None:
    """Raise InputError for a seed that is not an integer, or is negative."""
    if not is_whole_number(seed):
        raise InputError("must be a whole number", setting="seed", value=seed)
    if seed < 0:
        raise InputError("must not be negative", setting="seed", value=seed)


def check_level(confidence: float, resamples: int = 0) -> None:
    """Check a confidence level.

    Args:
        confidence: the level.
        resamples: the number of draws whose percentiles are the bounds of the interval; 0 for no such interval.

    Raises:
        InputError: the level is not in (0.5, 1), or it is too high for the number of draws.
    """
    if not isinstance(confidence, Real) or not 0.5 < confidence < 1:
        raise InputError("must lie between 0.5 and 1, such as 0.95", setting="confidence", value=confidence)
    # rounded, since 1 - .9 is slightly less than .1 in floating point, which would demand one draw too many
    needed = math.ceil(round(2 * DRAWS_BEYOND / (1 - confidence), 3))
    if 0 < resamples < needed:
        draws_beyond = resamples * (1 - confidence) / 2
        raise InputError(
            f"{resamples:,} resamples leave {draws_beyond:.1g} beyond each bound, too few to place it; use ",
            Setting("resamples", needed),
            " or more, or a lower level",
            setting="confidence",
            value=confidence,
        )


def check_resamples(
    resamples: int, *, none_allowed: bool = False, most: int | None = None, option: str = "resamples"
) -> None:
    """Check a number of draws.

    Args:
        resamples: the number of draws.
        none_allowed: whether 0 is allowed.
        most: the highest number allowed; None for no limit.
        option: the name of the setting in messages.

    Raises:
        InputError: the number is not an integer, is below :data:`FEWEST_DRAWS`, or is too high.
    """
    if not is_whole_number(resamples):
        raise InputError("must be a whole number", setting=option, value=resamples)
    if resamples < FEWEST_DRAWS and not (none_allowed and resamples == 0):
        alternative = "; 0 for none" if none_allowed else ""
        needs = f"an interval or a test needs at least {FEWEST_DRAWS} draws"
        raise InputError(f"{needs}{alternative}", setting=option, value=resamples)
    if most is not None and resamples > most:
        raise InputError(f"more than {most:,} draws tell no more", setting=option, value=resamples)


def parse_scale(text: str) -> tuple[float, float]:
    """Parse ``LOW,HIGH`` and return the lowest and the highest label.

    Raises:
        InputError: the text does not have this form, the first number is not below the second, or one is infinite.
    """
    try:
        low, high = (float(bound) for bound in text.split(","))
    except ValueError:
        raise InputError(
            "must be two numbers with a comma between them, such as 0,5", setting="scale", value=text
        ) from None
    # not low >= high, which NaN would pass
    if not low < high:
        raise InputError("the first number must be below the second", setting="scale", value=text)
    if math.isinf(low) or math.isinf(high):
        raise InputError("both numbers must be finite", setting="scale", value=text)
    return low, high


# Settings that several verbs share.


@dataclass(frozen=True, kw_only=True)
class OwnColumns(Settings):
    """The settings that tell how a table of the user's own is read: its columns and cells."""

    columns: str | Mapping[str, str] | None = setting(
        "The columns: reference=answer1,candidate=answer2,label=a1+a2,question=q", None
    )
    separator: str | None = setting(
        "The separator of several gold answers in a reference: '|'; json if cells are lists.",
        None,
        metavar="TEXT",
    )
    labels: str | Mapping[str, float] | None = setting(
        "The number of each word that is a label: no=0,partly=1,yes=2", None, metavar="WORD=NUMBER,…"
    )
    drop_unlabelled: bool = setting("Leave out rows without a label.", False)
    missing: str | Sequence[str] | None = setting(
        "Words that mean that there is no label or score, besides NA, none, null, - and the like: unsure,-1",
        None,
        metavar="WORD,…",
    )
    annotator: str | None = setting(
        "The column that names the annotator, if a row is one annotation of a pair; - for none.", None, metavar="COLUMN"
    )
    encoding: str | None = setting("The encoding of a text file, such as cp1252; found if not given.", None)
    member: str | None = setting(
        "The file in an archive, the sheet of a workbook or the list in a JSON file.", None, metavar="NAME"
    )


@dataclass(frozen=True, kw_only=True)
class OwnData(OwnColumns):
    """The settings that tell how data of the user's own is read, with its language."""

    language: str | None = setting(
        "Language of your own data, such as en or de; of datasets with several, the one to read.", None
    )


@dataclass(frozen=True, kw_only=True)
class Graphs(Settings):
    """The setting with the AMR graphs of the texts."""

    graphs: str | Mapping[str, Sequence[str | Path]] | None = setting(
        "AMR graphs of the texts, by row or ::id: reference=A.amr[+B.amr],candidate=C.amr", None
    )


@dataclass(frozen=True, kw_only=True)
class Limited(Settings):
    """The setting that limits how much of the data is used."""

    limit: int | None = setting("Only the first N pairs of each dataset.", None, at_least=1, metavar="N")


@dataclass(frozen=True, kw_only=True)
class Seeded(Settings):
    """The seed of work that draws at random; the same seed gives the same draws."""

    seed: int = setting("Seed of every random draw.", 0)

    def check(self) -> None:
        """Raise InputError for a seed that is not an integer, or is negative."""
        super().check()
        check_seed(self.seed)


@dataclass(frozen=True, kw_only=True)
class Resampling(Seeded):
    """The settings of intervals that are drawn by resampling.

    Attributes:
        NONE_ALLOWED: whether 0 resamples are allowed, for no intervals.
        resamples: the number of bootstrap resamples, at least :data:`FEWEST_DRAWS`, and more for a high level.
        confidence: the level of the intervals, in (0.5, 1).
        seed: the seed of the resamples, see :func:`~assay.statistics.resampling.seed_of`; not negative.

    Raises:
        InputError: a value out of its range.
    """

    NONE_ALLOWED: ClassVar[bool] = True

    resamples: int = setting("Bootstrap resamples for the intervals; 0 for none.", 1000)
    confidence: float = setting("Level of the intervals.", 0.95)

    def check(self) -> None:
        """Raise InputError for an invalid number of resamples, level or seed, or too few resamples for the level."""
        check_resamples(self.resamples, none_allowed=self.NONE_ALLOWED)
        check_level(self.confidence, self.resamples)
        super().check()


@dataclass(frozen=True, kw_only=True)
class AgreementIntervals(Resampling):
    """The settings of intervals of agreement, and of its differences."""

    interval: Literal["auto", "bootstrap", "influence"] = setting(
        f"Intervals from resamples, or from the influence of each pair, in one pass; auto: influence from "
        f"{MIN_INFLUENCE_PAIRS:,} pairs on.",
        "auto",
        choices=INTERVALS,
    )


@dataclass(frozen=True, kw_only=True)
class ChosenRows(Settings):
    """The settings that tell which pairs of the data are used, and which of them belong together."""

    group_by: str | None = setting(
        "Resample whole groups of this column [default: the data's own groups]; none for single pairs.",
        None,
        metavar="COLUMN",
    )
    sample: int | None = setting(
        "A random sample of this many pairs of each dataset; groups stay whole.", None, at_least=1, metavar="N"
    )
    drop_duplicates: bool | None = setting(
        "Drop repeated pairs with the same label.", None, flags=("--drop-duplicates/--keep-duplicates",)
    )


#: The bucket rules of a run that names none.
DEFAULT_BUCKETS = ("f1",)


@dataclass(frozen=True, kw_only=True)
class AgreementSettings(ChosenRows, AgreementIntervals):
    """The settings of the agreement of scores with labels."""

    buckets: Sequence[str] = setting(
        "f1, f1:0,0.5,1, label<2, subset, length, number, any column; a+b combines; none.",
        (),
        flags=("--bucket", "-b"),
        metavar="RULE",
    )
    statistics: Sequence[str] = setting(statistics_help(), (), flags=("--statistic",), metavar="NAME")


@dataclass(frozen=True, kw_only=True)
class AdjustedAgreement(AgreementSettings):
    """The settings of agreement, with what it is adjusted for."""

    controls: Sequence[str] = setting(
        "Also show agreement with length, f1, number or a column held constant; a+b holds both constant.",
        (),
        flags=("--control",),
        metavar="RULE",
    )


@dataclass(frozen=True, kw_only=True)
class RunFolderOutput(Settings):
    """The setting of a verb that may write a run folder beside what it prints."""

    out: str | Path | None = setting("Also write a run folder.", None, flags=("--out", "-o"), metavar="FOLDER")


@dataclass(frozen=True, kw_only=True)
class Hardware(Settings):
    """The settings of the hardware that models run on."""

    device: str = setting("Where models run: auto, cpu, cuda, cuda:N, mps, all (every GPU).", "auto")
    threads: int | None = setting("CPU threads for models [default: the number of free cores].", None, at_least=1)


@dataclass(frozen=True, kw_only=True)
class Offline(Settings):
    """The setting that forbids downloads."""

    offline: bool = setting("Download nothing.", False)


@dataclass(frozen=True, kw_only=True)
class WithProgress(Settings):
    """The setting of work that reports its progress."""

    # a verb itself gets what it means, see shown_progress
    progress: Progress | Any = setting(
        "True for a bar, False for none, or an object with the methods begin, advance and say [default: a bar in a "
        "terminal or notebook for work of more than two seconds].",
        None,
        python_only=True,
    )


@dataclass(frozen=True, kw_only=True)
class GoldAnswers(Settings):
    """The setting that tells how several gold answers become one score."""

    references: Literal["best", "mean"] = setting(
        "Several gold answers: the best score, or the mean.", "best", choices=("best", "mean")
    )


@dataclass(frozen=True, kw_only=True)
class RequestSettings(AdjustedAgreement, Limited, GoldAnswers):
    """The settings that determine the numbers of a run, beside its data and metrics.

    A setting that is added to one of these classes is recorded in ``run.json``. Where it differs from its default, it
    is part of the digest of the request and the signature of the run, see :class:`assay.manifest.RequestRecord`.
    """


#: The names of the engines that can score pairs.
ENGINES = ("local", "ray")


@dataclass(frozen=True, kw_only=True)
class Scoring(GoldAnswers, Hardware, Offline, WithProgress):
    """The settings of scoring pairs: by which engine, on which hardware, with how many processes."""

    workers: int | None = setting(
        "At most N processes score, and models use N threads; small work starts none [default: the number of free "
        "cores].",
        None,
        at_least=1,
        metavar="N",
    )
    keep_models: bool = setting("Keep several models in memory at a time.", False)
    engine: str = setting("Who scores: local, this machine; ray, a Ray cluster.", "local", choices=ENGINES)
    address: str | None = setting(
        "Head node of the Ray cluster, HOST:PORT or auto [default: $RAY_ADDRESS, else a Ray on this machine].",
        None,
        metavar="ADDRESS",
    )
    executor: Any = setting(
        "Who scores, in place of `engine` and `workers`: an executor of :mod:`assay.benchmark.executor`.",
        None,
        python_only=True,
    )

    @property
    def model_threads(self) -> int | None:
        """The number of CPU threads for models: `threads`, else `workers`; None to use all free cores."""
        return self.threads or self.workers

    def check(self) -> None:
        """Raise InputError for an address of a Ray cluster without the engine ``ray``."""
        super().check()
        if self.address is not None and self.engine != "ray":
            raise InputError(
                "is for a Ray cluster; add ", Setting("engine", "ray"), setting="address", value=self.address
            )


@dataclass(frozen=True, kw_only=True)
class Prices(Settings):
    """The setting with the prices of the tokens of judges at an endpoint."""

    prices: str | Path | None = setting(
        'TOML with prices of a million tokens: a table ["NAME"] per model, with input and output.', None, metavar="FILE"
    )


@dataclass(frozen=True, kw_only=True)
class Paid(Prices):
    """The settings that tell what judges at an endpoint cost, and may cost in all."""

    budget: float | None = setting("The highest total cost of judges; needs the prices of their tokens.", None, above=0)


@dataclass(frozen=True, kw_only=True)
class ScoreStore(Settings):
    """The settings of the score store, from which scores of earlier runs are read."""

    fresh: bool = setting("Compute scores again that the score store already has.", False)
    keep_replies: bool = setting(
        "With `fresh`, still read the replies of judges that are stored, since they were paid for.",
        False,
        python_only=True,
    )
    store: str | Path | None = setting("File of the score store; the shared one by default.", None, python_only=True)


@dataclass(frozen=True, kw_only=True)
class PaidScoring(Scoring, Paid, ScoreStore):
    """The settings of verbs that score pairs with any metric: how, at what cost, and from which store."""
