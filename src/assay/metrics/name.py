"""Metric names and options: a text that needs no quotes in a shell, and values read by their declared types."""

from __future__ import annotations

import dataclasses
import functools
import math
import re
import types
from dataclasses import dataclass, field
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from assay.errors import InputError, suggest

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_OPTION = re.compile(r",([A-Za-z_][A-Za-z0-9_-]*)=")
_FORM = "[alias=]name[:subject][,option=value]…"
#: A name that the user gives a metric; what follows is the name of the metric.
_ALIAS = re.compile(r"(?P<alias>[A-Za-z0-9][A-Za-z0-9_.-]*)=(?=[A-Za-z0-9])")

#: The field that holds the model, file or column a metric is about.
SUBJECT = "subject"
_TRUE, _FALSE, _NONE = "true", "false", "none"


@dataclass(frozen=True, eq=False)
class MetricName:
    """The parts of a name as it was typed: ``[alias=]name[:subject][,option=value]…``.

    The subject is a model, a file, a column or a named option set. It may hold commas and colons: an
    option starts only at ``,word=``. A value ends where the next option starts. Two names are equal when
    their texts are.

    Attributes:
        name: the metric's name in the registry.
        subject: the text after the first colon, or None.
        options: pairs (option, value as text) in the order typed.
        alias: what tables call it, and ``str()`` returns; empty for the name itself.
        text: the whole name as typed.

    Raises:
        InputError: the parts cannot be written so that they can be read again.

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
        subject = "" if self.subject is None else f":{self.subject}"
        text = self.name + subject + "".join(f",{key}={value}" for key, value in self.options)
        object.__setattr__(self, "text", f"{self.alias}={text}" if self.alias else text)
        if _split(text) != (self.name, self.subject, self.options):
            raise InputError(f"the metric name {text!r} cannot be read back as {_FORM}")

    @classmethod
    def parse(cls, text: str) -> MetricName:
        """Read a name; ``str()`` of the result is *text*, or its alias.

        Raises:
            InputError: *text* has not the form, or gives an option twice.
        """
        alias = _ALIAS.match(text)
        if alias is None:
            return cls(*_split(text))
        return cls(*_split(text[alias.end() :]), alias=alias["alias"])

    def __str__(self) -> str:
        return self.alias or self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __eq__(self, other: object) -> bool:
        return self.text == other.text if isinstance(other, MetricName) else NotImplemented


def _split(text: str) -> tuple[str, str | None, tuple[tuple[str, str], ...]]:
    """Return name, subject (None without one) and options of a text ``NAME:SUBJECT,KEY=VALUE,…``.

    Raises:
        InputError: the text has another form, or gives an option twice.
    """
    name = _NAME.match(text)
    if name is None:
        raise InputError(f"metric {text!r}: expected {_FORM}, starting with a letter or digit")
    rest = text[name.end() :]
    option_starts = list(_OPTION.finditer(rest))
    subject = rest[: option_starts[0].start()] if option_starts else rest
    if subject and not subject.startswith(":"):
        raise InputError(f"metric {text!r}: expected {_FORM}, found {subject!r} after {name.group()!r}")
    if subject == ":":
        raise InputError(f"metric {text!r}: nothing follows the colon; expected {_FORM}")
    options: dict[str, str] = {}
    # a value ends where the next option starts
    value_ends = [match.start() for match in option_starts[1:]] + [len(rest)]
    for match, value_end in zip(option_starts, value_ends, strict=False):
        key = match.group(1)
        if key in options:
            raise InputError(f"metric {text!r}: the option {key!r} is given twice")
        options[key] = rest[match.end() : value_end]
    return name.group(), subject[1:] or None, tuple(options.items())


def option(
    default: Any = dataclasses.MISSING,
    help: str = "",
    *,
    minimum: float | None = None,
    maximum: float | None = None,
) -> Any:
    """Declare one option of a metric (a dataclass field): its default, its meaning, its limits."""
    metadata = {"help": help, "minimum": minimum, "maximum": maximum}
    return dataclasses.field(default=default, metadata=metadata)


@dataclasses.dataclass(frozen=True)
class Option:
    """One option: how it is written, and which values it has.

    Attributes:
        name: as written in a metric name.
        kind: ``bool``, ``int``, ``float``, ``str`` or ``choice``.
        default: its value where it is not set; ``dataclasses.MISSING`` where it must be.
        choices: the valid values of a ``choice``, else empty.
        optional: whether ``none`` is a value.
        help: what it means.
        minimum, maximum: inclusive limits of a number, or None.
    """

    name: str
    kind: str
    default: Any
    choices: tuple[Any, ...]
    optional: bool
    help: str
    minimum: float | None
    maximum: float | None

    @property
    def valid(self) -> str:
        """The valid values in words."""
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
def describe_options(cls: type[Any]) -> dict[str, Option]:
    """Return the options of a metric class by name, the subject among them where there is one."""
    hints = get_type_hints(cls)
    options = {}
    for item in dataclasses.fields(cls):
        if item.init and not item.name.startswith("_"):
            options[item.name] = _option(item, hints[item.name])
    return options


def _option(item: dataclasses.Field[Any], hint: Any) -> Option:
    """Return the option of a field, its kind from the type: a scalar, a Literal, or one of these with None."""
    optional = False
    if get_origin(hint) in (Union, types.UnionType):
        parts = [part for part in get_args(hint) if part is not type(None)]
        optional = len(parts) < len(get_args(hint))
        hint = parts[0]
    choices = get_args(hint) if get_origin(hint) is Literal else ()
    kind = "choice" if choices else getattr(hint, "__name__", str(hint))
    if kind not in ("choice", "bool", "int", "float", "str"):
        raise TypeError(f"option {item.name!r}: the type {hint!r} cannot be written in a metric name")
    meta = item.metadata
    limits = meta.get("minimum"), meta.get("maximum")
    return Option(item.name, kind, item.default, choices, optional, meta.get("help", ""), *limits)


def read_value(metric: str, option: Option, value: object) -> object:
    """Return *value* (text, or a Python value) as the option's type.

    Raises:
        InputError: naming the metric, the option, the value and the valid values.
    """
    if value is None or (option.optional and value == _NONE):
        if option.optional:
            return None
        raise _invalid(metric, option, value)
    try:
        result = _convert(option, value)
    except (ValueError, OverflowError):
        raise _invalid(metric, option, value) from None
    if isinstance(result, int | float) and not isinstance(result, bool):
        low, high = option.minimum, option.maximum
        if (low is not None and result < low) or (high is not None and result > high):
            raise _invalid(metric, option, value)
    return result


def _convert(option: Option, value: object) -> object:
    """Return *value* in the option's type; ValueError where that is impossible."""
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


def _invalid(metric: str, option: Option, value: object) -> InputError:
    shown = format_value(value)
    near = suggest(shown, map(format_value, option.choices)) if option.kind == "choice" else ""
    return InputError(
        f"metric {metric!r}, option {option.name!r}: {shown!r} is not valid; valid: {option.valid}.{near}"
    )


def format_value(value: object) -> str:
    """Write an option's value so that :func:`read_value` reads it again."""
    if value is None:
        return _NONE
    if isinstance(value, bool):
        return _TRUE if value else _FALSE
    if isinstance(value, float):
        return repr(value)
    return str(value)
