"""What a judge was asked and replied."""

from __future__ import annotations

import pytest

import assay
from assay.exceptions import InputError
from tests.judge_server import serve
from tests.judge_server.protocol import Behaviour


@pytest.fixture
def judge(monkeypatch, tmp_path):
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    with serve(Behaviour()) as server:
        yield f"judge:stand-in,endpoint={server.url},prompt=correctness", server


def test_the_replies_of_a_run_are_explained_without_another_call(judge):
    name, server = judge
    rows = [
        {"pair_id": "a", "question": "Which town?", "reference": ["Rouen", "Ruan"], "candidate": "Rouen", "label": 1},
        {"pair_id": "b", "question": "Which town?", "reference": ["Rouen"], "candidate": "Caen", "label": 0},
    ]
    run = assay.run([rows], [name], resamples=0, buckets=("none",))
    asked = len(server.calls)
    explained = assay.explain(metric=name, pairs=rows)
    assert len(server.calls) == asked == 2
    first, second = explained.explanations
    assert [first["score"], second["score"]] == pytest.approx(run.scores["score"].tolist())
    (reply,) = first["replies"]
    assert "- Ruan" in first["prompt"][1] and "Answer to grade: Rouen" in first["prompt"][1]
    told = reply["probabilities"]
    assert told["yes"] / (told["yes"] + told["no"]) == pytest.approx(first["score"])
    assert reply["worth"] == first["score"]
    assert "p(yes)" in explained.to_markdown() and "Answer to grade: Caen" in explained.to_markdown()
    assert explained.records["p_yes"].tolist()[0] == told["yes"]


def test_a_reply_without_a_verdict_has_no_score(judge):
    name, _ = judge
    other = name.replace("correctness", "similarity,order=mean")
    (pair,) = assay.explain("a cat", "a dog", metric=other).explanations
    assert pair["score"] is None and [reply["worth"] for reply in pair["replies"]] == [None, None]
    assert pair["notes"] == ["reply without a verdict, no score"]


def test_there_is_no_picture_of_replies(judge):
    with pytest.raises(InputError, match="no picture"):
        assay.explain("a", "b", metric=judge[0]).to_svg()
