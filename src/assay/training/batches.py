"""Batches and small training subsets that are chosen by the annotation graph of the training pairs.

Source: Waldis, Beck and Gurevych 2022.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.datasets.annotation_graph import AnnotationGraph
from assay.exceptions import InputError, suggestion_for

# The batches of one epoch: random ones, and ones that keep pairs with a common text together.
#
# Source: Waldis, Beck and Gurevych 2022, Composing Structure-Aware Batches for Pairwise Sentence Classification,
# sections 2.2 and 5.3. An instance is a row of the annotation graph.

Rows = NDArray[np.int64]
Weights = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Batch:
    """The rows of one training step and their weights; the loss of the step is the weighted sum over its rows.

    Attributes:
        rows: the distinct rows of the graph, int64, shape (k,).
        weights: the weight of each row, float64, shape (k,). The weights sum to 1 for ``base`` and ``node``; for
            ``edge-1`` to 2, or to 1 without any context; for ``edge-2`` to 1 plus the share of base rows with context.
    """

    rows: Rows
    weights: Weights


def compose_batches(strategy: str, graph: AnnotationGraph, batch_size: int, rng: np.random.Generator) -> list[Batch]:
    """Return the batches of one epoch, none for a graph without rows; the draws of *rng* make every epoch different.

    ``base``: rows in random order, each row twice per epoch and never twice in a batch. The loss of a batch is the mean
    over its rows.

    ``node`` (equation 1): *batch_size* random nodes with all rows of each. The loss is the mean over the rows of all
    nodes, in which a row with both nodes in the batch counts twice. Each row occurs twice per epoch, once for each of
    its nodes; a pair of a text with itself occurs twice at its single node.

    ``edge-1`` (equations 2 to 4): *batch_size* base rows; each row is a base row once per epoch. For each node of a
    base row, up to two other rows of that node are drawn; a pair of a text with itself has one node. The set of all
    rows drawn for a batch (E') is its context. The loss is the mean over the base rows plus the mean over the context.

    ``edge-2`` (equations 5 and 6): the same draws. The loss of a base row is its own loss plus the mean over its own
    context; the loss of the batch is the mean of these sums. A mean over an empty context is 0 for both strategies.

    How the equations are read: equation 2 removes (i, j) inside the union over base rows, so a base row is removed from
    its own context only. It may be context of another base row and then has the weights of both. Figure 4 is consistent
    with this: its base edge (V5, V6) is not a neighbour of (V1, V3) and could not be drawn. A base row is removed
    before the draw, not after it as equation 3 could be read, because in section 5.3 a pair whose texts have three
    edges each gets four rows of context. Another row with the same two texts is an instance of its own and may be
    drawn.

    Args:
        strategy: one of :data:`STRATEGIES`.
        graph: the annotation graph of the training pairs.
        batch_size: the number of rows (``base``), nodes (``node``) or base rows (``edge-1``, ``edge-2``) per batch, or
            all of them if the graph has fewer; the last batch has the remaining ones.
        rng: the source of all draws.

    Raises:
        InputError: the strategy is unknown (the message suggests similar names), or the batch size is below 1.
    """
    if strategy not in _COMPOSE:
        suggestion = suggestion_for(strategy, STRATEGIES)
        raise InputError(f"there are no batches {strategy!r}.{suggestion} Known: {', '.join(STRATEGIES)}")
    if batch_size < 1:
        raise InputError(f"a batch size of {batch_size} leaves nothing to learn from; expected 1 or more")
    return _COMPOSE[strategy](graph, batch_size, rng) if len(graph) else []


def _random_batches(graph: AnnotationGraph, batch_size: int, rng: np.random.Generator) -> list[Batch]:
    """Return the batches of ``base``: two random orders of all rows, one after the other, split into batches."""
    row_count = len(graph)
    size = min(batch_size, row_count)
    first_order, second_order = rng.permutation(row_count), rng.permutation(row_count)
    # One batch may hold the end of the first order and the start of the second. Rows that are not at the end of the
    # first order move to the start of the second, so that no row occurs twice in that batch.
    leftover = row_count % size
    if leftover:
        is_new = ~np.isin(second_order, first_order[-leftover:])
        moved = np.flatnonzero(is_new)[: size - leftover]
        second_order = np.concatenate([second_order[moved], np.delete(second_order, moved)])
    rows = np.concatenate([first_order, second_order])
    rows_of_batches = np.split(rows, np.arange(size, len(rows), size))
    return [Batch(batch_rows, np.full(len(batch_rows), 1 / len(batch_rows))) for batch_rows in rows_of_batches]


def _node_batches(graph: AnnotationGraph, batch_size: int, rng: np.random.Generator) -> list[Batch]:
    """Return the batches of ``node``: all rows of *batch_size* random nodes each."""
    batch_of_node = _random_batch_numbers(len(graph.texts), batch_size, rng)
    batches = np.concatenate([batch_of_node[graph.first], batch_of_node[graph.second]])
    rows = np.tile(np.arange(len(graph)), 2)
    return _merge_batches(batches, rows, _mean_weights(batches))


def _edge_1_batches(graph: AnnotationGraph, batch_size: int, rng: np.random.Generator) -> list[Batch]:
    """Return the batches of ``edge-1``: base rows, and the mean over the distinct context rows of the batch."""
    batch_of_row = _random_batch_numbers(len(graph), batch_size, rng)
    base_rows, context_rows = _draw_context(graph, rng)
    context_batches, context_rows = _distinct_rows(batch_of_row[base_rows], context_rows, len(graph))
    return _add_base_rows(batch_of_row, context_batches, context_rows, _mean_weights(context_batches))


def _edge_2_batches(graph: AnnotationGraph, batch_size: int, rng: np.random.Generator) -> list[Batch]:
    """Return the batches of ``edge-2``: base rows, and for each of them the mean over its own context rows."""
    batch_of_row = _random_batch_numbers(len(graph), batch_size, rng)
    base_rows, context_rows = _distinct_rows(*_draw_context(graph, rng), len(graph))
    context_batches = batch_of_row[base_rows]
    # A mean over the context of each base row, then a mean over the base rows of the batch.
    weights = 1 / (np.bincount(base_rows)[base_rows] * np.bincount(batch_of_row)[context_batches])
    return _add_base_rows(batch_of_row, context_batches, context_rows, weights)


def _random_batch_numbers(count: int, batch_size: int, rng: np.random.Generator) -> Rows:
    """Return a random batch number, from 0, for each of *count* nodes or rows, shape (count,).

    Every batch gets *batch_size* of them, except the last one, which gets the rest.
    """
    order: Rows = rng.permutation(count)
    return order // batch_size


def _mean_weights(groups: Rows) -> Weights:
    """Return weights that turn a sum over a group into its mean: 1 over the size of each row's group, shape (k,).

    Args:
        groups: the group number of each row, shape (k,).
    """
    weights: Weights = 1 / np.bincount(groups)[groups]
    return weights


def _draw_context(graph: AnnotationGraph, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Draw context rows for every row of the graph: up to two other rows at each of its nodes.

    Returns:
        The base row and the context row of each of k draws, both of shape (k,).
    """
    nodes = np.stack([graph.first, graph.second])
    other_counts = np.diff(graph.starts)[nodes] - 1
    other_counts[1, graph.first == graph.second] = 0  # a pair of a text with itself has one node
    # Two different positions among the other rows of a node: the second is drawn from one position fewer and then
    # shifted past the first. Below, both are shifted past the base row.
    first_draws = rng.integers(0, np.maximum(other_counts, 1))
    second_draws = rng.integers(0, np.maximum(other_counts - 1, 1))
    second_draws += second_draws >= first_draws
    base_positions = graph.positions.T - graph.starts[nodes]
    base_rows, context_rows = [], []
    # The first draw needs one other row at the node, the second draw two.
    for needed, positions in enumerate((first_draws, second_draws), start=1):
        side, base = np.nonzero(other_counts >= needed)
        node, position = nodes[side, base], positions[side, base]
        is_past_base = position >= base_positions[side, base]
        context_rows.append(graph.incident_rows[graph.starts[node] + position + is_past_base])
        base_rows.append(base)
    return np.concatenate(base_rows), np.concatenate(context_rows)


def _distinct_rows(groups: Rows, rows: Rows, row_count: int) -> tuple[Rows, Rows]:
    """Return the distinct combinations of a group and a row, sorted by both: the groups and the rows, shape (m,) each.

    Args:
        groups, rows: the combinations, shape (k,).
        row_count: the number of all rows, above every row.
    """
    keys = np.unique(groups * row_count + rows)  # a group and a row as one integer
    return keys // row_count, keys % row_count


def _add_base_rows(batch_of_row: Rows, context_batches: Rows, context_rows: Rows, weights: Weights) -> list[Batch]:
    """Return batches of all rows as base rows, with equal weights, and of context rows, with the given weights.

    Args:
        batch_of_row: the number of the batch in which each row is a base row, shape (n,).
        context_batches, context_rows, weights: the batch number, row and weight of each context row, shape (k,).
    """
    return _merge_batches(
        np.concatenate([batch_of_row, context_batches]),
        np.concatenate([np.arange(len(batch_of_row)), context_rows]),
        np.concatenate([_mean_weights(batch_of_row), weights]),
    )


def _merge_batches(batches: Rows, rows: Rows, weights: Weights) -> list[Batch]:
    """Return one batch per distinct number in *batches*; the weights of a row that is in it repeatedly are summed.

    Args:
        batches, rows, weights: the batch number, row and weight of each of k entries, shape (k,).
    """
    row_count = int(rows.max()) + 1
    keys, inverse = np.unique(batches * row_count + rows, return_inverse=True)  # a batch and a row as one integer
    summed_weights = np.bincount(inverse.reshape(-1), weights=weights).astype(np.float64)
    cuts = np.flatnonzero(np.diff(keys // row_count)) + 1
    rows_and_weights = zip(np.split(keys % row_count, cuts), np.split(summed_weights, cuts), strict=True)
    return [Batch(rows, weights) for rows, weights in rows_and_weights]


_COMPOSE: dict[str, Callable[[AnnotationGraph, int, np.random.Generator], list[Batch]]] = {
    "base": _random_batches,
    "node": _node_batches,
    "edge-1": _edge_1_batches,
    "edge-2": _edge_2_batches,
}

#: The ways to compose batches.
STRATEGIES = tuple(_COMPOSE)


# Small training subsets that keep the degrees of the whole annotation graph, and random ones to compare them with.
#
# Source: Waldis, Beck and Gurevych 2022, section 4.2 and table 8. The paper does not say how its subsets were found. To
# see how close a subset comes, compare ``mean_degree`` and ``deviation`` of ``graph.take(rows)`` and of the graph.

#: The largest accepted Euclidean distance of (mean, deviation) from the targets: the paper prints two decimals.
MAX_DISTANCE = 0.01
#: The most random rows to grow a subset from; from a row in a sparse neighbourhood the targets may be out of reach.
STARTS = 10


def degree_subset(graph: AnnotationGraph, size: int, rng: np.random.Generator) -> Rows:
    """Return rows whose annotation graph has nearly the mean degree and the degree deviation of the whole graph.

    A subset grows from a random row: each step adds the row that brings mean and deviation nearest to the targets
    (least squared distance; ties are drawn). Then each chosen row in turn, in random order, is exchanged for a row that
    brings them nearer, until a round ends within :data:`MAX_DISTANCE` or improves nothing. A subset that misses the
    targets is followed by another one from a new random row, at most :data:`STARTS` in all; the nearest is returned.

    Args:
        graph: the graph to draw from, such as the graph of a training set; its degrees are the targets. Rows with the
            same two texts are one edge, and at most one of them is chosen.
        size: the number of rows.
        rng: the source of all draws.

    Returns:
        The rows, ascending, int64, shape (size,).

    Raises:
        InputError: *size* is below 2 or above the number of edges.
    """
    edges = graph.edges
    _check_size(size, len(edges), "edges")
    nearest, least_distance = np.zeros(0, dtype=np.int64), np.inf
    for _ in range(STARTS):
        subset = _GrowingSubset(graph)
        _grow_subset(subset, size, rng)
        distance = subset.squared_distance()
        if distance < least_distance:
            nearest, least_distance = edges[subset.chosen], distance
        if least_distance <= MAX_DISTANCE**2:
            break
    return np.sort(nearest)


def random_subset(graph: AnnotationGraph, size: int, rng: np.random.Generator) -> Rows:
    """Return rows drawn at random without replacement, ascending, int64, shape (size,).

    Raises:
        InputError: *size* is below 2 or above the number of rows.
    """
    _check_size(size, len(graph), "rows")
    return np.sort(rng.permutation(len(graph))[:size])


def _check_size(size: int, available: int, unit: str) -> None:
    """Raise InputError unless *size* is between 2 and *available*, the number of rows or edges (named by *unit*)."""
    if not 2 <= size <= available:
        raise InputError(f"a subset of {size} pairs cannot be drawn from {available} {unit}; expected 2 to {available}")


def _grow_subset(subset: _GrowingSubset, size: int, rng: np.random.Generator) -> None:
    """Add *size* edges to an empty subset, in place, then exchange single edges.

    The exchanges end once the degrees are near the targets, or after a round that gains nothing.
    """
    subset.add(int(rng.integers(len(subset.chosen))))
    for _ in range(size - 1):
        subset.add(subset.nearest_edge(rng)[0])
    distance_before_round = np.inf
    while MAX_DISTANCE**2 < subset.squared_distance() < distance_before_round:
        distance_before_round = subset.squared_distance()
        for edge in rng.permutation(np.flatnonzero(subset.chosen)):
            distance = subset.squared_distance()
            subset.remove(int(edge))
            other, other_distance = subset.nearest_edge(rng)
            subset.add(other if other_distance < distance else int(edge))


class _GrowingSubset:
    """A growing subset of edges, and the distance of its degrees from the targets.

    Mean and deviation depend only on the number of nodes, the sum of their degrees and the sum of the squares. How an
    edge changes these sums follows from the degrees of its two nodes, so all edges are tried at once, without a loop.

    Args:
        graph: the graph to choose from; its degrees are the targets.

    Attributes:
        chosen: whether each edge of the graph is in the subset, shape (edges,).
        degrees: the degree of each text in the subset, int64, shape (texts,).
    """

    def __init__(self, graph: AnnotationGraph) -> None:
        self._first, self._second = graph.first[graph.edges], graph.second[graph.edges]
        self._target_mean, self._target_deviation = graph.mean_degree, graph.deviation
        self.chosen = np.zeros(len(graph.edges), dtype=bool)
        self.degrees = np.zeros(len(graph.texts), dtype=np.int64)

    def add(self, edge: int) -> None:
        """Choose an edge."""
        self._change_edge(edge, 1)

    def remove(self, edge: int) -> None:
        """Undo the choice of an edge."""
        self._change_edge(edge, -1)

    def _change_edge(self, edge: int, change: int) -> None:
        self.chosen[edge] = change > 0
        self.degrees[self._first[edge]] += change
        self.degrees[self._second[edge]] += change

    def squared_distance(self) -> float:
        """Return the squared distance of mean and deviation from the targets; NaN without a chosen edge."""
        present = self.degrees[self.degrees > 0]
        count, total, squares = len(present), present.sum(), (present**2).sum()
        return float(self._squared_distances(np.array(count), np.array(total), np.array(squares)))

    def nearest_edge(self, rng: np.random.Generator) -> tuple[int, float]:
        """Return the unchosen edge that brings the degrees nearest to the targets, and the squared distance with it.

        Of several equally good edges one is drawn.
        """
        first, second = self.degrees[self._first], self.degrees[self._second]
        is_loop = self._first == self._second
        present = self.degrees[self.degrees > 0]
        counts = len(present) + (first == 0) + ((second == 0) & ~is_loop)
        # A loop raises the sum of squares by (d + 2)² - d², another edge by (d + 1)² - d² at each of its nodes.
        squares = (present**2).sum() + np.where(is_loop, 4 * first + 4, 2 * first + 2 * second + 2)
        distances = self._squared_distances(counts, present.sum() + 2, squares)
        distances[self.chosen] = np.inf
        # Equal distances may differ by rounding.
        nearest = np.flatnonzero(distances <= distances.min() + 1e-12)
        edge = int(rng.choice(nearest))
        return edge, float(distances[edge])

    def _squared_distances(self, counts: Rows, totals: Rows, squares: Rows) -> NDArray[np.float64]:
        """Return the squared distance of mean and deviation from the targets, elementwise, for k alternative subsets.

        Args:
            counts: the number of nodes of each, shape (k,), or a scalar.
            totals: the sum of their degrees, shape (k,), or a scalar.
            squares: the sum of their squared degrees, shape (k,), or a scalar.
        """
        means = totals / counts
        # A single node would divide 0 by 0; its deviation is 0.
        deviations = np.sqrt(np.maximum(squares - totals * means, 0) / np.maximum(counts - 1, 1))
        distances: NDArray[np.float64] = (means - self._target_mean) ** 2 + (deviations - self._target_deviation) ** 2
        return distances
