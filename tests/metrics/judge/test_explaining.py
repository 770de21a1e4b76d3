"""What a judge was asked and replied."""

from __future__ import annotations

import json
import sqlite3
import zlib

import pytest

import assay
from assay.common.numbers import money
from assay.exceptions import InputError
from assay.metrics.judge.replies import reply_store_path
from assay.metrics.work import release_sessions
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


def test_three_replies_are_seen_with_what_was_read_and_what_all_would_cost(judge, tmp_path):
    name, server = judge
    rows = [{"reference": "Rouen", "candidate": f"Rouen {i}", "label": i % 2} for i in range(30)]
    explained = assay.explain(metric=f"{name},price_in=100,price_out=200", pairs=rows, limit=3)
    assert len(server.calls) == len(explained.explanations) == 3
    replies = [pair["replies"][0] for pair in explained.explanations]
    assert {reply["rule"] for reply in replies} == {"probabilities of the first token"}
    tokens = sum(reply["tokens_in"] for reply in replies), sum(reply["tokens_out"] for reply in replies)
    text = explained.to_markdown()
    price = (tokens[0] * 100 + tokens[1] * 200) / 1e6
    assert f"these 3 pairs: {tokens[0]:,} tokens in and {tokens[1]:,} out, price {money(price)}" in text
    assert f"all 30 pairs at that rate: {10 * tokens[0]:,} tokens in and {10 * tokens[1]:,} out" in text
    assert "no price: give" in assay.explain(metric=name, pairs=rows, limit=3).to_markdown()
    prices = tmp_path / "prices.toml"
    prices.write_text('["stand-in"]\ninput = 100\noutput = 200\n')
    assert f"price {money(price)}" in assay.explain(metric=name, pairs=rows, limit=3, prices=prices).to_markdown()
    assert len(server.calls) == 3


def test_the_reasoning_of_a_model_is_shown_and_not_read(monkeypatch, tmp_path):
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    body = {"model": "stand-in", "choices": [{"message": {"content": "<think>Verdict: no?</think>\n\nYes"}}]}
    with serve() as server:
        server._reply = lambda *_: body
        explained = assay.explain("a", "a", metric=f"judge:stand-in,endpoint={server.url},verdict=text")
    (reply,) = explained.explanations[0]["replies"]
    assert (reply["reply"], reply["reasoning"], reply["worth"]) == ("Yes", "Verdict: no?", 1)
    assert "reasoning, not read: Verdict: no?" in explained.to_markdown()


def test_recommend_reads_the_replies_that_are_stored(judge):
    name, server = judge
    rows = [{"reference": f"town {i % 3}", "candidate": f"town {i % 5}", "label": i % 2} for i in range(30)]
    assay.run([rows], [name], resamples=0)
    asked = len(server.calls)
    assay.recommend(rows, metrics=[name, "f1"], resamples=200)
    assert len(server.calls) == asked


def test_replies_and_servers_that_earlier_versions_stored_are_read(judge):
    name, server = judge
    rows = [{"reference": "Rouen", "candidate": f"Rouen {i}", "label": i % 2} for i in range(5)]
    before = assay.run([rows], [name], resamples=0).scores["score"].tolist()
    path = reply_store_path()
    with sqlite3.connect(path) as stored:
        for request, text in stored.execute("SELECT request, reply FROM replies").fetchall():
            old = {k: v for k, v in json.loads(text).items() if k not in ("token", "is_cut", "reasoning")}
            values = (json.dumps(old), zlib.crc32(json.dumps(old).encode(), zlib.crc32(request)), request)
            stored.execute("UPDATE replies SET reply = ?, checksum = ? WHERE request = ?", values)
        ((known,),) = stored.execute("SELECT known FROM servers").fetchall()
        old = {k: v for k, v in json.loads(known).items() if k not in ("without", "reasons", "room")}
        stored.execute("UPDATE servers SET known = ?", (json.dumps(old),))
    asked = len(server.calls)
    release_sessions()
    assert assay.run([rows], [name], resamples=0).scores["score"].tolist() == before
    assert len(server.calls) == asked
