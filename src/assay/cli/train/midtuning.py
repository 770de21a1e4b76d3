"""``assay train mid-tuning``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.guard import guarded, print_report, progress_on_stderr, tell
from assay.cli.options import DeviceOption, LimitOption, QuietOption, ReportFormat, ReportFormatOption, ThreadsOption

__all__ = ["mid_tuning"]


@guarded
def mid_tuning(
    base: Annotated[
        str, typer.Option(help="The sentence encoder to start from: a folder, OWNER/NAME or a short name.")
    ],
    forms: Annotated[
        list[str],
        typer.Option(help="Sentences with their forms: a dataset or file of AMR graphs, or frames.jsonl; repeatable."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder of the model; absent or empty.")],
    objective: Annotated[str, typer.Option(help="triplet or classification.")] = "triplet",
    test: Annotated[
        list[str] | None, typer.Option(help="Labelled pairs, evaluated before and after; repeatable.")
    ] = None,
    queries: Annotated[
        str | None, typer.Option(help="A file of sentences whose nearest neighbours are shown [default: five of dev].")
    ] = None,
    epochs: Annotated[int, typer.Option(help="Passes over the sentences.")] = 1,
    batch_size: Annotated[int, typer.Option(help="Sentences a step; with classification, with a form each.")] = 64,
    learning_rate: Annotated[float, typer.Option(help="After the warm-up.")] = 2e-5,
    warmup: Annotated[float, typer.Option(help="Share of the steps until the learning rate is reached.")] = 0.1,
    eval_steps: Annotated[int, typer.Option(help="Steps between evaluations, each a checkpoint; 0: an epoch.")] = 0,
    margin: Annotated[float, typer.Option(help="Of the triplets, in squared distance.")] = 1.0,
    layers: Annotated[
        int | None, typer.Option(help="Train the last so many layers [default: all of the model].")
    ] = None,
    tokens: Annotated[int | None, typer.Option(help="Tokens computed at a time; more are added up in passes.")] = None,
    seed: Annotated[int, typer.Option(help="Seeds what is cut off, the wrong forms, dropout and the order.")] = 0,
    seeds: Annotated[int | None, typer.Option(help="Train so many models, from --seed on, and a summary.")] = None,
    limit: LimitOption = None,
    device: DeviceOption = "auto",
    threads: ThreadsOption = None,
    output: ReportFormatOption = ReportFormat.table,
    quiet: QuietOption = False,
) -> None:
    """Train a sentence encoder to align sentences with their frames of predicates, roles and fillers.

    assay train mid-tuning --base all-MiniLM-L6-v2 --forms bamboo-sts:train --test stsb:test --out my-model
    """
    from assay import api

    with progress_on_stderr(quiet) as progress:
        report = api.train_mid_tuning(
            base,
            forms,
            out,
            test=test,
            objective=objective,
            queries=queries,
            epochs=epochs,
            batch_size=batch_size,
            learning_rate=learning_rate,
            warmup=warmup,
            eval_steps=eval_steps,
            margin=margin,
            layers=layers,
            tokens=tokens,
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
