"""Quantifiers of graphs: what they are, and their overlap."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from assay.language.amr import parse_graph
from assay.metrics.amr.smatch import find_quantifiers, quantifier_overlap
from tests.metrics.amr.amr_kernels import graph, graphs, same_graphs


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(c / cat)", {}),
        ("(c / cat :quant 2)", {"2": 1}),
        ('(c / cat :quant "2.0")', {"2": 1}),
        ("(c / cat :quant 1,000)", {"1000": 1}),
        ("(c / cat :quant (s / some))", {"some": 1}),
        ("(c / cat :mod (a / All))", {"all": 1}),
        # once, though it is both a value of :quant and a word that quantifies
        ("(c / cat :quant (m / many))", {"many": 1}),
        ("(a / and :op1 (c / cat :quant 2) :op2 (d / dog :quant 2))", {"2": 2}),
        # two words and a number
        ("(c / cat :quant (m / more-than :op1 100) :mod (b / both))", {"more-than": 1, "100": 1, "both": 1}),
        # two years: the number, not the measure
        ("(l / last-01 :quant (t / temporal-quantity :quant 2 :unit (y / year)))", {"2": 1}),
        ("(r / rise-01 :quant (p / percentage-entity :value 5))", {"5": 1}),
        # most people; but the most beautiful, and much older, are degrees
        ("(h / have-quant-91 :ARG1 (p / person) :ARG2 10 :ARG3 (m / more))", {"10": 1, "more": 1}),
        ("(h / have-degree-91 :ARG1 (p / person) :ARG2 (b / beautiful-02) :ARG3 (m / most))", {}),
        ("(o / old :degree (m / much))", {}),
        # more is a quantifier only where it says how many
        ("(s / say-01 :ARG1 (m / more))", {}),
        ("(s / say-01 :ARG0 (e / everyone) :ARG1 (n / nothing))", {"every": 1, "no": 1}),
        # negation, an ordinal and a value are none
        ("(c / cat :polarity - :ord (o / ordinal-entity :value 2))", {}),
    ],
)
def test_find_quantifiers(text, expected):
    assert find_quantifiers(parse_graph(text)) == expected
    assert find_quantifiers(graph(text)) == expected


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        # two cats, a cat
        ("(l / look-01 :ARG0 (c / cat :quant 2))", "(l / look-01 :ARG0 (c / cat))", 0),
        ("(l / look-01 :ARG0 (c / cat :quant 2))", "(l / look-01 :ARG0 (c / cat :quant 3))", 0),
        # three men, three women: what is counted does not count
        ("(m / man :quant 3)", "(w / woman :quant 3)", 1),
        ("(c / cat)", "(d / dog)", 1),
        # 2 * 1 of 2 and 1; 2 * 1 of 1 and 2
        ("(c / cat :quant 2 :mod (a / all))", "(c / cat :quant 2)", 2 / 3),
        ("(c / cat :quant 2)", "(a / and :op1 (c / cat :quant 2) :op2 (d / dog :quant 2))", 2 / 3),
    ],
)
def test_overlap_by_hand(one, other, expected):
    assert quantifier_overlap(graph(one), graph(other)) == pytest.approx(expected)


@settings(max_examples=50)
@given(graphs(), graphs())
def test_range_symmetry_and_absence(one, other):
    score = quantifier_overlap(one, other)
    assert 0 <= score <= 1
    assert score == quantifier_overlap(other, one)
    if not find_quantifiers(one):
        assert score == (not find_quantifiers(other))


@settings(max_examples=50)
@given(same_graphs())
def test_names_and_order_do_not_matter(pair):
    assert quantifier_overlap(*pair) == 1
