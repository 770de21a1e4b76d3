"""``assay train``: train models that metrics read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer

import assay
from assay.cli.command import command
from assay.cli.guard import print_report, print_to_stderr, progress_on_stderr
from assay.cli.options import ExplainOption, QuietOption, ReportFormat, ReportFormatOption
from assay.training.augmented.settings import AugmentedSettings
from assay.training.midtuning.settings import MidTuningSettings
from assay.training.pairwise.settings import PairSettings
from assay.training.s3bert.settings import S3BertSettings

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Train models that the metrics read; an interrupted training resumes with the same command.",
)


def print_training(
    train: Callable[..., assay.Report], settings: dict[str, Any], output: ReportFormat, explain: bool, quiet: bool
) -> None:
    """Run a training, print its results to stdout, and report the folder of the model on stderr.

    Args:
        train: the function of the Python interface that trains.
        settings: its settings, with ``out``.
        output: the output format.
        explain: whether tables are printed with every column and note.
        quiet: whether nothing is written to stderr.
    """
    with progress_on_stderr(quiet) as progress:
        report = train(**settings, progress=progress)
    print_report(report, output, explain=explain)
    if not quiet:
        print_to_stderr(f"wrote {settings['out']}")


@app.command("augmented")
@command(AugmentedSettings)
def augmented(
    output: ReportFormatOption = ReportFormat.table,
    explain: ExplainOption = False,
    quiet: QuietOption = False,
    **settings: Any,
) -> None:
    """Train a sentence encoder on pairs that are made: names with aliases, names at random, numbers (Augmented SBERT).

    assay train augmented --base all-MiniLM-L6-v2 --labeller my-cross-encoder --entities people.csv --numbers en,de
    --out my-model
    """
    print_training(assay.train_augmented, settings, output, explain, quiet)


@app.command("bi-encoder")
@command(PairSettings)
def bi_encoder(
    output: ReportFormatOption = ReportFormat.table,
    explain: ExplainOption = False,
    quiet: QuietOption = False,
    **settings: Any,
) -> None:
    """Train a sentence encoder whose cosine is the score, for bi-encoder:, bertscore: and pooled:.

    assay train bi-encoder --base all-MiniLM-L6-v2 --pairs stsb:train --dev stsb:dev --test stsb:test --out my-model
    """
    print_training(assay.train_pairs, {"recipe": "bi-encoder", **settings}, output, explain, quiet)


@app.command("cross-encoder")
@command(PairSettings)
def cross_encoder(
    output: ReportFormatOption = ReportFormat.table,
    explain: ExplainOption = False,
    quiet: QuietOption = False,
    **settings: Any,
) -> None:
    """Train a model that reads both texts at once, for cross-encoder:; the base may be an encoder of single texts.

    assay train cross-encoder --base all-MiniLM-L6-v2 --pairs stsb:train --dev stsb:dev --test stsb:test --out my-model
    """
    print_training(assay.train_pairs, {"recipe": "cross-encoder", **settings}, output, explain, quiet)


@app.command("mid-tuning")
@command(MidTuningSettings)
def mid_tuning(
    output: ReportFormatOption = ReportFormat.table,
    explain: ExplainOption = False,
    quiet: QuietOption = False,
    **settings: Any,
) -> None:
    """Train a sentence encoder to align sentences with their frames of predicates, roles and fillers.

    assay train mid-tuning --base all-MiniLM-L6-v2 --forms bamboo-sts:train --test stsb:test --out my-model
    """
    print_training(assay.train_mid_tuning, settings, output, explain, quiet)


@app.command("s3bert")
@command(S3BertSettings)
def s3bert(
    output: ReportFormatOption = ReportFormat.table,
    explain: ExplainOption = False,
    quiet: QuietOption = False,
    **settings: Any,
) -> None:
    """Train sentence embeddings whose parts measure aspects of meaning (S3BERT).

    assay train s3bert --base all-MiniLM-L6-v2 --pairs bamboo-sts:train --dev bamboo-sts:dev --test bamboo-sts:test
    --vectors glove.txt --out s3bert-minilm
    """
    print_training(assay.train_s3bert, settings, output, explain, quiet)
