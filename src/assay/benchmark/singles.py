"""Single (reference, candidate) pairs of a pairs table, which metrics score and the store keeps.

A reference may be several gold answers. Each is scored separately, and the scores of a pair are then reduced to the
best one or their mean, except for a metric that reads all of them at once. A single that occurs several times in the
table is scored once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from assay.common.batches import DIGEST, cell_texts, distinct_rows, row_digests, take_cells, take_table_rows
from assay.common.tables import CONTEXT, GRAPH_COLUMNS, has_contexts, is_list
from assay.exceptions import InputError
from assay.metrics import Batch

if TYPE_CHECKING:
    import pyarrow as pa

    from assay.datasets import Pairs
    from assay.metrics.declaration import Declaration

ReferenceChoice = Literal["best", "mean"]


class Singles:
    """The distinct singles of a pairs table, made from the columns that a metric reads.

    Args:
        pairs: the pairs; their table is not copied.
        declaration: that of the metric, which says whether the reference, the question, the context and the AMR graphs
            are part of a single, and whether all gold answers of a pair form one single. Without the reference an
            empty text stands for it.

    Attributes:
        digests: the digest of each distinct single, 16 bytes each, shape (u,), in order of first appearance.
        inverse: the index of the digest of each single of the table, shape (s,).

    Raises:
        InputError: a pair has no gold answer.
    """

    def __init__(self, pairs: Pairs, declaration: Declaration) -> None:
        import pyarrow as pa

        self._rows = len(pairs)
        #: the row of the pair of each single, shape (s,); None if every pair is one single
        self._parents: NDArray[np.int64] | None = None
        names = _columns_read(pairs, declaration)
        self._columns = {name: pairs.table.column(name) for name in names if name in pairs.table.column_names}
        if not declaration.reads_reference:
            self._columns["reference"] = pa.chunked_array([pa.repeat(pa.scalar(""), len(pairs))])
        has_lists = is_list(self._columns["reference"].type)
        if has_lists:
            _check_not_empty(self._columns["reference"], pairs.name)
        self._together = declaration.reads_all_references and has_lists
        if has_lists and not declaration.reads_all_references:
            self._columns, self._parents = _one_row_per_gold_answer(self._columns)
        key_columns = [name for name in self._columns if name not in GRAPH_COLUMNS]
        if declaration.reads_graphs:
            # both, even if one is absent: the same graph on the other side makes another single
            key_columns += GRAPH_COLUMNS
        digests = row_digests([self._columns.get(name) for name in key_columns], len(self._columns["reference"]))
        # in order of first appearance, so that neighbours in the file are scored together
        self._first_rows, self.inverse = distinct_rows(digests)
        self.digests: NDArray[np.void] = digests[self._first_rows].view(DIGEST)

    def rows(self, indices: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the distinct rows of the table, ascending, in which the singles at *indices* first occur."""
        rows = self._first_rows[indices]
        return np.unique(rows if self._parents is None else self._parents[rows])

    def batch(self, indices: NDArray[np.intp]) -> Batch:
        """Return the texts of the distinct singles at *indices*.

        A single of several gold answers has the first of them as its reference, and all of them as gold answers.
        """
        rows = self._first_rows[indices]
        cells = {f"{name}s": take_cells(column, rows) for name, column in self._columns.items()}
        if not self._together:
            return Batch(**{name: cell_texts(column) for name, column in cells.items()})
        answers = cells.pop("references").to_pylist()
        return Batch(
            references=[golds[0] for golds in answers],
            gold_answers=answers,
            **{name: cell_texts(column) for name, column in cells.items()},
        )

    def reduce(
        self, scores: NDArray[np.float64], choice: ReferenceChoice, *, higher_is_better: bool
    ) -> NDArray[np.float64]:
        """Return the scores of the pairs, shape (n,), from the scores of the distinct singles.

        The score of a pair is NaN if the score of one of its singles is.

        Args:
            scores: the scores of the distinct singles, shape (u,), in the order of ``digests``.
            choice: the score of a pair with several gold answers: the best of their scores, or the mean.
            higher_is_better: whether the best score is the highest; else it is the lowest.
        """
        single_scores = scores[self.inverse]
        if self._parents is None:
            return single_scores
        # the singles of a pair follow each other, so a pair is a slice that ends where the next one starts
        starts = np.searchsorted(self._parents, np.arange(self._rows))
        if choice == "mean":
            sums: NDArray[np.float64] = np.add.reduceat(single_scores, starts)
            return sums / np.diff(np.append(starts, len(single_scores)))
        best_of = np.maximum if higher_is_better else np.minimum
        best: NDArray[np.float64] = best_of.reduceat(single_scores, starts)
        return best


def _columns_read(pairs: Pairs, declaration: Declaration) -> list[str]:
    """Return the columns of texts and graphs that a metric reads; the data may lack those of graphs."""
    names = ["reference", "candidate"]
    if declaration.reads_question:
        names.append("question")
    if declaration.reads_context and has_contexts(pairs.table):
        names.append(CONTEXT)
    if declaration.reads_graphs:
        names += GRAPH_COLUMNS
    return names


def _check_not_empty(lists: pa.ChunkedArray, dataset: str) -> None:
    """Raise InputError for a pair whose list of gold answers is empty or missing."""
    import pyarrow.compute as pc

    if len(lists) and not pc.min(pc.fill_null(pc.list_value_length(lists), 0)).as_py():
        raise InputError(f"{dataset}: a pair has no gold answer (an empty list)")


def _one_row_per_gold_answer(
    columns: dict[str, pa.ChunkedArray],
) -> tuple[dict[str, pa.ChunkedArray], NDArray[np.int64]]:
    """Return the columns with one row per gold answer, s in all, and the row of the pair of each, shape (s,)."""
    import pyarrow as pa
    import pyarrow.compute as pc

    lists = columns["reference"]
    sizes = np.concatenate([np.zeros(0, np.int64), *(pc.list_value_length(chunk) for chunk in lists.chunks)])
    parents = np.repeat(np.arange(len(lists)), sizes)
    other_columns = {name: column for name, column in columns.items() if name != "reference"}
    flat = take_table_rows(pa.table(other_columns), parents)
    flat_references = pa.chunked_array([chunk.flatten() for chunk in lists.chunks], lists.type.value_type)
    return {"reference": flat_references} | {name: flat.column(name) for name in other_columns}, parents
