"""Boosted trees as arrays: their value for a pair and the contribution of each input, computed with NumPy.

The results are those of LightGBM, which learns the trees: values to the last bit, contributions to rounding.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.statistics.concordance import Floats

#: How a node takes a missing value: as 0; 0 itself is missing; NaN is missing.
MISSING_NONE, MISSING_ZERO, MISSING_NAN = 0, 1, 2
#: Inputs up to this absolute value are 0, as in LightGBM, where it has single precision.
_ZERO = float(np.float32(1e-35))
#: The numbers that one pass over some pairs may hold at once.
_PASS_SIZE = 2**19

Ints = NDArray[np.intp]


@dataclass(frozen=True)
class Nodes:
    """The N inner nodes and L leaves of T trees, at least one; each tree is a root and what descends from it.

    A slot is a number for a leaf or a node: leaves have the slots from 0 to L - 1, inner nodes those from L on.
    :func:`~assay.statistics.tree_text.parse_trees` makes this value, and checks that each slot but the roots is the
    child of exactly one node, which precedes it.

    Attributes:
        features: the column of the input that a node compares, shape (N,).
        thresholds: a pair goes left if its input is at most the threshold, shape (N,).
        missing: how a node takes a missing value, shape (N,): one of the constants of this module.
        missing_left: whether a pair goes left if its input is missing, shape (N,).
        children: the slots of the left and the right child, shape (N, 2).
        values: the values of the leaves, shape (L,), finite.
        counts: the number of training pairs of each slot, shape (L + N,); that of a node is the sum of its children's.
        roots: the slots of the roots, shape (T,).
    """

    features: Ints
    thresholds: Floats
    missing: Ints
    missing_left: NDArray[np.bool_]
    children: Ints
    values: Floats
    counts: Ints
    roots: Ints

    @cached_property
    def levels(self) -> tuple[Ints, ...]:
        """The inner nodes of each height, from 1 on: the children of a node are leaves, or in an earlier entry."""
        leaf_count = len(self.values)
        heights = np.zeros(len(self.counts), dtype=np.intp)
        while True:
            raised = heights[self.children].max(axis=1) + 1
            if np.array_equal(raised, heights[leaf_count:]):
                break
            heights[leaf_count:] = raised
        return tuple(np.flatnonzero(raised == height) for height in range(1, int(raised.max(initial=0)) + 1))

    @cached_property
    def paths(self) -> _Paths:
        """The paths from the roots to the leaves, for contributions; without a step if each tree is a single leaf."""
        leaf_count = len(self.values)
        parents = np.full(len(self.counts), -1)
        is_left = np.zeros(len(self.counts), dtype=np.bool_)
        parents[self.children] = np.arange(len(self.children))[:, None]
        is_left[self.children[:, 0]] = True
        leaves = slots = np.arange(leaf_count)
        no_slots = np.empty(0, dtype=np.intp)
        # leaf, node, whether it goes left, and share of the node's training pairs; so much for trees without a step
        steps: list[tuple[Ints, Ints, NDArray[np.bool_], Floats]] = [
            (no_slots, no_slots, np.empty(0, bool), np.empty(0))
        ]
        while True:
            # one step up, from every leaf whose root is not reached
            has_parent = parents[slots] >= 0
            leaves, slots = leaves[has_parent], slots[has_parent]
            if not len(slots):
                break
            nodes = parents[slots]
            steps.append((leaves, nodes, is_left[slots], self.counts[slots] / self.counts[nodes + leaf_count]))
            slots = nodes + leaf_count
        step_leaves, step_nodes, step_left, shares = (
            np.concatenate(steps_of_paths) for steps_of_paths in zip(*steps, strict=True)
        )
        # the steps of one leaf that compare the same input lie together
        order = np.lexsort((self.features[step_nodes], step_leaves))
        keys = np.stack([step_leaves[order], self.features[step_nodes[order]]])
        starts = np.flatnonzero(np.any(np.diff(keys, axis=1, prepend=-1) != 0, axis=0))
        return _Paths(
            nodes=step_nodes[order],
            left=step_left[order],
            starts=starts,
            shares=np.multiply.reduceat(shares[order], starts),
            leaves=keys[0, starts],
            features=keys[1, starts],
        )


class _Paths(NamedTuple):
    """The steps from the roots to the leaves, and one element for each leaf and each input that its path compares.

    Attributes:
        nodes: the node of each step, shape (steps,); the steps of one element lie together.
        left: whether the step goes left, shape (steps,).
        starts: the first step of each element, shape (elements,).
        shares: the share of the training pairs that would go on if only this input was unknown, shape (elements,).
        leaves: the leaf of each element, ascending, shape (elements,).
        features: the input of each element, shape (elements,).
    """

    nodes: Ints
    left: NDArray[np.bool_]
    starts: Ints
    shares: Floats
    leaves: Ints
    features: Ints


@dataclass(frozen=True)
class Trees:
    """Boosted trees, whose values are added.

    Attributes:
        text: the trees as LightGBM's text, as it is kept in a file.
        columns: the indices of the inputs that the trees read.
        nodes: the trees of this text.
    """

    text: str
    columns: tuple[int, ...]
    nodes: Nodes = field(compare=False, repr=False)

    def margin(self, inputs: Floats) -> Floats:
        """Return the sum of the trees for each pair, shape (n,), from inputs of shape (n, m), which may be NaN."""
        nodes, sums = self.nodes, np.empty(len(inputs))
        leaf_count = len(nodes.values)
        for rows in _passes(len(inputs), len(nodes.counts)):
            goes_left = self._goes_left(inputs[rows])
            values = np.empty((len(nodes.counts), goes_left.shape[1]))
            values[:leaf_count] = nodes.values[:, None]
            for level in nodes.levels:
                left, right = nodes.children[level].T
                values[level + leaf_count] = np.where(goes_left[level], values[left], values[right])
            # one tree after the other as in LightGBM, which a sum of NumPy does not promise
            sums[rows] = np.cumsum(values[nodes.roots], axis=0)[-1]
        return sums

    def contributions(self, inputs: Floats) -> Floats:
        """Return the contribution of each input that the trees read, and the mean margin last, shape (n, columns + 1).

        They are the SHAP values under the shares of training pairs in the nodes; a row adds up to the margin. The
        *inputs* have the shape (n, m) and may be NaN. The sum over all sets of inputs is the integral of a product,
        which a Gauss-Legendre rule of enough points gives exactly.

        Sources: Lundberg, Erion & Lee, Consistent individualized feature attribution for tree ensembles (2018); Owen,
        Multilinear extensions of games (1972).
        """
        nodes, paths = self.nodes, self.nodes.paths
        result = np.zeros((len(inputs), len(self.columns) + 1))
        result[:, -1] = self._mean_margin()
        if not len(paths.starts):
            return result
        sizes = np.bincount(paths.leaves)[paths.leaves]
        for rows in _passes(len(inputs), len(paths.nodes)):
            goes_left = self._goes_left(inputs[rows])
            is_as_path = goes_left[paths.nodes] == paths.left[:, None]
            follows = np.logical_and.reduceat(is_as_path, paths.starts, axis=0).astype(np.float64)
            path_contributions = np.empty(follows.shape)
            for size in np.unique(sizes):
                elements = np.flatnonzero(sizes == size)
                shape = (-1, int(size), follows.shape[1])
                unknown = paths.shares[elements, None]
                weights = _shapley_weights(follows[elements].reshape(shape), unknown.reshape(-1, int(size), 1))
                path_contributions[elements] = (follows[elements] - unknown) * weights.reshape(-1, follows.shape[1])
            path_contributions *= nodes.values[paths.leaves, None]
            for feature in np.unique(paths.features):
                result[rows, feature] = path_contributions[paths.features == feature].sum(axis=0)
        return result

    def _mean_margin(self) -> float:
        """Return the mean of the margin over the training pairs, by the numbers of pairs in the leaves."""
        nodes = self.nodes
        # the share of the training pairs in each slot, from the roots down
        shares = np.zeros(len(nodes.counts))
        shares[nodes.roots] = 1.0
        leaf_count = len(nodes.values)
        for level in reversed(nodes.levels):
            slots, children = level + leaf_count, nodes.children[level]
            shares[children] = shares[slots, None] * nodes.counts[children] / nodes.counts[slots, None]
        return float(shares[:leaf_count] @ nodes.values)

    def _goes_left(self, inputs: Floats) -> NDArray[np.bool_]:
        """Return for each node and each of n pairs whether the pair goes left there, shape (N, n).

        Args:
            inputs: the inputs, shape (n, m), which may be NaN; inputs of nearly 0 are taken as 0, as in LightGBM.
        """
        nodes = self.nodes
        used_inputs = inputs[:, self.columns].T
        used_inputs = np.where(np.abs(used_inputs) <= _ZERO, 0.0, used_inputs)
        values = used_inputs[nodes.features]
        goes_left: NDArray[np.bool_] = values <= nodes.thresholds[:, None]
        if np.isnan(used_inputs).any():
            of_missing = np.where(nodes.missing == MISSING_NONE, nodes.thresholds >= 0, nodes.missing_left)
            goes_left = np.where(np.isnan(values), of_missing[:, None], goes_left)
        zero_nodes = np.flatnonzero(nodes.missing == MISSING_ZERO)
        if len(zero_nodes):
            is_zero = values[zero_nodes] == 0
            goes_left[zero_nodes] = np.where(is_zero, nodes.missing_left[zero_nodes, None], goes_left[zero_nodes])
        return goes_left


def _passes(n: int, size: int) -> Iterator[slice]:
    """Yield slices of n pairs, so that *size* numbers of each pair fit in one pass."""
    rows = max(1, _PASS_SIZE // max(1, size))
    for start in range(0, n, rows):
        yield slice(start, start + rows)


def _shapley_weights(follows: Floats, unknown: Floats) -> Floats:
    """Return the weight of each of the d inputs on a path: what the other inputs let through of what it changes.

    The inputs become known in some order. At the turn of an input, each other one lets through *follows* if it is known
    already, else *unknown*. The weight is the mean of their product over all orders.

    Args:
        follows: 1 where the input leads along the path, else 0, shape (leaves, d, n).
        unknown: the share of pairs that go along the path if the input is unknown, above 0, shape (leaves, d, 1).

    Returns:
        The weights, shape (leaves, d, n).
    """
    points, weights = np.polynomial.legendre.leggauss((follows.shape[1] + 1) // 2)
    total: Floats = np.zeros(follows.shape)
    for point, weight in zip((points + 1) / 2, weights / 2, strict=True):
        factors = unknown + point * (follows - unknown)
        total += weight * (factors.prod(axis=1, keepdims=True) / factors)
    return total
