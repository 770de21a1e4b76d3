"""``assay cache``: show what the cache takes, remove parts of it."""

from __future__ import annotations

from typing import Annotated

import typer

from assay.cli.guard import guarded
from assay.cli.options import ListFormat, ListFormatOption
from assay.cli.printing import print_data, print_grid, print_to_stderr

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Downloads and stored scores: show what they take, remove what is not needed.",
)


@app.command("list")
@guarded
def list_(output: ListFormatOption = ListFormat.table) -> None:
    """List what the cache holds, by kind."""
    from datetime import UTC, datetime

    from assay.api.cache import KINDS, list_cache
    from assay.common.output import json_text
    from assay.paths import cache_dir

    entries = list_cache()
    if output is ListFormat.json:
        records = [{"kind": entry.kind, "files": entry.files, "bytes": entry.size} for entry in entries]
        print_data(json_text({"path": str(cache_dir()), "kinds": records}))
        return
    rows = []
    for entry in entries:
        day = ""
        if entry.newest is not None:
            day = f"{datetime.fromtimestamp(entry.newest, UTC):%Y-%m-%d}"
        rows.append((entry.kind, size_text(entry.size), f"{entry.files:,}", day, KINDS[entry.kind]))
    print_grid(("kind", "size", "files", "last written", "what"), rows)
    print_to_stderr(f"{size_text(sum(entry.size for entry in entries))} in {cache_dir()}")


@app.command("prune")
@guarded
def prune(
    kinds: Annotated[
        list[str],
        typer.Argument(
            help="What to remove: scores, models, datasets, … or all.", metavar="scores|models|datasets|…|all"
        ),
    ],
    older_than: Annotated[
        float, typer.Option("--older-than", help="Only what was last written so many days ago.", metavar="DAYS")
    ] = 0.0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be removed, and remove nothing.")] = False,
) -> None:
    """Remove kinds of files from the cache; what is needed again is computed or downloaded again."""
    from assay.api.cache import prune_cache

    removed = prune_cache(kinds, older_than=older_than, dry_run=dry_run)
    verb_phrase = "would remove" if dry_run else "removed"
    for entry in removed:
        typer.echo(f"{entry.kind}: {verb_phrase} {entry.files:,} files, {size_text(entry.size)}")


def size_text(size: int) -> str:
    """Return a number of bytes in the unit that suits it: ``12.3 MB``."""
    scaled_size, units = float(size), ["B", "kB", "MB", "GB", "TB"]
    while scaled_size >= 1000 and len(units) > 1:
        scaled_size /= 1000
        units.pop(0)
    return f"{scaled_size:.0f} B" if units[0] == "B" else f"{scaled_size:.1f} {units[0]}"
