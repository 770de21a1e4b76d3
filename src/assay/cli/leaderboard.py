"""``assay leaderboard``: rank metrics over runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from assay.analysis.leaderboard.settings import LeaderboardSettings
from assay.cli.command import command
from assay.cli.guard import print_report, progress_on_stderr
from assay.cli.options import ExplainOption, QuietOption, ReportFormat, ReportFormatOption


@command(LeaderboardSettings)
def leaderboard(
    runs: Annotated[list[Path], typer.Argument(help="Run folders, or files with a label and score columns.")],
    output: ReportFormatOption = ReportFormat.table,
    explain: ExplainOption = False,
    quiet: QuietOption = False,
    **settings: Any,
) -> None:
    """Rank metrics per dataset and bucket and over all datasets; what cannot be told apart shares a rank.

    assay leaderboard runs/one runs/two --language en --format md
    """
    import assay

    with progress_on_stderr(quiet) as progress:
        report = assay.leaderboard(runs, **settings, progress=progress)
    print_report(report, output, explain=explain)
