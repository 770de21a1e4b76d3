"""``assay train s3bert``."""

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
    DevOption,
    EncoderOption,
    EpochsOption,
    OutOption,
    RateOption,
    SeedsOption,
    TestOption,
    run_training,
)

__all__ = ["s3bert"]


@guarded
def s3bert(
    base: EncoderOption,
    pairs: Annotated[list[str], typer.Option(help="A dataset of pairs with AMR graphs; repeatable.")],
    out: OutOption,
    dev: DevOption = None,
    test: TestOption = None,
    vectors: Annotated[
        str | None, typer.Option(help="A file of word vectors, such as GloVe's, for aspects that compare words.")
    ] = None,
    epochs: EpochsOption = 8,
    batch_size: Annotated[int, typer.Option(help="Pairs a step.")] = 64,
    learning_rate: RateOption = 1e-5,
    warmup: Annotated[int, typer.Option(help="Steps until the learning rate is reached.")] = 100,
    eval_steps: Annotated[int, typer.Option(help="Steps between evaluations, each with a checkpoint.")] = 1000,
    alpha: Annotated[float, typer.Option(help="Weight of the decomposition.")] = 1.0,
    width: Annotated[int, typer.Option(help="Dimensions of an aspect.")] = 16,
    layers: Annotated[int, typer.Option(help="Train the last so many layers.")] = 2,
    negatives: Annotated[int, typer.Option(help="Shuffled pairs for each pair.")] = 1,
    decomposition: Annotated[bool, typer.Option(help="Learn the aspects.")] = True,
    consistency: Annotated[bool, typer.Option(help="Stay near the base.")] = True,
    seed: Annotated[int, typer.Option(help="Seeds what is cut off, the negatives and the order of the pairs.")] = 0,
    seeds: SeedsOption = None,
    limit: LimitOption = None,
    columns: ColumnsOption = None,
    device: DeviceOption = "auto",
    threads: ThreadsOption = None,
    output: ReportFormatOption = ReportFormat.table,
    quiet: QuietOption = False,
) -> None:
    """Train sentence embeddings whose parts measure aspects of meaning (S3BERT).

    assay train s3bert --base all-MiniLM-L6-v2 --pairs bamboo-sts:train --dev bamboo-sts:dev --test bamboo-sts:test
    --vectors glove.txt --out s3bert-minilm
    """
    run_training("train_s3bert", locals())
