"""The Weisfeiler-Leman kernel by hand, against its authors' program, and on BAMBOO as published."""

from __future__ import annotations

from math import sqrt

import pytest
from hypothesis import given, settings

from assay.metrics.amr.kernels import bag_of_nodes, surroundings, unfold_constants, wlk
from tests.metrics.amr.amr_kernels import graph, graphs, pair_accuracy, parsed, pearson, same_graphs


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        # Left: labels cut-01, man, - and 2 triples, then 3 nodes in each iteration; right: 2 labels and 1 triple, then
        # 2 nodes. Shared: the label cut-01.
        (
            "(c / cut-01 :ARG0 (m / man) :polarity -)",
            "(c / cut-01 :ARG0 (w / woman))",
            1 / sqrt((5 + 3 / 4 + 3 / 9) * (3 + 2 / 4 + 2 / 9)),
        ),
        # Either: 4 labels, 3 triples, 4 nodes in each iteration. Shared: labels see-01, i, dog and triples ARG0, ARG1;
        # after one iteration see-01 and i (dog has another :mod); after two only i.
        (
            "(s / see-01 :ARG0 (i / i) :ARG1 (d / dog :mod (o / old)))",
            "(s / see-01 :ARG0 (i / i) :ARG1 (d / dog :mod (y / young)))",
            (5 + 2 / 4 + 1 / 9) / (7 + 4 / 4 + 4 / 9),
        ),
        # What appears twice counts once. Left: and, cat, 2 triples; and with both, cat at op1, cat at op2. Right: and,
        # cat, 1 triple; and, cat at op1. Shared: and, cat, the triple op1; then cat at op1; then nothing: and differs.
        (
            "(a / and :op1 (c / cat) :op2 (d / cat))",
            "(a / and :op1 (c / cat))",
            (3 + 1 / 4) / sqrt((4 + 3 / 4 + 3 / 9) * (3 + 2 / 4 + 2 / 9)),
        ),
        # Labels are taken up in both directions alike: only the triple, of three and 2 nodes twice, tells these apart.
        ("(a / cat :ARG0 (b / dog))", "(b / dog :ARG0 (a / cat))", (2 + 2 / 4 + 2 / 9) / (3 + 2 / 4 + 2 / 9)),
        ("(c / cat)", "(d / dog)", 0),
        # domain is mod turned round, case and quotes do not count
        ('(o / old :domain (c / Cat :name "Tom"))', "(c / cat :mod (o / old) :name tom)", 1),
    ],
)
def test_by_hand(one, other, expected):
    assert wlk(graph(one), graph(other)) == pytest.approx(expected, abs=1e-12)


def test_iterations():
    one, other = graph("(c / cut-01 :ARG0 (m / man))"), graph("(c / cut-01 :ARG0 (w / woman))")
    assert wlk(one, other, iterations=0) == pytest.approx(1 / 3)
    assert wlk(one, other, iterations=1) == pytest.approx(1 / (3 + 2 / 4))


def test_constants_are_nodes_of_their_own():
    labels, edges = unfold_constants(graph("(a / and :op1 (c / cat :quant 2) :op2 (d / dog :quant 2))"))
    assert labels == ["and", "cat", "dog", "2", "2"]
    assert edges == [(0, "op1", 1), (0, "op2", 2), (1, "quant", 3), (2, "quant", 4)]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        # counts (1, 2) for and, cat against (1, 1) and 1 for dog: 3 / sqrt(5 * 3)
        ("(a / and :op1 (c / cat) :op2 (d / cat))", "(a / and :op1 (c / cat) :op2 (d / dog))", 3 / sqrt(15)),
        # a constant is a node: cat, 2 against cat, 3
        ("(c / cat :quant 2)", "(c / cat :quant 3)", 1 / 2),
        ("(c / cat :mod (o / old))", "(o / old :ARG0 (c / cat))", 1),
    ],
)
def test_bag_of_nodes(one, other, expected):
    assert bag_of_nodes(graph(one), graph(other)) == pytest.approx(expected)


@pytest.mark.slow
@settings(max_examples=50)
@given(graphs(), graphs())
def test_range_and_symmetry(one, other):
    for metric in (wlk, bag_of_nodes):
        score = metric(one, other)
        assert 0 <= score <= 1
        assert score == metric(other, one)


@settings(max_examples=50)
@given(same_graphs())
def test_names_and_order_do_not_matter(pair):
    assert wlk(*pair) == 1
    assert bag_of_nodes(*pair) == pytest.approx(1, abs=1e-12)


# What the program of Opitz, Daza and Frank (weisfeiler-leman-amr-metrics at 51624e2, -round_decimals 16) gave.
@pytest.mark.parametrize(
    ("name", "row", "expected"),
    [
        ("sts", 262, 0.3205596585695536),
        ("sts", 484, 0.4829844486524859),
        ("sts", 669, 0.4229549344378136),
        ("sts", 817, 0.459502482021624),
        ("sick", 39, 0.8810665024188917),
        ("sick", 1667, 0.8377321725578589),
        ("sick", 3258, 0.4695802000365006),
    ],
)
def test_as_the_authors_program(shared_data, name, row, expected):
    assert wlk(*parsed(shared_data, name, "main")[row]) == pytest.approx(expected, abs=1e-12)


# BAMBOO's table of 2023-12-07. The authors' program gives all nodes of one label the neighbours of the last of them, in
# an order that Python's hash seed decides: 77.8 to 78.5 on the roles of PARA in four runs. Each node has its own here.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "published", "confusion", "within"),
    [("sts", 65.57, 79.75, 0.5), ("sick", 61.36, 90.76, 0.5), ("para", 36.21, 77.61, 0.75)],
)
def test_bamboo(shared_data, name, published, confusion, within):
    scores = [wlk(*pair) for pair in parsed(shared_data, name, "main")]
    assert pearson(shared_data, name, scores) == pytest.approx(published, abs=0.5)
    scores = [wlk(*pair) for pair in parsed(shared_data, name, "role_confusion")]
    assert pair_accuracy(scores) == pytest.approx(confusion, abs=within)


def test_labels_do_not_grow_with_the_iterations():
    # spelled out, the label of the root takes up 40 neighbours, and each of these the root, again and again
    wide = graph(f"(c / cat {' '.join(f':op{i} (d{i} / dog{i})' for i in range(40))})")
    assert max(len(label) for found in surroundings(wide, 4)[1:] for label in found) == 16
    assert len(surroundings(wide, 4)[4]) == 41
    assert wlk(wide, wide, iterations=4) == pytest.approx(1)
