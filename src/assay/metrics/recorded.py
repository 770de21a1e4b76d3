"""A score that a data file carries already."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import ClassVar

from assay.errors import InputError
from assay.metrics.base import ColumnMetric, Declaration, option

__all__ = ["Recorded"]

_FILE = re.compile(r"(?P<file>.+?\.(?:csv|tsv|txt|jsonl|json|parquet))#(?P<column>.*)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class Recorded(ColumnMetric):
    """A column of the data (``recorded:sas``) or of another file (``recorded:scores.csv#sas``).

    A file is recognised by its ending (.csv, .tsv, .txt, .jsonl, .json, .parquet) before the first ``#``;
    any other ``#`` belongs to the column's name. The score is taken as it stands, so its range is not known.
    """

    subject: str = option(help="COLUMN, or FILE#COLUMN")
    lower_is_better: bool = option(False, "a low score means similar")

    declaration: ClassVar[Declaration] = Declaration(
        name="recorded",
        kind="recorded",
        summary="a score that the data carries already",
        low=-math.inf,
        high=math.inf,
        subject="COLUMN or FILE#COLUMN",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.column:
            raise InputError(f"metric {self}: no column is named after the '#'; write recorded:FILE#COLUMN")
        if self.lower_is_better:
            self.redeclare(higher_is_better=False)

    @property
    def column(self) -> str:
        """The name of the column."""
        found = _FILE.fullmatch(self.subject)
        return found["column"] if found else self.subject

    @property
    def file(self) -> str | None:
        """The file that has the column, or None for the data itself."""
        found = _FILE.fullmatch(self.subject)
        return found["file"] if found else None

    def data_signature(self) -> dict[str, str]:
        """Return the digest of the file, where there is one and it can be read."""
        from pathlib import Path

        from assay.metrics.provenance import file_digest

        path = None if self.file is None else Path(self.file)
        return {"sha256": file_digest(path)} if path is not None and path.is_file() else {}
