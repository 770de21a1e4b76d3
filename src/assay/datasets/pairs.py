"""The pairs table: what people said about pairs of texts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assay.batches import codes_of_names, distinct_rows, row_digests, take_table
from assay.errors import InputError, unknown_name
from assay.tables import GRAPH_COLUMNS, OPTIONAL_PAIR_COLUMNS, PAIR_COLUMNS

#: Key of the schema metadata that says which source column became which pair column.
RENAMED = b"assay.renamed"


@dataclass(frozen=True)
class Pairs:
    """Pairs of texts with human labels, held as one Arrow table.

    Attributes:
        table: columns ``pair_id`` string (unique), ``reference`` string or list<string> (several gold
            answers), ``candidate`` string, ``label`` float64 (null where unlabelled); where the data has
            them ``question, subset, split, language, group`` string and ``annotations`` list<float64>;
            then every further column of the source under its own name and type.
        name: the dataset's name, as shown in tables.
        version: the version of its card, or an empty string.
        split: the split, ``train+dev`` for several (the column ``split`` then tells them apart), or an empty
            string.
        language: a code such as ``en``; None where unknown or mixed.
        scale: lowest and highest label possible; None where unknown.
        kind: ``human`` (a card of human labels), ``probe`` (labels by a rule, a category each), ``machine`` (labels by
            a model or a rule, for training), or ``own`` (the user's data).
        source: what was read.
        sha256: of the files read, in order; an empty string for data in memory.
        notes: what a reader of the numbers should know, such as rows left out.
        hints: what may have been read in another way than the user meant, with the setting that reads it so.
        reading: how a table of the user's own was read, see :meth:`~assay.datasets.reading.Reading.record`; empty for a
            card.
    """

    table: pa.Table
    name: str
    version: str = ""
    split: str = ""
    language: str | None = None
    scale: tuple[float, float] | None = None
    kind: str = "own"
    source: str = ""
    sha256: str = ""
    notes: tuple[str, ...] = field(default=())
    hints: tuple[str, ...] = field(default=())
    reading: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @cached_property
    def digest(self) -> str:
        """SHA-256 (hex) of the pair columns in row order; the same however the table is chunked."""
        whole = hashlib.sha256()
        for name in (*PAIR_COLUMNS, *OPTIONAL_PAIR_COLUMNS):
            if name in self.table.column_names:
                whole.update(f"{name}\0".encode())
                whole.update(_column_digest(self.table.column(name)))
        return whole.hexdigest()

    @cached_property
    def other_digest(self) -> str:
        """SHA-256 (hex) of all other columns: recorded scores and whatever buckets and groups may read."""
        whole = hashlib.sha256()
        for name in self.table.column_names:
            if name not in (*PAIR_COLUMNS, *OPTIONAL_PAIR_COLUMNS):
                whole.update(f"{name}\0{self.table.schema.field(name).type}\0".encode())
                for start in range(0, len(self), 1 << 16):
                    cells = self.table.column(name).slice(start, 1 << 16).to_pylist()
                    whole.update(repr(cells).encode("utf-8", "surrogatepass"))
        return whole.hexdigest()

    @cached_property
    def labels(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The labels, float64 of shape (n,); NaN where unlabelled."""
        column = pc.fill_null(self.table.column("label"), float("nan"))
        values = np.asarray(column.to_numpy(), dtype=np.float64)
        values.setflags(write=False)
        return values

    @property
    def has_several_references(self) -> bool:
        """Whether each reference is a list of gold answers."""
        return _is_list(self.table.schema.field("reference").type)

    def texts(
        self, start: int = 0, stop: int | None = None
    ) -> tuple[list[str] | list[list[str]], list[str], list[str] | None]:
        """Return references, candidates and questions (None where there are none) of rows start to stop.

        Only that slice becomes Python strings. With several gold answers a reference is a list; a question
        that is not known is an empty string.
        """
        stop = len(self) if stop is None else min(stop, len(self))
        part = self.table.slice(start, max(0, stop - start))
        questions = None
        if "question" in part.column_names:
            questions = pc.fill_null(part.column("question"), "").to_pylist()
        return part.column("reference").to_pylist(), part.column("candidate").to_pylist(), questions

    @property
    def source_columns(self) -> list[str]:
        """Names by which :meth:`column` finds a column: those of the table and those of the source."""
        renamed: dict[str, str] = json.loads((self.table.schema.metadata or {}).get(RENAMED, b"{}"))
        return list(dict.fromkeys([*self.table.column_names, *renamed]))

    def column(self, name: str) -> pa.ChunkedArray:
        """Return a column by its name in the table or in the source.

        Raises:
            InputError: there is no such column (with the nearest names).
        """
        names = self.table.column_names
        if name in names:
            return self.table.column(name)
        renamed: dict[str, str] = json.loads((self.table.schema.metadata or {}).get(RENAMED, b"{}"))
        if name in renamed:
            return self.table.column(renamed[name])
        raise InputError(unknown_name(f"{self.name}: has no column", name, [*names, *renamed]))

    def with_column(self, name: str, values: Any) -> Pairs:
        """Return the pairs with one column more (Arrow or NumPy, shape (n,)), or with that column replaced."""
        column = values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values)
        if name in self.table.column_names:
            place = self.table.column_names.index(name)
            return replace(self, table=self.table.set_column(place, name, column))
        return replace(self, table=self.table.append_column(name, column))

    def take(self, indices: Sequence[int] | np.ndarray[Any, Any]) -> Pairs:
        """Return the rows at *indices*, in that order."""
        return replace(self, table=take_table(self.table, np.asarray(indices, dtype=np.int64)))

    def limit(self, n: int | None) -> Pairs:
        """Return the first *n* rows (all of them for None), with a note if that left any out."""
        if n is not None and (not isinstance(n, Integral) or isinstance(n, bool)):
            raise InputError(f"a limit of {n!r} rows; expected a whole number")
        if n is None or n >= len(self):
            return self
        if n < 1:
            raise InputError(f"a limit of {n} rows leaves nothing; expected 1 or more")
        note = f"the first {n} of {len(self)} rows"
        return replace(self, table=self.table.slice(0, n), notes=(*self.notes, note))

    def sample(self, n: int, seed: int, group: str | None = None) -> Pairs:
        """Return *n* rows drawn at random, in their order, with a note; all of them where there are no more.

        Args:
            n: how many, at least 1.
            seed: the same one draws the same rows of the same data.
            group: a column whose values stay whole: as many of them as make no more than *n* rows, and at least one.
        """
        if n >= len(self):
            return self
        codes = np.arange(len(self)) if group is None else codes_of_names(self.column(group).cast(pa.string()))
        sizes = np.bincount(codes)
        order = np.random.default_rng(seed).permutation(len(sizes))
        count = max(1, int(np.searchsorted(np.cumsum(sizes[order]), n, side="right")))
        rows = np.flatnonzero(np.isin(codes, order[:count]))
        whole = "" if group is None else f" in {count:,} of {len(sizes):,} groups by {group}"
        note = f"{len(rows):,} of {len(self):,} pairs{whole}, drawn with seed {seed}"
        return replace(self.take(rows), notes=(*self.notes, note))

    def drop_duplicates(self) -> tuple[Pairs, int]:
        """Return the pairs without repeated rows and how many rows that left out.

        Rows repeat when question, reference, candidate, their graphs and label are all equal; the first stays.
        """
        compared = ("question", "reference", "candidate", *GRAPH_COLUMNS, "label")
        names = [n for n in compared if n in self.table.column_names]
        first = np.unique(codes(self.table, names), return_index=True)[1]
        dropped = len(self) - len(first)
        if not dropped:
            return self, 0
        kept = self.take(np.sort(first))
        return replace(kept, notes=(*self.notes, f"{dropped} duplicate rows left out")), dropped

    def to_pandas(self) -> Any:
        """Return the whole table as a pandas DataFrame."""
        return self.table.to_pandas()


