"""The name ``judge`` stands for two metrics: one asks a server, the other a model in this process."""

from __future__ import annotations

import dataclasses

import pytest

from assay.exceptions import InputError
from assay.metrics import load_metric
from assay.metrics.describe import describe_metric
from assay.metrics.judge.judge import DELIVERY_OPTIONS
from assay.metrics.judge.local import LocalJudge
from assay.metrics.judge.replies import ReplyStore, Server, reply_store_path
from assay.metrics.judge.server import ServerJudge
from assay.metrics.neural.metric import ModelMetric

SERVER = "judge:stand-in,endpoint=http://localhost:9/v1"


def test_an_endpoint_makes_a_judge_that_reads_no_model_here():
    server, local = load_metric(SERVER), load_metric("judge:owner/name")
    assert isinstance(server, ServerJudge) and not isinstance(server, ModelMetric) and not server.is_stored
    assert isinstance(local, LocalJudge) and isinstance(local, ModelMetric) and local.is_stored
    assert server.declaration.provider == ("openai",) and local.declaration.provider == ("torch", "transformers")


def test_the_signature_of_a_server_names_what_changes_replies_in_the_order_of_the_options(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path))
    # the order of before the two classes: names of scores that were stored stay valid
    expected = "metric subject endpoint prompt scale verdict order samples temperature seed cut prompt_digest parser"
    assert list(load_metric(SERVER).signature())[:13] == expected.split()
    assert not DELIVERY_OPTIONS & load_metric(f"{SERVER},concurrency=3,retries=1").signature().keys()
    precise = load_metric(f"{SERVER},precision=fp32")
    assert precise.signature() == load_metric(SERVER).signature()


def test_the_options_of_both_are_listed_for_the_name_and_those_of_one_for_a_judge():
    both = "\n".join(describe_metric("judge"))
    assert all(f"option {name}:" in both for name in ("precision", "endpoint", "concurrency", "prompt"))
    served = "\n".join(describe_metric(SERVER))
    assert "option endpoint:" in served and "option precision:" not in served and "option backend:" not in served
    assert all(f"option {name}:" in served for name in DELIVERY_OPTIONS)
    local = "\n".join(describe_metric("judge:owner/name"))
    assert "option precision:" in local and not any(f"option {name}:" in local for name in DELIVERY_OPTIONS)


@pytest.mark.parametrize("option", ["backend=onnxruntime", "max_length=9"])
@pytest.mark.parametrize("start", [SERVER, "judge:owner/name"])
def test_a_judge_has_no_backend_and_no_length(start, option):
    with pytest.raises(InputError, match="a judge has no backend and no max_length"):
        load_metric(f"{start},{option}")


def test_a_server_without_a_model_is_refused_when_it_is_named():
    with pytest.raises(InputError, match="metric 'judge' needs a model: write judge:MODEL,endpoint=http"):
        load_metric("judge,endpoint=http://localhost:9/v1")


def test_another_model_at_the_endpoint_is_another_server_judge():
    changed = dataclasses.replace(load_metric(SERVER), subject="other")
    assert type(changed) is ServerJudge and changed != load_metric(SERVER)


@pytest.mark.parametrize("name", ["judge:stand-in,", "ragas:answer-accuracy,model=stand-in,"])
def test_what_a_server_refused_is_in_the_signature(name, tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path))
    metric = load_metric(f"{name}endpoint=http://localhost:9/v1")
    signatures = []
    for refused in ({}, {"without": ("temperature", "seed")}, {"reasons": True}, {"room": 512}):
        with ReplyStore(reply_store_path()) as store:
            store.put_server("http://localhost:9/v1", "stand-in", Server("stand-in", "", "text", **refused))
        signatures.append(tuple(metric.signature().items()))
    assert len(set(signatures)) == 4
