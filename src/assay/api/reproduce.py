"""Reproduction of published tables."""

from __future__ import annotations

from assay.analysis.reproduce import (
    CellVerdict,
    PublishedTable,
    ReproduceSettings,
    compare_cells,
    list_tables,
    load_table,
)
from assay.api.run import run
from assay.exceptions import InputError
from assay.metrics.name import SUBJECT, MetricName
from assay.settings import takes_settings


def list_published() -> list[PublishedTable]:
    """Return the published tables that assay can reproduce."""
    return list_tables()


@takes_settings(ReproduceSettings)
def reproduce(name: str, settings: ReproduceSettings) -> tuple[PublishedTable, list[CellVerdict], list[str]]:
    """Compute a published table again, and compare each cell.

    Args:
        name: the name of the table.
        vectors: a file of word vectors for the rows that need it; without it these rows are left out.

    Returns:
        The table, one verdict per cell in reading order, and one line for each failure.

    Raises:
        InputError: there is no such table, no row of it reads word vectors, or their path cannot be part of a name.
        UnavailableError: the data of the table is unavailable.
    """
    table = load_table(name)
    vectors = None if settings.vectors is None else str(settings.vectors)
    if vectors is not None and not table.rows_with_vectors:
        raise InputError(f"no row of {name} reads word vectors", setting="vectors", value=vectors)
    if vectors is not None:
        # the path becomes a part of names, in which ",word=" begins an option
        MetricName("amr", SUBJECT, (("vectors", vectors),))
    bucket_rules = dict.fromkeys(column.bucket.partition("=")[0].partition(">")[0] for column in table.columns)
    bucket_rules.pop("all", None)
    result = run(
        list(table.datasets),
        table.metrics(vectors),
        buckets=tuple(bucket_rules) or ("none",),
        statistics=table.statistics,
        resamples=0,
        drop_duplicates=False,
        offline=settings.offline,
        progress=settings.progress,
    )
    agreement_rows = result.outcome.agreement
    return table, compare_cells(table, agreement_rows, vectors), result.failures
