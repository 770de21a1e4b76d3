"""Commands built from settings: the fields of a settings dataclass become options of a verb."""

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

#: Types that a word of the command line can be read as, in order of preference. Text comes first: a setting that
#: accepts a name or a number tells them apart itself.
READABLE = (str, bool, int, float, Path)


def command(
    kind: type[Settings], *, position: Callable[..., Any] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that gives a verb one option per setting; the function receives them as ``**settings``.

    The function declares only parameters that are no settings: its arguments, and options of the terminal such as
    ``--format``. An error that assay raises is shown in one line, in which settings appear as their flags.

    Args:
        kind: the settings class.
        position: a callback that receives the context and the value of the positional setting, before a configuration
            sets the others, and returns the value.
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        """Return the function with a signature, read by typer, that lists the options besides its own parameters."""
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
            [*own_parameters, *options.values()], key=lambda parameter: _help_rank(parameter, own_parameters)
        )

        @functools.wraps(function)
        def call(context: typer.Context, **values: Any) -> None:
            # typer passes None for a sequence option that is absent; dropped, so that the setting keeps its own default
            arguments = {name: value for name, value in values.items() if value is not None or name not in options}
            if takes_context:
                arguments["context"] = context
            if context.default_map:
                with _applied_configuration(context, quiet=values.get("quiet", False)):
                    function(**arguments)
            else:
                function(**arguments)

        shown = guarded(call, flags_of(kind))
        # read by the check of configurations, and by the tests of all verbs
        shown.settings_class = kind  # type: ignore[attr-defined]
        if not takes_context:
            context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
            parameters.insert(0, context)
        shown.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        shown.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return shown

    return decorate


@contextmanager
def _applied_configuration(context: typer.Context, *, quiet: bool) -> Iterator[None]:
    """Report on stderr which settings come from a configuration, record them, and name the file in errors about them.

    Within the block :data:`assay.configuration.APPLIED` holds these settings, which ``run.json`` then records.
    """
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
    """Return the flag of each setting, by the name of the setting; settings for Python alone have none."""
    return {name: flag_of(name, item) for name, item in declared(kind).items() if not item.python_only}


def _help_rank(parameter: inspect.Parameter, own: Sequence[inspect.Parameter]) -> int:
    """Return the rank of a parameter in ``--help``: 0 for arguments, 1 for settings, 2 for options of the terminal."""
    metadata = getattr(parameter.annotation, "__metadata__", ())
    if any(isinstance(item, typer.models.ArgumentInfo) for item in metadata):
        return 0
    return 2 if parameter in own else 1


def _options(kind: type[Settings], position: Callable[..., Any] | None) -> dict[str, inspect.Parameter]:
    """Return a keyword parameter, annotated for typer, for each setting that the command line has."""
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
        typer_info: Any
        if item.argument:
            typer_info = typer.Argument(
                help=help,
                metavar=item.metavar,
                show_default=default is not None,
                callback=position,
                autocompletion=completer_of(name, item.metavar),
            )
        else:
            typer_info = typer.Option(
                *_flags(name, item, default),
                help=help,
                metavar=item.metavar,
                callback=_callback(item),
                autocompletion=completer_of(name, item.metavar),
            )
        annotation: Any = Annotated[readable, typer_info]
        options[name] = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
    return options


def _hints(kind: type[Settings], names: Container[str]) -> dict[str, Any]:
    """Return the resolved type hints of some settings.

    Others are not resolved: settings for Python alone may have types that are imported only for type checking.
    """
    hints: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        annotations = {name: hint for name, hint in inspect.get_annotations(base).items() if name in names}
        scope = vars(sys.modules[base.__module__])
        hints |= get_type_hints(types.SimpleNamespace(__annotations__=annotations), globalns=scope)
    return hints


def _callback(item: Declared) -> Callable[[str | None], str | None] | None:
    """Return a callback that parses a value with a syntax of its own; None if the setting has none.

    It runs before the following words are read: the error about ``--scale 0 2`` is that 0 is no range, and not that 2
    is an unexpected argument.
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
    """Return the flags of an option; empty if typer can derive them from the name.

    A switch that is off by default gets a single flag, so that typer adds no ``--no-`` form.
    """
    if item.flags or default is not False:
        return item.flags or ()
    return (flag_of(name),)


def _readable(hint: Any, item: Declared) -> Any:
    """Return the type that typer needs for a setting: a plain type, a choice, or a list of either."""
    if item.choices:
        value: Any = Literal[item.choices]
    elif get_origin(hint) is Literal:
        value = hint
    else:
        types_allowed = _value_types(hint)
        value = next((kind for kind in READABLE if kind in types_allowed), str)
    return list[value] if _is_list(hint) else value


def _is_list(hint: Any) -> bool:
    """Tell whether a setting accepts several values, each after a flag of its own; one that may be text accepts one."""
    parts = _union_parts(hint)
    return str not in parts and any(map(_is_sequence, parts))


def _is_sequence(hint: Any) -> bool:
    return inspect.isclass(get_origin(hint)) and issubclass(get_origin(hint), Sequence)


def _union_parts(hint: Any) -> Sequence[Any]:
    """Return the types in a union, or the hint itself if it is no union."""
    return get_args(hint) if get_origin(hint) in (typing.Union, types.UnionType) else (hint,)


def _value_types(hint: Any) -> list[Any]:
    """Return the plain types in a hint, with those of the items of its sequences.

    Only str is returned if a hint allows both text and a sequence.
    """
    parts = _union_parts(hint)
    if str in parts and any(map(_is_sequence, parts)):
        # such a list is typed as one text, 64,256,1024, and parsed later
        return [str]
    value_types: list[Any] = []
    for part in parts:
        if _is_sequence(part):
            value_types += _value_types(get_args(part)[0])
        else:
            value_types.append(part)
    return value_types
