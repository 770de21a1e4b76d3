"""``assay tune``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.guard import guarded
from assay.cli.options import (
    ColumnsOption,
    DeviceOption,
    LimitOption,
    QuietOption,
    ReportFormat,
    ReportFormatOption,
    ScaleOption,
    ThreadsOption,
)
from assay.cli.train import (
    BaseOption,
    ClassesOption,
    DropOption,
    EvalStepsOption,
    PairsOption,
    SubsetOption,
    TokensOption,
    run_training,
)

__all__ = ["tune"]


class Recipe(StrEnum):
    """What is trained."""

    bi_encoder = "bi-encoder"
    cross_encoder = "cross-encoder"


@guarded
def tune(
    recipe: Annotated[Recipe, typer.Argument(help="What is trained.")],
    base: BaseOption,
    pairs: PairsOption,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The folder of the winner and of the study; absent or empty.")
    ],
    dev: Annotated[
        list[str] | None, typer.Option(help="Pairs that trials are judged on; repeatable [default: a tenth cut off].")
    ] = None,
    test: Annotated[
        list[str] | None,
        typer.Option(help="Pairs that the winner is evaluated on; repeatable [default: a tenth of what is left]."),
    ] = None,
    space: Annotated[
        Path | None, typer.Option(help="A TOML file of what is searched [default: batch size, epochs, warm-up].")
    ] = None,
    trials: Annotated[int, typer.Option(help="Trials in the study, those counted that it has.")] = 5,
    objective: Annotated[
        str | None,
        typer.Option(help="spearman, pearson, kendall; accuracy with --classes [default: the first that fits]."),
    ] = None,
    prune: Annotated[bool, typer.Option("--prune/--no-prune", help="End trials early that are behind others.")] = True,
    storage: Annotated[
        str | None,
        typer.Option(help="A database to share, such as sqlite:///study.db [default: a file of this search alone]."),
    ] = None,
    study: Annotated[str | None, typer.Option(help="Its name in the database [default: that of --out].")] = None,
    jobs: Annotated[int, typer.Option(help="Trials at a time.")] = 1,
    classes: ClassesOption = None,
    scale: ScaleOption = None,
    loss: Annotated[str | None, typer.Option(help="As for assay train; so are those that follow.")] = None,
    batches: Annotated[str | None, typer.Option(help="Of every trial [default: length].")] = None,
    subset: SubsetOption = None,
    epochs: Annotated[int | None, typer.Option(help="Where the space has none [default: 4].")] = None,
    batch_size: Annotated[int | None, typer.Option(help="Where the space has none [default: 16].")] = None,
    learning_rate: Annotated[float | None, typer.Option(help="Where the space has none [default: 2e-05].")] = None,
    warmup: Annotated[float | None, typer.Option(help="Where the space has none [default: 0.1].")] = None,
    eval_steps: EvalStepsOption = 0,
    layers: Annotated[int | None, typer.Option(help="Train the last so many [default: all of the model].")] = None,
    tokens: TokensOption = None,
    drop_shared_texts: DropOption = False,
    seed: Annotated[int, typer.Option(help="Seeds the draws and every training.")] = 0,
    seeds: Annotated[int | None, typer.Option(help="Train the winner so often, from --seed on.")] = None,
    limit: LimitOption = None,
    columns: ColumnsOption = None,
    device: DeviceOption = "auto",
    threads: ThreadsOption = None,
    output: ReportFormatOption = ReportFormat.table,
    quiet: QuietOption = False,
) -> None:
    """Search the settings of a training on a development set; train the winner, and evaluate it on test once.

    assay tune bi-encoder --base all-MiniLM-L6-v2 --pairs stsb:train --dev stsb:dev --test stsb:test --out tuned
    """
    asked = locals() | {"recipe": recipe.value}
    # what was not given keeps the default of the training
    for name in ("loss", "batches", "epochs", "batch_size", "learning_rate", "warmup", "layers"):
        if asked[name] is None:
            del asked[name]
    run_training("tune", asked)
