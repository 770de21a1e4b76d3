"""The result of a run: tables as data frames, as text, and as a folder."""

from __future__ import annotations

import shutil
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from assay.analysis.folder import RunFolder, read_run
from assay.api.values import Tables
from assay.benchmark.folder import PAGE, manifest_of_run, write_run
from assay.benchmark.records import Outcome
from assay.common.output import exclusive_lock
from assay.common.tables import SCORE_COLUMNS
from assay.exceptions import InputError
from assay.manifest import AGREEMENT_COLUMNS
from assay.paths import user_path
from assay.reports.run import document
from assay.reports.sheets import Document

if TYPE_CHECKING:
    import pandas as pd

#: Maximum number of pairs for which a page is written with the run; for more, the page would take too long.
MAX_PAIRS_FOR_PAGE = 100_000


class Result(Tables):
    """A finished run.

    Attributes:
        outcome: everything that the run computed.
        folder: the run folder; None if the run is not saved.
    """

    def __init__(self, outcome: Outcome, folder: Path | None = None) -> None:
        self.outcome = outcome
        self.folder = folder

    @cached_property
    def agreement(self) -> pd.DataFrame:
        """The agreement table: one row per coefficient, columns as in ``agreement.csv``; undefined values are NaN."""
        import pandas as pd

        rows = [row.plain_values() for row in self.outcome.agreement]
        frame = pd.DataFrame(rows, columns=list(AGREEMENT_COLUMNS))
        return frame.astype({"value": "float64", "low": "float64", "high": "float64"})

    @cached_property
    def scores(self) -> pd.DataFrame:
        """The scores: one row per pair and metric, with the columns dataset, pair_id, metric and score."""
        import pandas as pd

        frames = []
        for dataset in self.outcome.datasets:
            name = dataset.pairs.name
            pair_ids = dataset.pairs.column("pair_id").to_pylist()
            for metric, values in dataset.scores.items():
                columns = {"dataset": name, "pair_id": pair_ids, "metric": metric, "score": values}
                frames.append(pd.DataFrame(columns))
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=list(SCORE_COLUMNS))

    @property
    def failures(self) -> list[str]:
        """One line for each requested task that failed."""
        return self.outcome.failures

    @cached_property
    def report(self) -> RunFolder:
        """The run in the form that reports read."""
        return RunFolder(self.folder, manifest_of_run(self.outcome), list(self.outcome.agreement))

    @cached_property
    def document(self) -> Document:
        """The tables, with the agreement table as their records."""
        return document(self.report)

    def save(self, folder: str | Path, *, page: bool = True) -> Path:
        """Write the run folder, set :attr:`folder` and return its path; see :mod:`assay.benchmark.folder`.

        Args:
            folder: the path of the run folder.
            page: whether to write a page, too; see :meth:`write_page`.

        Raises:
            InputError: the folder holds something else, or cannot be written.
        """
        self.folder = write_run(self.outcome, user_path(folder))
        if page:
            self.write_page()
        return self.folder

    def write_page(self) -> None:
        """Write ``report.html`` into the folder of a saved run of at most :data:`MAX_PAIRS_FOR_PAGE` pairs.

        It lacks the parts that take long, ranks and categories, which ``assay report`` adds.

        Raises:
            InputError: the run is not saved yet.
        """
        if self.folder is None:
            raise InputError("the run is not saved yet: a page lies in its folder")
        if sum(len(dataset.pairs) for dataset in self.outcome.datasets) > MAX_PAIRS_FOR_PAGE:
            return
        from assay.reports.page.render import page_html, put_page

        # made from the saved folder, since the page shows its path; locked, so that no other run replaces it meanwhile
        with exclusive_lock(self.folder.parent):
            page = page_html([read_run(self.folder)], leaderboard=False, categories=False)
            put_page(page, self.folder / PAGE)

    def __repr__(self) -> str:
        """Return the tables as plain text, as wide as the terminal."""
        from rich.console import Console

        # without a terminal, such as in a notebook, a width at which most tables fit
        width = shutil.get_terminal_size(fallback=(110, 24)).columns
        console = Console(width=width, no_color=True, force_terminal=False)
        with console.capture() as captured:
            console.print(self.to_rich())
        return captured.get()
