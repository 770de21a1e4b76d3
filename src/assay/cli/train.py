"""``assay train``: a command for each training recipe."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from assay.cli.guard import guarded, print_report, progress_on_stderr, tell
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
    "app",
    "augmented",
    "bi_encoder",
    "cross_encoder",
    "mid_tuning",
    "run_training",
    "s3bert",
]


# Options that several trainings have, and what every training does with what it was given.

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
    import assay

    output, quiet = asked.pop("output"), asked.pop("quiet")
    with progress_on_stderr(quiet) as progress:
        report = getattr(assay, function)(progress=progress, **asked)
    print_report(report, output)
    if not quiet:
        tell(f"wrote {asked['out']}")


# ``assay train bi-encoder`` and ``assay train cross-encoder``.

# no postponed annotations: the help of --loss is another one for each verb, and is looked up when the verb is made


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


# ``assay train s3bert``.


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


# ``assay train augmented``.


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


# ``assay train mid-tuning``.


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


# ``assay train``: a verb of its own for each recipe.

_HELP = "Train models that the metrics read; a training that was stopped continues when it is asked for again."

app = typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode=None, help=_HELP)
app.command("augmented")(augmented)
app.command("bi-encoder")(bi_encoder)
app.command("cross-encoder")(cross_encoder)
app.command("mid-tuning")(mid_tuning)
app.command("s3bert")(s3bert)
