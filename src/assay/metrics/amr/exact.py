"""The optimal alignment, proven: a good one and a bound where they meet, else an integer program."""

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
from assay.metrics.amr.alignment import Alignment, Problem
from assay.metrics.amr.bound import Bound
from assay.metrics.amr.climbing import climb, mapping_of

__all__ = ["integer_program", "optimal_alignment"]


#: Steps of the bound before the integer program is asked, and how many of them lie between two climbs.
_STEPS, _APART = 48, 4
#: Worths that are nearer than this are equal but for rounding.
_EQUAL = 1e-9
#: HiGHS keeps constraints to 1e-6: what is asked for as "a unit more" is this share of a unit less.
_SLACK = 1e-3
#: What milp says where nothing fulfils the constraints.
_INFEASIBLE = 2


def optimal_alignment(problem: Problem) -> Alignment:
    """Return an alignment that is proven to be worth most.

    A climb from the assignment behind an upper bound is mostly optimal, and the bound mostly says so: it is compared
    after rounding down to what a sum of worths can be. Where a gap stays, HiGHS solves the integer program (Opitz 2023,
    SMATCH++, section 4) to optimality.

    Raises:
        AssayError: HiGHS finds no optimum.
    """
    rows, columns = problem.unary.shape
    if not rows or not columns:
        return Alignment((-1,) * rows, 0.0, optimal=True)
    if not len(problem.sources):
        return _assigned(problem)
    bound = Bound(problem)
    best, mapping = -1.0, np.empty(0, dtype=np.intp)
    for step in range(_STEPS):
        if step % _APART == 0:
            found = mapping_of(problem, climb(problem, bound.places))
            value = problem.value(found)
            if value > best:
                best, mapping = value, found
        if _highest(problem, bound.value) <= best + _EQUAL:
            return Alignment(tuple(mapping.tolist()), best, optimal=True)
        if not bound.step(best):
            break
    return integer_program(problem, Alignment(tuple(mapping.tolist()), best, optimal=False), bound.value)


def _assigned(problem: Problem) -> Alignment:
    """Return the best alignment where no two pairs of nodes share a match."""
    mapping = np.full(problem.unary.shape[0], -1, dtype=np.intp)
    rows, columns = linear_sum_assignment(problem.unary, maximize=True)
    mapping[rows] = columns
    return Alignment(tuple(mapping.tolist()), problem.value(mapping), optimal=True)


def _highest(problem: Problem, bound: float) -> float:
    """Return the largest worth that an alignment can have under a bound."""
    return bound if not problem.unit else float(np.floor(bound / problem.unit + _EQUAL)) * problem.unit


def integer_program(problem: Problem, known: Alignment | None = None, bound: float = np.inf) -> Alignment:
    """Return the optimum of a problem with matches of relations by its integer program, as HiGHS finds it.

    It has a variable for each pair of nodes and each match. Of the matches of one relation at one pair of nodes, one at
    most can be, and none without that pair: four families of constraints, whose relaxation is often whole already.

    Where every worth is a multiple of a unit, HiGHS is asked for an alignment worth a unit more than the known one, and
    may stop when less than a unit lies between what it has and what there can be: both prove as much, and sooner.

    Args:
        problem: with at least one match.
        known: a good alignment.
        bound: of what any alignment is worth.

    Raises:
        AssayError: HiGHS finds no optimum.
    """
    rows, columns = problem.unary.shape
    unary = problem.unary.ravel()
    pairs = np.flatnonzero((unary > 0) | _occurs(problem))
    place = np.full(unary.size, -1, dtype=np.intp)
    place[pairs] = np.arange(len(pairs))
    matches = len(problem.sources)
    total = len(pairs) + matches
    gain = np.concatenate([unary[pairs], np.ones(matches)])
    blocks = [_once(pairs // columns, total), _once(pairs % columns, total)]
    highs = [np.ones(block.shape[0]) for block in blocks]
    for relation in (problem.first, problem.second):
        for end in (problem.sources, problem.targets):
            block = _under(relation * unary.size + end, place[end], len(pairs), total)
            blocks.append(block)
            highs.append(np.zeros(block.shape[0]))
    constraints = [LinearConstraint(vstack(blocks), -np.inf, np.concatenate(highs))]
    gap = 0.0
    if known is not None and problem.unit:
        more = known.value + (1 - _SLACK) * problem.unit
        constraints.append(LinearConstraint(csr_array(gain[None]), more, np.inf))
        gap = (1 - _SLACK) * problem.unit / bound
    with _stdout_to_stderr():
        found = milp(
            -gain,
            integrality=np.concatenate([np.ones(len(pairs)), np.zeros(matches)]),
            bounds=Bounds(0, 1),
            constraints=constraints,
            options={"mip_rel_gap": gap},
        )
    if known is not None and found.status == _INFEASIBLE:
        return replace(known, optimal=True)
    if found.x is None or found.status != 0:
        raise AssayError(f"no optimal alignment was found: {found.message}")
    mapping = np.full(rows, -1, dtype=np.intp)
    held = pairs[found.x[: len(pairs)] > 0.5]
    mapping[held // columns] = held % columns
    return Alignment(tuple(mapping.tolist()), problem.value(mapping), optimal=True)


@contextlib.contextmanager
def _stdout_to_stderr() -> Iterator[None]:
    """Send what HiGHS prints now and then, whatever its options say, where it spoils no data."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def _occurs(problem: Problem) -> NDArray[np.bool_]:
    found = np.zeros(problem.unary.size, dtype=bool)
    found[problem.sources] = found[problem.targets] = True
    return found


def _once(groups: NDArray[np.intp], total: int) -> csr_array:
    """Return the rows of: the sum of the variables of a group is at most 1."""
    _, group = np.unique(groups, return_inverse=True)
    data = np.ones(len(group))
    return csr_array((data, (group, np.arange(len(group)))), shape=(int(group.max()) + 1, total))


def _under(keys: NDArray[np.intp], heads: NDArray[np.intp], pairs: int, total: int) -> csr_array:
    """Return the rows of: the sum of the matches of a group is at most the pair of nodes that they need."""
    _, where, group = np.unique(keys, return_index=True, return_inverse=True)
    size = len(where)
    data = np.concatenate([np.ones(len(keys)), -np.ones(size)])
    at = np.concatenate([group, np.arange(size)])
    variables = np.concatenate([pairs + np.arange(len(keys)), heads[where]])
    return csr_array((data, (at, variables)), shape=(size, total))
