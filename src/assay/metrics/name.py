"""Metric names and options. Names need no quotes in a shell; option values are read according to declared types."""

from __future__ import annotations

import dataclasses
import functools
import math
import re
import types
from dataclasses import dataclass, field
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from assay.exceptions import InputError, suggestion_for

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
#: In place of a name, the path of a Python file; the subject is a class or function in it.
_FILE = re.compile(r"[^:,]+\.py(?=[:,]|\Z)")
_OPTION = re.compile(r",([A-Za-z_][A-Za-z0-9_-]*)=")
_FORM = "[alias=]name[:subject][,option=value]…"
#: An alias that the user gives a metric, before the metric's name.
_ALIAS = re.compile(rf"(?P<alias>{_NAME.pattern})=(?=[A-Za-z0-9./~])")

#: The name of the field with the model, file or column of a metric.
SUBJECT = "subject"
_TRUE, _FALSE, _NONE = "true", "false", "none"


@dataclass(frozen=True, eq=False)
class MetricName:
    """The parts of a metric name as the user typed it: ``[alias=]name[:subject][,option=value]…``.

    The subject is a model, a file, a column or a named option set. It may contain commas and colons, since an option
    starts only at ``,word=``. A value ends where the next option starts. Two names are equal if their texts are.

    Attributes:
        name: the metric's name in the registry; for code of the user's, the path of a file or the name of a module.
        subject: the text after the first colon; None without a colon.
        options: pairs (option, value as text) in the order typed.
        alias: the name in tables, which ``str()`` returns; empty for the whole name.
        text: the whole name as typed.

    Raises:
        InputError: a name written from these parts would be read back as other parts.

    Example:
        >>> MetricName.parse("bleu:paper,smoothing=exp").options
        (('smoothing', 'exp'),)
    """

    name: str
    subject: str | None = None
    options: tuple[tuple[str, str], ...] = ()
    alias: str = ""
    text: str = field(init=False)

    def __post_init__(self) -> None:
        """Write the name from its parts, and check that it would be read back as the same parts.

        Raises:
            InputError: the parts cannot be written as a name.
        """
        subject = "" if self.subject is None else f":{self.subject}"
        options = "".join(f",{key}={value}" for key, value in self.options)
        text_without_alias = f"{self.name}{subject}{options}"
        text = f"{self.alias}={text_without_alias}" if self.alias else text_without_alias
        object.__setattr__(self, "text", text)
        is_valid_alias = not self.alias or _NAME.fullmatch(self.alias) is not None
        if not is_valid_alias or _split_name(text_without_alias) != (self.name, self.subject, self.options):
            raise InputError(f"the metric name {text!r} cannot be read back as {_FORM}")

    @classmethod
    def parse(cls, text: str) -> MetricName:
        """Return the name that a text stands for; ``str()`` of the result is *text*, or the alias in it.

        Raises:
            InputError: *text* does not have the form of a name, or has a duplicate option.
        """
        alias = _ALIAS.match(text)
        if alias is None:
            return cls(*_split_name(text))
        return cls(*_split_name(text[alias.end() :]), alias=alias["alias"])

    def __str__(self) -> str:
        return self.alias or self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __eq__(self, other: object) -> bool:
        return self.text == other.text if isinstance(other, MetricName) else NotImplemented


def _split_name(text: str) -> tuple[str, str | None, tuple[tuple[str, str], ...]]:
    """Return the name, the subject (None if there is none) and the options in a text ``NAME:SUBJECT,KEY=VALUE,…``.

    Raises:
        InputError: the text has another form, or a duplicate option.
    """
    name = _FILE.match(text) or _NAME.match(text)
    if name is None:
        raise InputError(f"metric {text!r}: expected {_FORM}, starting with a letter or digit")
    text_after_name = text[name.end() :]
    option_starts = list(_OPTION.finditer(text_after_name))
    subject = text_after_name[: option_starts[0].start()] if option_starts else text_after_name
    if subject and not subject.startswith(":"):
        raise InputError(
            f"metric {text!r}: expected {_FORM}, found {subject!r} after {name.group()!r}; a set of options stands "
            f"behind a colon: {name.group()}:{subject.strip()}"
        )
    if subject == ":":
        raise InputError(f"metric {text!r}: nothing follows the colon; expected {_FORM}")
    options: dict[str, str] = {}
    # a value ends where the next option starts; without options there is one end too many, hence no strict zip
    value_ends = [match.start() for match in option_starts[1:]] + [len(text_after_name)]
    for match, value_end in zip(option_starts, value_ends, strict=False):
        key = match.group(1)
        if key in options:
            raise InputError(f"metric {text!r}: the option {key!r} is given twice")
        options[key] = text_after_name[match.end() : value_end]
    return name.group(), subject[1:] or None, tuple(options.items())


def option(
    default: Any = dataclasses.MISSING,
    help: str = "",
    *,
    minimum: float | None = None,
    maximum: float | None = None,
    reaches_out: bool = False,
) -> Any:
    """Return a dataclass field that declares one option of a metric.

    Args:
        default: the default value; without one, the option is required.
        help: the meaning of the option, for messages and help.
        minimum, maximum: the inclusive limits of a number; None without a limit.
        reaches_out: whether it names a server, a key or code, or allows others to name them.
    """
    metadata = {"help": help, "minimum": minimum, "maximum": maximum, "reaches_out": reaches_out}
    return dataclasses.field(default=default, metadata=metadata)


