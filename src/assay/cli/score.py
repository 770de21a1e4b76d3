"""``assay score``: one column per metric, added to a file of pairs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.guard import finish, guarded, progress_on_stderr
from assay.cli.options import (
    ColumnsOption,
    DeviceOption,
    FreshOption,
    GraphsOption,
    LanguageOption,
    LimitOption,
    MetricOption,
    OfflineOption,
    QuietOption,
    ReferencesOption,
    ThreadsOption,
)

__all__ = ["score"]


@guarded
def score(
    file: Annotated[Path, typer.Argument(help="CSV, TSV, JSONL or Parquet with pairs, labelled or not.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Where to: the ending says the format.")],
    metric: MetricOption = None,
    columns: ColumnsOption = None,
    graphs: GraphsOption = None,
    limit: LimitOption = None,
    references: ReferencesOption = "best",
    language: LanguageOption = None,
    fresh: FreshOption = False,
    offline: OfflineOption = False,
    device: DeviceOption = "auto",
    threads: ThreadsOption = None,
    quiet: QuietOption = False,
) -> None:
    """Add a column per metric to a file of pairs; rows and all other columns stay as they are.

    From JSONL to JSONL they do to the letter; in other formats an absent key is an empty cell, and a list is JSON.
    Scores of the same pairs that stand at --out are replaced, nothing else is.

    assay score answers.csv --columns reference=gold,candidate=answer -m f1 -m chrf --out scored.csv
    """
    import assay

    with progress_on_stderr(quiet) as progress:
        failures = assay.score_file(
            file,
            metric or [],
            out,
            columns=columns,
            graphs=graphs,
            limit=limit,
            references=references,  # type: ignore[arg-type]
            language=language,
            fresh=fresh,
            offline=offline,
            device=device,
            threads=threads,
            progress=progress,
        )
    finish(failures, [] if quiet else [f"wrote {out}"])
