"""The command line: one file for each verb, imported only when it is called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, cast

import typer

from assay.cli.guard import OneLineErrors

__all__ = ["VERBS", "VerbGroup", "app", "main"]


# The verbs of the command line, each imported when it is called: the list alone is there at once.

#: Verb and what it does, in the order of the help. The module has its name, and holds a function of that name or an
#: ``app`` with verbs of its own.
VERBS = {
    "run": "Score labelled pairs, print the agreement.",
    "score": "Add a column per metric to a file.",
    "agree": "Agreement of columns that are there.",
    "compare": "Which of two is better, and is it real?",
    "leaderboard": "Rank metrics over runs.",
    "significance": "Do systems with several seeds differ?",
    "recommend": "Which metric to use on your data.",
    "errors": "Where a metric and people diverge, and why.",
    "explain": "What the score of a pair comes from.",
    "crossval": "Agreement fold by fold, source by source.",
    "thresholds": "The best threshold for a yes/no decision.",
    "bws": "Scores from best-worst annotations.",
    "relatedness": "Which related words go with the label.",
    "report": "A page to look at, in one HTML file.",
    "figure": "A figure for a paper: PDF, SVG, PNG.",
    "baseline": "Keep a run to check later ones against.",
    "check": "Fail when a run is worse than its baseline.",
    "verify": "Recompute a run: still the same numbers?",
    "sweep": "Agreement layer by layer.",
    "profile": "What metrics cost, measured alone.",
    "reproduce": "Reproduce a published table.",
    "train": "Train models that metrics read.",
    "tune": "Search settings, train the winner.",
    "doctor": "What is here, what is missing.",
    "metrics": "List, show, check metrics.",
    "models": "List, show, fetch models.",
    "datasets": "List, show, fetch, check data.",
}


class _Commands(Mapping[str, Any]):
    """Commands by verb, made when they are asked for."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def __getitem__(self, verb: str) -> Any:
        if verb not in VERBS:
            raise KeyError(verb)
        if verb not in self._made:
            self._made[verb] = _make(verb)
        return self._made[verb]

    def __iter__(self) -> Iterator[str]:
        return iter(VERBS)

    def __len__(self) -> int:
        return len(VERBS)


def _make(verb: str) -> Any:
    module = import_module(f"assay.cli.{verb}")
    app = getattr(module, "app", None)
    if app is None:
        app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
        app.command(verb)(getattr(module, verb))
    command = typer.main.get_command(app)
    command.name = verb
    return command


class VerbGroup(OneLineErrors):
    """The root of the command line."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = cast(Any, _Commands())  # read only, and never added to

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the verbs."""
        return list(VERBS)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the verbs and what they do, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))


# The command line: one file a verb. Importing it imports nothing heavy, so that ``assay --help`` answers at once.

app = typer.Typer(
    name="assay",
    cls=VerbGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    # plain help: drawing it with Rich would take as long again as starting
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Which similarity metric agrees with people on your kind of text, how sure is that, and where does it fail?",
    epilog="First step: assay run quickstart",
)


def _version(shown: bool) -> None:
    if shown:
        from assay import __version__

        typer.echo(f"assay {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version."),
) -> None:
    """Hold similarity metrics against human labels."""


def main() -> None:
    """Run the command line."""
    app()
