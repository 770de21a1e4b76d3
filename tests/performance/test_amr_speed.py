"""All fifteen aspects of the STS-B test pairs, against the same numbers aspect by aspect with smatchpp.

The plain way asks each aspect by itself, as separate programs do: it reads the graphs, brings them into their form with
smatchpp's AMR standardiser, aligns them with its integer program where the definition needs an alignment, and compares.
It scores every fourth pair, since it is slow; assay scores all of them on two processes, whose start is part of its
time. Wall time of both, in one run.
"""

from __future__ import annotations

import logging
import re
import time
from collections import Counter

import pytest

from assay.language.amr import normalized, parse_graph
from assay.metrics import Batch, load_metric
from assay.metrics.amr.kernels import wlk, wwlk
from assay.metrics.amr.node_vectors import (
    NodeVectors,
    max_degree_similarity,
    max_indegree_similarity,
    max_outdegree_similarity,
    root_similarity,
)
from assay.metrics.amr.session import AmrEngine
from assay.metrics.amr.smatch import quantifier_overlap
from tests.metrics.amr.amr_data import bamboo

STEP = 4


def plain_aspects(vectors):
    """Return aspect -> function of two graphs in Penman notation."""
    from smatchpp import Smatchpp
    from smatchpp.formalism.amr.tools import AMRStandardizer
    from smatchpp.solvers import ILP

    logging.getLogger("mip").setLevel(logging.ERROR)
    measure = Smatchpp(alignmentsolver=ILP(), graph_standardizer=AMRStandardizer())

    def read(text):
        return measure.graph_standardizer.standardize(measure.graph_reader.string2graph(text))

    def concepts(triples):
        return {source: target for source, role, target in triples if role == ":instance"}

    def aligned(one, other):
        if not one or not other:
            return float(bool(one) == bool(other))
        one, other, left, right = measure.graph_pair_preparer.prepare_get_vars(one, other)
        alignment, index, _ = measure.graph_aligner.align(one, other, left, right)
        matched, _, first, second = measure.graph_scorer.score(one, other, alignment, index)
        return 2 * matched / (first + second)

    def labels(choose):
        def compare(one, other):
            first, second = choose(read(one)), choose(read(other))
            total = len(first) + len(second)
            return 2 * len(first & second) / total if total else 1.0

        return compare

    def without_labels(triples):
        return list(
            dict.fromkeys((s, role if role in (":instance", ":root") else ":label", t) for s, role, t in triples)
        )

    def part(triples, keep):
        known = concepts(triples)
        kept = [triple for triple in triples if triple[1] not in (":instance", ":root") and keep(triple)]
        ends = {end for source, _, target in kept for end in (source, target) if end in known}
        return [(end, ":instance", known[end]) for end in sorted(ends)] + kept

    def coreferent(triples):
        known = concepts(triples)
        parents = Counter(target for _, role, target in triples if role not in (":instance", ":root"))
        return part(triples, lambda triple: triple[2] in known and parents[triple[2]] > 1)

    def named(triples):
        known = concepts(triples)
        return {known[source] for source, role, _ in triples if role == ":name"}

    def negated(triples):
        known = concepts(triples)
        return {known[source] for source, role, target in triples if role == ":polarity" and target == "-"}

    def parsed(function, *more):
        return lambda one, other: function(normalized(parse_graph(one)), normalized(parse_graph(other)), *more)

    return {
        "smatch": lambda one, other: aligned(read(one), read(other)),
        "wlk": parsed(wlk),
        "wwlk": parsed(wwlk, vectors),
        "frames": labels(lambda triples: {c for c in concepts(triples).values() if re.search(r"-\d\d$", c)}),
        "unlabeled": lambda one, other: aligned(without_labels(read(one)), without_labels(read(other))),
        "named-entities": labels(named),
        "negation": labels(negated),
        "concepts": labels(lambda triples: set(concepts(triples).values())),
        "coreference": lambda one, other: aligned(coreferent(read(one)), coreferent(read(other))),
        "srl": lambda one, other: aligned(
            *(part(read(text), lambda triple: bool(re.match(r":arg\d+$", triple[1]))) for text in (one, other))
        ),
        "max-indegree": parsed(max_indegree_similarity, vectors),
        "max-outdegree": parsed(max_outdegree_similarity, vectors),
        "max-degree": parsed(max_degree_similarity, vectors),
        "root": parsed(root_similarity, vectors),
        "quantifiers": parsed(quantifier_overlap),
    }


def test_fifteen_aspects_against_smatchpp_aspect_by_aspect(shared_data, real_models):
    pytest.importorskip("smatchpp")
    glove = real_models / "glove"
    pairs = bamboo(shared_data, "sts")
    assert len(pairs) == 1379
    first, second = zip(*pairs, strict=True)
    metrics = load_metric(f"amr:all,vectors={glove}").expand()
    plain = plain_aspects(NodeVectors(glove))
    assert list(plain) == [metric.subject for metric in metrics]

    begun = time.perf_counter()
    session = AmrEngine(2).open()
    ours = session.score(metrics, Batch(first, second, None, first, second)).values
    taken = time.perf_counter() - begun
    session.close()

    begun = time.perf_counter()
    theirs = {name: [function(*pair) for pair in pairs[::STEP]] for name, function in plain.items()}
    plainly = time.perf_counter() - begun

    rate, plain_rate = len(pairs) / taken, len(pairs[::STEP]) / plainly
    ratio = rate / plain_rate
    print(
        f"\nfifteen aspects, {len(pairs)} STS-B test pairs: {rate:.0f} pairs per second on two processes, "
        f"{plain_rate:.1f} aspect by aspect with smatchpp; {ratio:.1f} times as fast"
    )
    for column, (name, expected) in zip(ours.T, theirs.items(), strict=True):
        assert column[::STEP] == pytest.approx(expected, abs=1e-9), name
    assert ratio >= 5
