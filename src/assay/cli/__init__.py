"""The command line: one file a verb. Importing it imports nothing heavy, so that ``assay --help`` answers at once."""

from __future__ import annotations

import typer

from assay.cli import (
    agree,
    baseline,
    check,
    compare,
    datasets,
    doctor,
    leaderboard,
    metrics,
    models,
    profile,
    recommend,
    reproduce,
    run,
    score,
    sweep,
    thresholds,
    verify,
)
from assay.cli.guard import OneLineErrors

__all__ = ["app", "main"]

app = typer.Typer(
    name="assay",
    cls=OneLineErrors,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    # plain help: drawing it with Rich would take as long again as starting
    rich_markup_mode=None,
    help="Which similarity metric agrees with people on your kind of text, how sure is that, and where does it fail?",
    epilog="First step: assay run quickstart",
)
app.command("run", short_help="Score labelled pairs, print the agreement.")(run.run)
app.command("score", short_help="Add a column per metric to a file.")(score.score)
app.command("agree", short_help="Agreement of columns that are there.")(agree.agree)
app.command("sweep", short_help="Agreement layer by layer.")(sweep.sweep)
app.command("profile", short_help="What metrics cost, measured alone.")(profile.profile)
app.command("reproduce", short_help="Reproduce a published table.")(reproduce.reproduce)
app.command("compare", short_help="Which of two is better, and is it real?")(compare.compare)
app.command("leaderboard", short_help="Rank metrics over runs.")(leaderboard.leaderboard)
app.command("recommend", short_help="Which metric to use on your data.")(recommend.recommend)
app.command("check", short_help="Fail when a run is worse than its baseline.")(check.check)
app.command("baseline", short_help="Keep a run to check later ones against.")(baseline.baseline)
app.command("verify", short_help="Recompute a run: still the same numbers?")(verify.verify)
app.command("thresholds", short_help="The best threshold for a yes/no decision.")(thresholds.thresholds)
app.command("doctor", short_help="What is here, what is missing.")(doctor.doctor)
app.add_typer(metrics.app, name="metrics", short_help="List, show, check metrics.")
app.add_typer(models.app, name="models", short_help="List, show, fetch models.")
app.add_typer(datasets.app, name="datasets", short_help="List, show, fetch, check data.")


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
