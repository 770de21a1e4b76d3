"""The options of a metric: dataclass fields, read from text by their declared type."""

from __future__ import annotations

import dataclasses
import functools
import math
import types
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from assay.errors import InputError, suggest

__all__ = ["SUBJECT", "Option", "describe_options", "format_value", "option", "read_value"]

#: The field that holds the model, file or column a metric is about.
SUBJECT = "subject"
_TRUE, _FALSE, _NONE = "true", "false", "none"


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
    """One option as it is shown and read.

    Attributes:
        name: as written in a metric name.
        kind: ``bool``, ``int``, ``float``, ``str`` or ``choice``.
        default: the value when it is not given; ``dataclasses.MISSING`` when it must be.
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
    return {
        item.name: _option(item, hints[item.name])
        for item in dataclasses.fields(cls)
        if item.init and not item.name.startswith("_")
    }


def _option(item: dataclasses.Field[Any], hint: Any) -> Option:
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
        raise _bad(metric, option, value)
    try:
        result = _convert(option, value)
    except ValueError:
        raise _bad(metric, option, value) from None
    if isinstance(result, int | float) and not isinstance(result, bool):
        low, high = option.minimum, option.maximum
        if (low is not None and result < low) or (high is not None and result > high):
            raise _bad(metric, option, value)
    return result


def _convert(option: Option, value: object) -> object:
    """Return *value* in the option's type; ValueError where it is none of its values."""
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


def _bad(metric: str, option: Option, value: object) -> InputError:
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
