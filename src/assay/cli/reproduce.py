"""``assay reproduce``: a published table beside the reproduced one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.guard import guarded, progress_on_stderr, show, tell
from assay.cli.options import Format, FormatOption, OfflineOption, QuietOption
from assay.errors import InputError

if TYPE_CHECKING:
    from assay.reports.published import CellVerdict, PublishedTable

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
    from assay import api

    if name is None:
        for table in api.list_published():
            typer.echo(f"{table.name}: {table.title} ({table.source})")
        return
    if output is Format.latex:
        raise InputError("--format latex: assay reproduce prints table, json, csv or md")
    with progress_on_stderr(quiet) as progress:
        table, verdicts, failures = api.reproduce(name, vectors=vectors, offline=offline, progress=progress)
    _print(table, verdicts, output)
    for line in failures:
        tell(f"assay: {line}")
    if vectors is None and table.rows_with_vectors:
        tell(
            f"assay: {', '.join(table.rows_with_vectors)} left out, since they read word vectors: "
            f"assay reproduce {table.name} --vectors FILE"
        )
    if failures or any(cell.failed for cell in verdicts):
        raise typer.Exit(1)


def _print(table: PublishedTable, verdicts: list[CellVerdict], output: Format) -> None:
    import json
    import sys

    from rich.table import Table

    from assay.delimited import write_records
    from assay.reports.escape import rich_text
    from assay.reports.published import summarise

    heads = ["row", "column", "printed", "value", "difference", "verdict"]
    if output is Format.json:
        typer.echo(json.dumps([vars(cell) for cell in verdicts], indent=1, ensure_ascii=False))
    elif output is Format.csv:
        write_records(sys.stdout, heads, map(vars, verdicts))
    else:
        rows = [[cell.row, cell.column, cell.printed, _number(cell), _signed(cell), cell.verdict] for cell in verdicts]
        heads = ["", "column", "printed", "here", "difference", ""]
        if output is Format.md:
            typer.echo("| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))
            for row in rows:
                typer.echo("| " + " | ".join(row) + " |")
        else:
            grid = Table(*heads, title=rich_text(f"{table.title}\n{table.source}"), title_justify="left")
            for row in rows:
                grid.add_row(*[rich_text(cell) for cell in row])
            show(grid)
        typer.echo(summarise(verdicts))
        for line in (table.note, *(f"{row.title}: {row.note}" for row in table.rows if row.note)):
            typer.echo(line)


def _number(cell: CellVerdict) -> str:
    if cell.value is None:
        return "" if cell.left_out else "undefined"
    return f"{cell.value:.4f}"


def _signed(cell: CellVerdict) -> str:
    return "" if cell.difference is None else f"{cell.difference:+.4f}"
