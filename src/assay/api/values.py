"""What Python users pass in and get back: lists of names, and reports."""

from __future__ import annotations

from collections.abc import Sequence
from types import UnionType
from typing import TYPE_CHECKING, Any

from assay.errors import InputError
from assay.reports.sheets import Document, to_rich, write

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Report", "listed", "several"]


# What a Python user gives, in the form that settings have it.


def several(given: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return one name or several of them as a tuple; nothing for None."""
    return (given,) if isinstance(given, str) else tuple(given or ())


def listed(argument: str, given: Any, kind: type | UnionType = str) -> list[Any]:
    """Return one thing of a kind, or several, as a list.

    Args:
        argument: what it is called in a message.
        given: a thing of that kind, or an iterable of such.
        kind: a class, or several joined by ``|``.

    Raises:
        InputError: neither of the two.
    """
    if isinstance(given, kind):
        return [given]
    try:
        found = list(given)
    except TypeError:
        found = [given]
    for one in found:
        if not isinstance(one, kind):
            raise InputError(f"{argument}: {one!r} is no name; expected a name or a list of names")
    return found


# A report as a Python user holds it.


class Report:
    """Tables to read and the numbers behind them.

    Attributes:
        document: sheets and records as plain values.
    """

    def __init__(self, document: Document) -> None:
        self.document = document

    @property
    def records(self) -> pd.DataFrame:
        """The numbers, one row a record; undefined values are missing."""
        import pandas as pd

        return pd.DataFrame(list(self.document.records))

    def to_markdown(self) -> str:
        """Return the tables as Markdown."""
        return write(self.document, "md")

    def to_latex(self) -> str:
        """Return the tables as LaTeX with booktabs."""
        return write(self.document, "latex")

    def to_html(self) -> str:
        """Return the tables as HTML; all text is escaped."""
        return write(self.document, "html")

    def to_csv(self) -> str:
        """Return the records as CSV."""
        return write(self.document, "csv")

    def to_json(self) -> str:
        """Return everything as JSON; undefined values are null."""
        return write(self.document, "json")

    def to_rich(self) -> Any:
        """Return the tables as a Rich renderable."""
        return to_rich(self.document)

    def _repr_html_(self) -> str:
        return self.to_html()