def codes(table: pa.Table, names: Sequence[str]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return int64 codes of shape (n,): two rows have the same code where all the named columns agree."""
    combined = np.zeros(table.num_rows, dtype=np.int64)
    for name in names:
        column = table.column(name)
        if not _is_list(column.type):
            column = column.cast(pa.string())
        column_codes = distinct_rows(row_digests([column], len(column)))[1]
        # a missing cell is no empty one
        column_codes[np.asarray(column.is_null(), dtype=bool)] = len(column)
        combined = combined * (len(column) + 1) + column_codes
        # Numbering anew keeps the codes below n, so that the product of many columns cannot overflow.
        combined = np.unique(combined, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return combined


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _column_digest(column: pa.ChunkedArray) -> bytes:
    """Return a digest of one column: of the cell lengths (-1 for null) and of the bytes, each in order."""
    lengths, content = hashlib.sha256(), hashlib.sha256()
    for chunk in column.chunks:
        if len(chunk):
            _feed(chunk, lengths, content)
    return lengths.digest() + content.digest()


def _feed(array: pa.Array, lengths: Any, content: Any) -> None:
    valid = np.asarray(array.is_valid().to_numpy(zero_copy_only=False), dtype=bool)
    if _is_list(array.type):
        sizes = pc.fill_null(pc.list_value_length(array), -1)
        lengths.update(np.asarray(sizes.to_numpy(zero_copy_only=False), dtype=np.int64).tobytes())
        values = array.flatten()
        if len(values):
            _feed(values, lengths, content)
        return
    if pa.types.is_floating(array.type):
        lengths.update(valid.astype(np.int8).tobytes())
        numbers = np.asarray(pc.fill_null(array, 0.0).to_numpy(zero_copy_only=False), dtype=np.float64)
        content.update((numbers + 0.0).tobytes())  # -0.0 and 0.0 are one label
        return
    text = pc.fill_null(array.cast(pa.large_string()), "")
    offsets = np.frombuffer(text.buffers()[1], dtype=np.int64)[text.offset : text.offset + len(text) + 1]
    lengths.update(np.where(valid, np.diff(offsets), -1).astype(np.int64).tobytes())
    data = text.buffers()[2]
    if data is not None:
        content.update(memoryview(data)[int(offsets[0]) : int(offsets[-1])])
