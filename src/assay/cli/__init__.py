"""The command line: one file for each verb, imported only when it is called."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from assay.cli.guard import TRACEBACK, OneLineErrors, guarded
from assay.cli.progress import log_to_stderr

__all__ = ["app", "main", "verbs"]

#: Order of the verbs in the help: runs, scores, comparisons, decisions, output, checks, models, lists. Verbs that are
#: missing here come last.
VERB_ORDER = (
    *("run", "score", "agree", "compare", "power", "leaderboard", "systems", "significance", "recommend"),
    *(
        "rate",
        "annotate",
        "errors",
        "explain",
        "combine",
        "crossval",
        "thresholds",
        "stress",
        "sample",
        "tuples",
        "bws",
        "relatedness",
        "report",
        "figure",
        "table",
        "baseline",
        "check",
    ),
    *("verify", "sweep", "profile", "reproduce", "train", "tune", "downstream"),
    *("doctor", "metrics", "models", "datasets", "cache"),
)


#: The options that show the help.
HELP_NAMES = ["-h", "--help"]
#: Environment variable with the effect of ``assay --no-config``.
NO_CONFIG = "ASSAY_NO_CONFIG"


def _enable_tracebacks(is_requested: bool) -> None:
    if is_requested:
        os.environ[TRACEBACK] = "1"


def _enable_log(is_requested: bool) -> None:
    if is_requested:
        log_to_stderr()


#: The switches that the root and every verb have.
SWITCHES = ("traceback", "verbose")
Traceback = Annotated[
    bool,
    typer.Option(
        "--traceback", callback=_enable_tracebacks, expose_value=False, help="Show the lines of code behind an error."
    ),
]
Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose",
        callback=_enable_log,
        expose_value=False,
        help="Report models loaded, batches, store hits and seconds per stage on stderr.",
    ),
]


def _declare_switches(traceback: Traceback = False, verbose: Verbose = False) -> None:
    """Do nothing: typer makes the parameters of the switches from this signature, in :func:`_add_switches`."""


#: The first line of the docstring of a verb's file.
_SUMMARY_LINE = re.compile(r'"""``assay (?P<verb>\w+)``: (?P<summary>.+?)(?:""")?$')


@functools.cache
def verbs() -> dict[str, str]:
    """Return the summary of each verb as a dict from verb to summary, in the order of the help.

    A verb is a file of this package, or of ``assay.api``, whose docstring begins with ``assay VERB``, a colon and the
    summary. Only that line is read, since importing every verb would make ``assay --help`` slow. A file of
    ``assay.api`` declares the verb at its function, see :mod:`assay.cli.declared`; one of this package defines a
    function with the name of the verb, or an ``app`` with subcommands.
    """
    summaries = {}
    here = Path(__file__).parent
    for path in sorted([*here.glob("*.py"), *(here.parent / "api").glob("*.py")], key=lambda path: path.stem):
        with path.open(encoding="utf-8") as file:
            summary_match = _SUMMARY_LINE.match(file.readline())
        if summary_match is not None and summary_match["verb"] == path.stem:
            summaries[path.stem] = summary_match["summary"][:1].upper() + summary_match["summary"][1:]
    ordered_verbs = [verb for verb in VERB_ORDER if verb in summaries]
    return {verb: summaries[verb] for verb in dict.fromkeys([*ordered_verbs, *summaries])}


class _LazyCommands(Mapping[str, Any]):
    """A mapping from verbs to commands, which are imported on first use."""

    def __getitem__(self, verb: str) -> Any:
        if verb not in verbs():
            raise KeyError(verb)
        return _load_command(verb)

    def __iter__(self) -> Iterator[str]:
        return iter(verbs())

    def __len__(self) -> int:
        return len(verbs())


@functools.cache
def _load_command(verb: str) -> Any:
    """Return the command of a verb, or its group of commands, with the switches of the root added."""
    if (Path(__file__).parent / f"{verb}.py").is_file():
        module = import_module(f"assay.cli.{verb}")
        if hasattr(module, "app"):
            app = module.app
        else:
            app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
            app.command(verb)(getattr(module, verb))
    else:
        from assay.cli.declared import app_of

        app = app_of(verb)
    command = typer.main.get_command(app)
    command.name = verb
    _add_switches(command)
    return command


def _add_switches(command: Any) -> None:
    """Add the switches of the root to a verb, or to each verb of a group, so that they may also follow the verb."""
    # set for each command: one may be built alone, and a command keeps the options for help of its first context
    command.context_settings = {**command.context_settings, "help_option_names": HELP_NAMES}
    # a group of verbs, such as assay train
    if hasattr(command, "commands"):
        for verb in command.commands.values():
            _add_switches(verb)
        return
    switch_app = typer.Typer(add_completion=False)
    switch_app.command()(_declare_switches)
    command.params += [param for param in typer.main.get_command(switch_app).params if param.name in SWITCHES]


class VerbGroup(OneLineErrors):
    """The root of the command line, which lists its verbs without importing them."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = cast(Any, _LazyCommands())  # typer expects a dict, but only reads it

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the verbs in the order of the help."""
        return list(verbs())

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the verbs and their summaries to the help, without importing the verbs."""
        with formatter.section("Commands"):
            formatter.write_dl(list(verbs().items()))


app = typer.Typer(
    name="assay",
    cls=VerbGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    # plain help: drawing it with Rich would double the start-up time
    rich_markup_mode=None,
    context_settings={"help_option_names": HELP_NAMES},
    help="Which similarity metric agrees with people on your kind of text, how sure is that, and where does it fail?",
    epilog="First step: assay run quickstart",
)


def _print_version(is_requested: bool) -> None:
    """Print the version and end the command line, if this is requested."""
    if is_requested:
        from assay import __version__

        typer.echo(f"assay {__version__}")
        raise typer.Exit


@app.callback()
@guarded
def _root(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", callback=_print_version, is_eager=True, help="Show the version."),
    traceback: Traceback = False,
    verbose: Verbose = False,
    no_config: bool = typer.Option(
        False, "--no-config", envvar=NO_CONFIG, show_envvar=False, help="Ignore assay.toml and [tool.assay]."
    ),
) -> None:
    """Compare similarity metrics with human labels; the verb's defaults come from the configuration file, if any.

    Raises:
        InputError: the file cannot be read, has a key or table that no verb has, or a value that does not fit.
    """
    # doctor must run with an invalid configuration, since it reports what is wrong
    if no_config or context.invoked_subcommand in (None, "doctor"):
        return
    from assay.common.configuration import find_configuration

    configuration = find_configuration(Path())
    if configuration is not None:
        from assay.cli.configuration import defaults_of

        verb = str(context.invoked_subcommand)
        context.obj = configuration.file
        context.default_map = {verb: defaults_of(configuration, context.command, verb)}


def main() -> None:
    """Run the command line."""
    app()
