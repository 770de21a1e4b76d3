"""``assay reproduce``: reproduce a published table."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from assay.analysis.reproduce import ReproduceSettings
from assay.cli.command import command
from assay.cli.guard import print_report, progress_on_stderr, report_failures
from assay.cli.options import ExplainOption, Format, FormatOption, QuietOption
from assay.common.addresses import command_line


@command(ReproduceSettings)
def reproduce(
    name: Annotated[str | None, typer.Argument(help="A published table; without a name they are listed.")] = None,
    output: FormatOption = Format.table,
    explain: ExplainOption = False,
    quiet: QuietOption = False,
    **settings: Any,
) -> None:
    """Reproduce a published table, cell by cell, with the difference; exit 1 if a cell differs.

    assay reproduce sas-table-2

    assay reproduce bamboo --vectors glove.6B.100d.txt
    """
    import assay
    from assay.reports.reproduce import document

    if name is None:
        for table in assay.list_published():
            typer.echo(f"{table.name}: {table.title} ({table.source})")
        return
    with progress_on_stderr(quiet) as progress:
        table, verdicts, failures = assay.reproduce(name, **settings, progress=progress)
    print_report(assay.Report(document(table, verdicts)), output, explain=explain)
    notes = []
    if "vectors" not in settings and table.rows_with_vectors:
        rows = ", ".join(table.rows_with_vectors)
        notes.append(
            f"assay: {rows} left out, since they read word vectors: "
            f"{command_line('reproduce', table.name, '--vectors', 'FILE')}"
        )
    report_failures(failures, notes)
    if any(cell.failed for cell in verdicts):
        raise typer.Exit(1)