@dataclasses.dataclass(frozen=True)
class Option:
    """One option of a metric: its name, type and valid values.

    Attributes:
        name: the name in metric names; a field whose name would be a keyword of Python ends in an underscore.
        kind: ``bool``, ``int``, ``float``, ``str`` or ``choice``.
        default: the default value; ``dataclasses.MISSING`` if the option is required.
        choices: the valid values of a ``choice``; empty for other kinds.
        optional: whether ``none`` is a valid value.
        help: the meaning of the option.
        minimum, maximum: the inclusive limits of a number; None without a limit.
        reaches_out: whether it names a server, a key or code, or allows others to name them: only the user may set it.
    """

    name: str
    kind: str
    default: Any
    choices: tuple[Any, ...]
    optional: bool
    help: str
    minimum: float | None
    maximum: float | None
    reaches_out: bool = False

    @property
    def valid_values(self) -> str:
        """The valid values, described for messages."""
        if self.kind == "choice":
            text = ", ".join(format_value(choice) for choice in self.choices)
        elif self.kind == "bool":
            text = f"{_TRUE}, {_FALSE}"
        else:
            text = {"int": "a whole number", "float": "a number", "str": "a text"}[self.kind]
            if self.minimum is not None:
                text += f" from {self.minimum:g}"
            if self.maximum is not None:
                text += f" up to {self.maximum:g}"
        return f"{text}, {_NONE}" if self.optional else text


@functools.cache
def options_of(cls: type[Any]) -> dict[str, Option]:
    """Return the options of a metric class by the name of their field, including the subject if it has one.

    Fields that begin with an underscore, or are no arguments of the constructor, are no options.

    Raises:
        TypeError: the type of a field cannot be written in a metric name.
    """
    hints = get_type_hints(cls)
    options = {}
    for declared_field in dataclasses.fields(cls):
        name = declared_field.name
        if declared_field.init and not name.startswith("_"):
            options[name] = _option_of_field(declared_field, hints[name])
    return options


def _option_of_field(declared_field: dataclasses.Field[Any], hint: Any) -> Option:
    """Return the option that a dataclass field declares.

    Args:
        declared_field: the field.
        hint: the field's resolved type: bool, int, float, str, a Literal, or one of these or None.

    Raises:
        TypeError: the field has another type, such as ``int | str``.
    """
    members = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    value_types = [member for member in members if member is not type(None)]
    value_type = value_types[0] if value_types else hint
    choices = get_args(value_type) if get_origin(value_type) is Literal else ()
    kind = "choice" if choices else getattr(value_type, "__name__", str(value_type))
    if len(value_types) > 1 or kind not in ("choice", "bool", "int", "float", "str"):
        raise TypeError(f"option {declared_field.name!r}: the type {hint!r} cannot be written in a metric name")
    metadata = declared_field.metadata
    return Option(
        name=declared_field.name.rstrip("_"),
        kind=kind,
        default=declared_field.default,
        choices=choices,
        optional=len(value_types) < len(members),
        help=metadata.get("help", ""),
        minimum=metadata.get("minimum"),
        maximum=metadata.get("maximum"),
        reaches_out=metadata.get("reaches_out", False),
    )


def convert_value(metric: str, option: Option, value: object) -> object:
    """Return *value* (text, or a Python value) converted to the option's type.

    If ``none`` is a valid value of the option, this text and None become None.

    Args:
        metric: the metric's name, for messages.
        option: the option.
        value: the value to convert.

    Raises:
        InputError: the value is invalid; the message has the metric, the option, the value and the valid values.
    """
    if value is None or (option.optional and value == _NONE):
        if option.optional:
            return None
        raise _invalid_value_error(metric, option, value)
    try:
        result = _convert_to_kind(option, value)
    except (ValueError, OverflowError):
        raise _invalid_value_error(metric, option, value) from None
    # bool is a subclass of int, and has no limits
    if isinstance(result, int | float) and not isinstance(result, bool):
        low, high = option.minimum, option.maximum
        if (low is not None and result < low) or (high is not None and result > high):
            raise _invalid_value_error(metric, option, value)
    return result


def _convert_to_kind(option: Option, value: object) -> object:
    """Return *value* converted to the kind of the option, without regard to its limits.

    Raises:
        ValueError, OverflowError: the conversion is impossible.
    """
    if option.kind == "choice":
        for choice in option.choices:
            if value == choice or value == format_value(choice):
                return choice
    elif option.kind == "bool":
        if isinstance(value, bool):
            return value
        if isinstance(value, str) and value.lower() in (_TRUE, _FALSE):
            return value.lower() == _TRUE
    elif option.kind == "str":
        if isinstance(value, str):
            return value
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        if option.kind == "int" and not isinstance(value, float):
            return int(value)
        if option.kind == "float" and math.isfinite(float(value)):
            return float(value)
    raise ValueError(value)


def _invalid_value_error(metric: str, option: Option, value: object) -> InputError:
    """Return the error for an invalid value of an option, with the valid values and a similar one."""
    value_text = format_value(value)
    suggestion = suggestion_for(value_text, map(format_value, option.choices)) if option.kind == "choice" else ""
    return InputError(
        f"metric {metric!r}, option {option.name!r}: {value_text!r} is not valid;"
        f" valid: {option.valid_values}.{suggestion}"
    )


def format_value(value: object) -> str:
    """Return an option's value as text that :func:`convert_value` converts back to the value."""
    if value is None:
        return _NONE
    if isinstance(value, bool):
        return _TRUE if value else _FALSE
    if isinstance(value, float):
        return repr(value)
    return str(value)
