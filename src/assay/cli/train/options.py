"""Options that several trainings have, and what every training does with what it was given."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from assay.cli.guard import print_report, progress_on_stderr, tell

__all__ = [
    "BaseOption",
    "BatchSizeOption",
    "BatchesOption",
    "ClassesOption",
    "DevOption",
    "DropOption",
    "EncoderOption",
    "EpochsOption",
    "EvalStepsOption",
    "LayersOption",
    "OutOption",
    "PairsOption",
    "RateOption",
    "SeedOption",
    "SeedsOption",
    "SubsetOption",
    "TestOption",
    "TokensOption",
    "WarmupOption",
    "run_training",
]

BaseOption = Annotated[str, typer.Option(help="The model to start from: a folder, OWNER/NAME or a short name.")]
EncoderOption = Annotated[
    str, typer.Option(help="The sentence encoder to start from: a folder, OWNER/NAME or a short name.")
]
PairsOption = Annotated[list[str], typer.Option(help="A dataset of labelled pairs to train on; repeatable.")]
OutOption = Annotated[Path, typer.Option("--out", "-o", help="The folder of the model; absent or empty.")]
DevOption = Annotated[
    list[str] | None, typer.Option(help="Pairs that choose the best step; repeatable [default: a tenth cut off].")
]
TestOption = Annotated[
    list[str] | None, typer.Option(help="Pairs that are evaluated on; repeatable [default: a tenth of what is left].")
]
ClassesOption = Annotated[
    str | None, typer.Option(help="A column with classes, such as entailment: learn these in place of the label.")
]
BatchesOption = Annotated[
    str, typer.Option(help="length (like with like), or by the annotation graph: base, node, edge-1, edge-2.")
]
SubsetOption = Annotated[
    str | None, typer.Option(help="degree:N or random:N: train on so many pairs, with the degrees of all, or any.")
]
EpochsOption = Annotated[int, typer.Option(help="Passes over the pairs.")]
BatchSizeOption = Annotated[int, typer.Option(help="Pairs a step; texts with node, base pairs with edge-1, edge-2.")]
RateOption = Annotated[float, typer.Option(help="After the warm-up.")]
WarmupOption = Annotated[float, typer.Option(help="Share of the steps until the learning rate is reached.")]
EvalStepsOption = Annotated[int, typer.Option(help="Steps between evaluations, each a checkpoint; 0: an epoch.")]
LayersOption = Annotated[int | None, typer.Option(help="Train the last so many layers [default: all of the model].")]
TokensOption = Annotated[int | None, typer.Option(help="Tokens computed at a time; more are added up in passes.")]
DropOption = Annotated[
    bool, typer.Option("--drop-shared-texts", help="Leave out training pairs with a text of a held-out set.")
]
SeedOption = Annotated[int, typer.Option(help="Seeds what is cut off, a new head, dropout and the order of the pairs.")]
SeedsOption = Annotated[int | None, typer.Option(help="Train so many models, from --seed on, and a summary.")]


def run_training(function: str, asked: dict[str, Any]) -> None:
    """Call a function of ``assay.api`` with what a verb was given; all but output and quiet are its arguments."""
    from assay import api

    output, quiet = asked.pop("output"), asked.pop("quiet")
    with progress_on_stderr(quiet) as progress:
        report = getattr(api, function)(progress=progress, **asked)
    print_report(report, output)
    if not quiet:
        tell(f"wrote {asked['out']}")
