"""Optimal alignments with a proof: an upper bound that a good alignment reaches, or else an integer program.

A match of two relations adds 1 to the value of an alignment, if the pairs of nodes at both of its ends are aligned.
Divide this 1 into a share for each end. Then a pair of nodes adds at most its own value and, for each relation of the
first node, the largest share in a match with a relation of the second. The best assignment of nodes by these values is
an upper bound of every alignment (Gilmore 1962, Lawler 1963). Each division into shares yields a bound; subgradient
steps lead to the lowest one, as in Lagrangian relaxation (Held and Karp 1971): if the assignment counts a match at one
end only, the share of that end is lowered.
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

from assay.exceptions import AssayError
from assay.metrics.amr.alignment import Alignment, Problem, climb, mapping_of

#: Bounds and shares that differ by less than this are equal up to rounding.
_BOUND_TOLERANCE = 1e-12
#: Values of alignments that differ by less than this are equal up to rounding.
_VALUE_TOLERANCE = 1e-9
#: The number of steps that do not lower the bound after which the step length is halved.
_PATIENCE = 4
#: The number of steps of the bound before the integer program is solved, and of steps between two climbs.
_MAX_STEPS, _STEPS_PER_CLIMB = 48, 4
#: HiGHS fulfils constraints only to 1e-6, so that "one unit more" is required as one unit less this share of a unit.
_SLACK = 1e-3
#: The status of milp if no solution fulfils the constraints.
_INFEASIBLE = 2


class _Ends:
    """One end of k matches, in groups: a group has all matches of the same relation at the same pair of nodes.

    A relation is matched with at most one relation, so that an alignment has at most one match of each group.

    Attributes:
        order: the matches, sorted by group, shape (k,).
        starts: the index in *order* of the first match of each of g groups, shape (g,).
        group: the group of each match in *order*, shape (k,).
        pair: the pair of nodes of each group, shape (g,).

    Args:
        relation: the relation of each match in one of the two graphs, shape (k,).
        pair: the pair of nodes at this end of each match, shape (k,).
        pair_count: the number of pairs of nodes.
    """

    def __init__(self, relation: NDArray[np.intp], pair: NDArray[np.intp], pair_count: int) -> None:
        key = relation * pair_count + pair
        self.order = np.argsort(key, kind="stable")
        ordered = key[self.order]
        is_first = np.append(True, ordered[1:] != ordered[:-1])
        self.starts = np.flatnonzero(is_first)
        self.group = np.cumsum(is_first) - 1
        self.pair = pair[self.order][self.starts]

    def largest_shares(self, share: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the largest share in each of g groups, 0 if all are negative, shape (g,).

        Args:
            share: the share of this end of each match, shape (k,).
        """
        return np.maximum(np.maximum.reduceat(share[self.order], self.starts), 0.0)

    def counted_matches(self, share: NDArray[np.float64], is_aligned: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Return the matches that the bound counts at this end: the first with the largest share in each group.

        Groups without a positive share, or at a pair of nodes that is not chosen, have none.

        Args:
            share: the share of this end of each match, shape (k,).
            is_aligned: whether each pair of nodes is aligned, shape (pairs,).
        """
        largest = self.largest_shares(share)
        has_match = is_aligned[self.pair] & (largest > _BOUND_TOLERANCE)
        is_largest = share[self.order] >= largest[self.group] - _BOUND_TOLERANCE
        candidates = np.flatnonzero(is_largest & has_match[self.group])
        if not len(candidates):
            return candidates
        # ties: candidates are sorted by group, so the first of each group is kept
        group = self.group[candidates]
        is_first = np.append(True, group[1:] != group[:-1])
        matches: NDArray[np.intp] = self.order[candidates[is_first]]
        return matches


class Bound:
    """An upper bound of the value of every alignment, which :meth:`step` lowers.

    Args:
        problem: the problem, with at least one match of relations.

    Attributes:
        value: the lowest bound so far.
        partners: the assignment behind the latest bound, a permutation as in
            :func:`assay.metrics.amr.alignment.climb`.
    """

    def __init__(self, problem: Problem) -> None:
        pair_count = problem.unary.size
        self._problem = problem
        # the ends of the matches, grouped by the relations of the first graph, then by those of the second
        self._sides = []
        for relation in (problem.first, problem.second):
            sources = _Ends(relation, problem.sources, pair_count)
            targets = _Ends(relation, problem.targets, pair_count)
            self._sides.append((sources, targets))
        #: The share of each match at its source; its target has the rest of 1.
        self._share = np.full(len(problem.sources), 0.5)
        self._stride = 1.0
        #: The number of steps since the bound was last lowered.
        self._steps_in_vain = 0
        self.value = np.inf
        # set by the first bound: its value, the assignment behind it, and the pairs of nodes whose matches it counts by
        # the relations of the first graph
        self._latest_value = np.inf
        self.partners = np.empty(0, dtype=np.intp)
        self._counts_by_first = np.empty(0, dtype=bool)
        self._compute_bound()

    def step(self, known_value: float) -> bool:
        """Take one subgradient step and compute the bound anew, and tell whether one was taken.

        None is taken if every match is counted at both ends or at none: no step would lower the bound.

        Args:
            known_value: the value of a known alignment; its gap to the bound decides the length of the step.
        """
        problem = self._problem
        is_aligned = problem.aligned_pairs(mapping_of(problem, self.partners))
        subgradient = np.zeros(len(self._share))
        # each pair of nodes counts its matches by the relations of one graph, see :meth:`_highest_gains`
        is_counted_by = self._counts_by_first, ~self._counts_by_first
        for (source, target), is_counted in zip(self._sides, is_counted_by, strict=True):
            subgradient[source.counted_matches(self._share, is_aligned & is_counted)] += 1.0
            subgradient[target.counted_matches(1.0 - self._share, is_aligned & is_counted)] -= 1.0
        squared_length = float(subgradient @ subgradient)
        if not squared_length:
            return False
        self._share -= self._stride * (self._latest_value - known_value) / squared_length * subgradient
        self._compute_bound()
        return True

    def _compute_bound(self) -> None:
        """Compute the bound by the current shares; ``value`` is set if it is lower than all before.

        It also sets ``partners``, ``_latest_value`` and ``_counts_by_first``, which the next step needs. After
        :data:`_PATIENCE` steps in vain, the stride is halved.
        """
        unary = self._problem.unary
        gains, self._counts_by_first = self._highest_gains()
        # padded to a square, so that each node has a partner
        values = np.zeros((max(unary.shape),) * 2)
        values[: unary.shape[0], : unary.shape[1]] = unary + gains.reshape(unary.shape)
        rows, columns = linear_sum_assignment(values, maximize=True)
        self.partners = np.asarray(columns, dtype=np.intp)
        self._latest_value = float(values[rows, columns].sum())
        if self._latest_value < self.value - _BOUND_TOLERANCE:
            self.value = self._latest_value
            self._steps_in_vain = 0
            return
        self._steps_in_vain += 1
        if self._steps_in_vain >= _PATIENCE:
            self._stride /= 2
            self._steps_in_vain = 0

    def _highest_gains(self) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the most that the matches at each pair of nodes can add, shape (pairs of nodes,).

        They are counted by the relations of the first graph and by those of the second. Both sums are bounds, and the
        lower one is used. The second array tells where it is that of the first graph, also in a tie.
        """
        pair_count = self._problem.unary.size
        gains = []
        for source, target in self._sides:
            at_source = np.bincount(source.pair, source.largest_shares(self._share), pair_count)
            at_target = np.bincount(target.pair, target.largest_shares(1.0 - self._share), pair_count)
            gains.append(at_source + at_target)
        by_first, by_second = gains
        return np.minimum(by_first, by_second), by_first <= by_second


def optimal_alignment(problem: Problem) -> Alignment:
    """Return an alignment that is proven to have the highest value.

    Hill climbing from the assignment behind an upper bound mostly reaches an optimum, and the bound, rounded down to a
    possible value, mostly proves it. If a gap remains, HiGHS solves the integer program (Opitz 2023, SMATCH++,
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
    # the first climb replaces both
    best_value, best_mapping = -1.0, np.empty(0, dtype=np.intp)
    for step in range(_MAX_STEPS):
        if step % _STEPS_PER_CLIMB == 0:
            mapping = mapping_of(problem, climb(problem, bound.partners))
            value = problem.value(mapping)
            if value > best_value:
                best_value, best_mapping = value, mapping
        if _highest_possible_value(problem, bound.value) <= best_value + _VALUE_TOLERANCE:
            return Alignment(tuple(best_mapping.tolist()), best_value, optimal=True)
        if not bound.step(best_value):
            break
    known_alignment = Alignment(tuple(best_mapping.tolist()), best_value, optimal=False)
    return solve_integer_program(problem, known_alignment, bound.value)


def _best_assignment(problem: Problem) -> Alignment:
    """Return an optimal alignment of a problem without matches of relations, by linear assignment.

    The value is then the sum of the values of single pairs of nodes, which linear assignment maximises. If the first
    graph is larger, its nodes without a partner are mapped to -1.
    """
    mapping = np.full(problem.unary.shape[0], -1, dtype=np.intp)
    rows, columns = linear_sum_assignment(problem.unary, maximize=True)
    mapping[rows] = columns
    return Alignment(tuple(mapping.tolist()), problem.value(mapping), optimal=True)


def _highest_possible_value(problem: Problem, bound: float) -> float:
    """Return the highest value that an alignment can have under a bound.

    It is the bound, rounded down to a multiple of the problem's unit, or without a unit the bound itself.
    """
    if not problem.unit:
        return bound
    return float(np.floor(bound / problem.unit + _VALUE_TOLERANCE)) * problem.unit


def solve_integer_program(
    problem: Problem, known_alignment: Alignment | None = None, bound: float = np.inf
) -> Alignment:
    """Return an optimal alignment, found by HiGHS as the solution of an integer program.

    The program has one variable per pair of nodes and one per match. Of the matches of one relation at one pair of
    nodes, at most one is chosen, and none unless that pair is: four families of constraints (two ends, two graphs),
    whose relaxation is often integral.

    If every value is a multiple of a unit, HiGHS is asked for an alignment worth at least one unit more than the known
    one, and may stop when the gap between its solution and its bound is below a unit. This proves optimality too, and
    is faster. If there is no such alignment, the known one is returned as optimal.

    Args:
        problem: the problem, with at least one match.
        known_alignment: a good alignment; None if there is none.
        bound: an upper bound of the value of every alignment.

    Raises:
        AssayError: HiGHS finds no optimum.
    """
    rows, columns = problem.unary.shape
    unary = problem.unary.ravel()
    pairs = np.flatnonzero((unary > 0) | _match_end_mask(problem))
    match_count = len(problem.sources)
    gain = np.concatenate([unary[pairs], np.ones(match_count)])
    constraints = [_alignment_constraint(problem, pairs)]
    gap = 0.0
    if known_alignment is not None and problem.unit:
        least_value = known_alignment.value + (1 - _SLACK) * problem.unit
        constraints.append(LinearConstraint(csr_array(gain[None]), least_value, np.inf))
        gap = (1 - _SLACK) * problem.unit / bound
    with _stdout_to_stderr():
        # milp minimises; in an optimum the variables of matches are 0 or 1 as soon as those of pairs are
        solution = milp(
            -gain,
            integrality=np.concatenate([np.ones(len(pairs)), np.zeros(match_count)]),
            bounds=Bounds(0, 1),
            constraints=constraints,
            options={"mip_rel_gap": gap},
        )
    if known_alignment is not None and solution.status == _INFEASIBLE:
        # no alignment is worth a unit more than the known one
        return replace(known_alignment, optimal=True)
    if solution.x is None or solution.status != 0:
        raise AssayError(f"no optimal alignment was found: {solution.message}")
    mapping = np.full(rows, -1, dtype=np.intp)
    # solutions are 0 or 1 up to the solver's tolerance
    aligned = pairs[solution.x[: len(pairs)] > 0.5]
    mapping[aligned // columns] = aligned % columns
    return Alignment(tuple(mapping.tolist()), problem.value(mapping), optimal=True)


def _alignment_constraint(problem: Problem, pairs: NDArray[np.intp]) -> LinearConstraint:
    """Return the constraints that a solution is an alignment and has only matches of this alignment.

    Args:
        problem: the problem, with at least one match.
        pairs: the pairs of nodes that have a variable, ascending; the variables of the matches follow theirs.
    """
    pair_count, columns = problem.unary.size, problem.unary.shape[1]
    variable_of = np.full(pair_count, -1, dtype=np.intp)
    variable_of[pairs] = np.arange(len(pairs))
    variable_count = len(pairs) + len(problem.sources)
    # each node of either graph has at most one partner
    blocks = [
        _at_most_one_coefficients(pairs // columns, variable_count),
        _at_most_one_coefficients(pairs % columns, variable_count),
    ]
    upper_limits = [np.ones(block.shape[0]) for block in blocks]
    for relation in (problem.first, problem.second):
        for end in (problem.sources, problem.targets):
            block = _at_most_pair_coefficients(
                relation * pair_count + end, variable_of[end], len(pairs), variable_count
            )
            blocks.append(block)
            upper_limits.append(np.zeros(block.shape[0]))
    return LinearConstraint(vstack(blocks), -np.inf, np.concatenate(upper_limits))


@contextlib.contextmanager
def _stdout_to_stderr() -> Iterator[None]:
    """Redirect stdout to stderr within the block: HiGHS prints at times despite its options, and stdout is for data."""
    sys.stdout.flush()
    stdout = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(stdout, 1)
        os.close(stdout)


def _match_end_mask(problem: Problem) -> NDArray[np.bool_]:
    """Return whether each pair of nodes is an end of a match, shape (pairs of nodes,)."""
    is_end = np.zeros(problem.unary.size, dtype=bool)
    is_end[problem.sources] = True
    is_end[problem.targets] = True
    return is_end


def _at_most_one_coefficients(group_keys: NDArray[np.intp], variable_count: int) -> csr_array:
    """Return the coefficients of the sum of the variables in each group, which must be at most 1.

    Args:
        group_keys: the group of each of the first variables, one per variable; the other variables are in no group.
        variable_count: the number of all variables.

    Returns:
        A 0/1 matrix, shape (groups, variables).
    """
    _, rows = np.unique(group_keys, return_inverse=True)
    columns = np.arange(len(rows))
    group_count = int(rows.max()) + 1
    return csr_array((np.ones(len(rows)), (rows, columns)), shape=(group_count, variable_count))


def _at_most_pair_coefficients(
    group_keys: NDArray[np.intp], pair_variable: NDArray[np.intp], pair_variable_count: int, variable_count: int
) -> csr_array:
    """Return the coefficients of the sum of the matches in each group less their pair, which must be at most 0.

    Args:
        group_keys: the group of each match; the matches of a group are at the same pair of nodes.
        pair_variable: the variable of that pair of nodes, for each match.
        pair_variable_count: the number of variables of pairs; those of the matches follow.
        variable_count: the number of all variables.

    Returns:
        A matrix of 1 for matches and -1 for pairs, shape (groups, variables).
    """
    _, first_of_group, group = np.unique(group_keys, return_index=True, return_inverse=True)
    group_count = len(first_of_group)
    coefficients = np.concatenate([np.ones(len(group_keys)), -np.ones(group_count)])
    rows = np.concatenate([group, np.arange(group_count)])
    columns = np.concatenate([pair_variable_count + np.arange(len(group_keys)), pair_variable[first_of_group]])
    return csr_array((coefficients, (rows, columns)), shape=(group_count, variable_count))
