"""Commands made of settings: the fields of a settings dataclass become options of a verb."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import os
import sys
import types
import typing
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer

from assay.cli.completion import complete_runs, completer_of
from assay.cli.guard import guarded, tell
from assay.configuration import APPLIED
from assay.errors import AssayError, InputError
from assay.settings import Declared, Settings, declared, flag_of, with_flags

#: Types that a word of the command line can become; the first one that a setting allows is taken. Text comes first:
#: what may be a number or a name is told apart by the setting.
READABLE = (str, bool, int, float, Path)


def command(
    kind: type[Settings], *, position: Callable[..., Any] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator: a function gets the settings as ``**settings``, each from an option of its own.

    The function declares only what is no setting: its arguments, and what concerns the terminal alone, such as
    ``--format``. Errors that assay raises end as one line in which settings carry the names of their flags.

    Args:
        kind: the settings.
        position: is called with the context and the value of the setting that stands by position, before a
            configuration gives others theirs, and returns the value.
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        """Return a function whose signature, which typer reads, lists the options beside its own parameters."""
        hints = get_type_hints(function, include_extras=True)
        own_parameters = []
        for name, parameter in inspect.signature(function).parameters.items():
            if parameter.kind is not inspect.Parameter.VAR_KEYWORD:
                if name in ("run", "runs"):
                    hints[name].__metadata__[0].autocompletion = complete_runs
                keyword = parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY)
                own_parameters.append(keyword)
        takes_context = "context" in hints
        options = _options(kind, position)
        parameters = sorted(
            [*own_parameters, *options.values()], key=lambda parameter: _place(parameter, own_parameters)
        )

        @functools.wraps(function)
        def call(context: typer.Context, **values: Any) -> None:
            # typer has None for a sequence that is absent: it keeps the default of its settings
            arguments = {name: value for name, value in values.items() if value is not None or name not in options}
            if takes_context:
                arguments["context"] = context
            if context.default_map:
                with _taking(context, quiet=values.get("quiet", False)):
                    function(**arguments)
            else:
                function(**arguments)

        shown = guarded(call, flags_of(kind))
        # what the tests of all verbs read
        shown.settings_class = kind  # type: ignore[attr-defined]
        if not takes_context:
            context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
            parameters.insert(0, context)
        shown.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        shown.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return shown

    return decorate


@contextmanager
def _taking(context: typer.Context, *, quiet: bool) -> Iterator[None]:
    """Tell which settings come from a configuration; run.json records them, and errors about them name the file."""
    from assay.cli.configuration import origin_of, used_by

    used = used_by(context)
    if used is not None and not quiet:
        tell(f"from {os.path.relpath(used.file)}: {used.line}")
    token = APPLIED.set(used)
    try:
        yield
    except AssayError as error:
        if used is not None:
            error.add_note(origin_of(str(error), used))
        raise
    finally:
        APPLIED.reset(token)


def flags_of(kind: type[Settings]) -> dict[str, str]:
    """Return the flag of each setting on the command line, as messages name it."""
    return {name: flag_of(name, item) for name, item in declared(kind).items() if not item.python_only}


def _place(parameter: inspect.Parameter, own: Sequence[inspect.Parameter]) -> int:
    """Return where ``--help`` lists a parameter: arguments, settings, then what concerns the terminal."""
    metadata = getattr(parameter.annotation, "__metadata__", ())
    if any(isinstance(item, typer.models.ArgumentInfo) for item in metadata):
        return 0
    return 2 if parameter in own else 1


def _options(kind: type[Settings], position: Callable[..., Any] | None) -> dict[str, inspect.Parameter]:
    """Return a keyword parameter, as typer reads it, for each setting that the command line has."""
    settings = {name: item for name, item in declared(kind).items() if not item.python_only}
    hints = _hints(kind, settings)
    defaults = {field.name: field.default for field in dataclasses.fields(kind)}
    flags = flags_of(kind)
    options = {}
    for name, item in settings.items():
        default = defaults[name]
        readable = _readable(hints[name], item)
        help = with_flags(item.help, flags)
        if _is_list(hints[name]) and not item.argument and "repeatable" not in help:
            help = f"{help.rstrip('.')}; repeatable."
        if default is dataclasses.MISSING:
            default = inspect.Parameter.empty
        elif default is None or default == ():
            readable, default = readable | None, None
        made: Any
        if item.argument:
            made = typer.Argument(
                help=help,
                metavar=item.metavar,
                show_default=default is not None,
                callback=position,
                autocompletion=completer_of(name, item.metavar),
            )
        else:
            made = typer.Option(
                *_flags(name, item, default),
                help=help,
                metavar=item.metavar,
                callback=_callback(item),
                autocompletion=completer_of(name, item.metavar),
            )
        annotation: Any = Annotated[readable, made]
        options[name] = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
    return options


def _hints(kind: type[Settings], names: Container[str]) -> dict[str, Any]:
    """Return the types of some settings. Those of others may be unknown here: objects that only Python users have."""
    hints: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        written = {name: hint for name, hint in inspect.get_annotations(base).items() if name in names}
        scope = vars(sys.modules[base.__module__])
        hints |= get_type_hints(types.SimpleNamespace(__annotations__=written), globalns=scope)
    return hints


def _callback(item: Declared) -> Callable[[str | None], str | None] | None:
    """Return what reads a value of a form of its own before the words after it are read.

    Of ``--scale 0 2`` the error is that 0 is no range, and not that 2 is a word too many.
    """
    parse = item.parse
    if parse is None:
        return None

    def check(value: str | None) -> str | None:
        if value is not None:
            try:
                parse(value)
            except InputError as error:
                raise typer.BadParameter(str(error).partition(": ")[2]) from None
        return value

    return check


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
    """Tell whether a setting takes several values, each from a flag of its own; one that may be text takes one."""
    parts = _parts(hint)
    return str not in parts and any(map(_is_sequence, parts))


def _is_sequence(hint: Any) -> bool:
    return inspect.isclass(get_origin(hint)) and issubclass(get_origin(hint), Sequence)


def _parts(hint: Any) -> Sequence[Any]:
    """Return the members of a union, or the one type that a hint is."""
    return get_args(hint) if get_origin(hint) in (typing.Union, types.UnionType) else (hint,)


def _members(hint: Any) -> list[Any]:
    """Return the plain types in a union, and those in a sequence of them."""
    parts = _parts(hint)
    if str in parts and any(map(_is_sequence, parts)):
        # a list written as text, such as 64,256,1024
        return [str]
    members: list[Any] = []
    for part in parts:
        members += _members(get_args(part)[0]) if _is_sequence(part) else [part]
    return members
