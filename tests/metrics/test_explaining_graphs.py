"""Smatch explained: the alignment, and which triples match under it."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("penman", reason="penman is absent: pip install assay[amr]")

from assay.exceptions import InputError
from assay.metrics import Batch, load_metric
from tests.metrics.amr.amr_data import bamboo

TWO_CATS = "(l / look-01 :ARG0 (c / cat :quant 2) :ARG1 (w / window))"
WHITE_CAT = "(x / look-01 :ARG0 (y / cat :ARG1-of (z / white-03)) :direction (o / out :op1 (p / window)))"


def graphs(first: str, second: str) -> Batch:
    return Batch(["one"], ["other"], None, [first], [second])


def test_matching_triples_are_told_from_others():
    (found,) = load_metric("amr:smatch").explain(graphs(TWO_CATS, WHITE_CAT))
    plain = found.as_dict()
    both = [triple for triple in plain["triples"] if None not in triple.values()]
    assert both == [
        {"reference": "l :instance look-01", "candidate": "x :instance look-01"},
        {"reference": "c :instance cat", "candidate": "y :instance cat"},
        {"reference": "w :instance window", "candidate": "p :instance window"},
        {"reference": "l/look-01 :arg0 c/cat", "candidate": "x/look-01 :arg0 y/cat"},
        {"reference": "l :root look-01", "candidate": "x :root look-01"},
    ]
    alone = [triple["reference"] for triple in plain["triples"] if triple["candidate"] is None]
    assert alone == ["l/look-01 :arg1 w/window", "c/cat :quant 2"]
    assert [triple["candidate"] for triple in plain["triples"] if triple["reference"] is None] == [
        "z :instance white-03",
        "o :instance out",
        "z/white-03 :arg1 y/cat",
        "x/look-01 :direction o/out",
        "o/out :op1 p/window",
    ]
    assert (plain["matched"], plain["reference_triples"], plain["candidate_triples"]) == (5, 7, 10)
    # F1 = 2 * 5 / (7 + 10)
    assert plain["score"] == pytest.approx(10 / 17)
    assert plain["optimal"] is True
    assert plain["nodes"][0] == {"reference": "l / look-01", "candidate": "x / look-01", "same": True}
    assert {node["candidate"] for node in plain["nodes"] if node["reference"] is None} == {"z / white-03", "o / out"}
    json.dumps(plain, allow_nan=False)


@pytest.mark.parametrize("options", ["", ",standardize=false", ",solver=hill-climbing"])
@pytest.mark.parametrize(
    "pair",
    [
        (TWO_CATS, WHITE_CAT),
        (TWO_CATS, TWO_CATS),
        ("(b / boy)", "(g / girl)"),
        ("(w / want-01 :ARG0 (b / boy) :ARG1 (g / go-01 :ARG0 b))", "(w / want-01 :ARG1 (g / go-01 :ARG0 (b / boy)))"),
        ('(c / city :name (n / name :op1 "New" :op2 "York"))', '(c / City :name (n / name :op1 "York"))'),
        ("(a / and :op1 (x / x) :op2 (y / x :mod y))", "(a / and :op1 (x / x :domain x))"),
    ],
)
def test_the_triples_sum_to_the_score(pair, options):
    metric = load_metric(f"amr:smatch{options}")
    batch = graphs(*pair)
    (found,) = metric.explain(batch)
    assert found.score == pytest.approx(metric.score(batch)[0])


def test_data_without_graphs_is_refused():
    with pytest.raises(InputError, match="no AMR graph for 1 of 1 references and 1 of 1 candidates"):
        load_metric("amr:smatch").explain(Batch(["a"], ["b"]))


@pytest.mark.parametrize("name", ["amr:concepts", "f1", "bleu"])
def test_a_metric_without_parts_names_those_that_have(name):
    with pytest.raises(InputError, match=r"no parts to show; these have: s3bert:FOLDER.*amr:smatch") as caught:
        load_metric(name).explain(graphs(TWO_CATS, WHITE_CAT))
    assert "\n" not in str(caught.value)


def test_hill_climbing_explains_the_score_of_the_metric(shared_data):
    pairs = [pair for part in ("sts", "para") for pair in bamboo(shared_data, part)[::40]]
    first, second = zip(*pairs, strict=True)
    batch = Batch(first, second, None, first, second)
    metric = load_metric("amr:smatch,solver=hill-climbing")
    for one in (batch, batch.swapped()):
        explained = [found.score for found in metric.explain(one)]
        assert explained == pytest.approx(metric.score(one).tolist(), abs=1e-12)
