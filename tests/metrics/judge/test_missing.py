"""Pairs without a verdict: no score, counted in every table, and nothing else lost."""

from __future__ import annotations

import json

import numpy as np
import pytest

import assay
from assay.metrics import Batch, load_metric
from assay.metrics.judge.replies import Reply
from assay.metrics.scores import Flag
from tests.judge_server import serve
from tests.judge_server.protocol import Behaviour

ROWS = [
    {"pair_id": str(i), "reference": f"town {i % 7}", "candidate": f"the town {i}", "label": i % 2} for i in range(40)
]


@pytest.fixture
def server(monkeypatch, tmp_path):
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    # texts with 3 are refused by the model, those with "town 9" by the server's filter, which answers with an error
    with serve(Behaviour(refused="the town 3", filtered="the town 9", context=120)) as server:
        yield server


def test_a_refused_pair_has_no_score_and_a_reason(server, tmp_path):
    name = f"judge:stand-in,endpoint={server.url}"
    result = assay.run([ROWS], [name, "f1"], resamples=0, buckets=("none",), out=tmp_path / "run")
    scores = result.scores[result.scores["metric"] == name].set_index("pair_id")["score"]
    refused = {"3", "9", *(str(i) for i in range(30, 40))}
    assert set(scores.index[scores.isna()]) == refused
    assert scores.dropna().between(0, 1).all()
    rows = {(row.metric, row.statistic): row.n for row in result.outcome.agreement}
    assert rows[name, "pearson"] == 40 - len(refused) and rows["f1", "pearson"] == 40
    (judged, _) = result.outcome.metrics
    assert judged.flags["reply refused or failed, no score"] == len(refused)
    kept = json.loads((tmp_path / "run" / "run.json").read_text())["metrics"][0]
    assert kept["flags"] == judged.flags and kept["cost"]["refusals"] >= 11
    # a refusal is a reply: it is kept
    again = assay.run([ROWS], [name], resamples=0, buckets=("none",))
    assert len(server.calls) == 40
    assert again.scores["score"].isna().sum() == len(refused)


def test_a_text_beyond_the_context_has_no_score_unless_it_may_be_cut(server):
    rows = [*ROWS[:2], {"pair_id": "long", "reference": "town", "candidate": "very long " * 300, "label": 0}]
    name = f"judge:stand-in,endpoint={server.url}"
    result = assay.run([rows], [name], resamples=0, buckets=("none",))
    assert result.outcome.metrics[0].flags == {"too long for the model, no score": 1}
    cut = assay.run([rows], [f"{name},cut=50"], resamples=0, buckets=("none",))
    assert cut.outcome.metrics[0].flags == {"candidate truncated": 1}
    assert cut.scores["score"].notna().all()


def test_where_no_reply_has_a_verdict_the_metric_failed(server):
    name = f"judge:stand-in,endpoint={server.url},scale=1-5"
    result = assay.run([ROWS[:3]], [name, "f1"], resamples=0, buckets=("none",))
    (failure,) = result.failures
    assert "none of 3 pairs has a score: reply without a verdict, no score" in failure and "'yes'" in failure


def test_the_reason_is_that_of_the_order_without_a_verdict():
    judge = load_metric("judge:m,endpoint=http://127.0.0.1:9/v1,order=mean,samples=2,temperature=1")
    refused = Reply("no", flag=Flag.REFUSED)
    replies = [[[Reply("yes"), refused], [Reply("Hard to say."), Reply("Hard to say.")]]]
    scores = judge.scores_of(Batch(["a"], ["b"]), replies, 1.0)
    assert np.isnan(scores.values).all()
    assert scores.flags[0, 0] & Flag.NO_VERDICT and not scores.flags[0, 0] & Flag.REFUSED
