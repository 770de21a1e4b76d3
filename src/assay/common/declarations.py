"""Settings of a verb: declared once for the command line, the signatures of Python functions, and the checks.

The settings of a verb are a frozen dataclass whose fields are made by :func:`setting`. :mod:`assay.common.verbs` turns
the fields into arguments of a Python function, and ``assay.cli.command`` turns them into options of a command. Fields
before ``_: KW_ONLY`` may be passed by position in Python. Settings that several verbs share are base classes, in
:mod:`assay.settings`.

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
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from types import NoneType
from typing import Any, Union, get_args, get_origin, get_type_hints

from assay.common.addresses import command_line, public_address, public_values
from assay.common.messages import default_flag
from assay.exceptions import InputError

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
