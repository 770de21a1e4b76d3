"""Entities by their ways of being written: read from a file, and told apart where two share one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.datasets.files import read_table_file
from assay.datasets.source_table import SourceTable
from assay.errors import InputError, suggest
from assay.training.data import text_key

__all__ = ["MOST_ALIASES", "Entities", "Entity", "families", "read_entities"]

#: An entity with more aliases keeps none: they then rather name several things (Mustafazade and Ebbinghaus 2022, 3.2).
MOST_ALIASES = 3


@dataclass(frozen=True)
class Entity:
    """One entity: its name and the other ways of writing it, each once."""

    name: str
    aliases: tuple[str, ...] = ()

    @property
    def forms(self) -> tuple[str, ...]:
        """The name, then the aliases."""
        return (self.name, *self.aliases)


@dataclass(frozen=True)
class Entities:
    """The entities of a file.

    Attributes:
        all: in the order of the file.
        with_too_many: entities that had more than :data:`MOST_ALIASES` aliases.
        aliases_dropped: theirs, which are left out.
        digest: SHA-256 (hex) of names and aliases.
    """

    all: tuple[Entity, ...]
    with_too_many: int
    aliases_dropped: int

    def __len__(self) -> int:
        return len(self.all)

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of all names and aliases, in order."""
        return hashlib.sha256(json.dumps([one.forms for one in self.all]).encode()).hexdigest()


def read_entities(path: str | Path) -> Entities:
    """Read a CSV, TSV, JSONL or Parquet file with a column ``name`` and, if there are any, ``aliases``.

    A cell of aliases is a list, a JSON list as text, or texts with ``|`` between them. An alias that repeats the name
    or another alias to the letter is the same way of writing, and counts once.

    Raises:
        InputError: there is no column ``name``, no name in a row, or a cell of aliases is no list of texts; with the
            row.
    """
    source = read_table_file(path)
    columns = source.table.column_names
    if "name" not in columns:
        raise InputError(
            f"{source.name}: has no column 'name'.{suggest('name', columns)} It has {', '.join(columns)}; a file of "
            "entities has the columns name and aliases"
        )
    names = source.table.column("name").to_pylist()
    cells = source.table.column("aliases").to_pylist() if "aliases" in columns else [None] * len(names)
    found, too_many, dropped = [], 0, 0
    for row, (name, cell) in enumerate(zip(names, cells, strict=True)):
        text = "" if name is None else " ".join(str(name).split())
        if not text:
            raise InputError(f"{source.where(row)}, column name: there is no name")
        aliases = tuple(alias for alias in dict.fromkeys(_aliases(cell, source, row)) if alias != text)
        if len(aliases) > MOST_ALIASES:
            too_many, dropped, aliases = too_many + 1, dropped + len(aliases), ()
        found.append(Entity(text, aliases))
    return Entities(tuple(found), too_many, dropped)


def _aliases(cell: Any, source: SourceTable, row: int) -> list[str]:
    if isinstance(cell, str) and cell.lstrip().startswith("["):
        try:
            cell = json.loads(cell)
        except json.JSONDecodeError as error:
            raise InputError(
                f"{source.where(row)}, column aliases: is no JSON list ({error.msg}, character {error.pos + 1})"
            ) from None
    elif isinstance(cell, list) and len(cell) == 1 and isinstance(cell[0], str):
        cell = cell[0]  # a text among lists is read as a list of it
    if cell is None:
        return []
    parts = cell.split("|") if isinstance(cell, str) else cell
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise InputError(f"{source.where(row)}, column aliases: must be texts with | between them, or a list of texts")
    return [text for part in parts if (text := " ".join(part.split()))]


def families(entities: Sequence[Entity]) -> NDArray[np.int64]:
    """Return a number for each entity that those have in common which share a way of being written.

    Two ways are the same that have the same words, whatever their case and punctuation, see
    :func:`~assay.lexicon.keys.text_key`. Entities of one family may be the same thing, so that they are neither paired
    at random nor put into two splits.

    Returns:
        Numbers from 0 on, shape (n,).
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    numbers: dict[str, int] = {}
    edges = [
        (row, numbers.setdefault(text_key(form), len(numbers)))
        for row, entity in enumerate(entities)
        for form in entity.forms
    ]
    rows, forms = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    size = len(entities) + len(numbers)
    graph = coo_array((np.ones(len(rows), dtype=np.int8), (rows, len(entities) + forms)), shape=(size, size))
    found = connected_components(graph, directed=False)[1][: len(entities)]
    return np.unique(found, return_inverse=True)[1].astype(np.int64)
