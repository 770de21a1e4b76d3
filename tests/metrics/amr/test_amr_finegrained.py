"""Fine-grained scores, each computed by hand from its definition."""

from __future__ import annotations

import pytest

from assay.language.amr import parse_graph
from assay.metrics import Batch, load_metric
from assay.metrics.amr.smatch import (
    coreference_triples,
    frames,
    named_entities,
    negated_concepts,
    srl_triples,
    unlabeled_triples,
)
from assay.metrics.amr.standard import standardized

WANT = "(w / want-01 :ARG0 (b / boy) :ARG1 (g / go-02 :ARG0 b :polarity -))"
ANN = '(s / see-01 :ARG0 (p / person :name (n / name :op1 "Ann")) :ARG1 (c / city :name (m / name :op1 "Bonn")))'


def graph(text):
    return standardized(parse_graph(text))


def score(aspect, one, other):
    return float(load_metric(f"amr:{aspect}").score(Batch(["a"], ["b"], None, [one], [other]))[0])


def test_sets_of_labels():
    assert frames(graph(WANT)) == {"want-01", "go-02"}
    assert frames(graph("(d / date-entity :year 2020 :time (b / be-temporally-at-91))")) == {"be-temporally-at-91"}
    assert named_entities(graph(ANN)) == {"person", "city"}
    assert negated_concepts(graph(WANT)) == {"go-02"}
    assert negated_concepts(graph("(g / go-02 :ARG1-of (h / have-polarity-91 :ARG2 -))")) == {"go-02"}
    assert negated_concepts(graph("(g / go-02 :polarity (a / amr-unknown))")) == frozenset()


@pytest.mark.parametrize(
    ("aspect", "one", "other", "expected"),
    [
        # {want-01, go-02} and {want-01}: one of 2 + 1
        ("frames", WANT, "(w / want-01 :ARG1 (c / cake))", 2 * 1 / 3),
        # {want-01, boy, go-02} and {want-01, girl, go-02, boy}: three of 3 + 4
        ("concepts", WANT, "(w / want-01 :ARG0 (x / girl) :ARG1 (g / go-02 :ARG0 (b / boy)))", 2 * 3 / 7),
        # {person, city} and {city}
        ("named-entities", ANN, '(c / city :name (n / name :op1 "Rom"))', 2 * 1 / 3),
        ("negation", WANT, WANT.replace("go-02", "come-01"), 0.0),
        # left: w, b, g; root; three relations; polarity: 8. Right: w, b, c; root; two relations: 6.
        # want, boy, root and both relations of want match, whatever they are called: 5
        ("unlabeled", WANT, "(w / want-01 :ARG2 (b / boy) :ARG3 (c / cake))", 2 * 5 / 14),
        # boy has two parents: want, go, boy and two relations, on both sides 5; go and come differ
        ("coreference", WANT, WANT.replace("go-02", "come-01"), 2 * 4 / 10),
        # want, boy, go and three arguments on the left: 6; want, boy and one on the right: 3
        ("srl", WANT, "(w / want-01 :ARG0 (b / boy) :time (n / now))", 2 * 3 / 9),
    ],
)
def test_by_hand(aspect, one, other, expected):
    assert score(aspect, one, other) == score(aspect, other, one) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("aspect", ["frames", "named-entities", "negation", "coreference", "srl", "quantifiers"])
def test_what_is_absent_from_both_is_equal(aspect):
    assert score(aspect, "(c / cat)", "(d / dog :mod (b / big))") == 1.0


@pytest.mark.parametrize("aspect", ["frames", "named-entities", "negation", "coreference", "srl"])
def test_what_is_absent_from_one_is_not(aspect):
    full = WANT.replace("(b / boy)", '(b / boy :name (n / name :op1 "Ed"))')
    assert score(aspect, full, "(d / dog :mod (b / big))") == 0.0
    assert score(aspect, full, full) == 1.0


def test_parts_of_a_graph():
    part = coreference_triples(graph(WANT))
    assert (part.concepts, part.relations, part.attributes) == (
        ("want-01", "boy", "go-02"),
        ((0, "arg0", 1), (2, "arg0", 1)),
        (),
    )
    assert srl_triples(graph("(h / have-quant-91 :ARG1 (c / cup) :ARG2 2)")).attributes == ((0, "arg2", "2"),)
    assert len(srl_triples(graph("(d / dog :mod (b / big))"))) == 0


def test_two_relations_of_the_same_nodes_are_one_without_labels():
    found = unlabeled_triples(graph("(h / help-01 :ARG0 (m / man) :ARG1 m :polarity - :mode -)"))
    assert len(found.relations) == 1
    # the root, and one constant
    assert len(found.attributes) == 2
