"""``assay reproduce``: reproduce a published table."""

from __future__ import annotations

import re
from collections.abc import Sequence

from assay.analysis.reproduce import (
    CellVerdict,
    PublishedTable,
    ReproduceSettings,
    compare_cells,
    list_tables,
    load_table,
)
from assay.api.run import run
from assay.api.values import Report
from assay.common.addresses import command_line
from assay.common.verbs import verb
from assay.exceptions import InputError
from assay.metrics.name import MetricName
from assay.reports.reproduce import document, list_document, summarise
from assay.reports.sheets import Document


def list_published() -> list[PublishedTable]:
    """Return the published tables that assay can reproduce."""
    return list_tables()


class Reproduced(Report):
    """A published table beside the reproduced one.

    Attributes:
        table: the published table; None if the tables were listed.
        verdicts: one verdict per cell, in reading order.
        failures: one line for each metric or dataset that failed.
        remarks: a line on the rows that were left out, if any were.
    """

    def __init__(
        self,
        document: Document,
        table: PublishedTable | None = None,
        verdicts: Sequence[CellVerdict] = (),
        failures: Sequence[str] = (),
        remarks: Sequence[str] = (),
    ) -> None:
        super().__init__(document)
        self.table = table
        self.verdicts = verdicts
        self.failures = failures
        self.remarks = remarks

    @property
    def exit_code(self) -> int:
        """1 if a cell differs or is missing."""
        return int(any(cell.failed for cell in self.verdicts))

    @property
    def headline(self) -> str:
        """How many cells are equal, in one line."""
        return summarise(self.verdicts)


@verb(
    ReproduceSettings,
    "Reproduce a published table, cell by cell, with the difference; exit 1 if a cell differs.",
    "assay reproduce sas-table-2",
    "assay reproduce bamboo --vectors glove.6B.100d.txt",
)
def reproduce(settings: ReproduceSettings) -> Reproduced:
    """Compute a published table again, and compare each cell.

    Args:
        name: the name of the table; without it the tables are listed.
        vectors: a file of word vectors for the rows that need it; without it these rows are left out.
        out: the folder for the run that the table was computed from; None to write nothing.

    Returns:
        The table with the published and the computed value of each cell, or the list of tables.

    Raises:
        InputError: there is no such table, no row of it reads word vectors, their path cannot be part of a name, or
            *out* holds something else or cannot be written.
        OfflineError: the data of the table is not on this machine, and the network is forbidden.
        UnavailableError: the data of the table is unavailable.
    """
    if settings.name is None:
        return Reproduced(list_document(list_tables()))
    table = load_table(settings.name)
    vectors = None if settings.vectors is None else str(settings.vectors)
    if vectors is not None and not table.rows_with_vectors:
        raise InputError(f"no row of {table.name} reads word vectors", setting="vectors", value=vectors)
    if vectors is not None:
        try:
            MetricName("static", vectors)
        except InputError:
            raise InputError(
                "the path cannot stand in a metric's name, where ',word=' begins an option; rename the file",
                setting="vectors",
                value=vectors,
            ) from None
    # of a mean over the buckets of a column, of f1=0 and of f1>0, the rule is the name
    rules = dict.fromkeys(re.split("[=>]", column.bucket.removeprefix("mean over "))[0] for column in table.columns)
    rules.pop("all", None)
    result = run(
        list(table.datasets),
        table.metrics(vectors),
        buckets=tuple(rules) or ("none",),
        statistics=table.statistics,
        resamples=0,
        drop_duplicates=False,
        references=table.references,
        out=settings.out,
        offline=settings.offline,
        progress=settings.progress,
    )
    verdicts = compare_cells(table, result.outcome.agreement, vectors)
    remarks = []
    if vectors is None and table.rows_with_vectors:
        rows = ", ".join(table.rows_with_vectors)
        added = command_line("reproduce", table.name, "--vectors", "FILE")
        remarks = [f"assay: {rows} left out, since they read word vectors: {added}"]
    return Reproduced(document(table, verdicts), table, verdicts, result.failures, remarks)
