"""Functions of Python with an argument for each declared setting, and those that are verbs of the command line, too."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
import textwrap
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, overload

from assay.common.declarations import declarations_of
from assay.common.progress import shown_progress

P = ParamSpec("P")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
R = TypeVar("R")
S = TypeVar("S", covariant=True)


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
