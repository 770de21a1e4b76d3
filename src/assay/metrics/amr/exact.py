"""The optimal alignment, proven: by an upper bound that a good alignment reaches, else by an integer program.

A match of two relations is worth 1 to the two pairs of nodes at their ends together. Give each end a share; then a pair
of nodes is worth at most its own value and, for each relation of one node, the largest share in a match with one of the
other's, and the best assignment of nodes by that bounds every alignment (Gilmore 1962, Lawler 1963). Each division into
shares gives a bound; the best division is approached by subgradient steps, as in Lagrangian relaxation (Held and Karp
1971): a match that is counted at one end only has that share lowered.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, linear_sum_assignment, milp
from scipy.sparse import csr_array, vstack

from assay.errors import AssayError
from assay.metrics.amr.alignment import Alignment, Problem, climb, mapping_of

#: Bounds and shares that are nearer than this are equal but for rounding.
_EQUAL_BOUNDS = 1e-12
#: Values of alignments that are nearer than this are equal but for rounding.
_EQUAL = 1e-9
#: Steps without a lower bound after which steps become half as long.
_PATIENCE = 4
#: Steps of the bound before the integer program is solved, and the number of them between two climbs.
_STEPS, _STEPS_PER_CLIMB = 48, 4
#: HiGHS fulfils constraints to 1e-6: "a unit more" is asked for as this share of a unit less.
_SLACK = 1e-3
#: The status of milp where nothing fulfils the constraints.
_INFEASIBLE = 2


class _Ends:
    """Matches at one of their ends, in groups: those of one relation with relations at one pair of nodes.

    A relation is matched with one relation at most, so that a pair of nodes has one match of each group at most.

    Args:
        relation: of one of the graphs, shape (k,).
        pair: the pair of nodes at the end, shape (k,).
        pairs: number of pairs of nodes.
    """

    def __init__(self, relation: NDArray[np.intp], pair: NDArray[np.intp], pairs: int) -> None:
        key = relation * pairs + pair
        self.order = np.argsort(key, kind="stable")
        ordered = key[self.order]
        is_first = np.append(True, ordered[1:] != ordered[:-1])
        self.starts = np.flatnonzero(is_first)
        self.group = np.cumsum(is_first) - 1
        self.pair = pair[self.order][self.starts]

    def largest(self, share: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the largest share in each group, 0 where all are negative."""
        return np.maximum(np.maximum.reduceat(share[self.order], self.starts), 0.0)

    def counted(self, share: NDArray[np.float64], chosen: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Return the matches that the bound counts at *chosen* pairs of nodes: of each group the first largest."""
        largest = self.largest(share)
        counts = chosen[self.pair] & (largest > _EQUAL_BOUNDS)
        is_largest = share[self.order] >= largest[self.group] - _EQUAL_BOUNDS
        candidates = np.flatnonzero(is_largest & counts[self.group])
        if not len(candidates):
            return candidates
        group = self.group[candidates]
        is_first = np.append(True, group[1:] != group[:-1])
        matches: NDArray[np.intp] = self.order[candidates[is_first]]
        return matches


class Bound:
    """The bound of a problem that has matches of relations, under the division into shares so far.

    Attributes:
        value: the lowest bound so far.
        partners: the assignment that gave the latest one, a permutation as in
            :func:`assay.metrics.amr.alignment.climb`.
    """

    def __init__(self, problem: Problem) -> None:
        pairs = problem.unary.size
        self._problem = problem
        # sources and targets of the matches, grouped by the relations of the first graph, and of the second
        self._sides = []
        for relation in (problem.first, problem.second):
            sources = _Ends(relation, problem.sources, pairs)
            targets = _Ends(relation, problem.targets, pairs)
            self._sides.append((sources, targets))
        self._share = np.full(len(problem.sources), 0.5)
        self._stride = 1.0
        #: Steps since the bound was last lowered.
        self._idle = 0
        self.value = np.inf
        self._compute_bound()

    def step(self, reached: float) -> bool:
        """Move shares once, for a known alignment of value *reached*; return False where there is nothing to move."""
        problem = self._problem
        chosen = problem.chosen(mapping_of(problem, self.partners))
        slope = np.zeros(len(self._share))
        is_counted_by = self._counts_by_first, ~self._counts_by_first
        for (source, target), is_counted in zip(self._sides, is_counted_by, strict=True):
            slope[source.counted(self._share, chosen & is_counted)] += 1.0
            slope[target.counted(1.0 - self._share, chosen & is_counted)] -= 1.0
        length = float(slope @ slope)
        if not length:
            return False
        self._share -= self._stride * (self._latest - reached) / length * slope
        self._compute_bound()
        return True

    def _compute_bound(self) -> None:
        """Compute the bound under the current shares, and halve the step where it was not lowered for long."""
        unary = self._problem.unary
        square = np.zeros((max(unary.shape),) * 2)
        square[: unary.shape[0], : unary.shape[1]] = unary + self._highest_gains().reshape(unary.shape)
        rows, columns = linear_sum_assignment(square, maximize=True)
        self.partners = np.asarray(columns, dtype=np.intp)
        self._latest = float(square[rows, columns].sum())
        if self._latest < self.value - _EQUAL_BOUNDS:
            self.value, self._idle = self._latest, 0
            return
        self._idle += 1
        if self._idle >= _PATIENCE:
            self._stride, self._idle = self._stride / 2, 0

    def _highest_gains(self) -> NDArray[np.float64]:
        """Return what the matches of each pair of nodes give at most, shape (pairs of nodes,).

        Counted by the relations of the first graph or by those of the second, whichever gives less.
        """
        size = self._problem.unary.size
        gains = []
        for source, target in self._sides:
            at_source = np.bincount(source.pair, source.largest(self._share), size)
            at_target = np.bincount(target.pair, target.largest(1.0 - self._share), size)
            gains.append(at_source + at_target)
        by_first, by_second = gains
        self._counts_by_first = by_first <= by_second
        lower: NDArray[np.float64] = np.minimum(by_first, by_second)
        return lower


def optimal_alignment(problem: Problem) -> Alignment:
    """Return an alignment that is proven to have the highest value.

    A climb from the assignment behind an upper bound is mostly optimal, and the bound mostly proves it: it is compared
    after rounding down to a possible value. Where a gap stays, HiGHS solves the integer program (Opitz 2023, SMATCH++,
    section 4) to optimality.

    Raises:
        AssayError: HiGHS finds no optimum.
    """
    rows, columns = problem.unary.shape
    if not rows or not columns:
        return Alignment((-1,) * rows, 0.0, optimal=True)
    if not len(problem.sources):
        return _best_assignment(problem)
    bound = Bound(problem)
    best, mapping = -1.0, np.empty(0, dtype=np.intp)
    for step in range(_STEPS):
        if step % _STEPS_PER_CLIMB == 0:
            climbed = mapping_of(problem, climb(problem, bound.partners))
            value = problem.value(climbed)
            if value > best:
                best, mapping = value, climbed
        if _highest_possible_value(problem, bound.value) <= best + _EQUAL:
            return Alignment(tuple(mapping.tolist()), best, optimal=True)
        if not bound.step(best):
            break
    return solve_integer_program(problem, Alignment(tuple(mapping.tolist()), best, optimal=False), bound.value)


def _best_assignment(problem: Problem) -> Alignment:
    """Return an optimal alignment of a problem without matches of relations, by linear assignment.

    The value is then the sum of the values of single pairs of nodes, which linear assignment maximises. Nodes that get
    no partner, where the first graph is larger, are mapped to -1.
    """
    mapping = np.full(problem.unary.shape[0], -1, dtype=np.intp)
    rows, columns = linear_sum_assignment(problem.unary, maximize=True)
    mapping[rows] = columns
    return Alignment(tuple(mapping.tolist()), problem.value(mapping), optimal=True)


def _highest_possible_value(problem: Problem, bound: float) -> float:
    """Return the highest value that an alignment can have under a bound: rounded down to a multiple of the unit."""
    if not problem.unit:
        return bound
    return float(np.floor(bound / problem.unit + _EQUAL)) * problem.unit


def solve_integer_program(problem: Problem, known: Alignment | None = None, bound: float = np.inf) -> Alignment:
    """Return the optimum of a problem with matches of relations by its integer program, as HiGHS finds it.

    It has a variable for each pair of nodes and each match. Of the matches of one relation at one pair of nodes, at
    most one is chosen, and none without that pair: four families of constraints, whose relaxation is often integral.

    Where every value is a multiple of a unit, HiGHS is asked for an alignment with a unit more than the known one, and
    may stop when the gap between its solution and its bound is below a unit: both prove as much, and sooner.

    Args:
        problem: with at least one match.
        known: a good alignment.
        bound: no alignment has a higher value.

    Raises:
        AssayError: HiGHS finds no optimum.
    """
    rows, columns = problem.unary.shape
    unary = problem.unary.ravel()
    pairs = np.flatnonzero((unary > 0) | _is_end_of_match(problem))
    matches = len(problem.sources)
    gain = np.concatenate([unary[pairs], np.ones(matches)])
    constraints = [_alignment_constraint(problem, pairs)]
    gap = 0.0
    if known is not None and problem.unit:
        more = known.value + (1 - _SLACK) * problem.unit
        constraints.append(LinearConstraint(csr_array(gain[None]), more, np.inf))
        gap = (1 - _SLACK) * problem.unit / bound
    with _stdout_to_stderr():
        solution = milp(
            -gain,
            integrality=np.concatenate([np.ones(len(pairs)), np.zeros(matches)]),
            bounds=Bounds(0, 1),
            constraints=constraints,
            options={"mip_rel_gap": gap},
        )
    if known is not None and solution.status == _INFEASIBLE:
        return replace(known, optimal=True)
    if solution.x is None or solution.status != 0:
        raise AssayError(f"no optimal alignment was found: {solution.message}")
    mapping = np.full(rows, -1, dtype=np.intp)
    # solutions are 0 or 1 up to the solver's tolerance
    chosen = pairs[solution.x[: len(pairs)] > 0.5]
    mapping[chosen // columns] = chosen % columns
    return Alignment(tuple(mapping.tolist()), problem.value(mapping), optimal=True)


def _alignment_constraint(problem: Problem, pairs: NDArray[np.intp]) -> LinearConstraint:
    """Return the constraint that a solution is an alignment, and that its matches belong to it.

    Args:
        problem: with at least one match.
        pairs: the pairs of nodes that have a variable, ascending; the variables of the matches follow.
    """
    size, columns = problem.unary.size, problem.unary.shape[1]
    variable_of = np.full(size, -1, dtype=np.intp)
    variable_of[pairs] = np.arange(len(pairs))
    variables = len(pairs) + len(problem.sources)
    # each node of either graph has at most one partner
    blocks = [_at_most_one(pairs // columns, variables), _at_most_one(pairs % columns, variables)]
    upper = [np.ones(block.shape[0]) for block in blocks]
    for relation in (problem.first, problem.second):
        for end in (problem.sources, problem.targets):
            block = _at_most_its_pair(relation * size + end, variable_of[end], len(pairs), variables)
            blocks.append(block)
            upper.append(np.zeros(block.shape[0]))
    return LinearConstraint(vstack(blocks), -np.inf, np.concatenate(upper))


@contextlib.contextmanager
def _stdout_to_stderr() -> Iterator[None]:
    """Redirect what HiGHS prints now and then, whatever its options say, away from the data on stdout."""
    sys.stdout.flush()
    stdout = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(stdout, 1)
        os.close(stdout)


def _is_end_of_match(problem: Problem) -> NDArray[np.bool_]:
    """Return which pairs of nodes are an end of a match, shape (pairs of nodes,)."""
    is_end = np.zeros(problem.unary.size, dtype=bool)
    is_end[problem.sources] = True
    is_end[problem.targets] = True
    return is_end


def _at_most_one(groups: NDArray[np.intp], total: int) -> csr_array:
    """Return the constraints that the variables of a group add up to at most 1."""
    _, group = np.unique(groups, return_inverse=True)
    data = np.ones(len(group))
    return csr_array((data, (group, np.arange(len(group)))), shape=(int(group.max()) + 1, total))


def _at_most_its_pair(keys: NDArray[np.intp], pair_of: NDArray[np.intp], pairs: int, total: int) -> csr_array:
    """Return the constraints that the matches of a group add up to at most the pair of nodes that they need."""
    _, first_of_group, group = np.unique(keys, return_index=True, return_inverse=True)
    size = len(first_of_group)
    data = np.concatenate([np.ones(len(keys)), -np.ones(size)])
    rows = np.concatenate([group, np.arange(size)])
    variables = np.concatenate([pairs + np.arange(len(keys)), pair_of[first_of_group]])
    return csr_array((data, (rows, variables)), shape=(size, total))
