from __future__ import annotations

import pytest

from assay.language.amr import normalized, parse_graph
from assay.metrics.amr.alignment import triples_of
from assay.metrics.amr.standard import lowercased, standardized

HERE = "(m / man :location (h / here) :ARG0-of (s / sleep-01))"


def form(text, make=standardized):
    """Return the triples with concepts for nodes, so that neither names nor order of nodes count."""
    triples = triples_of(make(parse_graph(text)))
    names = triples.concepts
    return sorted([(names[s], role, names[t]) for s, role, t in triples.relations]), sorted(
        (names[s], role, constant) for s, role, constant in triples.attributes
    )


@pytest.mark.parametrize(
    "reified",
    [
        "(m / man :ARG1-of (b / be-located-at-91 :ARG2 (h / here)) :ARG0-of (s / sleep-01))",
        "(m / man :ARG0-of (s / sleep-01) :ARG1-of (x / Be-Located-At-91 :ARG2 (h / here)))",
    ],
)
def test_a_frame_becomes_the_relation_it_stands_for(reified):
    assert form(reified) == form(HERE)


def test_constants_and_other_arguments_can_be_targets():
    assert form("(g / go-02 :ARG1-of (h / have-polarity-91 :ARG2 -))") == form("(g / go-02 :polarity -)")
    assert form("(d / dog :ARG1-of (o / own-01 :ARG0 (m / man)))") == form("(d / dog :poss (m / man))")


@pytest.mark.parametrize(
    "kept",
    [
        "(b / be-located-at-91 :ARG1 (m / man) :ARG2 (h / here))",  # the root: what the sentence is about
        "(m / man :ARG1-of (b / be-located-at-91 :ARG2 (h / here) :time (n / now)))",  # something else is known of it
        "(m / man :ARG1-of (b / be-located-at-91))",  # half of it
        "(s / say-01 :ARG1 (b / be-located-at-91 :ARG1 (m / man) :ARG2 (h / here)))",  # a relation leads to it
        "(m / man :ARG1-of (b / be-located-at-91 :ARG1 (w / wife)))",  # one argument twice
        '(h / here :ARG2-of (b / be-located-at-91 :ARG1 "x"))',  # no node could be the source
    ],
)
def test_what_says_more_stays(kept):
    graph = parse_graph(kept)
    assert standardized(graph) == normalized(graph)


def test_the_root_keeps_its_place_when_nodes_before_it_go():
    graph = parse_graph("(m / man :ARG1-of (b / be-located-at-91 :ARG2 (h / here)) :ARG0-of (s / sleep-01))")
    found = standardized(graph)
    assert found.concepts == ("man", "here", "sleep-01")
    assert (found.concepts[found.root], found.relations) == ("man", ((2, "arg0", 0), (0, "location", 1)))


def test_plain_graphs_keep_quotes_and_domain():
    text = '(C / City :domain (t / this) :name (n / name :op1 "Bonn"))'
    assert form(text, lowercased)[1] == [("city", ":root", "city"), ("name", "op1", '"bonn"')]
    assert ("city", "domain", "this") in form(text, lowercased)[0]
    assert form(text)[1][1] == ("name", "op1", "bonn")
    assert ("this", "mod", "city") in form(text)[0]
