"""Commands made of settings: the fields of a settings dataclass become options of a verb."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import types
import typing
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer

from assay.cli.guard import guarded
from assay.settings import Declared, Settings, declared, flag_of

__all__ = ["command"]

#: Types that a word of the command line can become; the first one that a setting allows is taken.
READABLE = (bool, int, float, str, Path)


def command(kind: type[Settings]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator: a function gets the settings as ``**settings``, each from an option of its own.

    The function declares only what is no setting: its arguments, and what concerns the terminal alone, such as
    ``--format``. Errors that assay raises end as one line in which settings carry the names of their flags.
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(function, include_extras=True)
        own = [
            parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY)
            for name, parameter in inspect.signature(function).parameters.items()
            if parameter.kind is not inspect.Parameter.VAR_KEYWORD
        ]
        arguments = [parameter for parameter in own if _is_argument(parameter)]
        terminal = [parameter for parameter in own if not _is_argument(parameter)]
        settings = _options(kind)

        @functools.wraps(function)
        def call(**values: Any) -> None:
            # a sequence that is not asked for keeps the default of its settings
            given = {name: value for name, value in values.items() if not (name in settings and value is None)}
            function(**given)

        shown = guarded(call, {name: flag_of(name, item) for name, item in declared(kind).items()})
        parameters = [*arguments, *settings.values(), *terminal]
        shown.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        shown.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return shown

    return decorate


def _is_argument(parameter: inspect.Parameter) -> bool:
    return any(
        isinstance(item, typer.models.ArgumentInfo) for item in getattr(parameter.annotation, "__metadata__", ())
    )


def _options(kind: type[Settings]) -> dict[str, inspect.Parameter]:
    """Return a keyword parameter, as typer reads it, for each setting that the command line has."""
    hints = get_type_hints(kind)
    defaults = {field.name: field.default for field in dataclasses.fields(kind)}
    options = {}
    for name, item in declared(kind).items():
        if item.python_only:
            continue
        default = defaults[name]
        readable = _readable(hints[name], item)
        if default is dataclasses.MISSING:
            default = inspect.Parameter.empty
        elif default is None or default == ():
            readable, default = readable | None, None
        option = typer.Option(*_flags(name, item, default), help=item.help, metavar=item.metavar)
        annotation: Any = Annotated[readable, option]
        options[name] = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
    return options


def _flags(name: str, item: Declared, default: Any) -> Sequence[str]:
    """Return the flags of an option; a switch that is off has no flag to turn it off."""
    if item.flags or default is not False:
        return item.flags or ()
    return (flag_of(name),)


def _readable(hint: Any, item: Declared) -> Any:
    """Return the type that typer reads for a setting of a type: a list, a choice, or a plain value."""
    if item.choices:
        value: Any = Literal[item.choices]
    elif get_origin(hint) is Literal:
        value = hint
    else:
        members = _members(hint)
        value = next((kind for kind in READABLE if kind in members), str)
    return list[value] if _is_list(hint) else value


def _is_list(hint: Any) -> bool:
    return any(inspect.isclass(get_origin(part)) and issubclass(get_origin(part), Sequence) for part in _parts(hint))


def _parts(hint: Any) -> Sequence[Any]:
    """Return the members of a union, or the one type that a hint is."""
    return get_args(hint) if get_origin(hint) in (typing.Union, types.UnionType) else (hint,)


def _members(hint: Any) -> list[Any]:
    """Return the plain types in a union, and those in a sequence of them."""
    members: list[Any] = []
    for part in _parts(hint):
        members += _members(get_args(part)[0]) if _is_list(part) else [part]
    return members
