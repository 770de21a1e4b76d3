"""Commands built from settings: the fields of a settings dataclass become options of a verb."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer

from assay.cli.completion import COMPLETERS, Completer, complete_runs
from assay.cli.guard import guarded
from assay.cli.printing import print_to_stderr
from assay.common.configuration import APPLIED
from assay.common.declarations import (
    SettingDeclaration,
    Settings,
    declarations_of,
    flag_of,
    help_with_flags,
    is_sequence_type,
    union_members,
)
from assay.exceptions import AssayError, InputError

#: What follows the name of a setting that has a flag in the name of the parameter for its values by position.
POSITION = "_by_position"

#: Types that a word of the command line can be read as, in order of preference. Text comes first: a setting that
#: accepts a name or a number tells them apart itself.
TYPES_OF_WORDS = (str, bool, int, float, Path)


def command(
    settings_class: type[Settings], *, position_callback: Callable[..., Any] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds one option per setting to a verb, whose function receives them as ``**settings``.

    The function declares only parameters that are not settings: its arguments, and options of the terminal such as
    ``--format``. An error that assay raises is shown in one line, in which settings appear as their flags.

    Args:
        settings_class: the settings class.
        position_callback: a callback that receives the context and the value of the positional setting, and returns
            the value. It is called before a configuration file sets the other settings.
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        """Return the guarded verb; its signature, which typer reads, has the own parameters and the options."""
        own_parameters = _own_parameters(function)
        takes_context = any(parameter.name == "context" for parameter in own_parameters)
        options = _setting_parameters(settings_class, position_callback)
        by_position = [name for name in declarations_of(settings_class) if name + POSITION in options]
        parameters = sorted(
            [*own_parameters, *options.values()], key=lambda parameter: _help_rank(parameter, own_parameters)
        )

        @functools.wraps(function)
        def call_verb(context: typer.Context, **values: Any) -> None:
            """Call the function with the values of its parameters and with the settings that have one."""
            # typer passes None for a sequence option that is absent; dropped, so that the setting keeps its own default
            arguments = {name: value for name, value in values.items() if value is not None or name not in options}
            for name in by_position:
                _merge_positions(context, settings_class, name, arguments)
            if takes_context:
                arguments["context"] = context
            if context.default_map:
                with _use_configuration(context, quiet=values.get("quiet", False)):
                    function(**arguments)
            else:
                function(**arguments)

        guarded_verb = guarded(call_verb, flags_of(settings_class))
        # read by the check of configurations, and by the tests of all verbs
        guarded_verb.settings_class = settings_class  # type: ignore[attr-defined]
        if not takes_context:
            context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
            parameters.insert(0, context)
        guarded_verb.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        guarded_verb.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return guarded_verb

    return decorate


def _own_parameters(function: Callable[..., None]) -> list[inspect.Parameter]:
    """Return the parameters that a verb's function declares itself, all but ``**settings``, as keywords for typer.

    Arguments with run folders, ``run`` or ``runs``, get the completion of run folders.
    """
    hints = get_type_hints(function, include_extras=True)
    parameters = []
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            continue
        if name in ("run", "runs"):
            # the annotation holds the typer.Argument
            hints[name].__metadata__[0].autocompletion = complete_runs
        parameters.append(parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY))
    return parameters


@contextmanager
def _use_configuration(context: typer.Context, *, quiet: bool) -> Iterator[None]:
    """Report which settings a command takes from a configuration file, record them, and name the file in errors.

    The report goes to stderr, unless *quiet*. Within the block :data:`assay.common.configuration.APPLIED` holds these
    settings, which ``run.json`` then records. An error that the block raises about one of them gets a note.
    """
    from assay.cli.configuration import origin_note, used_configuration

    configuration = used_configuration(context)
    if configuration is not None and not quiet:
        print_to_stderr(f"from {os.path.relpath(configuration.file)}: {configuration.line}")
    token = APPLIED.set(configuration)
    try:
        yield
    except AssayError as error:
        if configuration is not None:
            error.add_note(origin_note(error, configuration))
        raise
    finally:
        APPLIED.reset(token)


def _merge_positions(
    context: typer.Context, settings_class: type[Settings], name: str, arguments: dict[str, Any]
) -> None:
    """Replace the values that were given by position for a setting that also has a flag, by values of the setting.

    They take precedence over those of a configuration file.

    Args:
        context: the context of the command.
        settings_class: the settings class.
        name: the name of the setting.
        arguments: the values of the command's parameters by name, without absent ones; changed in place.

    Raises:
        InputError: there are values by position and by the flag, or the setting is required and has none.
    """
    values_by_position = arguments.pop(name + POSITION, None)
    flag = flag_of(name, declarations_of(settings_class)[name])
    field = next(field for field in dataclasses.fields(settings_class) if field.name == name)
    if values_by_position:
        source = context.get_parameter_source(name)
        is_flag_used = source is not None and source.name == "COMMANDLINE"
        if is_flag_used and arguments.get(name):
            # the former form of some verbs had metrics by position, and the data by a flag
            words = [*context.command_path.split(), *_words(arguments[name])]
            words += [word for metric in _words(values_by_position) for word in ("--metric", metric)]
            raise InputError(
                f"{' '.join(_words(values_by_position))}: data is given by position and by {flag}; give it once, and "
                f"metrics by --metric: {shlex.join(words)}"
            )
        arguments[name] = values_by_position
    elif name not in arguments and field.default is dataclasses.MISSING:
        placeholder = declarations_of(settings_class)[name].metavar or name.upper()
        raise InputError(
            f"no {placeholder} is given: {context.command_path} {placeholder} ({context.command_path} --help)"
        )


def _words(value: Any) -> list[str]:
    """Return the words of a command line for a value, or for each of several."""
    return [str(item) for item in value] if isinstance(value, list) else [str(value)]


def flags_of(settings_class: type[Settings]) -> dict[str, str]:
    """Return the flag of each setting, by the name of the setting; settings for Python alone have none."""
    return {
        name: flag_of(name, setting)
        for name, setting in declarations_of(settings_class).items()
        if not setting.python_only
    }


def _help_rank(parameter: inspect.Parameter, own_parameters: Sequence[inspect.Parameter]) -> int:
    """Return the rank of a parameter in ``--help``: 0 for arguments, 1 for settings, 2 for options of the terminal."""
    metadata = getattr(parameter.annotation, "__metadata__", ())
    if any(isinstance(item, typer.models.ArgumentInfo) for item in metadata):
        return 0
    return 2 if parameter in own_parameters else 1


def _setting_parameters(
    settings_class: type[Settings], position_callback: Callable[..., Any] | None
) -> dict[str, inspect.Parameter]:
    """Return the keyword parameters, annotated for typer, for all settings that the command line has, by name.

    A setting is an option, or an argument if it is declared as one. A setting that is declared as an argument with
    flags has both: the argument is the parameter of its name with :data:`POSITION` added, the option that of its name.

    Args:
        settings_class: the settings class.
        position_callback: the callback of the positional setting, as in :func:`command`.
    """
    hints = settings_class.setting_types()
    defaults = {field.name: field.default for field in dataclasses.fields(settings_class)}
    flags = flags_of(settings_class)
    parameters = {}
    for name, setting in declarations_of(settings_class).items():
        if setting.python_only:
            continue
        value_type = _typer_type(hints[name], setting)
        typer_type, default = _with_default(value_type, defaults[name], setting)
        help_text = help_with_flags(setting.help, flags)
        # found by the name of the setting, or by its placeholder in the help
        completer = COMPLETERS.get(name) or COMPLETERS.get(setting.metavar or "")
        if not setting.argument:
            needs_note = get_origin(value_type) is list and "repeatable" not in help_text
            option_text = f"{help_text.rstrip('.')}; repeatable." if needs_note else help_text
            option = _option(name, setting, option_text, default, completer)
            parameters[name] = _keyword(name, typer_type, option, default)
            continue
        argument = _argument(setting, help_text, default, completer, position_callback)
        if setting.flags:
            parameters[name + POSITION] = _keyword(name + POSITION, typer_type | None, argument, None)
            option = _option(name, setting, "The same.", default, completer)
            parameters[name] = _keyword(name, typer_type, option, default)
        else:
            parameters[name] = _keyword(name, typer_type, argument, default)
    return parameters


def _keyword(name: str, typer_type: Any, typer_info: Any, default: Any) -> inspect.Parameter:
    annotation: Any = Annotated[typer_type, typer_info]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _argument(
    setting: SettingDeclaration,
    help_text: str,
    default: Any,
    completer: Completer | None,
    callback: Callable[..., Any] | None,
) -> Any:
    """Return what typer needs to know of a setting that is given by position, a ``typer.models.ArgumentInfo``.

    Args:
        setting: the declaration of the setting.
        help_text: its description in ``--help``, with other settings as flags.
        default: its default for typer, which ``--help`` shows unless it is None.
        completer: completes its values in a shell; None for none.
        callback: receives the context and the value, and returns the value; None for none.
    """
    return typer.Argument(
        help=help_text,
        metavar=setting.metavar,
        show_default=default is not None,
        callback=callback,
        autocompletion=completer,
    )


def _option(name: str, setting: SettingDeclaration, help_text: str, default: Any, completer: Completer | None) -> Any:
    """Return what typer needs to know of a setting that has a flag, a ``typer.models.OptionInfo``.

    Args:
        name: the name of the setting.
        setting: its declaration.
        help_text: its description in ``--help``, with other settings as flags.
        default: its default for typer.
        completer: completes its values in a shell; None for none.
    """
    # a switch that is off by default gets its single flag, so that typer adds no --no- form
    flags = (flag_of(name),) if default is False and not setting.flags else setting.flags
    return typer.Option(
        *flags,
        help=help_text,
        metavar=setting.metavar,
        callback=None if setting.parse is None else checking_callback(setting.parse),
        autocompletion=completer,
    )


def _with_default(typer_type: Any, default: Any, setting: SettingDeclaration) -> tuple[Any, Any]:
    """Return the type and the default that typer needs for a setting, from its type for typer and its own default.

    The default is ``inspect.Parameter.empty`` for a required setting. It is None, which the type then allows, in place
    of an empty sequence, and for a required setting with an argument and an option, of which one is enough.
    """
    if default is dataclasses.MISSING:
        if setting.argument and setting.flags:
            # _merge_positions checks that one of the two is given
            return typer_type | None, None
        return typer_type, inspect.Parameter.empty
    if default is None or default == ():
        # typer would show an empty sequence as a default in the help
        return typer_type | None, None
    return typer_type, default


def checking_callback(parse: Callable[[str], object]) -> Callable[[str | None], str | None]:
    """Return a callback of typer that checks a value with a syntax of its own, and returns it unchanged.

    It runs before the following words are read, so that the error about ``--scale 0 2`` says that 0 is not a range, and
    not that 2 is an unexpected argument. The error is a BadParameter of typer; None, for an absent option, has none.

    Args:
        parse: raises InputError for a malformed value; what it returns is not used.
    """

    def check_syntax(value: str | None) -> str | None:
        """Return a value unchanged; raises BadParameter if it cannot be parsed."""
        if value is not None:
            try:
                parse(value)
            except InputError as error:
                # typer puts the flag before the message, in place of the setting's name
                raise typer.BadParameter(str(error.message.problem)) from None
        return value

    return check_syntax


def _typer_type(hint: Any, setting: SettingDeclaration) -> Any:
    """Return the type that typer needs for a setting: a plain type, a choice, or a list of either.

    Of several plain types it is the first in :data:`TYPES_OF_WORDS`; text if none of them is there.
    """
    members = union_members(hint)
    sequences = [member for member in members if is_sequence_type(member)]
    # what may be text or a sequence is typed as one text, 64,256,1024, and parsed later
    is_repeated = bool(sequences) and str not in members
    if setting.choices:
        item_type: Any = Literal[setting.choices]
    elif get_origin(hint) is Literal:
        item_type = hint
    else:
        accepted = set(members)
        if is_repeated:
            for sequence in sequences:
                accepted.update(union_members(get_args(sequence)[0]))
        item_type = next((plain_type for plain_type in TYPES_OF_WORDS if plain_type in accepted), str)
    return list[item_type] if is_repeated else item_type
