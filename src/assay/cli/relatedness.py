"""``assay relatedness``: which related words go with the label."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.guard import guarded, print_report, progress_on_stderr
from assay.cli.options import (
    ColumnsOption,
    ConfidenceOption,
    LanguageOption,
    LimitOption,
    OfflineOption,
    QuietOption,
    ReportFormat,
    ReportFormatOption,
    ResamplesOption,
    SeedOption,
)

__all__ = ["relatedness"]


@guarded
def relatedness(
    dataset: Annotated[
        str, typer.Option("--dataset", "-d", help="A dataset (NAME[@VERSION][:SPLIT]) or a labelled file.")
    ],
    vectors: Annotated[Path, typer.Option(help="Word vectors: word2vec, GloVe, fastText .vec, or a folder.")],
    pipeline: Annotated[
        str | None, typer.Option(help="A spaCy pipeline, folder or name, that reads parts of speech.")
    ] = None,
    columns: ColumnsOption = None,
    resamples: ResamplesOption = 1000,
    confidence: ConfidenceOption = 0.95,
    seed: SeedOption = 0,
    limit: LimitOption = None,
    language: LanguageOption = None,
    offline: OfflineOption = False,
    output: ReportFormatOption = ReportFormat.table,
    quiet: QuietOption = False,
) -> None:
    """Hold features of two sentences' words against the label: overlap, related words, by part of speech and role.

    assay relatedness --dataset stsb:test --vectors vectors.txt --pipeline en_core_web_md
    """
    import assay

    with progress_on_stderr(quiet) as progress:
        report = assay.relatedness(
            dataset,
            vectors,
            pipeline=pipeline,
            columns=columns,
            resamples=resamples,
            confidence=confidence,
            seed=seed,
            limit=limit,
            language=language,
            offline=offline,
            progress=progress,
        )
    print_report(report, output)
