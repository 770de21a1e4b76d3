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

if TYPE_CHECKING:
    import pyarrow as pa

    from assay.datasets import Pairs

__all__ = ["ReferenceChoice", "Singles"]

ReferenceChoice = Literal["best", "mean"]
#: Texts that are turned from Arrow into Python strings at one time.
SLICE = 8192


class Singles:
    """The distinct singles of a pairs table.

    Args:
        pairs: the table; it is not copied.
        with_question: whether the question is part of a single (for metrics that read it).

    Attributes:
        digests: one a distinct single, shape (u,).
        inverse: for each single of the table, the index of its digest, shape (s,).
    """

    def __init__(self, pairs: Pairs, *, with_question: bool = False) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        table = pairs.table
        reference = table.column("reference")
        self.with_question = with_question and "question" in table.column_names
        self._parents: NDArray[np.int64] | None = None
        candidate = table.column("candidate")
        question = table.column("question") if self.with_question else None
        if pa.types.is_list(reference.type) or pa.types.is_large_list(reference.type):
            lists = reference.combine_chunks()
            if len(lists) and not pc.min(pc.fill_null(pc.list_value_length(lists), 0)).as_py():
                raise InputError(f"{pairs.name}: a pair has no gold answer (an empty list)")
            self._parents = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False).astype(np.int64)
            reference = pc.list_flatten(lists)
            candidate = candidate.combine_chunks().take(pa.array(self._parents))
            question = None if question is None else question.combine_chunks().take(pa.array(self._parents))
        self._reference, self._candidate, self._question = reference, candidate, question
        self._rows = len(pairs)
        digests, first, inverse = np.unique(self._digests(), return_index=True, return_inverse=True)
        # in order of first appearance: neighbours in the file are scored together
        order = np.argsort(first, kind="stable")
        place = np.empty(len(order), dtype=np.intp)
        place[order] = np.arange(len(order))
        self.digests: NDArray[np.void] = digests[order].view(DIGEST)
        self._first = first[order]
        self.inverse = place[inverse.reshape(-1)]

    def _digests(self) -> NDArray[np.bytes_]:
        out = np.empty(len(self._reference), dtype=DIGEST)
        for start in range(0, len(out), SLICE):
            columns = [
                self._reference,
                self._candidate,
                *([] if self._question is None else [self._question]),
            ]
            texts = [column.slice(start, SLICE).to_pylist() for column in columns]
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
        take = self._take
        questions = None if self._question is None else take("question", rows)
        return Batch(take("reference", rows), take("candidate", rows), questions)

    def _take(self, name: str, rows: pa.Array) -> list[str]:
        texts: list[str] = self._columns[name].take(rows).to_pylist()
        return ["" if text is None else text for text in texts] if name == "question" else texts

    @cached_property
    def _columns(self) -> dict[str, pa.Array]:
        import pyarrow as pa

        # one chunk each, since taking from a chunked column would join its chunks anew at every call; a large one,
        # since together they may hold more than 2 GiB
        columns = {"reference": self._reference, "candidate": self._candidate, "question": self._question}
        return {
            name: column.cast(pa.large_string()).combine_chunks() if isinstance(column, pa.ChunkedArray) else column
            for name, column in columns.items()
            if column is not None
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
