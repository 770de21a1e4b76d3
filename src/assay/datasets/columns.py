"""Source tables, and the mapping from their columns to the columns of the pairs table."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from assay.errors import InputError, suggest, unknown_name
from assay.tables import OPTIONAL_PAIR_COLUMNS, PAIR_COLUMNS


class Misfit(NamedTuple):
    """The first value of a column that cannot be read as text: its row index (from 0), and a description of it."""

    place: int
    what: str


@dataclass(frozen=True)
class SourceTable:
    """A table as it was read, with the facts needed to locate a row in messages.

    Attributes:
        table: the columns under their own names.
        name: the file, or a description of data in memory.
        unit: the word for a row in messages: ``row`` (the header of a CSV is row 1) or ``line``.
        first: the number of the first row, as a user counts rows in the source.
        rows: the number of each row, int64, shape (n,), if the numbers are not consecutive (blank lines); else None.
        as_text: whether every cell is text, as in CSV, so that numbers must be parsed.
        parts: for several files read as one table, the name of each file and the index of its first row, from 0.
        misfits: by column, for columns of mixed types that were converted to text, the first value that is not text.
    """

    table: pa.Table
    name: str
    unit: str = "row"
    first: int = 0
    rows: np.ndarray[Any, np.dtype[np.int64]] | None = None
    as_text: bool = False
    parts: tuple[tuple[str, int], ...] = ()
    misfits: Mapping[str, Misfit] = field(default_factory=dict)

    def number(self, index: int) -> int:
        """Return the number of the row at *index*, as a user counts it in the source."""
        return int(self.rows[index]) if self.rows is not None else self.first + int(index)

    def numbers(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return the numbers of all rows, int64 of shape (n,)."""
        if self.rows is not None:
            return self.rows
        return np.arange(self.first, self.first + self.table.num_rows, dtype=np.int64)

    def where(self, index: int) -> str:
        """Return the location of a row, such as ``FILE, row 7``; of several files, the file and its own row number."""
        for name, start in reversed(self.parts):
            if index >= start:
                return f"{name}, {self.unit} {int(index) - start + self.first}"
        return f"{self.name}, {self.unit} {self.number(index)}"

    def some(self, indices: Iterable[int], limit: int = 5) -> str:
        """Return the numbers of some rows as text, such as ``rows 4, 7, 9``, with at most *limit* numbers."""
        chosen = [int(i) for i in indices]
        shown = ", ".join(str(self.number(i)) for i in chosen[:limit])
        return f"{self.unit}{'s' if len(chosen) > 1 else ''} {shown}{', …' if len(chosen) > limit else ''}"


#: The pair columns that a mapping may name. ``annotations`` is not among them, since ``label=a1+a2`` creates it.
FIELDS = tuple(name for name in (*PAIR_COLUMNS, *OPTIONAL_PAIR_COLUMNS) if name != "annotations")

#: Frequent names of the columns with the texts and the label of a pair; used only for suggestions.
_FREQUENT_NAMES = {
    "reference": ("answer1", "sentence1", "sentence_a", "text1", "gold", "gold_answer", "target", "expected"),
    "candidate": ("answer2", "sentence2", "sentence_b", "text2", "prediction", "predicted", "answer", "output"),
    "label": ("score", "similarity", "rating", "gold_label", "human", "relatedness_score", "label_1"),
}


class MissingColumnsError(InputError):
    """Raised if required columns are missing.

    Attributes:
        problem: the sentence that describes the problem.
        columns: a value of ``--columns`` that would solve the problem, guessed from the column names of the source; the
            user must replace NAMES IN CAPITALS.
    """

    def __init__(self, problem: str, columns: str) -> None:
        super().__init__(f"{problem} Say which is which: `columns={shlex.quote(columns)}`")
        self.problem = problem
        self.columns = columns


