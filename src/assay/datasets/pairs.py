"""The pairs table: pairs of texts with human labels."""

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
from numpy.typing import NDArray

from assay.common.batches import codes_of_names, distinct_rows, row_digests, take_table_rows
from assay.common.tables import CONTEXT, GRAPH_COLUMNS, OPTIONAL_PAIR_COLUMNS, PAIR_COLUMNS, has_contexts, is_list
from assay.exceptions import InputError, unknown_name

#: The key of the schema metadata that maps the names of source columns to the pair columns that they became.
RENAMED_KEY = b"assay.renamed"
#: The number of rows of which the cells are Python objects at a time.
_BLOCK_ROWS = 1 << 16


@dataclass(frozen=True)
class Pairs:
    """Pairs of texts with human labels, held as one Arrow table.

    Attributes:
        table: the columns ``pair_id`` string (unique), ``reference`` string or list<string> (several gold
            answers), ``candidate`` string, ``label`` float64 (null if unlabelled); if the data has them,
            ``question, subset, split, language, group, reference_graph, candidate_graph`` string, ``annotations``
            list<float64> and ``context`` string; then every further column of the source under its own name and type.
        name: the dataset's name, as shown in tables.
        version: the version of its card; empty for data without a card.
        split: the name of the split, ``train+dev`` for several (the column ``split`` then distinguishes them); empty if
            there is none.
        language: a language code such as ``en``; None if unknown or mixed.
        scale: the lowest and the highest possible label; None if unknown.
        kind: ``human`` (a card with human labels), ``probe`` (labels by a rule, one category per pair), ``machine``
            (labels by a model or a rule, for training), or ``own`` (the user's data).
        source: the origin of the data: a file, the sources of a card, or "data in memory".
        sha256: the SHA-256 (hex) of the file read, or of the digests of several, in order; an empty string for data in
            memory or at an address.
        notes: facts that a reader of the results should know, such as rows left out.
        hints: parts that may have been read differently from what the user meant, with the setting that changes it.
        reading: the settings with which a table of the user's own was read, see
            :meth:`~assay.datasets.reading.Reading.record`; empty for a card.
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
        """SHA-256 (hex) of the pair columns in row order; independent of how the table is chunked."""
        return self._digest_of_pairs(by_chunk=False)

    def has_digest(self, digest: str) -> bool:
        """Tell whether a digest from a run folder is that of the pairs, as it is computed now or was in old folders.

        In these, the digest of columns of lists depended on how the table was divided into chunks.
        """
        return digest == self.digest or digest == self._digest_of_pairs(by_chunk=True)

    def _digest_of_pairs(self, *, by_chunk: bool) -> str:
        """Return the SHA-256 (hex) of the names and the contents of the pair columns.

        Args:
            by_chunk: whether the digest of lists depends on the chunks, as in old run folders.
        """
        sha256 = hashlib.sha256()
        for name in (*PAIR_COLUMNS, *OPTIONAL_PAIR_COLUMNS):
            if name in self.table.column_names:
                sha256.update(f"{name}\0".encode())
                sha256.update(_column_digest(self.table.column(name).chunks, by_chunk=by_chunk))
        return sha256.hexdigest()

    @cached_property
    def other_columns_digest(self) -> str:
        """SHA-256 (hex) of the other columns, such as recorded scores, and of the setting ``missing``."""
        sha256 = hashlib.sha256()
        if self.reading.get("missing"):
            sha256.update(f"missing\0{self.reading['missing']}\0".encode())
        for name in self.table.column_names:
            if name in (*PAIR_COLUMNS, *OPTIONAL_PAIR_COLUMNS):
                continue
            sha256.update(f"{name}\0{self.table.schema.field(name).type}\0".encode())
            for start in range(0, len(self), _BLOCK_ROWS):
                cells = self.table.column(name).slice(start, _BLOCK_ROWS).to_pylist()
                # any text has a digest, even one with half of a surrogate pair
                sha256.update(repr(cells).encode("utf-8", "surrogatepass"))
        return sha256.hexdigest()

    @cached_property
    def labels(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The labels, float64 of shape (n,), read-only; NaN for a pair without a label."""
        column = pc.fill_null(self.table.column("label"), float("nan"))
        values = np.asarray(column.to_numpy(), dtype=np.float64)
        values.setflags(write=False)
        return values

    @property
    def rows_outside_scale(self) -> np.ndarray[Any, np.dtype[np.intp]]:
        """The indices of the pairs whose label is outside the scale, ascending; empty if the scale is unknown."""
        low, high = self.scale or (-np.inf, np.inf)
        return np.flatnonzero((self.labels < low) | (self.labels > high))

    @property
    def has_several_references(self) -> bool:
        """Whether each reference is a list of gold answers."""
        return is_list(self.table.schema.field("reference").type)

    @cached_property
    def has_references(self) -> bool:
        """Whether any pair has a reference, as a text that is not empty or as a graph."""
        if GRAPH_COLUMNS[0] in self.table.column_names:
            return True
        column = self.table.column("reference")
        texts = pc.list_flatten(column) if is_list(column.type) else column
        return bool(pc.any(pc.not_equal(texts, "")).as_py())

    def texts(
        self, start: int = 0, stop: int | None = None
    ) -> tuple[list[str] | list[list[str]], list[str], list[str] | None]:
        """Return references, candidates and questions of some rows; the questions are None if the data has none.

        With several gold answers each reference is a list. A missing question is an empty string.

        Args:
            start: the index of the first row.
            stop: the index after the last row; None for the number of rows. Only these rows become Python strings.
        """
        stop = len(self) if stop is None else min(stop, len(self))
        rows = self.table.slice(start, max(0, stop - start))
        questions = None
        if "question" in rows.column_names:
            questions = pc.fill_null(rows.column("question"), "").to_pylist()
        return rows.column("reference").to_pylist(), rows.column("candidate").to_pylist(), questions

    def contexts(self) -> list[str] | None:
        """Return the context of every pair, an empty text for a missing one; None if the data has none."""
        if not has_contexts(self.table):
            return None
        contexts: list[str] = pc.fill_null(self.table.column(CONTEXT), "").to_pylist()
        return contexts

    @property
    def _renamed_columns(self) -> dict[str, str]:
        """The pair columns that were made from columns of other names, by the name in the source."""
        renamed: dict[str, str] = json.loads((self.table.schema.metadata or {}).get(RENAMED_KEY, b"{}"))
        return renamed

    @property
    def source_columns(self) -> list[str]:
        """The names that :meth:`column` accepts: the names in the table and the original names in the source."""
        return list(dict.fromkeys([*self.table.column_names, *self._renamed_columns]))

    def column(self, name: str) -> pa.ChunkedArray:
        """Return a column by its name in the table or its original name in the source.

        Raises:
            InputError: there is no such column; the message lists similar names.
        """
        names = self.table.column_names
        if name in names:
            return self.table.column(name)
        renamed_columns = self._renamed_columns
        if name in renamed_columns:
            return self.table.column(renamed_columns[name])
        raise InputError(unknown_name(f"{self.name}: has no column", name, [*names, *renamed_columns]))

    def with_column(self, name: str, values: Any) -> Pairs:
        """Return the pairs with a column (Arrow or NumPy, shape (n,)) added, or replaced if the name exists."""
        column = values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values)
        if name in self.table.column_names:
            position = self.table.column_names.index(name)
            return replace(self, table=self.table.set_column(position, name, column))
        return replace(self, table=self.table.append_column(name, column))

    def take(self, indices: Sequence[int] | np.ndarray[Any, Any]) -> Pairs:
        """Return the rows at *indices*, in that order.

        Raises:
            InputError: the file to which a large table is written cannot be written, or its disk is full.
        """
        return replace(self, table=take_table_rows(self.table, np.asarray(indices, dtype=np.int64)))

    def limit(self, n: int | None) -> Pairs:
        """Return the first *n* rows (None for all), with a note if any are left out.

        Raises:
            InputError: *n* is not a positive integer.
        """
        # True is an integer in Python, but hardly meant as a number of rows
        if n is not None and (not isinstance(n, Integral) or isinstance(n, bool)):
            raise InputError(f"a limit of {n!r} rows; expected a whole number")
        if n is None or n >= len(self):
            return self
        if n < 1:
            raise InputError(f"a limit of {n} rows leaves nothing; expected 1 or more")
        note = f"the first {n} of {len(self)} rows"
        return replace(self, table=self.table.slice(0, n), notes=(*self.notes, note))

    def group_codes(self, column: str) -> NDArray[np.intp]:
        """Return one integer per pair, shape (n,), equal for equal cells; each empty cell is a group of its own.

        Raises:
            InputError: there is no such column, or it holds lists.
        """
        cells = self.column(column)
        if pa.types.is_nested(cells.type):
            raise InputError(f"{self.name} holds lists there, not names of groups", setting="group_by", value=column)
        return codes_of_names(cells.cast(pa.string()))

    def sample(self, n: int, seed: int, group: str | None = None) -> Pairs:
        """Return a random sample of *n* rows in their original order, with a note.

        If there are no more than *n* rows, the pairs are returned unchanged.

        Args:
            n: the number of rows, at least 1.
            seed: the random seed; the same seed draws the same rows from the same data.
            group: a column by which whole groups are drawn: at most *n* rows together, but at least one group. None
                to draw single rows.

        Raises:
            InputError: there is no such column, it holds lists, or the rows cannot be taken, see :meth:`take`.
        """
        if n >= len(self):
            return self
        # without groups, each row is a group of its own
        group_codes = np.arange(len(self)) if group is None else self.group_codes(group)
        group_sizes = np.bincount(group_codes)
        random_order = np.random.default_rng(seed).permutation(len(group_sizes))
        group_count = max(1, int(np.searchsorted(np.cumsum(group_sizes[random_order]), n, side="right")))
        rows = np.flatnonzero(np.isin(group_codes, random_order[:group_count]))
        group_text = "" if group is None else f" in {group_count:,} of {len(group_sizes):,} groups by {group}"
        note = f"{len(rows):,} of {len(self):,} pairs{group_text}, drawn with seed {seed}"
        return replace(self.take(rows), notes=(*self.notes, note))

    def drop_duplicates(self) -> tuple[Pairs, int]:
        """Return the pairs without duplicate rows, with a note, and the number of rows left out.

        Rows are duplicates if question, context, reference, candidate, graphs and label are equal; the first one is
        kept.
        """
        compared_columns = ("question", "reference", "candidate", *GRAPH_COLUMNS, "label")
        names = [name for name in compared_columns if name in self.table.column_names]
        names += [CONTEXT] if has_contexts(self.table) else []
        first_rows = np.unique(row_codes(self.table, names), return_index=True)[1]
        dropped_count = len(self) - len(first_rows)
        if not dropped_count:
            return self, 0
        distinct_pairs = self.take(np.sort(first_rows))
        return replace(distinct_pairs, notes=(*self.notes, f"{dropped_count} duplicate rows left out")), dropped_count

    def to_pandas(self) -> Any:
        """Return the whole table as a pandas DataFrame."""
        return self.table.to_pandas()


