"""``assay tune``: search settings, train the winner."""

from __future__ import annotations

from typing import Annotated, Any

import typer

import assay
from assay.cli.command import command
from assay.cli.options import ExplainOption, QuietOption, ReportFormat, ReportFormatOption
from assay.cli.train import print_training
from assay.training.pairwise.settings import PairRecipe
from assay.training.tuning.settings import TuneSettings


@command(TuneSettings)
def tune(
    recipe: Annotated[PairRecipe, typer.Argument(help="What is trained.")],
    output: ReportFormatOption = ReportFormat.table,
    explain: ExplainOption = False,
    quiet: QuietOption = False,
    **settings: Any,
) -> None:
    """Search the settings of a training on a development set; train the winner, and evaluate it on test once.

    assay tune bi-encoder --base all-MiniLM-L6-v2 --pairs stsb:train --dev stsb:dev --test stsb:test --out tuned
    """
    print_training(assay.tune, {"recipe": recipe, **settings}, output, explain, quiet)
