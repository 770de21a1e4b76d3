"""Published tables, reproduced."""

from __future__ import annotations

from assay.api.run import run
from assay.errors import InputError
from assay.reports.reproduce import CellVerdict, PublishedTable, ReproduceSettings, compare, list_tables, load_table
from assay.settings import takes_settings


def list_published() -> list[PublishedTable]:
    """Return the published tables that assay can reproduce."""
    return list_tables()


@takes_settings(ReproduceSettings)
def reproduce(name: str, settings: ReproduceSettings) -> tuple[PublishedTable, list[CellVerdict], list[str]]:
    """Reproduce a published table.

    Args:
        name: of the table.
        vectors: file of word vectors for the rows that need one, which are left out otherwise.

    Returns:
        The table, a verdict a cell in reading order, and lines about what could not be done.

    Raises:
        InputError: no such table; word vectors that no row of it reads.
        UnavailableError: its data is unavailable.
    """
    table = load_table(name)
    words = None if settings.vectors is None else str(settings.vectors)
    if words is not None and not table.rows_with_vectors:
        raise InputError(f"`vectors={words}`: no row of {name} reads word vectors")
    rules = dict.fromkeys(column.bucket.partition("=")[0].partition(">")[0] for column in table.columns)
    rules.pop("all", None)
    result = run(
        list(table.datasets),
        table.metrics(words),
        buckets=tuple(rules) or ("none",),
        statistics=table.statistics,
        resamples=0,
        drop_duplicates=False,
        offline=settings.offline,
        progress=settings.progress,
    )
    rows = result.outcome.agreement
    return table, compare(table, rows, words), result.failures
