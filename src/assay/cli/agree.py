"""``assay agree``: agreement of the score columns of a file."""

from __future__ import annotations

from typing import Any

from assay.benchmark.settings import AgreeSettings
from assay.cli.command import command
from assay.cli.guard import print_report, print_to_stderr, progress_on_stderr
from assay.cli.options import ExplainOption, Format, FormatOption, QuietOption


@command(AgreeSettings)
def agree(
    output: FormatOption = Format.table, explain: ExplainOption = False, quiet: QuietOption = False, **settings: Any
) -> None:
    """Compare score columns of a file with its label; the texts are needed for --bucket f1 only.

    assay agree scored.csv --columns label=human --score f1 --score chrf
    """
    import assay

    with progress_on_stderr(quiet) as progress:
        result = assay.agree_file(**settings, progress=progress)
    print_report(result, output, explain=explain)
    if "out" in settings and not quiet:
        print_to_stderr(f"wrote {settings['out']}")
