"""Base classes of results: tables to print, to write, or to compute with."""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING

from assay.exceptions import InputError
from assay.reports.formats import format_document
from assay.reports.sheets import Document

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from assay.reports.terminal import TerminalReport


class Tables(ABC):
    """Tables that can be written in every format; the base of reports and of results of runs."""

    @property
    @abstractmethod
    def document(self) -> Document:
        """The tables as sheets, and the numbers behind them as records, as plain values."""

    def to_text(self, form: str) -> str:
        """Return the tables, or the records behind them, as text.

        Args:
            form: a format of ``--format``: ``md``, ``latex`` and ``html`` for the tables, ``csv``, ``spreadsheet`` and
                ``json`` for the records.

        Raises:
            InputError: the format is unknown.
        """
        return format_document(self.document, form)

    def to_markdown(self) -> str:
        """Return the tables as Markdown."""
        return self.to_text("md")

    def to_latex(self) -> str:
        """Return the tables as LaTeX with booktabs."""
        return self.to_text("latex")

    def to_html(self) -> str:
        """Return the tables as HTML; all text is escaped."""
        return self.to_text("html")

    def to_csv(self) -> str:
        """Return the records as CSV; undefined values are empty."""
        return self.to_text("csv")

    def to_json(self) -> str:
        """Return the records as JSON, or the whole report if it has a form of its own; undefined values are null."""
        return self.to_text("json")

    def to_dataframe(self) -> pd.DataFrame:
        """Return the records as a data frame with one row per record; undefined values are missing."""
        import pandas as pd

        document = self.document
        return pd.DataFrame(list(document.records), columns=list(document.columns) or None)

    def to_rich(self, *, explain: bool = True) -> TerminalReport:
        """Return the tables as a Rich renderable that adapts to the width of the console.

        Args:
            explain: whether to show every column and note, the method and the signatures; otherwise only the tables
                and the notes that affect how to read them.
        """
        from assay.reports.terminal import TerminalReport

        return TerminalReport(self.document, None if explain else ".show(explain=True)")

    def show(self, *, explain: bool = False) -> None:
        """Print the tables as the terminal shows them.

        Args:
            explain: as for :meth:`to_rich`.
        """
        from rich.console import Console

        console = Console()
        console.print(self.to_rich(explain=explain), crop=False)

    def answer(self) -> list[str]:
        """Return what the tables answer, in sentences; empty if they have no answer in short."""
        return [str(line) for line in self.document.closing]

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw what the tables show, and return the axes.

        Args:
            ax: the axes to draw on; None for a new figure of pyplot.

        Raises:
            InputError: there is no drawing of these tables.
            MissingExtraError: matplotlib is not installed.
        """
        from assay.reports.figure.style import check_matplotlib, figure_style

        check_matplotlib()
        if ax is not None:
            self._draw(ax)
            return ax
        from matplotlib import pyplot

        with figure_style():
            panel: Axes = pyplot.figure(layout="constrained").subplots()
            self._draw(panel)
        return panel

    def _draw(self, panel: Axes) -> None:
        """Draw the tables on axes.

        Raises:
            InputError: there is no drawing of these tables.
        """
        raise InputError(
            "this result has no plot: runs, sweeps, systems and profiles have one; to_dataframe() has the numbers"
        )

    def __repr__(self) -> str:
        """Return the tables as plain text, as wide as the terminal, with what ``to_rich(explain=False)`` shows."""
        from rich.console import Console

        # without a terminal, such as in a notebook, a width at which most tables fit
        width = shutil.get_terminal_size(fallback=(110, 24)).columns
        console = Console(width=width, no_color=True, force_terminal=False)
        with console.capture() as captured:
            console.print(self.to_rich(explain=False))
        return captured.get()

    def _repr_html_(self) -> str:
        """Return the tables for a notebook: the answer first, the method and the notes folded."""
        from assay.reports.notebook import notebook_html

        return notebook_html(self.document, self.answer())


class Report(Tables):
    """A report: tables, and the numbers behind them."""

    def __init__(self, document: Document, draw: Callable[[Axes], None] | None = None) -> None:
        """Make a report.

        Args:
            document: the tables and records.
            draw: a function that draws the report on axes; None if it has no drawing.
        """
        self._document = document
        self._drawing = draw

    def _draw(self, panel: Axes) -> None:
        if self._drawing is None:
            super()._draw(panel)
        else:
            self._drawing(panel)

    @property
    def document(self) -> Document:
        """The tables as sheets, and the numbers behind them as records, as plain values."""
        return self._document

    @property
    def records(self) -> pd.DataFrame:
        """The numbers as :meth:`to_dataframe` returns them."""
        return self.to_dataframe()
