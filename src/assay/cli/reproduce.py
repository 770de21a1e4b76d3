"""``assay reproduce``: a published table beside the reproduced one."""

from __future__ import annotations

from typing import Annotated

import typer

from assay.cli.guard import finish, guarded, print_report, progress_on_stderr
from assay.cli.options import Format, FormatOption, OfflineOption, QuietOption

__all__ = ["reproduce"]


@guarded
def reproduce(
    name: Annotated[str | None, typer.Argument(help="A published table; without a name they are listed.")] = None,
    vectors: Annotated[
        str | None, typer.Option("--vectors", help="Word vectors (a GloVe file, say) for the rows that need them.")
    ] = None,
    offline: OfflineOption = False,
    output: FormatOption = Format.table,
    quiet: QuietOption = False,
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
        table, verdicts, failures = assay.reproduce(name, vectors=vectors, offline=offline, progress=progress)
    print_report(assay.Report(document(table, verdicts)), output)
    left_out = (
        f"assay: {', '.join(table.rows_with_vectors)} left out, since they read word vectors: "
        f"assay reproduce {table.name} --vectors FILE"
    )
    finish(failures, [left_out] if vectors is None and table.rows_with_vectors else [])
    if any(cell.failed for cell in verdicts):
        raise typer.Exit(1)
