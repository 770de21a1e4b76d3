"""The annotation graph of a pair dataset: which texts were labelled together (Waldis, Beck and Gurevych 2022)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from assay.common.numbers import none_if_nan
from assay.datasets.pairs import Pairs
from assay.exceptions import InputError


@dataclass(frozen=True, eq=False)
class AnnotationGraph:
    """Texts and their labelled pairs (Waldis et al. 2022, section 2.1).

    A node is a distinct text, exactly as it is written. A row is a labelled pair, and a node's rows are the rows with
    its text on either side. An edge is a distinct pair of texts: rows with the same two texts are one edge, and in an
    undirected graph so are rows with the texts exchanged. This interpretation reproduces the degrees of table 1, 3.2 ±
    2.1 for SICK and 3.5 ± 3.0 for UKP ASPECT; with one edge per row they would be 3.2 ± 2.2 (in version 2, all splits)
    and 3.6 ± 3.0. A pair of a text with itself is one row and one edge of that text. Both ends of this edge count, so
    that the degrees always sum to twice the number of edges.

    Attributes:
        texts: the nodes in the order of first appearance; all references come before all candidates.
        first: the node of each row's reference, int64, shape (n,).
        second: the node of each row's candidate, int64, shape (n,).
        directed: whether the order of two texts matters; a pair in both orders is then two edges. The degree counts
            the edges in both directions.
    """

    texts: tuple[str, ...]
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    directed: bool = False

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.first)

    @cached_property
    def _rows_by_node(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return :attr:`starts`, :attr:`incident_rows` and :attr:`positions`: the rows, sorted by node.

        The ends of rows are numbered row by row: end 2i is the first text of row i, end 2i + 1 its second.
        """
        node_of_end = np.stack([self.first, self.second], axis=1).reshape(-1)
        # a pair of a text with itself is one row of that text, so its second end does not count
        is_pair_of_two = self.first != self.second
        is_counted = np.ones(len(node_of_end), dtype=bool)
        is_counted[1::2] = is_pair_of_two
        ends = np.flatnonzero(is_counted)
        ends_by_node = ends[np.argsort(node_of_end[ends], kind="stable")]
        rows_per_node = np.bincount(node_of_end[ends], minlength=len(self.texts))
        starts = np.concatenate([[0], np.cumsum(rows_per_node)]).astype(np.int64)
        position_of_end = np.empty(len(node_of_end), dtype=np.int64)
        position_of_end[ends_by_node] = np.arange(len(ends_by_node))
        first_position, second_position = position_of_end[0::2], position_of_end[1::2]
        positions = np.stack([first_position, np.where(is_pair_of_two, second_position, first_position)], axis=1)
        return starts, ends_by_node // 2, positions

    @property
    def starts(self) -> NDArray[np.int64]:
        """Index in :attr:`incident_rows` of each node's first row, then the total length; int64, shape (nodes + 1,)."""
        return self._rows_by_node[0]

    @property
    def incident_rows(self) -> NDArray[np.int64]:
        """The rows of all nodes, one node after the other, ascending within each node; int64."""
        return self._rows_by_node[1]

    @property
    def positions(self) -> NDArray[np.int64]:
        """Position of each row in :attr:`incident_rows`, for its first and its second node; int64, shape (n, 2)."""
        return self._rows_by_node[2]

    def rows_of(self, node: int) -> NDArray[np.int64]:
        """Return the rows of a node, int64, ascending and distinct (f_e in the paper)."""
        return self.incident_rows[self.starts[node] : self.starts[node + 1]]

    @cached_property
    def edge_of_row(self) -> NDArray[np.int64]:
        """The edge of each row, numbered from 0, int64, shape (n,)."""
        first, second = self.first, self.second
        if not self.directed:
            first, second = np.minimum(first, second), np.maximum(first, second)
        node_pair_codes = first * len(self.texts) + second
        edge_codes: NDArray[np.int64] = np.unique(node_pair_codes, return_inverse=True)[1].reshape(-1).astype(np.int64)
        return edge_codes

    @cached_property
    def edges(self) -> NDArray[np.int64]:
        """The edges, each as the index of its first row, int64, shape (edges,)."""
        return np.unique(self.edge_of_row, return_index=True)[1].astype(np.int64)

    @cached_property
    def degrees(self) -> NDArray[np.int64]:
        """The number of ends of edges at each node (k in the paper), int64, shape (nodes,)."""
        end_nodes = np.concatenate([self.first[self.edges], self.second[self.edges]])
        return np.bincount(end_nodes, minlength=len(self.texts)).astype(np.int64)

    @property
    def mean_degree(self) -> float:
        """Mean degree; NaN without nodes."""
        return float(self.degrees.mean()) if self.texts else math.nan

    @property
    def deviation(self) -> float:
        """Sample standard deviation of the degree (n - 1); NaN for fewer than two nodes.

        The paper does not say which deviation it uses. Its figure 2 has six nodes with 2.5 ± 0.84. Six whole numbers
        with that mean can have .84 only as the sample deviation (the population deviation would be .76 or .96). The
        values of table 1 are the same either way.
        """
        return float(self.degrees.std(ddof=1)) if len(self.texts) > 1 else math.nan

    @property
    def variation(self) -> float:
        """Coefficient of variation, deviation / mean (CV in the paper); NaN if the deviation is NaN."""
        return self.deviation / self.mean_degree

    def take(self, rows: Sequence[int] | NDArray[Any]) -> AnnotationGraph:
        """Return the graph of some rows only; its nodes are their texts, in the order of the nodes here.

        Args:
            rows: the indices of the rows, in the order in which the new graph has them.
        """
        row_indices = np.asarray(rows, dtype=np.int64)
        end_nodes = np.concatenate([self.first[row_indices], self.second[row_indices]])
        nodes, new_nodes = np.unique(end_nodes, return_inverse=True)
        first, second = np.split(new_nodes.reshape(-1).astype(np.int64), 2)
        return AnnotationGraph(tuple(self.texts[node] for node in nodes), first, second, self.directed)


