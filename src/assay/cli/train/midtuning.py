"""``assay train mid-tuning``."""

from __future__ import annotations

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
    ThreadsOption,
)
from assay.cli.train.options import (
    EncoderOption,
    EvalStepsOption,
    LayersOption,
    OutOption,
    RateOption,
    SeedsOption,
    TokensOption,
    WarmupOption,
    run_training,
)

__all__ = ["mid_tuning"]


@guarded
def mid_tuning(
    base: EncoderOption,
    forms: Annotated[
        list[str],
        typer.Option(help="Sentences with their forms: a dataset or file of AMR graphs, or frames.jsonl; repeatable."),
    ],
    out: OutOption,
    objective: Annotated[str, typer.Option(help="triplet or classification.")] = "triplet",
    test: Annotated[
        list[str] | None, typer.Option(help="Labelled pairs, evaluated before and after; repeatable.")
    ] = None,
    queries: Annotated[
        str | None, typer.Option(help="A file of sentences whose nearest neighbours are shown [default: five of dev].")
    ] = None,
    epochs: Annotated[int, typer.Option(help="Passes over the sentences.")] = 1,
    batch_size: Annotated[int, typer.Option(help="Sentences a step; with classification, with a form each.")] = 64,
    learning_rate: RateOption = 2e-5,
    warmup: WarmupOption = 0.1,
    eval_steps: EvalStepsOption = 0,
    margin: Annotated[float, typer.Option(help="Of the triplets, in squared distance.")] = 1.0,
    layers: LayersOption = None,
    tokens: TokensOption = None,
    seed: Annotated[int, typer.Option(help="Seeds what is cut off, the wrong forms, dropout and the order.")] = 0,
    seeds: SeedsOption = None,
    limit: LimitOption = None,
    columns: ColumnsOption = None,
    device: DeviceOption = "auto",
    threads: ThreadsOption = None,
    output: ReportFormatOption = ReportFormat.table,
    quiet: QuietOption = False,
) -> None:
    """Train a sentence encoder to align sentences with their frames of predicates, roles and fillers.

    assay train mid-tuning --base all-MiniLM-L6-v2 --forms bamboo-sts:train --test stsb:test --out my-model
    """
    run_training("train_mid_tuning", locals())
