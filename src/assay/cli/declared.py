"""The commands of verbs that are declared beside their Python function, by :func:`assay.common.verbs.verb`."""

from __future__ import annotations

import ast
import inspect
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import typer

from assay.cli.command import command
from assay.cli.guard import report_failures
from assay.cli.options import DryRunOption, ExplainOption, QuietOption, ReportFormat, ReportFormatOption
from assay.cli.printing import print_report, print_to_stderr
from assay.cli.progress import progress_on_stderr
from assay.common.addresses import command_line
from assay.common.declarations import Settings, declarations_of

#: The package whose modules have the functions of verbs.
FUNCTIONS = "assay.api"


@dataclass(frozen=True)
class DeclaredVerb:
    """What the command line knows of a verb without importing its function.

    Attributes:
        name: the name of its function in the package ``assay``.
        settings: the class of the settings.
        help: the text and the examples of ``--help``.
        output: the format that it prints by default.
        next: the words of the command to suggest afterwards; empty for none.
        estimate: the name of the function that ``--dry-run`` calls; empty for no such option.
        subjects: the help of each parameter that is not a setting, by name.
        takes_several: the names of those that accept several values.
        prints_tables: whether it prints tables, and not only the path of what it wrote.
    """

    name: str
    settings: type[Settings]
    help: str
    output: str
    next: str
    estimate: str
    subjects: Mapping[str, str]
    takes_several: frozenset[str]
    prints_tables: bool


def app_of(name: str) -> typer.Typer:
    """Return a verb, or its group of subcommands, as it is declared in the source text of its module."""
    tree = ast.parse((files(FUNCTIONS) / f"{name}.py").read_text(encoding="utf-8"))
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    if name in functions:
        app.command(name)(command_of(read_verb(tree, functions[name])))
        return app
    _, _, help_text = str(ast.get_docstring(tree)).partition(": ")
    app.info.help = help_text[:1].upper() + help_text[1:]
    app.info.no_args_is_help = True
    for function_name in sorted(functions):
        if function_name.startswith(f"{name}_"):
            word = function_name.removeprefix(f"{name}_").replace("_", "-")
            app.command(word)(command_of(read_verb(tree, functions[function_name])))
    return app


def read_verb(module: ast.Module, function: ast.FunctionDef) -> DeclaredVerb:
    """Return the declaration of a verb in the parsed text of its module; only the settings are imported.

    It stands in the function's decorator, the call ``@verb(SETTINGS, HELP, EXAMPLE…)`` with keywords for further facts
    and for the help of each subject, see :func:`assay.common.verbs.verb`.

    Raises:
        LookupError: the module does not import the settings.
        ValueError: the function has no such decorator, or an argument of it after the settings is no literal.
    """
    (declaration,) = (node for node in function.decorator_list if isinstance(node, ast.Call))
    settings_name, *help_texts = declaration.args
    options = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in declaration.keywords}
    subjects = {name: text for name, text in options.items() if name not in ("output", "next", "estimate")}
    annotations = {argument.arg: ast.unparse(argument.annotation or argument) for argument in function.args.args}
    return DeclaredVerb(
        name=function.name,
        settings=_imported(module, ast.unparse(settings_name)),
        help="\n\n".join(map(ast.literal_eval, help_texts)),
        output=options.get("output", "table"),
        next=options.get("next", ""),
        estimate=options.get("estimate", ""),
        subjects=subjects,
        takes_several=frozenset(subject for subject in subjects if "Sequence" in annotations[subject]),
        prints_tables=function.returns is None or ast.unparse(function.returns) not in ("Path", "list[str]"),
    )


def _imported(module: ast.Module, name: str) -> Any:
    """Return an object that a module imports under this name, without importing the module itself.

    Raises:
        LookupError: the module imports no such name.
    """
    for statement in module.body:
        if isinstance(statement, ast.ImportFrom) and name in {alias.name for alias in statement.names}:
            return getattr(import_module(str(statement.module)), name)
    raise LookupError(f"{name} is not imported")


