"""Published tables compared with reproduced ones, cell by cell."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from decimal import ROUND_HALF_UP, Decimal
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from assay.common.declarations import setting
from assay.exceptions import InputError, unknown_name
from assay.manifest import AgreementRow
from assay.settings import Offline, WithProgress

# The published numbers live in TOML files with their source; each column is a dataset, bucket and
# statistic, each row is a metric. Numbers are kept as printed, so that their decimals are known. The name of a metric
# that reads word vectors contains ``{vectors}``, which is replaced by the user's file.

#: The verdict on a cell of a row that needs word vectors if none were given.
LEFT_OUT = "left out"
#: The verdict on a cell of which the publication prints no number, such as a point of a figure.
NOT_PRINTED = "not printed"
#: The verdict on a cell that is not computed, or not equal, for the reason that its row gives.
EXPLAINED = "explained"


_VECTORS_PLACEHOLDER = "{vectors}"


Judgement = Literal["equal", "undefined, printed as zero", "rounded twice in print", "differs", "missing"]


class _PublishedPart(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PublishedColumn(_PublishedPart):
    """One column: the dataset, which may include version and split, the bucket, and the statistic.

    The bucket ``mean over COLUMN`` is the mean over the buckets of a column.
    """

    title: str
    dataset: str
    bucket: str
    statistic: str

    def matches(self, row: AgreementRow) -> bool:
        """Return whether a row of an agreement table belongs to this column."""
        name, _, split = self.dataset.partition(":")
        # the agreement table names datasets without their version, which follows the @, and with their split if a run
        # has several
        column_key = name.partition("@")[0], self.bucket, self.statistic
        row_key = row.dataset.partition(":")[0], row.bucket, row.statistic
        return row_key == column_key and split in ("", row.split)


class PublishedRow(_PublishedPart):
    """One row: the metric and the numbers as printed, one per column.

    Attributes:
        metric: its name; empty if assay has none that computes the numbers, such as a model that is not published.
        printed: the numbers; an empty text where none is printed, empty if the row has none.
        within: the tolerance, in the unit of the print, if equal numbers cannot be expected; *note* has the reason.
        explained: why the numbers are not those of the metric, such as another definition or another model.
    """

    title: str
    metric: str = ""
    printed: tuple[str, ...] = ()
    within: float | None = Field(default=None, gt=0)
    note: str = ""
    explained: str = ""

    def metric_name(self, vectors_path: str | None) -> str | None:
        """Return the metric's name with the path of the word vectors that it reads inserted, if it reads any.

        The name is None if the metric reads word vectors but *vectors_path* is None.
        """
        if _VECTORS_PLACEHOLDER not in self.metric:
            return self.metric
        return None if vectors_path is None else self.metric.replace(_VECTORS_PLACEHOLDER, vectors_path)

    @model_validator(mode="after")
    def _check_tolerance_has_note(self) -> PublishedRow:
        """Reject a tolerance without a note, and a row without a metric that is not explained."""
        if self.within is not None and not self.note:
            raise ValueError(f"row {self.title}: a tolerance needs its reason, as a note")
        if not self.metric and not self.explained:
            raise ValueError(f"row {self.title}: a row without a metric needs its reason (explained)")
        return self


class PublishedTable(_PublishedPart):
    """A published table.

    Attributes:
        scale: the factor by which coefficients were multiplied in print.
        references: whether the best score of several references counts, or the mean.
    """

    name: str
    title: str
    source: str
    note: str = ""
    scale: float = Field(default=1, gt=0)
    references: Literal["best", "mean"] = "best"
    columns: tuple[PublishedColumn, ...] = Field(min_length=1)
    rows: tuple[PublishedRow, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _check_row_lengths(self) -> PublishedTable:
        for row in self.rows:
            if row.printed and len(row.printed) != len(self.columns):
                raise ValueError(f"row {row.title}: {len(row.printed)} numbers for {len(self.columns)} columns")
        return self

    @property
    def datasets(self) -> tuple[str, ...]:
        """The names of the datasets, without duplicates."""
        return tuple(dict.fromkeys(column.dataset for column in self.columns))

    def metrics(self, vectors: str | None = None) -> tuple[str, ...]:
        """Return the names of the metrics that can be computed, without duplicates, in the order of the rows.

        Args:
            vectors: the path of the word vectors; if None, the metrics that read word vectors are left out.
        """
        names = dict.fromkeys(row.metric_name(vectors) for row in self.rows)
        return tuple(name for name in names if name)

    @property
    def rows_with_vectors(self) -> tuple[str, ...]:
        """The titles of the rows that need word vectors."""
        return tuple(row.title for row in self.rows if row.metric_name(None) is None)

    @property
    def statistics(self) -> tuple[str, ...]:
        """The names of the statistics, without duplicates."""
        return tuple(dict.fromkeys(column.statistic for column in self.columns))


@dataclass(frozen=True)
class ReproduceSettings(Offline, WithProgress):
    """Settings of ``assay reproduce``."""

    name: str | None = setting("A published table; without a name they are listed.", None, argument=True)
    _: KW_ONLY
    vectors: str | Path | None = setting(
        "Word vectors (a GloVe file, say) for the rows that need them.", None, metavar="FILE"
    )
    out: str | Path | None = setting(
        "Also write the run that the table was computed from, for figures.",
        None,
        flags=("--out", "-o"),
        metavar="FOLDER",
    )


@dataclass(frozen=True)
class CellVerdict:
    """One cell: the printed number, the reproduced one, and their comparison.

    Attributes:
        row, column: the titles of row and column.
        printed: the number as printed; empty if none is.
        value: the reproduced number, in the unit of the print; None if undefined or not computed.
        difference: the value minus the printed number; None without either.
        verdict: ``equal``, ``within .5`` (or another tolerance of the row), ``explained``, ``differs`` and so on.
    """

    row: str
    column: str
    printed: str
    value: float | None
    difference: float | None
    verdict: str

    @property
    def left_out(self) -> bool:
        """Whether the value was not computed, since its row needs word vectors or no metric computes it."""
        return self.verdict == LEFT_OUT or (self.verdict == EXPLAINED and self.value is None)

    @property
    def failed(self) -> bool:
        """Whether the value should agree with the printed number but does not."""
        return self.verdict in ("differs", "missing")


def _table_files() -> dict[str, Traversable]:
    folder = resources.files("assay.analysis") / "published"
    return {path.name.removesuffix(".toml"): path for path in folder.iterdir() if path.name.endswith(".toml")}


def list_tables() -> list[PublishedTable]:
    """Return the tables that ship with assay, sorted by name."""
    return [load_table(name) for name in sorted(_table_files())]


def load_table(name: str) -> PublishedTable:
    """Return a published table.

    Raises:
        InputError: there is no table of that name.
    """
    files_by_name = _table_files()
    if name not in files_by_name:
        raise InputError(unknown_name("there is no published table", name, sorted(files_by_name)))
    return PublishedTable.model_validate(tomllib.loads(files_by_name[name].read_text(encoding="utf-8")))


def compare_cells(
    table: PublishedTable, agreement: Sequence[AgreementRow], vectors: str | None = None
) -> list[CellVerdict]:
    """Return the comparison of every published cell with an agreement table, row by row.

    A cell that the agreement table lacks is ``missing``; but ``explained`` if assay has no metric for its row, and
    ``left out`` if the metric needs word vectors and there are none.

    Args:
        table: the published table.
        agreement: the reproduced agreement.
        vectors: the path of the word vectors that the metrics of the agreement table read; None if there are none.
    """
    verdicts = []
    for row in table.rows:
        metric = row.metric_name(vectors)
        for column, printed in zip(table.columns, row.printed or [""] * len(table.columns), strict=True):
            values = [cell.value for cell in agreement if cell.metric == metric and column.matches(cell)]
            if row.metric and values:
                value = None if values[0] is None else values[0] * table.scale
                verdicts.append(_judge_cell(row, column, printed, value))
                continue
            verdict = "missing"
            if not row.metric:
                verdict = EXPLAINED
            elif metric is None:
                verdict = LEFT_OUT
            verdicts.append(
                CellVerdict(row.title, column.title, printed=printed, value=None, difference=None, verdict=verdict)
            )
    return verdicts


def _judge_cell(row: PublishedRow, column: PublishedColumn, printed: str, value: float | None) -> CellVerdict:
    """Return the verdict on a reproduced number: that of :func:`judge`, or why the numbers need not be equal.

    One that differs is ``within`` the tolerance of its row, or ``explained`` by it. Where no number is printed, the
    verdict is ``not printed``.

    Args:
        row, column: the row and the column of the cell.
        printed: the number as printed.
        value: the reproduced number in the unit of the print; None if it is undefined.
    """
    if not printed:
        return CellVerdict(row.title, column.title, printed=printed, value=value, difference=None, verdict=NOT_PRINTED)
    difference = None if value is None else value - float(printed)
    verdict = str(judge(printed, value))
    is_tolerated = row.within is not None and difference is not None and abs(difference) <= row.within
    if verdict == "differs" and is_tolerated:
        verdict = f"within {row.within:g}".replace(" 0.", " .")
    elif verdict == "differs" and row.explained:
        verdict = EXPLAINED
    return CellVerdict(row.title, column.title, printed=printed, value=value, difference=difference, verdict=verdict)


def judge(printed: str, value: float | None) -> Judgement:
    """Return how a number compares with its printed form, to the printed number of decimals.

    A number that fits only when it is rounded to one decimal more first (.7346, .735, .74) was rounded twice. An
    undefined number (None) is ``missing``, unless a zero was printed.

    Args:
        printed: the number as printed, in decimal digits.
        value: the number, in the unit of the print; None if it is undefined.
    """
    target = Decimal(printed)
    if value is None:
        return "undefined, printed as zero" if target == 0 else "missing"
    # one unit of the last printed decimal
    unit = Decimal(1).scaleb(int(target.as_tuple().exponent))
    exact = Decimal(repr(value))
    if exact.quantize(unit, ROUND_HALF_UP) == target:
        return "equal"
    if exact.quantize(unit / 10, ROUND_HALF_UP).quantize(unit, ROUND_HALF_UP) == target:
        return "rounded twice in print"
    return "differs"
