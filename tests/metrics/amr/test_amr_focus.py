"""Focus of graphs: which node it is, and how similar two are."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from assay.metrics.amr.node_vectors import (
    NodeVectors,
    best_connected_node,
    max_degree_similarity,
    max_indegree_similarity,
    max_outdegree_similarity,
    root_similarity,
)
from tests.metrics.amr.amr_kernels import graph, graphs, same_graphs, write_vectors

METRICS = (max_indegree_similarity, max_outdegree_similarity, max_degree_similarity, root_similarity)


@pytest.fixture(scope="module")
def vectors(tmp_path_factory):
    table = {"cat": [1.0, 0.0], "dog": [0.6, 0.8], "run": [3.0, 4.0], "see": [-1.0, 0.0], "some": [0.0, 0.0]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASSAY_CACHE", str(tmp_path_factory.mktemp("cache")))
        return NodeVectors(write_vectors(tmp_path_factory.mktemp("vectors"), table))


# in: boy 2 (of want and go); out: want 2, go 2 with its constant, but want is the root; both: go 3
WANT = "(w / want-01 :ARG0 (b / boy) :ARG1 (g / go-02 :ARG0 b :polarity -))"


@pytest.mark.parametrize(
    ("text", "direction", "concept"),
    [
        (WANT, "in", "boy"),
        (WANT, "out", "want-01"),
        (WANT, "both", "go-02"),
        # an inverted role is the other way round: both come in at man
        ("(r / run-01 :ARG0 (m / man :ARG0-of (s / see-01)))", "in", "man"),
        # every node but the root has one edge in; cat is nearer to the root than old
        ("(r / run-01 :ARG0 (c / cat :mod (o / old)))", "in", "cat"),
        # equally near: cat has more edges
        ("(r / run-01 :ARG0 (a / ant) :ARG1 (c / cat :mod (o / old)))", "in", "cat"),
        # equally near with as many edges: in alphabetical order
        ("(r / run-01 :ARG0 (d / dog) :ARG1 (c / cat))", "in", "cat"),
        ("(c / cat)", "both", "cat"),
    ],
)
def test_best_connected(text, direction, concept):
    found = graph(text)
    assert found.concepts[best_connected_node(found, direction)] == concept


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        # (1, 0) and (.6, .8); (1, 0) and (3, 4)
        ("cat", "dog", 0.6),
        ("cat", "run-01", 0.6),
        ("dog", "run-01", 1.0),
        # a negative cosine is 0
        ("cat", "see-01", 0.0),
        # senses do not count
        ("run-01", "run-02", 1.0),
        # an unknown word is like itself alone, and so is one whose vector is zero
        ("zebra", "zebra", 1.0),
        ("zebra", "gnu", 0.0),
        ("zebra", "cat", 0.0),
        ("some", "cat", 0.0),
        ("some", "some", 1.0),
    ],
)
def test_root_similarity(vectors, one, other, expected):
    found = root_similarity(graph(f"(x / {one} :mod (o / old))"), graph(f"(x / {other})"), vectors)
    assert found == pytest.approx(expected, abs=1e-6)


def test_each_degree_takes_its_node(vectors):
    # in: cat and cat; out: run-01 and see-01, (3, 4) and (-1, 0); both: run-01 (2 out; cat has 2 in, farther from the
    # root) and see-01 (3 out)
    one = graph("(r / run-01 :ARG0 (c / cat) :ARG1 c)")
    other = graph("(s / see-01 :ARG0 (c / cat) :ARG1 c :polarity -)")
    assert max_indegree_similarity(one, other, vectors) == 1
    assert max_outdegree_similarity(one, other, vectors) == 0
    assert max_degree_similarity(one, other, vectors) == 0
    third = graph("(d / dog :ARG0 (c / cat) :ARG1 c :polarity -)")
    assert max_outdegree_similarity(one, third, vectors) == pytest.approx(1, abs=1e-6)
    assert max_indegree_similarity(one, graph("(r / run-01 :ARG0 (d / dog) :ARG1 d)"), vectors) == pytest.approx(
        0.6, abs=1e-6
    )


@settings(max_examples=50)
@given(one=graphs(), other=graphs())
def test_range_and_symmetry(vectors, one, other):
    for metric in METRICS:
        score = metric(one, other, vectors)
        assert 0 <= score <= 1
        assert score == metric(other, one, vectors)


@settings(max_examples=50)
@given(pair=same_graphs())
def test_names_and_order_do_not_matter(vectors, pair):
    for metric in METRICS:
        assert metric(*pair, vectors) == 1
