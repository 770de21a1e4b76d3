"""``assay train augmented``."""

from __future__ import annotations

from typing import Annotated

import typer

from assay.cli.guard import guarded
from assay.cli.options import DeviceOption, QuietOption, ReportFormat, ReportFormatOption, ThreadsOption
from assay.cli.train.options import (
    BaseOption,
    BatchesOption,
    BatchSizeOption,
    EpochsOption,
    EvalStepsOption,
    LayersOption,
    OutOption,
    RateOption,
    SeedOption,
    SeedsOption,
    TokensOption,
    WarmupOption,
    run_training,
)

__all__ = ["augmented"]


@guarded
def augmented(
    base: BaseOption,
    out: OutOption,
    entities: Annotated[str | None, typer.Option(help="A file with the columns name and aliases (a|b).")] = None,
    labeller: Annotated[
        str | None, typer.Option(help="The cross-encoder that labels random pairs, as after cross-encoder:.")
    ] = None,
    random_pairs: Annotated[int, typer.Option(help="Random pairs for each entity.")] = 1,
    numbers: Annotated[
        str | None, typer.Option(help="Languages of pairs of digits and number words, such as en,de.")
    ] = None,
    number_range: Annotated[str, typer.Option(help="LOW,HIGH of these numbers.")] = "0,1000",
    loss: Annotated[str, typer.Option(help="cosine or cosent.")] = "",
    batches: BatchesOption = "length",
    epochs: EpochsOption = 4,
    batch_size: BatchSizeOption = 16,
    learning_rate: RateOption = 2e-5,
    warmup: WarmupOption = 0.1,
    eval_steps: EvalStepsOption = 0,
    layers: LayersOption = None,
    tokens: TokensOption = None,
    seed: SeedOption = 0,
    seeds: SeedsOption = None,
    device: DeviceOption = "auto",
    threads: ThreadsOption = None,
    output: ReportFormatOption = ReportFormat.table,
    quiet: QuietOption = False,
) -> None:
    """Train a sentence encoder on pairs that are made: names with aliases, names at random, numbers (Augmented SBERT).

    assay train augmented --base all-MiniLM-L6-v2 --labeller my-cross-encoder --entities people.csv --numbers en,de
    --out my-model
    """
    run_training("train_augmented", locals())
