"""Tables whose rows are not pairs: the answers of several systems side by side, and preferences between two answers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from assay.common.messages import Setting
from assay.datasets.columns import PREFERENCE_FIELDS, SourceTable
from assay.datasets.readers.jsonl import column_of
from assay.datasets.reading import Reading, normalised_word
from assay.exceptions import InputError, unknown_name

#: What stands for the name of a system in a column's name.
SYSTEM = "{system}"
#: Words of a preference for the first answer, for the second, and for none.
FIRST_WORDS = ("a", "1", "first", "left", "model_a", "answer_a", "response_a", "candidate", "a>b", "win")
SECOND_WORDS = ("b", "2", "second", "right", "model_b", "answer_b", "response_b", "other", "b>a", "loss", "lose")
TIE_WORDS = ("tie", "equal", "both", "draw", "neither", "same", "a=b", "=", "tie (bothbad)", "both_bad", "bothbad")

#: Names that people give the columns of the two systems whose answers are compared.
SYSTEM_PAIRS = (
    ("model_a", "model_b"),
    ("system_a", "system_b"),
    ("model_1", "model_2"),
    ("system_1", "system_2"),
    ("model1", "model2"),
    ("system1", "system2"),
)

Columns = Mapping[str, Sequence[str]]


class Reshaped(NamedTuple):
    """A table whose rows are pairs.

    Attributes:
        source: the rows.
        columns: the source columns of each pair column.
        notes: what was done.
    """

    source: SourceTable
    columns: dict[str, list[str]]
    notes: tuple[str, ...] = ()


def pairs_as_rows(source: SourceTable, columns: Columns, reading: Reading) -> Reshaped:
    """Return a table with one row per pair, as the mapping of columns says; most tables stay as they are.

    With ``{system}`` in names of columns each row becomes one row per system, and the column ``system`` has its name.
    With ``other`` and ``preference`` each row becomes two of one group, with the labels 1 and 0, or .5 for a tie, and
    the column ``system`` if the columns of both systems are named (``system=model_a+model_b``) or have usual names.

    Args:
        source: the table as it was read.
        columns: the mapping of the user, see :func:`~assay.datasets.columns.parse_columns`.
        reading: the user's settings, whose labels give words of a preference a number.

    Raises:
        InputError: no column fits a pattern, a system lacks a column, or a preference is unknown.
    """
    plain = {name: list(sources) for name, sources in columns.items()}
    if any(SYSTEM in name for names in plain.values() for name in names):
        return _rows_per_system(source, plain)
    if any(name in plain for name in PREFERENCE_FIELDS):
        return _rows_per_answer(source, plain, reading)
    return Reshaped(source, plain)


def _rows_per_system(source: SourceTable, columns: dict[str, list[str]]) -> Reshaped:
    """Return one row per system of each row."""
    names = source.table.column_names
    patterns = [name for sources in columns.values() for name in sources if SYSTEM in name]
    systems_by_pattern = {pattern: _systems(pattern, names) for pattern in patterns}
    systems = list(dict.fromkeys(system for found in systems_by_pattern.values() for system in found))
    for pattern, found in systems_by_pattern.items():
        if not found:
            raise InputError(unknown_name(f"{source.name}: no column fits", pattern, names), setting="columns")
        for system in systems:
            if system not in found:
                lacking = pattern.replace(SYSTEM, system)
                raise InputError(f"{source.name}: the system {system!r} has no column {lacking!r}", setting="columns")
    if "system" in names:
        raise InputError(f"{source.name}: has a column 'system' already; rename it")
    count, rows = len(systems), source.table.num_rows
    wide = {pattern.replace(SYSTEM, system) for pattern in patterns for system in systems}
    index = pa.array(np.repeat(np.arange(rows), count))
    table = source.table.select([name for name in names if name not in wide]).take(index)
    # the answers of one row stay together
    order = pa.array(np.arange(rows * count).reshape(count, rows).T.reshape(-1))
    for pattern in patterns:
        parts = [source.table.column(pattern.replace(SYSTEM, system)) for system in systems]
        kinds = {part.type for part in parts}
        chunks = [chunk if len(kinds) == 1 else chunk.cast(pa.string()) for part in parts for chunk in part.chunks]
        table = table.append_column(pattern, pa.chunked_array(chunks).take(order))
    table = table.append_column("system", pa.array(systems * rows))
    note = f"{rows:,} rows with the answers of {count} systems ({', '.join(systems)}) read as {rows * count:,} pairs"
    return _with_identifiers(source, table, columns, systems, note)


def _with_identifiers(
    source: SourceTable, table: pa.Table, columns: dict[str, list[str]], suffixes: list[str], note: str
) -> Reshaped:
    """Return the table with identifiers ``ROW-SUFFIX``, as a row of the file has become one row per suffix."""
    name = columns.get("pair_id", ["pair_id"])[0]
    count = len(suffixes)
    identifiers = source.table.column(name).to_pylist() if name in source.table.column_names else source.numbers()
    texts = [f"{identifier}-{suffix}" for identifier in identifiers for suffix in suffixes]
    if name in table.column_names:
        table = table.drop_columns([name])
    table = table.append_column("pair_id", pa.array(texts))
    numbers = np.repeat(source.numbers(), count)
    misfits = {key: misfit._replace(row=misfit.row * count) for key, misfit in source.misfits.items()}
    reshaped = replace(source, table=table, rows=numbers, misfits=misfits)
    return Reshaped(reshaped, columns | {"pair_id": ["pair_id"]}, (note,))


def _systems(pattern: str, names: Sequence[str]) -> list[str]:
    """Return what stands for the system in the names of columns that fit a pattern."""
    expression = re.compile("(.+)".join(map(re.escape, pattern.split(SYSTEM, 1))))
    return [match[1] for name in names if (match := expression.fullmatch(name))]


def _rows_per_answer(source: SourceTable, columns: dict[str, list[str]], reading: Reading) -> Reshaped:
    """Return two rows of one group for each preference between two answers, the preferred one with the label 1."""
    names = source.table.column_names
    for field in ("candidate", "other", "preference"):
        if field not in columns:
            raise InputError(
                f"{source.name}: a preference needs two answers and which is better: ",
                Setting("columns", "candidate=A,other=B,preference=WINNER"),
            )
        if columns[field][0] not in names:
            raise InputError(
                unknown_name(f"{source.name}, for {field}: has no column", columns[field][0], names), setting="columns"
            )
    if "label" in columns:
        raise InputError(f"{source.name}: preferences have no label of their own; leave it out", setting="columns")
    first, second, winner = (columns[field][0] for field in ("candidate", "other", "preference"))
    systems = _system_columns(source, columns.get("system"))
    labels, by_name = _labels_of_first(source, winner, (first, second), systems, reading)
    rows = source.table.num_rows
    table = source.table.drop_columns([second]).take(pa.array(np.repeat(np.arange(rows), 2)))
    both = zip(source.table.column(first).to_pylist(), source.table.column(second).to_pylist(), strict=True)
    answers = [answer for pair in both for answer in pair]
    table = table.set_column(table.column_names.index(first), first, column_of(answers))
    values = np.stack([labels, 1 - labels], axis=1).reshape(-1)
    columns = {name: sources for name, sources in columns.items() if name not in PREFERENCE_FIELDS}
    added = {"label": pa.array(values, mask=np.isnan(values)), "position": pa.array(["first", "second"] * rows)}
    if "group" not in columns and "group" not in names:
        added["group"] = pa.array(np.repeat(source.numbers(), 2)).cast(pa.string())
    if systems:
        cells_of_systems = [source.table.column(name).cast(pa.string()).to_pylist() for name in systems]
        added["system"] = pa.array([name for pair in zip(*cells_of_systems, strict=True) for name in pair], pa.string())
    for name, cells in added.items():
        if name in table.column_names:
            raise InputError(f"{source.name}: has a column {name!r} beside preferences; rename it")
        table = table.append_column(name, cells)
    ties = int((labels == 0.5).sum())
    note = f"{rows:,} preferences, {ties:,} of them ties, read as {2 * rows:,} answers with the labels 1, 0 and .5"
    if systems:
        note += f", of the systems in {' and '.join(systems)}" + (f", which {winner} names" if by_name else "")
    return _with_identifiers(source, table, columns, ["first", "second"], note)


def _system_columns(source: SourceTable, given: Sequence[str] | None) -> tuple[str, str] | None:
    """Return the columns that name the systems of both answers: those given, or with usual names; None without any.

    Raises:
        InputError: not two columns are given, or one is missing.
    """
    names = source.table.column_names
    if given is None:
        return next((pair for pair in SYSTEM_PAIRS if set(pair) <= set(names)), None)
    wanted = given[0].split("+") if len(given) == 1 else given
    if len(wanted) != 2:
        raise InputError(
            f"{source.name}: the two answers of a preference are of two systems: ",
            Setting("columns", "system=SYSTEM_A+SYSTEM_B"),
        )
    for name in wanted:
        if name not in names:
            raise InputError(unknown_name(f"{source.name}, for system: has no column", name, names), setting="columns")
    return wanted[0], wanted[1]


def _labels_of_first(
    source: SourceTable,
    winner: str,
    answers: tuple[str, str],
    systems: tuple[str, str] | None,
    reading: Reading,
) -> tuple[np.ndarray[Any, np.dtype[np.float64]], bool]:
    """Return the label of the first answer of each row, and whether preferences are the names of systems.

    The label is 1 if the answer is preferred, .5 for a tie, NaN if nothing is said. A preference names an answer, or,
    if all of a column do, the system that gave it.

    Raises:
        InputError: a word is unknown, at its row.
    """
    first, second = answers
    configured = reading.configured_numbers()
    ties = {} if configured else dict.fromkeys(TIE_WORDS, 0.5)
    numbers = configured or {
        **dict.fromkeys((*FIRST_WORDS, normalised_word(first)), 1.0),
        **dict.fromkeys((*SECOND_WORDS, normalised_word(second)), 0.0),
        **ties,
    }
    words = [normalised_word("" if cell is None else str(cell)) for cell in source.table.column(winner).to_pylist()]
    numbers_of_rows = [numbers] * len(words)
    by_name = False
    if systems and not configured:
        names = zip(*(source.table.column(name).cast(pa.string()).to_pylist() for name in systems), strict=True)
        of_systems = [{normalised_word(a or ""): 1.0, normalised_word(b or ""): 0.0} | ties for a, b in names]
        by_name = all(word in known or reading.is_missing(word) for word, known in zip(words, of_systems, strict=True))
        numbers_of_rows = of_systems if by_name else numbers_of_rows
    labels = []
    for row, (word, known) in enumerate(zip(words, numbers_of_rows, strict=True)):
        if word not in known and not reading.is_missing(word):
            cell = source.table.column(winner)[row].as_py()
            raise InputError(
                f"{source.location(row)}, column {winner}: the preference {str(cell)!r} is unknown; say which label the"
                " first answer gets: ",
                Setting("labels", f"{cell}=NUMBER"),
                " (1 preferred, 0.5 tie, 0 not)",
            )
        labels.append(known.get(word, np.nan))
    return np.array(labels, dtype=np.float64), by_name