def command_of(verb: DeclaredVerb) -> Callable[..., None]:
    """Return the function that typer makes the command from: it calls the Python function and prints what it returns.

    Tables go to stdout; failures, the path of a written file and the reason for an exit code other than 0 to stderr.
    """
    has_progress = "progress" in declarations_of(verb.settings)

    def call(output: ReportFormat, explain: bool, quiet: bool, *, dry_run: bool = False, **arguments: Any) -> None:
        """Call the function of the verb, or with *dry_run* the one that estimates, and print the result."""
        import assay

        subjects = [arguments.pop(name) for name in verb.subjects]
        if dry_run:
            print_report(getattr(assay, verb.estimate)(*subjects, **arguments), output, explain=explain)
            return
        picture = arguments.pop("svg", None)
        written = subjects[-1] if "out" in verb.subjects else arguments.get("out") or picture
        with progress_on_stderr(quiet) as progress:
            if has_progress:
                arguments["progress"] = progress
            result = getattr(assay, verb.name)(*subjects, **arguments)
        if verb.prints_tables:
            print_report(result, output, explain=explain)
        if picture is not None:
            # a picture that cannot be written must not cost the tables, so that it comes after them
            result.write_svg(picture)
        lines = [*getattr(result, "remarks", ())]
        if not quiet:
            lines += _lines_on_files(verb, result, written, arguments)
        report_failures(result if isinstance(result, list) else getattr(result, "failures", ()), lines)
        if getattr(result, "exit_code", 0):
            print_to_stderr(f"assay: {result.headline}")
            raise typer.Exit(result.exit_code)

    def call_silent(quiet: bool, **arguments: Any) -> None:
        call(ReportFormat.table, explain=False, quiet=quiet, **arguments)

    parameters = [_subject_parameter(verb, name) for name in verb.subjects] + _terminal_parameters(verb)
    function: Any = call if verb.prints_tables else call_silent
    function.__signature__ = inspect.Signature(parameters)
    function.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    function.__name__ = verb.name
    function.__doc__ = verb.help
    return command(verb.settings)(function)


def _subject_parameter(verb: DeclaredVerb, name: str) -> inspect.Parameter:
    """Return the parameter of the command for a parameter of the function that is not a setting."""
    # a run may be given as ./run/, and is shown without these characters
    kind: Any = Path if name in ("run", "runs", "out") else str
    if name in verb.takes_several:
        kind = list[kind]
    info: Any = typer.Argument(help=verb.subjects[name])
    if name == "out":
        info = typer.Option("--out", "-o", help=verb.subjects[name])
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[kind, info])


def _terminal_parameters(verb: DeclaredVerb) -> list[inspect.Parameter]:
    """Return the parameters of the command that concern the terminal, in the order of ``--help``."""
    options: list[tuple[str, Any, Any]] = []
    if verb.estimate:
        options.append(("dry_run", DryRunOption, False))
    if verb.prints_tables:
        options.append(("output", ReportFormatOption, ReportFormat(verb.output)))
        options.append(("explain", ExplainOption, False))
    options.append(("quiet", QuietOption, False))
    return [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, annotation, default in options
    ]


def _lines_on_files(verb: DeclaredVerb, result: Any, written: Any, settings: Mapping[str, Any]) -> list[str]:
    """Return a line for each file or folder that a verb wrote, and the command to suggest for it.

    Words of the command with the placeholder of a setting that has no value are left out.

    Args:
        verb: the verb.
        result: what its function returned.
        written: the path that the user named; None if there is none.
        settings: the values of the verb's settings, by name.
    """
    lines = [f"wrote {path}" for path in getattr(result, "written", ())]
    if written is not None:
        lines.append(_written_line(result, written))
        if verb.next:
            values = {name: value for name, value in {**settings, "out": written}.items() if value is not None}
            words = [word for word in verb.next.split() if values.keys() >= set(re.findall(r"{(\w+)}", word))]
            lines.append(f"next: {command_line(*(word.format(**values) for word in words))}")
    return lines


def _written_line(result: Any, written: Any) -> str:
    """Return a line with the path of what a verb wrote, and its size if it is one file that the verb returned."""
    if not isinstance(result, Path):
        return f"wrote {written}"
    size = os.stat(result).st_size  # noqa: PTH116
    size_text = f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.0f} kB"
    return f"wrote {result} ({size_text})"
