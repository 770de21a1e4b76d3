"""The command line: one file a verb. Importing it imports nothing heavy, so that ``assay --help`` answers at once."""

from __future__ import annotations

import typer

from assay.cli.verbs import VerbGroup

__all__ = ["app", "main"]

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
