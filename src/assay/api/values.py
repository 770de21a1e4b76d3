"""Base classes of results: tables to print, to write, or to compute with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from assay.reports.formats import format_document
from assay.reports.sheets import Document

if TYPE_CHECKING:
    import pandas as pd

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

    def to_rich(self, *, explain: bool = True) -> TerminalReport:
        """Return the tables as a Rich renderable that adapts to the width of the console.

        Args:
            explain: whether to show every column and note, the method and the signatures; otherwise only the tables
                and the notes that affect how to read them.
        """
        from assay.reports.terminal import TerminalReport

        return TerminalReport(self.document, explain=explain)

    def _repr_html_(self) -> str:
        return self.to_html()


class Report(Tables):
    """A report: tables, and the numbers behind them."""

    def __init__(self, document: Document) -> None:
        self._document = document

    @property
    def document(self) -> Document:
        """The tables as sheets, and the numbers behind them as records, as plain values."""
        return self._document

    @property
    def records(self) -> pd.DataFrame:
        """The numbers as a data frame with one row per record; undefined values are missing."""
        import pandas as pd

        return pd.DataFrame(list(self.document.records))
