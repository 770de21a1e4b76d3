"""Single (reference, candidate) pairs behind a pairs table: what metrics score and the store keeps.

A reference may be several gold answers; each is scored alone, and the scores of a pair are then reduced to the best
one or their mean. A single that stands in the table many times is scored once.
"""

from __future__ import annotations

from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from assay.benchmark.store import DIGEST
from assay.errors import InputError
from assay.metrics import Batch
from assay.tables import GRAPH_COLUMNS

if TYPE_CHECKING:
    import pyarrow as pa

    from assay.datasets import Pairs
    from assay.metrics import Metric

__all__ = ["ReferenceChoice", "Singles"]

ReferenceChoice = Literal["best", "mean"]
#: Texts that are turned from Arrow into Python strings at one time.
SLICE = 8192


class Singles:
    """The distinct singles of a pairs table.

    Args:
        pairs: the table; it is not copied.
        with_question: whether the question is part of a single (for metrics that read it).
        with_graphs: whether the AMR graphs are.

    Attributes:
        digests: one a distinct single, shape (u,).
        inverse: for each single of the table, the index of its digest, shape (s,).
    """

    def __init__(self, pairs: Pairs, *, with_question: bool = False, with_graphs: bool = False) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        table = pairs.table
        further = (*(["question"] if with_question else []), *(GRAPH_COLUMNS if with_graphs else ()))
        columns = {
            name: table.column(name) for name in ("reference", "candidate", *further) if name in table.column_names
        }
        reference = columns["reference"]
        self._parents: NDArray[np.int64] | None = None
        if pa.types.is_list(reference.type) or pa.types.is_large_list(reference.type):
            lists = reference.combine_chunks()
            if len(lists) and not pc.min(pc.fill_null(pc.list_value_length(lists), 0)).as_py():
                raise InputError(f"{pairs.name}: a pair has no gold answer (an empty list)")
            self._parents = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False).astype(np.int64)
            parents = pa.array(self._parents)
            columns = {name: column.combine_chunks().take(parents) for name, column in columns.items()}
            columns["reference"] = pc.list_flatten(lists)
        self._columns = columns
        self._rows = len(pairs)
        # a graph of one side only is another single than the same graph of the other side
        plain = (name for name in columns if name not in GRAPH_COLUMNS)
        self._keyed = (*plain, *(GRAPH_COLUMNS if with_graphs else ()))
        digests, first, inverse = np.unique(self._digests(), return_index=True, return_inverse=True)
        # in order of first appearance: neighbours in the file are scored together
        order = np.argsort(first, kind="stable")
        place = np.empty(len(order), dtype=np.intp)
        place[order] = np.arange(len(order))
        self.digests: NDArray[np.void] = digests[order].view(DIGEST)
        self._first = first[order]
        self.inverse = place[inverse.reshape(-1)]

    @classmethod
    def read_by(cls, metric: Metric, pairs: Pairs) -> Singles:
        """Return the singles of what a metric reads."""
        reads = metric.declaration
        return cls(pairs, with_question=reads.reads_question, with_graphs=reads.reads_graphs)

    def _digests(self) -> NDArray[np.bytes_]:
        out = np.empty(len(self._columns["reference"]), dtype=DIGEST)
        for start in range(0, len(out), SLICE):
            here = range(start, min(start + SLICE, len(out)))
            texts = [
                self._columns[name].slice(start, SLICE).to_pylist() if name in self._columns else [""] * len(here)
                for name in self._keyed
            ]
            for offset, parts in enumerate(zip(*texts, strict=True)):
                # lengths keep ("ab", "c") and ("a", "bc") apart
                head = ",".join(str(len(part or "")) for part in parts)
                body = f"{head}:{''.join(part or '' for part in parts)}".encode("utf-8", "surrogatepass")
                out[start + offset] = np.void(blake2b(body, digest_size=16).digest())
        # NumPy sorts byte strings, not raw void; a prefix is not lost because all have the full length
        return out.view("u8").reshape(-1, 2).view([("high", "u8"), ("low", "u8")]).reshape(-1)

    def batch(self, indices: NDArray[np.intp]) -> Batch:
        """Return the texts of the distinct singles at *indices*."""
        import pyarrow as pa

        rows = pa.array(self._first[indices])
        return Batch(**{f"{name}s": _texts(column.take(rows)) for name, column in self._whole.items()})

    @cached_property
    def _whole(self) -> dict[str, pa.Array]:
        import pyarrow as pa

        # one chunk each, since taking from a chunked column would join its chunks anew at every call; a large one,
        # since together they may hold more than 2 GiB
        return {
            name: column.cast(pa.large_string()).combine_chunks() if isinstance(column, pa.ChunkedArray) else column
            for name, column in self._columns.items()
        }

    def reduce(
        self, scores: NDArray[np.float64], choice: ReferenceChoice, *, higher_is_better: bool
    ) -> NDArray[np.float64]:
        """Turn scores of the distinct singles, shape (u,), into scores of the pairs, shape (n,)."""
        each = scores[self.inverse]
        if self._parents is None:
            return each
        starts = np.searchsorted(self._parents, np.arange(self._rows))
        if choice == "mean":
            sums: NDArray[np.float64] = np.add.reduceat(each, starts)
            return sums / np.diff(np.append(starts, len(each)))
        best = np.maximum if higher_is_better else np.minimum
        result: NDArray[np.float64] = best.reduceat(each, starts)
        return result


def _texts(column: pa.Array) -> list[str]:
    """Return the cells as strings; what is not known is empty."""
    return ["" if text is None else text for text in column.to_pylist()]
