"""Published tables, reproduced."""

from __future__ import annotations

from assay.api.running import run
from assay.benchmark.progress import Progress
from assay.reports.published import CellVerdict, PublishedTable, compare, list_tables, load_table

__all__ = ["list_published", "reproduce"]


def list_published() -> list[PublishedTable]:
    """Return the published tables that assay can reproduce."""
    return list_tables()


def reproduce(
    name: str, *, offline: bool = False, progress: Progress | None = None
) -> tuple[PublishedTable, list[CellVerdict], list[str]]:
    """Reproduce a published table.

    Args:
        name: of the table.
        offline: fetch nothing.
        progress: told how far it is.

    Returns:
        The table, a verdict a cell in reading order, and lines about what could not be done.

    Raises:
        InputError: no such table.
        UnavailableError: its data cannot be had.
    """
    table = load_table(name)
    rules = tuple(dict.fromkeys(column.bucket.partition("=")[0].partition(">")[0] for column in table.columns))
    result = run(
        list(table.datasets),
        table.metrics,
        buckets=rules,
        statistics=table.statistics,
        resamples=0,
        group_by="none",
        drop_duplicates=False,
        offline=offline,
        progress=progress,
    )
    rows = [row.as_dict() for row in result.outcome.agreement]
    return table, compare(table, rows), result.failures
