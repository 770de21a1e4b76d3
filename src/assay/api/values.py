"""What Python users get back: tables to print, to write, or to compute with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from assay.reports.formats import write
from assay.reports.sheets import Document
from assay.reports.terminal import TerminalReport

if TYPE_CHECKING:
    import pandas as pd


class Tables(ABC):
    """Tables to read in every format: what reports and results of runs have in common."""

    @property
    @abstractmethod
    def document(self) -> Document:
        """Sheets and records as plain values."""

    def to_text(self, form: str) -> str:
        """Return the tables, or the records behind them, in a format that ``--format`` of the command line has.

        Raises:
            InputError: there is no format of that name.
        """
        return write(self.document, form)

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
        """Return the records, or all that a report has, as JSON; undefined values are null."""
        return self.to_text("json")

    def to_rich(self, *, explain: bool = True) -> TerminalReport:
        """Return the tables as a Rich renderable, which fits the console it is printed on.

        Args:
            explain: whether to show every column and note, method and signatures; else the tables and the few notes
                that change what they say.
        """
        return TerminalReport(self.document, explain=explain)

    def _repr_html_(self) -> str:
        return self.to_html()


class Report(Tables):
    """Tables to read and the numbers behind them."""

    def __init__(self, document: Document) -> None:
        self._document = document

    @property
    def document(self) -> Document:
        """Sheets and records as plain values."""
        return self._document

    @property
    def records(self) -> pd.DataFrame:
        """The numbers, one row a record; undefined values are missing."""
        import pandas as pd

        return pd.DataFrame(list(self.document.records))
