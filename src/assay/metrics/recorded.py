"""Metric ``recorded``: a score that is a column of the data or of a file."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import ClassVar

from assay.exceptions import InputError
from assay.metrics.base import ColumnMetric, Declaration, option
from assay.metrics.provenance import file_digest
from assay.paths import user_path

_FILE_AND_COLUMN = re.compile(
    r"(?P<file>.+?\.(?:csv|tsv|txt|jsonl|json|parquet))#(?P<column>.*)", re.IGNORECASE | re.DOTALL
)
_LAYER = "{layer}"


@dataclass(frozen=True)
class Recorded(ColumnMetric):
    """A column of the data (``recorded:sas``) or of another file (``recorded:scores.csv#sas``).

    A file is recognised by a suffix (.csv, .tsv, .txt, .jsonl, .json, .parquet) followed by ``#``; any other ``#``
    belongs to the column's name. The score is used unchanged, so its range is unknown. With *layer*, the column's name
    contains ``{layer}``, which stands for the number: figures draw such columns as the layers of one model.

    Raises:
        InputError: no column is named, or only one of *layer* and ``{layer}`` is given.
    """

    subject: str = option(help="COLUMN, or FILE#COLUMN")
    lower_is_better: bool = option(False, "a low score means similar")
    layer: int | None = option(None, "the number that replaces {layer} in the column's name", minimum=0)

    declaration: ClassVar[Declaration] = Declaration(
        name="recorded",
        kind="recorded",
        summary="a score that the data carries already",
        low=-math.inf,
        high=math.inf,
        subject="COLUMN or FILE#COLUMN",
    )

    def __post_init__(self) -> None:
        """Check that a column is named, and that *layer* and ``{layer}`` are given together; declare what is better.

        Raises:
            InputError: no column is named, only one of *layer* and ``{layer}`` is given, or an option has an invalid
                value.
        """
        super().__post_init__()
        if not self.column:
            raise InputError(f"metric {self}: no column is named after the '#'; write recorded:FILE#COLUMN")
        names_layer = _LAYER in self._named_column
        if names_layer != (self.layer is not None):
            raise InputError(
                f"metric {self}: write {_LAYER} in the column's name and ,layer=NUMBER after it, or neither"
            )
        if self.lower_is_better:
            self.redeclare(higher_is_better=False)

    @property
    def column(self) -> str:
        """The name of the column."""
        return self._named_column.replace(_LAYER, str(self.layer))

    @property
    def _named_column(self) -> str:
        """The name of the column as the user wrote it."""
        match = _FILE_AND_COLUMN.fullmatch(self.subject)
        return match["column"] if match else self.subject

    @property
    def file(self) -> str | None:
        """The file with the column; None for the data itself."""
        match = _FILE_AND_COLUMN.fullmatch(self.subject)
        return match["file"] if match else None

    def data_signature(self) -> dict[str, str]:
        """Return the SHA-256 digest of the file under the key ``sha256``.

        The dict is empty if the column is one of the data, or the file is missing.
        """
        path = None if self.file is None else user_path(self.file)
        if path is None or not path.is_file():
            return {}
        return {"sha256": file_digest(path)}
