"""Defaults of options from a configuration file: which keys are allowed, and which values each verb gets from them.

A key is an option without its dashes, or the setting's name in Python. At the top level it applies to every verb that
has the option and accepts the value; in a table of a verb, such as ``[run]``, only to that verb. The file may come with
someone else's repository: it can neither name a file to write, nor a server or a key, nor make assay run code. A value
is resolved first and then checked, and what cannot be checked is refused.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import chain
from operator import getitem
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from assay.common.addresses import command_line, is_address, public_values
from assay.common.configuration import Configuration
from assay.common.messages import Message
from assay.exceptions import AssayError, InputError, suggestion_for
from assay.paths import path_exists, user_path

#: Options that a configuration file may not set, with the reason as messages give it.
REFUSED = {
    **dict.fromkeys(("out", "junit", "run", "summary", "svg", "storage", "figure", "results"), "names what is written"),
    **dict.fromkeys(("tagger", "pipeline", "trust"), "can run code"),
    "address": "sends data and code to another machine",
    **dict.fromkeys(("older_than", "dry_run"), "decides what is deleted"),
}
#: Options that name metrics which a verb may load, with the name that it loads.
METRIC_OPTIONS = {"metric": "{}", "metrics": "{}", "labeller": "cross-encoder:{}"}
#: Options whose text may contain paths, besides options that are paths; such a path has a slash or a dot.
OPTIONS_WITH_PATHS = frozenset(
    {
        "base",
        "corpus",
        "dataset",
        "datasets",
        "dev",
        "graphs",
        "labeller",
        "metric",
        "metrics",
        "pairs",
        "prices",
        "queries",
    }
    | {"test", "threshold", "train", "vectors"}
)
#: Options that are mappings, which a file may write as a table.
MAPPING_OPTIONS = frozenset({"columns", "cost", "graphs", "labels"})
_TYPE_DESCRIPTIONS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    Path: "text, a path",
}


@dataclass(frozen=True)
class Option:
    """An option of a verb that a configuration file may set.

    Attributes:
        name: the name of the parameter.
        value_type: the type of a single value.
        choices: the allowed texts; empty if any text is allowed.
        accepts_list: whether it accepts a list.
        settings: the settings class of the verb; None if it has none.
    """

    name: str
    value_type: type
    choices: tuple[str, ...]
    accepts_list: bool
    settings: Any

    def parse(self, value: Any, folder: Path) -> Any:
        """Return a value of the file in the form that the command line expects: a list if the option accepts one.

        Args:
            value: the value as TOML has it.
            folder: the folder of the file, to which its paths are relative.

        Raises:
            InputError: the value has another type, is a list where one value is expected, or is outside its range or
                choices. The message does not name the key.
            RefusedValueError: the value names a metric that runs code, calls a server or reads a key, or that cannot be
                checked.
        """
        if isinstance(value, dict) and self.name in MAPPING_OPTIONS:
            # the command line writes a mapping as text: a=x+y,b=z
            value = ",".join(f"{key}={'+'.join(map(str, _as_list(item)))}" for key, item in value.items())
        if isinstance(value, list) and not self.accepts_list:
            raise InputError("expected one value, not a list")
        parsed = [self._parse_item(item, folder) for item in _as_list(value)]
        return parsed if self.accepts_list else parsed[0]

    @property
    def _types(self) -> set[Any]:
        """The types that the setting accepts, without None; empty for an option that is no setting."""
        from assay.common.declarations import union_members

        hints = {} if self.settings is None else self.settings.setting_types()
        return set(union_members(hints[self.name])) - {NoneType} if self.name in hints else set()

    def _parse_item(self, value: Any, folder: Path) -> Any:
        """Return a single value, checked, with its paths made relative to the working folder.

        Raises:
            InputError: the value has another type, or is outside its range or choices.
            RefusedValueError: the value names a metric that no verb takes from a file, see :func:`_resolve_metric`.
        """
        value = self._checked_value(value)
        if isinstance(value, str) and self.name in METRIC_OPTIONS:
            return _resolve_metric(value, METRIC_OPTIONS[self.name], folder)
        if self.value_type is Path or self._types == {str, Path}:
            return _relative_path(value, folder)
        if isinstance(value, str) and self.name in OPTIONS_WITH_PATHS:
            return _resolve_paths(value, folder)
        return value

    def _checked_value(self, value: Any) -> Any:
        """Return a single value of the file if the option may have it; a number as text if the option is a name.

        Raises:
            InputError: the value has another type, or is outside its range or choices.
        """
        from assay.common.declarations import check_value, declarations_of

        # a setting that is a name or a number is text on the command line
        is_name_or_number = self.value_type is str and float in self._types
        if is_name_or_number and type(value) in (int, float):
            value = str(value)
        toml_type: Any = self.value_type
        if self.value_type is Path:
            toml_type = str
        elif self.value_type is float:
            toml_type = (int, float)
        # bool is a subclass of int
        is_bool_as_number = isinstance(value, bool) and self.value_type is not bool
        if is_bool_as_number or not isinstance(value, toml_type):
            raise InputError(f"expected {_TYPE_DESCRIPTIONS[self.value_type]}")
        if self.choices and value not in self.choices:
            raise InputError(f"must be {', '.join(self.choices[:-1])} or {self.choices[-1]}")
        if self._types:
            try:
                check_value(self.name, value, declarations_of(self.settings)[self.name])
            except InputError as error:
                # without the name of the setting, since the caller names the key of the file
                raise InputError(error.message.problem) from None
        return value


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


class RefusedValueError(InputError):
    """A value that no verb takes from a file, since it reaches out or it cannot be told whether it does."""


def _resolve_metric(text: str, form: str, folder: Path) -> str:
    """Return the name of a metric whose paths, which are relative to *folder*, are relative to the working folder.

    The metric of the returned name is built and checked, and no other text reaches the verb. A name of neither a metric
    nor code is not checked: the verb reports it.

    Args:
        text: the value of the option.
        form: the name that the verb loads, in which ``{}`` stands for the value.
        folder: the folder of the configuration file.

    Raises:
        RefusedValueError: the metric runs code, calls a server or reads a key; or it cannot be built, so that nobody
            knows.
    """
    from assay.metrics.code import names_code
    from assay.metrics.load import UntrustedMetricError, load_untrusted_metric
    from assay.metrics.name import MetricName
    from assay.metrics.registry import registry

    prefix = form.partition("{}")[0]
    try:
        parsed_name = MetricName.parse(form.format(text))
        subject = None if parsed_name.subject is None else _resolve_paths(parsed_name.subject, folder)
        options = tuple((key, _resolve_paths(value, folder)) for key, value in parsed_name.options)
        resolved = MetricName(parsed_name.name, subject, options, parsed_name.alias)
        # the verb reports an unknown name, which may be the name of a metric in a run
        if names_code(resolved) or any(entry.name == resolved.name for entry in registry().entries()):
            load_untrusted_metric(resolved.text)
    except UntrustedMetricError as error:
        raise RefusedValueError(
            f"would run code or call a server ({error.reached}); name such a metric on the command line"
        ) from None
    except AssayError as error:
        raise RefusedValueError(
            "cannot be checked (", error.message, "); mend it, or name such a metric on the command line"
        ) from None
    return resolved.text.removeprefix(prefix)


def _resolve_paths(text: str, folder: Path) -> str:
    """Return a text with the paths in it, which are relative to *folder*, made relative to the working folder.

    A part of the text is a path if it has a slash or a dot and exists, such as in ``bi-encoder:models/a``. One that
    exists only below the working folder is changed as well, since every path in the file is relative to its folder. An
    address is returned unchanged.
    """
    if is_address(text):
        return text
    # with the separators, so that the parts can be joined again
    pieces = re.split(r"([=:,+#])", text)
    for index, piece in enumerate(pieces):
        looks_like_path = "/" in piece or "." in piece
        if looks_like_path and (path_exists(folder / piece) or path_exists(piece)):
            pieces[index] = _relative_path(piece, folder)
    return "".join(pieces)


def _relative_path(path: str, folder: Path) -> str:
    """Return a path relative to *folder* as one that is relative to the working folder, and is still read as a path.

    ``./correctness`` keeps its beginning: without it, it would be the name of something that comes with assay.
    """
    relative = os.path.relpath(folder / user_path(path))
    return os.path.join(os.curdir, relative) if "/" in path and os.sep not in relative else relative  # noqa: PTH118


@functools.cache
def options_of(command: Any) -> dict[str, Option]:
    """Return the options of a command by key: one for the parameter's name and one per flag, with underscores."""
    # the verb as assay.cli.command made it: typer wraps it, and the function within it has no options for settings
    callback = inspect.unwrap(command.callback, stop=lambda function: hasattr(function, "__signature__"))
    settings = getattr(callback, "settings_class", None)
    hints = get_type_hints(callback, include_extras=True)
    options = {}
    for parameter in command.params:
        if parameter.param_type_name != "option" or parameter.name not in hints:
            continue
        option = _option_from_annotation(parameter.name, get_args(hints[parameter.name])[0], settings)
        flags = [flag.removeprefix("--") for flag in parameter.opts if flag.startswith("--")]
        for key in (parameter.name, *flags):
            options[_normalise_key(key)] = option
    return options