def row_codes(table: pa.Table, names: Sequence[str]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return int64 codes of shape (n,): two rows have the same code if and only if they agree in all named columns."""
    combined = np.zeros(table.num_rows, dtype=np.int64)
    for name in names:
        column = table.column(name)
        if not is_list(column.type):
            column = column.cast(pa.string())
        column_codes = distinct_rows(row_digests([column], len(column)))[1]
        # a missing cell differs from an empty one: it gets a code that no other cell can have
        column_codes[np.asarray(column.is_null(), dtype=bool)] = len(column)
        combined = combined * (len(column) + 1) + column_codes
        # renumbering keeps the codes below n, so that the product over many columns cannot overflow
        combined = np.unique(combined, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return combined


def _column_digest(chunks: Sequence[pa.Array], *, by_chunk: bool) -> bytes:
    """Return two joined SHA-256 digests of one column: of the cell lengths (-1 for null), and of the bytes.

    Args:
        chunks: the cells.
        by_chunk: whether the lengths of the lists of each chunk are followed by those of their items, instead of the
            lengths of all lists by those of all items.
    """
    lengths, content = hashlib.sha256(), hashlib.sha256()
    groups_of_chunks = [[chunk] for chunk in chunks] if by_chunk else [chunks]
    for group in groups_of_chunks:
        arrays = [chunk for chunk in group if len(chunk)]
        # lists give way to their items, until texts or numbers are left
        while arrays and is_list(arrays[0].type):
            for lists in arrays:
                list_lengths = pc.fill_null(pc.list_value_length(lists), -1)
                lengths.update(np.asarray(list_lengths.to_numpy(zero_copy_only=False), dtype=np.int64).tobytes())
            arrays = [items for lists in arrays if len(items := lists.flatten())]
        for array in arrays:
            _update_column_digests(array, lengths, content)
    return lengths.digest() + content.digest()


def _update_column_digests(cells: pa.Array, lengths: Any, content: Any) -> None:
    """Update two digests with an array of texts or numbers.

    Args:
        cells: the array.
        lengths: the digest of the lengths of texts, -1 for null; for numbers, of whether they are valid.
        content: the digest of the UTF-8 bytes or the float64 values.
    """
    is_valid = np.asarray(cells.is_valid().to_numpy(zero_copy_only=False), dtype=bool)
    if pa.types.is_floating(cells.type):
        lengths.update(is_valid.astype(np.int8).tobytes())
        numbers = np.asarray(pc.fill_null(cells, 0.0).to_numpy(zero_copy_only=False), dtype=np.float64)
        content.update((numbers + 0.0).tobytes())  # adding 0.0 turns -0.0 into 0.0, which is the same label
        return
    texts = pc.fill_null(cells.cast(pa.large_string()), "")
    offsets = np.frombuffer(texts.buffers()[1], dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
    lengths.update(np.where(is_valid, np.diff(offsets), -1).astype(np.int64).tobytes())
    text_bytes = texts.buffers()[2]
    if text_bytes is not None:
        content.update(memoryview(text_bytes)[int(offsets[0]) : int(offsets[-1])])
