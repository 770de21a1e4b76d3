"""A table as it was read, and which of its columns is which column of the pairs table."""

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
    """The first value of a column that can be no text: its place from 0, and what it is."""

    place: int
    what: str


@dataclass(frozen=True)
class SourceTable:
    """A table as it was read, with what is needed to name a row of it in a message.

    Attributes:
        table: the columns under their own names.
        name: the file, or what the data in memory is.
        unit: what a row is called: ``row`` (the header of a CSV is row 1) or ``line``.
        first: number of the first row of the table.
        rows: number of each row where they do not simply follow each other (blank lines); else None.
        as_text: every cell is text, as in CSV: a number must be read out of it.
        parts: of several files read as one table, the name of each and its first row in the table, from 0.
        misfits: by column that became text only because its values are of several kinds, the first that is no text.
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
        """Return the number by which a user knows the row at *index*."""
        return int(self.rows[index]) if self.rows is not None else self.first + int(index)

    def numbers(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return the numbers of all rows, int64 of shape (n,)."""
        if self.rows is not None:
            return self.rows
        return np.arange(self.first, self.first + self.table.num_rows, dtype=np.int64)

    def where(self, index: int) -> str:
        """Return ``FILE, row 7``; of several files the one that has the row, and its number there."""
        for name, start in reversed(self.parts):
            if index >= start:
                return f"{name}, {self.unit} {int(index) - start + self.first}"
        return f"{self.name}, {self.unit} {self.number(index)}"

    def some(self, indices: Iterable[int], limit: int = 5) -> str:
        """Return ``rows 4, 7, 9`` with at most *limit* numbers."""
        chosen = [int(i) for i in indices]
        shown = ", ".join(str(self.number(i)) for i in chosen[:limit])
        return f"{self.unit}{'s' if len(chosen) > 1 else ''} {shown}{', …' if len(chosen) > limit else ''}"


#: What a mapping may name. ``annotations`` comes from ``label=a1+a2``.
FIELDS = tuple(name for name in (*PAIR_COLUMNS, *OPTIONAL_PAIR_COLUMNS) if name != "annotations")

#: Names under which the two texts and the label of a pair often go: used in the suggested line only.
_OFTEN = {
    "reference": ("answer1", "sentence1", "sentence_a", "text1", "gold", "gold_answer", "target", "expected"),
    "candidate": ("answer2", "sentence2", "sentence_b", "text2", "prediction", "predicted", "answer", "output"),
    "label": ("score", "similarity", "rating", "gold_label", "human", "relatedness_score", "label_1"),
}


class MissingColumnsError(InputError):
    """Columns that are needed are not there under their names.

    Attributes:
        problem: the sentence that says so.
        columns: a mapping that would solve it, as for ``--columns``, guessed from the names; NAMES IN CAPITALS are to
            be filled in.
    """

    def __init__(self, problem: str, columns: str) -> None:
        super().__init__(f"{problem} Say which is which: `columns={shlex.quote(columns)}`")
        self.problem = problem
        self.columns = columns


def parse_columns(columns: str | Mapping[str, str | Sequence[str]] | None) -> dict[str, list[str]]:
    """Return the pair column each mapping entry names and the source columns it is made of.

    Args:
        columns: ``reference=answer1,candidate=answer2,label=a1+a2`` or a mapping; the values of a mapping
            are names as they are, and the label may be a list of names.

    Raises:
        InputError: not of that form, or a pair column that there is not.
    """
    if columns is None:
        return {}
    found: dict[str, list[str]] = {}
    if isinstance(columns, str):
        for part in re.split(r",(?=\s*\w+\s*=)", columns):
            name, equals, source = part.partition("=")
            if not equals or not source.strip():
                raise InputError(
                    f"`columns={columns!r}`: expected pairs such as reference=answer1,candidate=answer2"
                    f" where {part.strip()!r} stands"
                )
            _add(found, name.strip(), [source.strip()])
    else:
        for name, value in columns.items():
            _add(found, name, [value] if isinstance(value, str) else list(value))
    return found


def columns_text(columns: str | Mapping[str, str | Sequence[str]] | None) -> str | None:
    """Return a mapping of columns as one text, in the form of ``--columns``; None for none.

    Raises:
        InputError: a pair column that there is not; a name that the text could not hold.
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


def _add(found: dict[str, list[str]], name: str, sources: list[str]) -> None:
    if name not in FIELDS:
        raise InputError(unknown_name("`columns`: a pairs table has no column", name, FIELDS))
    if name in found:
        raise InputError(f"`columns`: {name} is given twice")
    if not sources or (len(sources) > 1 and name != "label"):
        raise InputError(f"`columns`: {name} takes one column; only label may be the mean of several")
    found[name] = sources


def resolve_columns(
    mapping: Mapping[str, Sequence[str]],
    have: Sequence[str],
    *,
    where: str,
    need_label: bool,
    need_texts: bool = True,
) -> dict[str, list[str]]:
    """Return for each pair column the source columns it comes from; those with equal names need no mapping.

    Args:
        mapping: the mapping that was given, see :func:`parse_columns`.
        have: the columns of the source.
        where: what the source is called in a message.
        need_label: whether the label must be there.
        need_texts: whether reference and candidate must be there.

    Raises:
        InputError: a column that the mapping names is not there: the nearest names.
        MissingColumnsError: a column that is needed is not there: the nearest names and the option that solves it.
    """
    resolved: dict[str, list[str]] = {}
    for name, sources in mapping.items():
        parts = list(sources)
        if name == "label" and len(parts) == 1 and parts[0] not in have and "+" in parts[0]:
            parts = [part.strip() for part in parts[0].split("+")]
        for part in parts:
            if part not in have:
                raise InputError(unknown_name(f"{where}, for {name}={'+'.join(parts)}: has no column", part, have))
        resolved[name] = parts
    for name in FIELDS:
        if name not in resolved and name in have:
            resolved[name] = [name]
    wanted = [*(["reference", "candidate"] if need_texts else []), *(["label"] if need_label else [])]
    missing = [name for name in wanted if name not in resolved]
    if missing:
        near = " ".join(filter(None, (suggest(name, have).strip() for name in missing)))
        guesses = {name: _guess(name, have, resolved) or name.upper() for name in missing}
        for name in _OFTEN:
            # what can do without may turn out to need it: a training the labels, a report on errors the texts
            if name not in guesses and name not in resolved and (guess := _guess(name, have, resolved)):
                guesses[name] = guess
        raise MissingColumnsError(
            f"{where}: has no column {' and no column '.join(missing)}; it has {', '.join(have)}."
            f"{' ' + near if near else ''}",
            ",".join(f"{name}={source}" for name, source in guesses.items()),
        )
    return resolved


def _guess(name: str, have: Iterable[str], resolved: Mapping[str, Sequence[str]]) -> str:
    """Return a column that often has what is looked for; an empty string where there is none."""
    taken = {part for parts in resolved.values() for part in parts}
    free = {column.lower(): column for column in have if column not in taken}
    for often in _OFTEN[name]:
        if often in free:
            return free[often]
    return ""
