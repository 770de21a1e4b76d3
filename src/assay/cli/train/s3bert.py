"""``assay train s3bert``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.guard import guarded, print_report, progress_on_stderr, tell
from assay.cli.options import DeviceOption, LimitOption, QuietOption, ReportFormat, ReportFormatOption, ThreadsOption

__all__ = ["s3bert"]


@guarded
def s3bert(
    base: Annotated[
        str, typer.Option(help="The sentence encoder to start from: a folder, OWNER/NAME or a short name.")
    ],
    pairs: Annotated[list[str], typer.Option(help="A dataset of pairs with AMR graphs; repeatable.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder of the model; absent or empty.")],
    dev: Annotated[
        list[str] | None, typer.Option(help="Pairs that choose the best step; repeatable [default: a tenth cut off].")
    ] = None,
    test: Annotated[
        list[str] | None,
        typer.Option(help="Pairs that are evaluated on; repeatable [default: a tenth of what is left]."),
    ] = None,
    vectors: Annotated[
        str | None, typer.Option(help="A file of word vectors, such as GloVe's, for aspects that compare words.")
    ] = None,
    epochs: Annotated[int, typer.Option(help="Passes over the pairs.")] = 8,
    batch_size: Annotated[int, typer.Option(help="Pairs a step.")] = 64,
    learning_rate: Annotated[float, typer.Option(help="After the warm-up.")] = 1e-5,
    warmup: Annotated[int, typer.Option(help="Steps until the learning rate is reached.")] = 100,
    eval_steps: Annotated[int, typer.Option(help="Steps between evaluations, each with a checkpoint.")] = 1000,
    alpha: Annotated[float, typer.Option(help="Weight of the decomposition.")] = 1.0,
    width: Annotated[int, typer.Option(help="Dimensions of an aspect.")] = 16,
    layers: Annotated[int, typer.Option(help="Train the last so many layers.")] = 2,
    negatives: Annotated[int, typer.Option(help="Shuffled pairs for each pair.")] = 1,
    decomposition: Annotated[bool, typer.Option(help="Learn the aspects.")] = True,
    consistency: Annotated[bool, typer.Option(help="Stay near the base.")] = True,
    seed: Annotated[int, typer.Option(help="Seeds what is cut off, the negatives and the order of the pairs.")] = 0,
    seeds: Annotated[int | None, typer.Option(help="Train so many models, from --seed on, and a summary.")] = None,
    limit: LimitOption = None,
    device: DeviceOption = "auto",
    threads: ThreadsOption = None,
    output: ReportFormatOption = ReportFormat.table,
    quiet: QuietOption = False,
) -> None:
    """Train sentence embeddings whose parts measure aspects of meaning (S3BERT).

    assay train s3bert --base all-MiniLM-L6-v2 --pairs bamboo-sts:train --dev bamboo-sts:dev --test bamboo-sts:test
    --vectors glove.txt --out s3bert-minilm
    """
    from assay import api

    with progress_on_stderr(quiet) as progress:
        report = api.train_s3bert(
            base,
            pairs,
            out,
            dev=dev or (),
            test=test or (),
            vectors=vectors,
            epochs=epochs,
            batch_size=batch_size,
            learning_rate=learning_rate,
            warmup=warmup,
            eval_steps=eval_steps,
            alpha=alpha,
            width=width,
            layers=layers,
            negatives=negatives,
            decomposition=decomposition,
            consistency=consistency,
            seed=seed,
            seeds=seeds,
            limit=limit,
            device=device,
            threads=threads,
            progress=progress,
        )
    print_report(report, output)
    if not quiet:
        tell(f"wrote {out}")