def build_graph(
    references: Sequence[str] | pa.ChunkedArray, candidates: Sequence[str] | pa.ChunkedArray, *, directed: bool = False
) -> AnnotationGraph:
    """Return the annotation graph of pairs of texts.

    Args:
        references, candidates: the texts of each pair, n of them.
        directed: whether the order of two texts matters.

    Raises:
        ValueError: the numbers of references and candidates differ.
    """
    if len(references) != len(candidates):
        raise ValueError(f"{len(references)} references and {len(candidates)} candidates; expected pairs")
    # an empty chunk first, since there may be no others, and concat_arrays needs one; large_string, since all texts
    # together may exceed the 2 GiB of a string array
    chunks = [pa.array([], pa.large_string())]
    for side in (references, candidates):
        side_chunks = side.chunks if isinstance(side, pa.ChunkedArray) else [pa.array(side, pa.string())]
        chunks += [chunk.cast(pa.large_string()) for chunk in side_chunks]
    # one dictionary for both sides, so that a text is the same node on either side
    encoded = pa.concat_arrays(chunks).dictionary_encode()
    first, second = np.split(np.asarray(encoded.indices.to_numpy(zero_copy_only=False), dtype=np.int64), 2)
    return AnnotationGraph(tuple(encoded.dictionary.to_pylist()), first, second, directed)


def graph_of(tables: Sequence[Pairs], *, directed: bool = False) -> AnnotationGraph:
    """Return one annotation graph of several pairs tables, such as the splits of a dataset.

    If a text is empty and the pair has an AMR graph for it, the AMR graph takes the place of the text.

    Args:
        tables: the pairs tables; without any the graph is empty.
        directed: whether the order of two texts matters.

    Raises:
        InputError: pairs have no or several gold answers, and so are not pairs of two texts.
    """
    for pairs in tables:
        if not pairs.has_references:
            raise InputError(f"{pairs.name}: has no references; an annotation graph is of pairs of texts")
        if pairs.has_several_references:
            raise InputError(f"{pairs.name}: has several gold answers a pair; an annotation graph is of pairs of texts")
    texts_of_sides = []
    for side in ("reference", "candidate"):
        chunks = [chunk for pairs in tables for chunk in _texts_or_graphs(pairs, side).chunks]
        texts_of_sides.append(pa.chunked_array(chunks, pa.string()))
    return build_graph(*texts_of_sides, directed=directed)


def _texts_or_graphs(pairs: Pairs, side: str) -> pa.ChunkedArray:
    """Return the texts of a side, "reference" or "candidate"; for an empty text, its AMR graph if there is one."""
    texts = pairs.table.column(side)
    if f"{side}_graph" not in pairs.table.column_names:
        return texts
    return pc.if_else(pc.equal(texts, ""), pc.fill_null(pairs.table.column(f"{side}_graph"), ""), texts)


def describe_graph(graph: AnnotationGraph) -> dict[str, Any]:
    """Return the measures of a graph as JSON values.

    ``texts`` and ``edges`` are their numbers, and ``degree`` has the ``mean``, ``deviation`` and ``variation`` of the
    degree, None for an undefined one. Only for a directed graph the result also has ``directed``, which is True.
    """
    degree = {"mean": graph.mean_degree, "deviation": graph.deviation, "variation": graph.variation}
    measures: dict[str, Any] = {
        "texts": len(graph.texts),
        "edges": len(graph.edges),
        "degree": {name: none_if_nan(value) for name, value in degree.items()},
    }
    if graph.directed:
        measures["directed"] = True
    return measures


def graph_line(measures: dict[str, Any]) -> str:
    """Return the measures of a graph as one line of text, without those of the degree if its deviation is undefined.

    Args:
        measures: the result of :func:`describe_graph`, or a dict with the reason as ``error`` if the graph could not be
            measured.
    """
    if "error" in measures:
        return f"annotation graph: not measured: {measures['error']}"
    is_directed = measures.get("directed", False)
    title = "directed annotation graph" if is_directed else "annotation graph"
    unit = "text" if measures["texts"] == 1 else "texts"
    size_text = f"{title}: {measures['texts']:,} {unit}"
    degree = measures["degree"]
    if degree["deviation"] is None:
        return size_text
    mean_and_deviation = f"{degree['mean']:.1f} ± {degree['deviation']:.1f}"
    if is_directed:
        degree_text = f"in {mean_and_deviation} ordered pairs"
    else:
        degree_text = f"paired with {mean_and_deviation} others"
    return f"{size_text}, each {degree_text} (mean ± SD, CV {degree['variation']:.2f})"