def parse_columns(columns: str | Mapping[str, str | Sequence[str]] | None) -> dict[str, list[str]]:
    """Return the source columns of each pair column that a mapping names, by pair column.

    Args:
        columns: ``reference=answer1,candidate=answer2,label=a1+a2``, or a mapping, whose values are literal names or,
            for the label, a list of names; None for an empty result.

    Raises:
        InputError: the text has another form, or names an unknown or duplicate pair column.
    """
    if columns is None:
        return {}
    mapping: dict[str, list[str]] = {}
    if isinstance(columns, str):
        for assignment in re.split(r",(?=\s*\w+\s*=)", columns):
            name, equals, source = assignment.partition("=")
            if not equals or not source.strip():
                raise InputError(
                    f"`columns={columns!r}`: expected pairs such as reference=answer1,candidate=answer2"
                    f" where {assignment.strip()!r} stands"
                )
            _add_source_columns(mapping, name.strip(), [source.strip()])
    else:
        for name, sources in columns.items():
            _add_source_columns(mapping, name, [sources] if isinstance(sources, str) else list(sources))
    return mapping


def columns_text(columns: str | Mapping[str, str | Sequence[str]] | None) -> str | None:
    """Return a mapping of columns as one text, in the form of ``--columns``; None for none.

    Raises:
        InputError: an unknown pair column, or a name that cannot be written in that form.
    """
    if columns is None or isinstance(columns, str):
        return columns
    mapping = parse_columns(columns)
    for sources in mapping.values():
        for source in sources:
            if "," in source or ("+" in source and len(sources) > 1):
                raise InputError(
                    f"columns: the name {source!r} has a sign that joins names (+ or ,); rename the column"
                )
    return ",".join(f"{name}={'+'.join(sources)}" for name, sources in mapping.items())


def _add_source_columns(mapping: dict[str, list[str]], name: str, sources: list[str]) -> None:
    if name not in FIELDS:
        raise InputError(unknown_name("`columns`: a pairs table has no column", name, FIELDS))
    if name in mapping:
        raise InputError(f"`columns`: {name} is given twice")
    if not sources or (len(sources) > 1 and name != "label"):
        raise InputError(f"`columns`: {name} takes one column; only label may be the mean of several")
    mapping[name] = sources


def resolve_columns(
    mapping: Mapping[str, Sequence[str]],
    have: Sequence[str],
    *,
    where: str,
    need_label: bool,
    need_texts: bool = True,
) -> dict[str, list[str]]:
    """Return the source columns of each pair column; source columns with the name of a pair column need no mapping.

    Args:
        mapping: the user's mapping, see :func:`parse_columns`.
        have: the columns of the source.
        where: the name of the source for messages.
        need_label: whether the label is required.
        need_texts: whether reference and candidate are required.

    Raises:
        InputError: the mapping names a missing column; the message lists similar names.
        MissingColumnsError: a required column is missing; the message has similar names and the option that solves it.
    """
    resolved: dict[str, list[str]] = {}
    for name, sources in mapping.items():
        source_names = list(sources)
        if name == "label" and len(source_names) == 1 and source_names[0] not in have and "+" in source_names[0]:
            source_names = [source_name.strip() for source_name in source_names[0].split("+")]
        for source_name in source_names:
            if source_name not in have:
                raise InputError(
                    unknown_name(f"{where}, for {name}={'+'.join(source_names)}: has no column", source_name, have)
                )
        resolved[name] = source_names
    for name in FIELDS:
        if name not in resolved and name in have:
            resolved[name] = [name]
    required_names = [*(["reference", "candidate"] if need_texts else []), *(["label"] if need_label else [])]
    missing = [name for name in required_names if name not in resolved]
    if missing:
        suggestions = " ".join(filter(None, (suggest(name, have).strip() for name in missing)))
        guessed_columns = {name: _guess_column(name, have, resolved) or name.upper() for name in missing}
        for name in _FREQUENT_NAMES:
            # optional columns are guessed as well, since the caller's next step may require them: the labels for
            # training, the texts for a report on errors
            if name not in guessed_columns and name not in resolved and (guess := _guess_column(name, have, resolved)):
                guessed_columns[name] = guess
        raise MissingColumnsError(
            f"{where}: has no column {' and no column '.join(missing)}; it has {', '.join(have)}."
            f"{' ' + suggestions if suggestions else ''}",
            ",".join(f"{name}={source}" for name, source in guessed_columns.items()),
        )
    return resolved


def _guess_column(name: str, have: Iterable[str], resolved: Mapping[str, Sequence[str]]) -> str:
    """Return the unused source column with a frequent name of the pair column *name*; empty if there is none."""
    used = {part for parts in resolved.values() for part in parts}
    unused = {column.lower(): column for column in have if column not in used}
    for frequent_name in _FREQUENT_NAMES[name]:
        if frequent_name in unused:
            return unused[frequent_name]
    return ""
