"""``assay train bi-encoder`` and ``assay train cross-encoder``."""

# no postponed annotations: the help of --loss is another one for each verb, and is looked up when the verb is made

from collections.abc import Callable
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
from assay.cli.train.options import (
    BaseOption,
    BatchesOption,
    BatchSizeOption,
    ClassesOption,
    DevOption,
    DropOption,
    EpochsOption,
    EvalStepsOption,
    LayersOption,
    OutOption,
    PairsOption,
    RateOption,
    SeedOption,
    SeedsOption,
    SubsetOption,
    TestOption,
    TokensOption,
    WarmupOption,
    run_training,
)

__all__ = ["bi_encoder", "cross_encoder"]


def _verb(recipe: str, losses: str, doc: str) -> Callable[..., None]:
    """Return the verb of a recipe.

    Args:
        recipe: its name.
        losses: what can be asked for by ``--loss``.
        doc: its help, with an example.
    """

    def train(
        base: BaseOption,
        pairs: PairsOption,
        out: OutOption,
        dev: DevOption = None,
        test: TestOption = None,
        classes: ClassesOption = None,
        scale: ScaleOption = None,
        loss: Annotated[str, typer.Option(help=losses)] = "",
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
        columns: ColumnsOption = None,
        device: DeviceOption = "auto",
        threads: ThreadsOption = None,
        output: ReportFormatOption = ReportFormat.table,
        quiet: QuietOption = False,
    ) -> None:
        run_training("train_pairs", locals() | {"recipe": recipe})

    train.__doc__ = doc
    return guarded(train)


bi_encoder = _verb(
    "bi-encoder",
    "cosine or cosent; softmax with --classes.",
    """Train a sentence encoder whose cosine is the score, for bi-encoder:, bertscore: and pooled:.

    assay train bi-encoder --base all-MiniLM-L6-v2 --pairs stsb:train --dev stsb:dev --test stsb:test --out my-model
    """,
)
cross_encoder = _verb(
    "cross-encoder",
    "bce or mse; cross-entropy with --classes.",
    """Train a model that reads both texts at once, for cross-encoder:; the base may be an encoder of single texts.

    assay train cross-encoder --base all-MiniLM-L6-v2 --pairs stsb:train --dev stsb:dev --test stsb:test --out my-model
    """,
)