def _normalise_key(key: str) -> str:
    return key.replace("-", "_")


def _toml_key(key: str) -> str:
    """Return a key as TOML writes it: bare if it is of ASCII letters, digits, ``_`` and ``-``, else in quotes."""
    return key if re.fullmatch(r"[\w-]+", key, re.ASCII) else json.dumps(key, ensure_ascii=False)


def _option_from_annotation(name: str, annotation: Any, settings: Any) -> Option:
    """Return an option from its annotation for typer: a plain type, Enum, Literal or list, or one of these or None.

    Args:
        name: the name of the parameter.
        annotation: the type alone, without what ``Annotated`` adds.
        settings: the settings class of the verb; None if it has none.
    """
    hint = annotation
    if get_origin(annotation) not in (list, Literal):
        # without the None of an option that may be absent
        hint = next((member for member in get_args(annotation) if member is not NoneType), annotation)
    accepts_list = get_origin(hint) is list
    if accepts_list:
        (hint,) = get_args(hint)
    if get_origin(hint) is Literal:
        return Option(name, str, get_args(hint), accepts_list, settings)
    if issubclass(hint, Enum):
        return Option(name, str, tuple(str(item.value) for item in hint), accepts_list, settings)
    return Option(name, hint, (), accepts_list, settings)


def iterate_verbs(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield each verb below a command, as its words, such as ``("train", "s3bert")``, and its command."""
    if not hasattr(command, "commands"):
        yield path, command
        return
    for name in command.commands:
        yield from iterate_verbs(command.commands[name], (*path, name))


def defaults_of(configuration: Configuration, root: Any, verb: str) -> dict[str, Any]:
    """Return the values that a configuration sets for a verb, by parameter; for a group, by verb and parameter.

    The tables of other verbs are not read, and other verbs are imported only for a key that this verb does not have.

    Raises:
        InputError: no verb has a key or table, a file may not set a key, or a value does not fit; the message names the
            file and the key.
    """
    values: dict[str, Any] = _values_of_command(configuration, root, configuration.values, {}, only=verb)[verb]
    return values


def _values_of_command(
    configuration: Configuration,
    command: Any,
    table: Mapping[str, Any],
    inherited: Mapping[str, Any],
    path: tuple[str, ...] = (),
    *,
    only: str = "",
) -> dict[str, Any]:
    """Return the values of a verb by parameter, or those of each verb in a group by verb and parameter.

    A key in the table of the command takes precedence over the same key of a level above.

    Args:
        configuration: the whole configuration.
        command: the verb, or the group of verbs.
        table: the table of the command.
        inherited: the keys of the levels above, which apply if an option accepts them.
        path: the words of the command; empty for the root.
        only: the verb of a group whose values are returned; empty for all of them.

    Raises:
        InputError: the table has a key or a table that the command lacks, a key that a file may not set, or a value
            that does not fit.
    """
    own_values, tables = _split_table(table, command)
    commands = getattr(command, "commands", {})
    for name in tables:
        if name not in commands:
            location = f"{configuration.file}: {configuration.table_header(*path, _toml_key(name))}"
            advice = f"{command_line(*path, '--help')} lists them"
            raise InputError(f"{location}: there is no verb {name!r}.{suggestion_for(name, commands)} {advice}")
    for key, value in own_values.items():
        _check_key(configuration, key, value, command, path, first_verb=only)
    # for a verb all of its own values are accepted, since they were checked
    values = {**inherited, **own_values}
    if not commands:
        return _accepted_values(values, options_of(command), configuration.file.parent)
    return {
        name: _values_of_command(configuration, commands[name], tables.get(name, {}), values, (*path, name))
        for name in ([only] if only else commands)
    }


def _split_table(table: Mapping[str, Any], command: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split a table into its keys and, for a group of verbs, the tables of verbs; ``labels = {no = 0}`` is a key."""
    values: dict[str, Any] = {}
    tables: dict[str, Any] = {}
    for key, value in table.items():
        is_option = _normalise_key(key) in MAPPING_OPTIONS
        if isinstance(value, dict) and hasattr(command, "commands") and not is_option:
            tables[key] = value
        else:
            values[key] = value
    return values, tables


def _accepted_values(values: Mapping[str, Any], options: Mapping[str, Option], folder: Path) -> dict[str, Any]:
    """Return the values that these options accept, parsed, by parameter name; the rest are for other verbs.

    Raises:
        RefusedValueError: a value is for one of the options, and no verb takes it from a file.
    """
    accepted = {}
    for key, value in values.items():
        option = options.get(_normalise_key(key))
        if option is not None:
            try:
                accepted[option.name] = option.parse(value, folder)
            except RefusedValueError:
                raise
            except InputError:
                continue
    return accepted


def _check_key(
    configuration: Configuration,
    key: str,
    value: Any,
    command: Any,
    path: tuple[str, ...],
    *,
    first_verb: str,
) -> None:
    """Raise InputError unless some verb below a command has an option of this key that accepts the value.

    If verbs have the option and none accepts the value, the message has the reason of the first one. A key or a value
    that no configuration file may have is refused whatever verbs accept.

    Args:
        configuration: the configuration with the key.
        key: the key as the file writes it.
        value: the value of the key.
        command: a verb or a group of verbs.
        path: the words of the command; empty at the top level.
        first_verb: the verb to try first, since every further verb must be imported; empty for no preference.
    """
    # the table is empty at the top level
    key_path = f"{configuration.table_header(*path)} {_toml_key(key)}".strip()
    location = f"{configuration.file}: {key_path}"
    option_name = _normalise_key(key)
    if option_name in REFUSED:
        raise InputError(f"{location}: {REFUSED[option_name]}, so it is for the command line only; remove the key")
    known_names: set[str] = set()
    first_problem: Message | None = None
    first = iterate_verbs(command.commands[first_verb]) if first_verb else ()
    for _, verb_command in chain(first, iterate_verbs(command)):
        options = options_of(verb_command)
        known_names |= options.keys()
        option = options.get(option_name)
        if option is not None:
            try:
                option.parse(value, configuration.file.parent)
            except RefusedValueError as error:
                raise InputError(f"{location} = {public_values(value)!r}: ", error.message) from None
            except InputError as error:
                first_problem = first_problem or error.message
                continue
            return
    if first_problem:
        raise InputError(f"{location} = {public_values(value)!r}: ", first_problem)
    complaint = f"assay {' '.join(path)} has no such option" if path else "no verb has such an option"
    suggestion = suggestion_for(option_name, sorted(known_names))
    raise InputError(
        f"{location}: {complaint}.{suggestion} {command_line(*(path or ['VERB']), '--help')} lists the options"
    )


def verbs_by_setting(configuration: Configuration, root: Any) -> tuple[dict[str, list[str]], list[str]]:
    """Return the verbs to which a configuration applies, by ``key = value``, and one message per fault of the file.

    Faults are the errors of :func:`defaults_of`, and values of one verb that contradict each other.
    """
    verbs_by_line: dict[str, list[str]] = {}
    faults: list[str] = []
    for verb in root.commands:
        try:
            defaults = defaults_of(configuration, root, verb)
        except InputError as error:
            faults.append(error.message)
            continue
        for path, verb_command in iterate_verbs(root.commands[verb], (verb,)):
            # the values of a group are by the words of its verbs
            values = functools.reduce(getitem, path[1:], defaults)
            for name, value in values.items():
                line = Configuration(configuration.file, {name: value}).line
                verbs_by_line.setdefault(line, []).append(" ".join(path))
            faults += _contradictions(configuration.file, verb_command, values)
    return verbs_by_line, list(dict.fromkeys(faults))


def _contradictions(file: Path, verb_command: Any, values: Mapping[str, Any]) -> list[str]:
    """Return a list with the error about values that contradict each other; empty if none do.

    The list is empty, too, for a verb with required settings that the file does not set, since it cannot be checked.
    """
    settings = getattr(verb_command.callback, "settings_class", None)
    if settings is None:
        return []
    fields = settings.__dataclass_fields__
    own_settings = {name: value for name, value in values.items() if name in fields}
    if any(field.default is dataclasses.MISSING and name not in own_settings for name, field in fields.items()):
        return []
    try:
        settings(**own_settings)
    except InputError as error:
        # an error that names none of these values is about something else, such as a default
        if origin_note(error, Configuration(file, own_settings)):
            return [Message(f"{file}: ", error.message)]
    return []


def used_configuration(context: Any) -> Configuration | None:
    """Return the values of the configuration that the command line does not override; None if none is left."""
    values = context.default_map or {}
    sources = {name: context.get_parameter_source(name) for name in values}
    used_values = {
        name: value for name, value in values.items() if sources[name] and sources[name].name == "DEFAULT_MAP"
    }
    return Configuration(context.obj, used_values) if used_values else None


def origin_note(error: AssayError, configuration: Configuration) -> str:
    """Return a suffix for a message that says which settings named in it came from the file; empty if none did."""
    named_settings = set(error.message.settings()) & configuration.values.keys()
    if not named_settings:
        return ""
    return f" ({', '.join(sorted(named_settings))}: from {configuration.file}; assay --no-config ignores it)"
