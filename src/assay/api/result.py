"""The result of a run: tables as data frames, as text, and as a folder."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

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
    from matplotlib.axes import Axes

#: Maximum number of pairs for which a page is written with the run; for more, the page would take too long.
MAX_PAIRS_FOR_PAGE = 100_000


class Result(Tables):
    """A finished run.

    Attributes:
        outcome: everything that the run computed.
        folder: the run folder; None if the run is not saved.
    """

    #: The kind of figure that :meth:`plot` draws by default.
    plotted: ClassVar[str] = "agreement"

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

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """The pairs with texts and labels, and the scores of each metric in a column of its name: one row per pair.

        A metric that failed on a dataset has no score there. A column of the data that has the name of a metric keeps
        it, and the metric's column is ``score:NAME``.
        """
        import pandas as pd

        frames = []
        for dataset in self.outcome.datasets:
            frame = dataset.pairs.table.to_pandas()
            frame.insert(0, "dataset", dataset.pairs.name)
            for metric, values in dataset.scores.items():
                frame[f"score:{metric}" if metric in frame else metric] = values
            frames.append(frame)
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()

    def answer(self) -> list[str]:
        """Return which metric to use on each dataset, as its page says it, by the rule of ``assay recommend``."""
        return self._findings

    @cached_property
    def _findings(self) -> list[str]:
        """The findings of the run page, one line per dataset and bucket."""
        from assay.reports.page.parts import findings_by_bucket
        from assay.reports.units import read_units

        lines = []
        with self._opened() as run:
            units = read_units([run])
            for unit in units:
                title = f"{unit.title}. " if len(units) > 1 else ""
                lines += [f"{title}{finding.where}: {finding.text}" for finding in findings_by_bucket(unit)]
        return lines

    def plot(self, kind: str | None = None, *, ax: Axes | None = None, **settings: Any) -> Any:
        """Draw a figure of the run, and return its axes.

        Args:
            kind: as for :func:`assay.figure`; by default the agreement, or that of the layers of a sweep.
            ax: the axes to draw the only panel on, for one dataset and bucket, all pairs by default; None for a new
                figure of pyplot, with as many panels as there are.
            **settings: further settings of :func:`assay.figure`: ``datasets``, ``metrics``, ``buckets``, ``statistic``,
                and ``width`` in inches of a new figure.

        Returns:
            The axes: a single one, or a list of them if there are several panels.

        Raises:
            InputError: the run lacks what is named, has nothing to draw, or several panels are for *ax*.
            MissingExtraError: matplotlib is not installed.
        """
        from assay.analysis.figure import FigureSettings
        from assay.reports.figure.draw import draw_figure, draw_on
        from assay.reports.figure.style import check_matplotlib, figure_style, pyplot_figures

        check_matplotlib()
        figure_settings = FigureSettings(kind=kind or self.plotted, **settings)
        with self._opened() as run:
            if ax is not None:
                draw_on(ax, run, figure_settings)
                return ax
            with figure_style(), pyplot_figures():
                panels = [panel for panel in draw_figure(run, figure_settings).axes if panel.get_visible()]
        return panels[0] if len(panels) == 1 else panels

    @contextmanager
    def _opened(self) -> Iterator[RunFolder]:
        """Yield the run as a folder, a temporary one if it was not saved."""
        with tempfile.TemporaryDirectory(prefix="assay-") as temporary:
            yield read_run(self.folder or write_run(self.outcome, Path(temporary) / "run"))

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
        from assay.reports.page.kept import page_of_run
        from assay.reports.page.render import put_page

        # made from the saved folder, since the page shows its path; locked, so that no other run replaces it meanwhile
        with exclusive_lock(self.folder.parent):
            put_page(page_of_run(self.folder), self.folder / PAGE)
