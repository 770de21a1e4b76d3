"""Optimal alignments against every alignment there is, and the bound and hill climbing on their sides of it."""

from __future__ import annotations

import itertools
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.language.amr import parse_graph
from assay.metrics.amr import exact
from assay.metrics.amr.alignment import Alignment, Triples, hill_climbing, make_problem, triples_of
from assay.metrics.amr.exact import Bound, optimal_alignment, solve_integer_program
from tests.metrics.amr.amr_data import bamboo


@st.composite
def graphs(draw, most=5, labels="ab"):
    size = draw(st.integers(1, most))
    node = st.integers(0, size - 1)
    concepts = draw(st.lists(st.sampled_from(labels), min_size=size, max_size=size))
    relations = draw(st.lists(st.tuples(node, st.sampled_from("xy"), node), max_size=8, unique=True))
    attributes = draw(st.lists(st.tuples(node, st.sampled_from("pq"), st.sampled_from("12")), max_size=3, unique=True))
    return Triples(tuple(concepts), tuple(relations), tuple(attributes))


def graded(first, second):
    return 1.0 if first == second else {"ab": 0.37, "ac": 0.5, "bc": 0.61}["".join(sorted(first + second))]


def every_alignment(first, second):
    places = [*range(len(second.concepts)), *[-1] * len(first.concepts)]
    return set(itertools.permutations(places, len(first.concepts)))


def worth(first, second, mapping, similarity):
    """Count what an alignment makes equal, straight from the triples."""
    total = 0.0
    for node, other in enumerate(mapping):
        if other >= 0:
            total += similarity(first.concepts[node], second.concepts[other])
    for source, role, target in first.relations:
        total += (mapping[source], role, mapping[target]) in second.relations
    for node, role, constant in first.attributes:
        total += (mapping[node], role, constant) in second.attributes
    return total


def same(first, second):
    return float(first == second)


@pytest.mark.slow
@settings(max_examples=80)
@given(graphs(), graphs(most=4), st.booleans())
def test_no_alignment_is_worth_more(first, second, by_degrees):
    similarity = graded if by_degrees else same
    best = max(worth(first, second, mapping, similarity) for mapping in every_alignment(first, second))
    problem = make_problem(first, second, similarity)
    found = optimal_alignment(problem)
    assert found.optimal
    assert found.value == pytest.approx(best, abs=1e-9)
    assert worth(first, second, found.mapping, similarity) == pytest.approx(best, abs=1e-9)
    used = [place for place in found.mapping if place >= 0]
    assert len(set(used)) == len(used)
    climbed = hill_climbing(problem)
    assert climbed.value <= best + 1e-9
    assert worth(first, second, climbed.mapping, similarity) == pytest.approx(climbed.value, abs=1e-9)
    if len(problem.sources):
        assert solve_integer_program(problem).value == pytest.approx(best, abs=1e-9)
        # asked for more than a known one: of the first climb, and of nothing at all
        for known in (climbed, Alignment((-1,) * len(first.concepts), 0.0, optimal=False)):
            told = solve_integer_program(problem, known, best + 3)
            assert told.optimal
            assert told.value == pytest.approx(best, abs=1e-9)
        bound = Bound(problem)
        for _ in range(5):
            assert bound.value >= best - 1e-9
            if not bound.step(climbed.value):
                break


@settings(max_examples=40)
@given(graphs(labels="abc"), graphs(labels="abc"))
def test_the_order_of_the_graphs_does_not_matter(first, second):
    there, back = optimal_alignment(make_problem(first, second)), optimal_alignment(make_problem(second, first))
    assert there.value == back.value


def test_a_graph_that_hill_climbing_cannot_align_is_aligned():
    # three chains of equal concepts: a climb by exchanges of two may end where three must move together
    one = Triples(("a",) * 6, ((0, "x", 1), (1, "y", 2), (3, "x", 4), (4, "z", 5)), ())
    other = Triples(("a",) * 6, ((5, "x", 3), (3, "z", 1), (4, "x", 2), (2, "y", 0)), ())
    found = optimal_alignment(make_problem(one, other))
    assert found.value == 6 + 4
    assert found.mapping == (4, 2, 0, 5, 3, 1)


@pytest.mark.parametrize("row", [0, 6, 8, 31])
def test_unrelated_graphs_that_need_the_program(shared_data, row):
    # without labels nearly everything matches something, and the bound stays a unit above the best alignment
    pairs = bamboo(shared_data, "para")
    first, second = pairs[row][0], pairs[row + 7][1]
    plain = []
    for text in (first, second):
        whole = triples_of(parse_graph(text))
        edges = tuple(sorted({(source, "any", target) for source, _, target in whole.relations}))
        plain.append(Triples(whole.concepts, edges, whole.attributes))
    problem = make_problem(*plain)
    bound = Bound(problem)
    found = optimal_alignment(problem)
    for _ in range(48):
        bound.step(found.value)
    assert bound.value - found.value >= 1
    assert found.value == solve_integer_program(problem).value


def test_what_highs_prints_goes_to_stderr(capfd, monkeypatch):
    solve = exact.milp

    def noisy(*arguments, **settings):
        os.write(1, b"a remark\n")
        return solve(*arguments, **settings)

    monkeypatch.setattr(exact, "milp", noisy)
    problem = make_problem(*(Triples(("a",) * 3, ((0, "x", 1), (1, "x", 2)), ()) for _ in range(2)))
    print("data")
    assert solve_integer_program(problem).value == 5
    print("more data")
    out, err = capfd.readouterr()
    assert out == "data\nmore data\n"
    assert "a remark" in err


def test_the_seed_decides_the_climbs():
    graph = triples_of(parse_graph("(a / and :op1 (b / boy) :op2 (c / boy :mod (d / boy)) :op3 (e / boy))"))
    problem = make_problem(graph, graph)
    assert hill_climbing(problem, seed=3) == hill_climbing(problem, seed=3)


def test_loops_match_loops():
    loop = Triples(("a",), ((0, "x", 0),), ())
    straight = Triples(("a", "b"), ((0, "x", 1),), ())
    assert optimal_alignment(make_problem(loop, loop)).value == 2
    assert optimal_alignment(make_problem(loop, straight)).value == 1


def test_nothing_matches_nothing():
    empty = Triples((), (), ())
    some = Triples(("a", "b"), ((0, "x", 1),), ())
    for first, second in ((empty, some), (some, empty), (empty, empty)):
        problem = make_problem(first, second)
        assert optimal_alignment(problem).value == hill_climbing(problem).value == 0
    assert optimal_alignment(make_problem(some, Triples(("c",), (), ()))).value == 0


def test_units_of_worth():
    first, second = Triples(("a", "b"), (), ()), Triples(("a", "c"), (), ())
    assert make_problem(first, second).unit == 1
    assert make_problem(first, second, lambda *_: 0.5).unit == 0.5
    assert make_problem(first, second, lambda *_: 0.3).unit == 0
    assert np.array_equal(make_problem(first, second, concept_weight=3.0).unary, [[3, 0], [0, 0]])
