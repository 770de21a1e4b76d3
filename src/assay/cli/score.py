"""``assay score``: add a column per metric to a file."""

from __future__ import annotations

from typing import Any

from assay.benchmark.settings import ScoreSettings
from assay.cli.command import command
from assay.cli.guard import progress_on_stderr, report_failures
from assay.cli.options import QuietOption


@command(ScoreSettings)
def score(quiet: QuietOption = False, **settings: Any) -> None:
    """Add a column per metric to a file of pairs; rows and all other columns stay as they are.

    From JSONL to JSONL not a character of them changes; in other formats an absent key is an empty cell, and a list is
    JSON.
    Scores of the same pairs in the file of --out are replaced, nothing else is.

    assay score answers.csv --columns reference=gold,candidate=answer -m f1 -m chrf --out scored.csv
    """
    import assay

    with progress_on_stderr(quiet) as progress:
        failures = assay.score_file(**settings, progress=progress)
    report_failures(failures, [] if quiet else [f"wrote {settings['out']}"])
