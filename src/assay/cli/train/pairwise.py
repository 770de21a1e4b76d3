"""``assay train bi-encoder`` and ``assay train cross-encoder``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from assay.cli.guard import guarded, print_report, progress_on_stderr, tell
from assay.cli.options import DeviceOption, LimitOption, QuietOption, ReportFormat, ReportFormatOption, ThreadsOption

__all__ = ["bi_encoder", "cross_encoder"]

BaseOption = Annotated[str, typer.Option(help="The model to start from: a folder, OWNER/NAME or a short name.")]
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
ScaleOption = Annotated[
    str | None, typer.Option(help="LOW,HIGH of the labels, where the data does not say them [default: 0,1].")
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


@guarded
def bi_encoder(
    base: BaseOption,
    pairs: PairsOption,
    out: OutOption,
    dev: DevOption = None,
    test: TestOption = None,
    classes: ClassesOption = None,
    scale: ScaleOption = None,
    loss: Annotated[str, typer.Option(help="cosine or cosent; softmax with --classes.")] = "",
    batches: BatchesOption = "length",
    subset: SubsetOption = None,
    epochs: EpochsOption = 4,
    batch_size: BatchSizeOption = 16,
    learning_rate: RateOption = 2e-5,
    warmup: WarmupOption = 0.1,
    eval_steps: EvalStepsOption = 0,
    layers: LayersOption = None,
    tokens: TokensOption = None,
    drop_shared_texts: DropOption = False,
    seed: SeedOption = 0,
    seeds: SeedsOption = None,
    limit: LimitOption = None,
    device: DeviceOption = "auto",
    threads: ThreadsOption = None,
    output: ReportFormatOption = ReportFormat.table,
    quiet: QuietOption = False,
) -> None:
    """Train a sentence encoder whose cosine is the score, for bi-encoder:, bertscore: and pooled:.

    assay train bi-encoder --base all-MiniLM-L6-v2 --pairs stsb:train --dev stsb:dev --test stsb:test --out my-model
    """
    _train("bi-encoder", locals())


@guarded
def cross_encoder(
    base: BaseOption,
    pairs: PairsOption,
    out: OutOption,
    dev: DevOption = None,
    test: TestOption = None,
    classes: ClassesOption = None,
    scale: ScaleOption = None,
    loss: Annotated[str, typer.Option(help="bce or mse; cross-entropy with --classes.")] = "",
    batches: BatchesOption = "length",
    subset: SubsetOption = None,
    epochs: EpochsOption = 4,
    batch_size: BatchSizeOption = 16,
    learning_rate: RateOption = 2e-5,
    warmup: WarmupOption = 0.1,
    eval_steps: EvalStepsOption = 0,
    layers: LayersOption = None,
    tokens: TokensOption = None,
    drop_shared_texts: DropOption = False,
    seed: SeedOption = 0,
    seeds: SeedsOption = None,
    limit: LimitOption = None,
    device: DeviceOption = "auto",
    threads: ThreadsOption = None,
    output: ReportFormatOption = ReportFormat.table,
    quiet: QuietOption = False,
) -> None:
    """Train a model that reads both texts at once, for cross-encoder:; the base may be an encoder of single texts.

    assay train cross-encoder --base all-MiniLM-L6-v2 --pairs stsb:train --dev stsb:dev --test stsb:test --out my-model
    """
    _train("cross-encoder", locals())


def _train(recipe: Literal["bi-encoder", "cross-encoder"], asked: dict[str, Any]) -> None:
    """Train with what a verb was given; all of it but output and quiet are arguments of the Python function."""
    from assay import api

    output, quiet = asked.pop("output"), asked.pop("quiet")
    with progress_on_stderr(quiet) as progress:
        report = api.train_pairs(recipe, progress=progress, **asked)
    print_report(report, output)
    if not quiet:
        tell(f"wrote {asked['out']}")
