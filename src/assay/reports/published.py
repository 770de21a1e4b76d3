"""Published tables beside reproduced ones, cell by cell.

The published numbers live in TOML files with their source; a column is a dataset, a bucket and a statistic, a row a
metric. Numbers are kept as they were printed, so that their decimals are known.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from assay.errors import InputError, suggest

__all__ = ["CellVerdict", "PublishedTable", "compare", "list_tables", "load_table", "summarise"]

Verdict = Literal["equal", "undefined, printed as zero", "rounded twice in print", "differs", "missing"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Column(_Strict):
    """One column: where its numbers come from."""

    title: str
    dataset: str
    bucket: str
    statistic: str


class Row(_Strict):
    """One row: the metric and the numbers as printed, one a column."""

    title: str
    metric: str
    printed: tuple[str, ...]


class PublishedTable(_Strict):
    """A published table."""

    name: str
    title: str
    source: str
    note: str = ""
    columns: tuple[Column, ...] = Field(min_length=1)
    rows: tuple[Row, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _complete(self) -> PublishedTable:
        for row in self.rows:
            if len(row.printed) != len(self.columns):
                raise ValueError(f"row {row.title}: {len(row.printed)} numbers for {len(self.columns)} columns")
        return self

    @property
    def datasets(self) -> tuple[str, ...]:
        """The datasets, each once."""
        return tuple(dict.fromkeys(column.dataset for column in self.columns))

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics, in order."""
        return tuple(row.metric for row in self.rows)

    @property
    def statistics(self) -> tuple[str, ...]:
        """The statistics, each once."""
        return tuple(dict.fromkeys(column.statistic for column in self.columns))


@dataclass(frozen=True)
class CellVerdict:
    """One cell: what was printed, what came out, and how they compare; difference = reproduced - printed."""

    row: str
    column: str
    printed: str
    value: float | None
    difference: float | None
    verdict: Verdict


def _folder() -> dict[str, Traversable]:
    folder = resources.files("assay.reports") / "published"
    return {path.name.removesuffix(".toml"): path for path in folder.iterdir() if path.name.endswith(".toml")}


def list_tables() -> list[PublishedTable]:
    """Return the tables that ship with assay, by name."""
    return [load_table(name) for name in sorted(_folder())]


def load_table(name: str) -> PublishedTable:
    """Return a published table.

    Raises:
        InputError: there is none of that name.
    """
    known = _folder()
    if name not in known:
        raise InputError(
            f"there is no published table {name!r}; there are {', '.join(sorted(known))}.{suggest(name, known)}"
        )
    return PublishedTable.model_validate(tomllib.loads(known[name].read_text(encoding="utf-8")))


def compare(table: PublishedTable, agreement: list[dict[str, Any]]) -> list[CellVerdict]:
    """Hold every published cell against an agreement table (a list of its rows), row by row."""
    found = {(r["dataset"], r["bucket"], r["metric"], r["statistic"]): r["value"] for r in agreement}
    verdicts = []
    for row in table.rows:
        for column, printed in zip(table.columns, row.printed, strict=True):
            key = (column.dataset, column.bucket, row.metric, column.statistic)
            if key not in found:
                verdicts.append(CellVerdict(row.title, column.title, printed, None, None, "missing"))
                continue
            value = found[key]
            difference = None if value is None else value - float(printed)
            verdicts.append(CellVerdict(row.title, column.title, printed, value, difference, judge(printed, value)))
    return verdicts


def judge(printed: str, value: float | None) -> Verdict:
    """Compare a number with its printed form, to the decimals of the print.

    A number that fits only when it is rounded to one decimal more first (.7346, .735, .74) was rounded twice.
    """
    target = Decimal(printed)
    if value is None:
        return "undefined, printed as zero" if target == 0 else "missing"
    unit = Decimal(1).scaleb(int(target.as_tuple().exponent))
    exact = Decimal(repr(value))
    if exact.quantize(unit, ROUND_HALF_UP) == target:
        return "equal"
    if exact.quantize(unit / 10, ROUND_HALF_UP).quantize(unit, ROUND_HALF_UP) == target:
        return "rounded twice in print"
    return "differs"


def summarise(verdicts: list[CellVerdict]) -> str:
    """Return one line: how many cells are equal, and what the others are."""
    counts: dict[str, int] = {}
    for cell in verdicts:
        counts[cell.verdict] = counts.get(cell.verdict, 0) + 1
    undefined = counts.pop("undefined, printed as zero", 0)
    equal = counts.pop("equal", 0) + undefined
    line = f"{equal} of {len(verdicts)} cells equal as printed"
    if undefined:
        line += f" ({undefined} of them undefined here and printed as zero)"
    return "; ".join([line, *(f"{count} {verdict}" for verdict, count in counts.items())])
