"""Metrics of ragas by assay's client: the numbers of ragas itself, each reply paid for once."""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import math
import os

import numpy as np
import pytest

import assay
from assay.exceptions import InputError
from assay.metrics import Batch, load_metric
from assay.metrics.scores import Flag
from assay.metrics.work import open_session, release_sessions
from tests.metrics.judge.ragas_server import FENCED, METRICS, OF_CONTEXT, REFUSED, UNREADABLE, metric_at, serve_ragas

pytest.importorskip("ragas", reason="ragas is not installed (the extra ragas)")

QUESTIONS = ["Which city?", "Who wrote it?", "When?", "Where was he born?", "What is it?", "Why?"]
GOLD = ["Paris", "Jane Austen", "in 1879", "in Ulm. In Germany.", "a red car", "no reason"]
GIVEN = ["It is Paris.", "Emily Bronte wrote it.", "in 1879", "In Germany. In 1879.", "a blue car", "no reason at all."]
CONTEXTS = [
    "The capital is Paris. It is old.",
    "Jane Austen wrote it.",
    "He was born in 1879 in Ulm.",
    "In Germany. In 1879.",
    "a red car",
    "There is no reason at all.",
]


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-this-test")
    with serve_ragas() as standing:
        yield standing
        release_sessions()


def batch(candidates: list[str] = GIVEN, n: int = len(GIVEN)) -> Batch:
    questions, contexts = tuple(QUESTIONS[:n]), tuple(CONTEXTS[:n])
    return Batch(tuple(GOLD[:n]), tuple(candidates[:n]), questions=questions, contexts=contexts)


def by_ragas(url: str, name: str) -> list[float]:
    """Return the scores that ragas gives with its own client."""
    import openai
    from ragas.llms import llm_factory
    from ragas.metrics import collections

    llm = llm_factory("stand-in", client=openai.AsyncOpenAI(base_url=url, api_key="none"))
    scorer = {
        "answer-accuracy": collections.AnswerAccuracy,
        "answer-correctness": functools.partial(collections.AnswerCorrectness, weights=[1.0, 0.0]),
        "factual-correctness": collections.FactualCorrectness,
        "faithfulness": collections.Faithfulness,
        "response-groundedness": collections.ResponseGroundedness,
    }[name](llm=llm)
    texts = {
        "user_input": QUESTIONS,
        "reference": GOLD,
        "response": GIVEN,
        "retrieved_contexts": [[c] for c in CONTEXTS],
    }
    read = [parameter for parameter in inspect.signature(scorer.ascore).parameters if parameter in texts]

    async def score_all() -> list[float]:
        rows = [{key: texts[key][row] for key in read} for row in range(len(GIVEN))]
        return [float((await scorer.ascore(**row)).value) for row in rows]

    return asyncio.run(score_all())


@pytest.mark.slow
@pytest.mark.parametrize("name", [*METRICS, *OF_CONTEXT])
def test_the_scores_are_those_of_ragas(server, name):
    scores = load_metric(metric_at(server.url, name)).score(batch())
    asked = len(server.prompts)
    assert scores.tolist() == pytest.approx(by_ragas(server.url, name))
    assert len(set(scores.tolist())) > 1
    assert sorted(set(server.prompts[asked:])) == sorted(set(server.prompts[:asked])), "the prompts of ragas itself"


@pytest.mark.slow
def test_replies_are_paid_once_and_the_budget_holds(server, tmp_path):
    pairs = tmp_path / "pairs.csv"
    lines = [f"{q},{r},{c},{i % 2}" for i, (q, r, c) in enumerate(zip(QUESTIONS, GOLD, GIVEN, strict=True))]
    pairs.write_text("\n".join(["question,reference,candidate,label", *lines, ""]), encoding="utf-8")
    metric = metric_at(server.url, "answer-accuracy")
    with pytest.warns(UserWarning, match="the budget of 0.001 has no room for another call"):
        assay.run(pairs, [metric, "f1"], resamples=0, buckets="none", budget=0.001, page=False, out=tmp_path / "a")
    first = len(server.prompts)
    assay.run(pairs, [metric, "f1"], resamples=0, buckets="none", budget=1, page=False, out=tmp_path / "b")
    distinct = len(server.prompts)
    assert distinct == len(set(server.prompts)) == 12 and first < distinct
    assay.run(pairs, [metric, "f1"], resamples=0, buckets="none", page=False, out=tmp_path / "c")
    assert len(server.prompts) == distinct, "all replies are stored"
    cost = json.loads((tmp_path / "c" / "run.json").read_text(encoding="utf-8"))["metrics"][0]["cost"]
    assert (cost["calls"], cost["kept"], cost["price"]) == (0, 12, 0)


@pytest.mark.slow
def test_a_pair_whose_reply_is_refused_or_no_json_has_no_score_and_the_others_have(server, tmp_path):
    scores = load_metric(metric_at(server.url, "factual-correctness")).score(
        batch([GIVEN[0], UNREADABLE, REFUSED, "", FENCED, GIVEN[5]])
    )
    assert [math.isnan(score) for score in scores] == [False, True, True, True, False, False]


@pytest.mark.slow
@pytest.mark.parametrize("blank", ["", " \n"], ids=["empty", "blank"])
@pytest.mark.parametrize("part", ["references", "candidates", "questions", "contexts"])
@pytest.mark.parametrize("name", [*METRICS, *OF_CONTEXT])
def test_a_pair_with_an_empty_text_is_not_asked_about(server, name, part, blank):
    metric = load_metric(metric_at(server.url, name))
    texts = {"references": GOLD[:1], "candidates": GIVEN[:1], "questions": QUESTIONS[:1], "contexts": CONTEXTS[:1]}
    scores = open_session(metric.needs()).score([metric], Batch(**texts | {part: [blank]}))
    value, flags = scores.values[0, 0], scores.flags[0, 0]
    declared = metric.declaration
    is_read = {"references": declared.reads_reference, "candidates": True, "questions": declared.reads_question}
    if not is_read.get(part, declared.reads_context):
        assert server.prompts and np.isfinite(value) and flags == 0
        return
    assert not server.prompts
    if name == "response-groundedness" and (part, blank) != ("candidates", ""):
        assert value == 0.0, "ragas gives it without a reply"
    else:
        flag = {"references": Flag.REFERENCE_EMPTY, "candidates": Flag.CANDIDATE_EMPTY}.get(part, Flag.NO_VERDICT)
        assert np.isnan(value) and flags == flag


@pytest.mark.slow
def test_a_run_goes_on_with_pairs_that_are_not_asked_about(server, tmp_path):
    rows = [
        {"question": "Who?", "reference": "Jane Austen", "candidate": text, "label": 1} for text in ("", "Jane", "x")
    ]
    metric = metric_at(server.url, "answer-correctness")
    result = assay.run(rows, [metric, "f1"], resamples=0, buckets="none", page=False, out=tmp_path / "run")
    scores = result.scores[result.scores["metric"].str.startswith("ragas")]["score"]
    assert np.isnan(scores.iloc[0]) and np.isfinite(scores.iloc[1:]).all()
    [record, _] = json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))["metrics"]
    assert "reply without a verdict" not in json.dumps(record) and "candidate without a token" in json.dumps(record)


@pytest.mark.slow
@pytest.mark.parametrize("value", [None, "false", "true"])
def test_ragas_reports_nothing_of_its_use(server, monkeypatch, value):
    if value is None:
        monkeypatch.delenv("RAGAS_DO_NOT_TRACK", raising=False)
    else:
        monkeypatch.setenv("RAGAS_DO_NOT_TRACK", value)
    load_metric(metric_at(server.url, "answer-accuracy")).score(batch(n=1))
    assert os.environ["RAGAS_DO_NOT_TRACK"] == "true"


@pytest.mark.slow
@pytest.mark.parametrize(("references", "asked", "expected"), [("first", 2, 0.75), ("each", 4, 1.0)])
def test_of_several_gold_answers_the_first_is_read_unless_each_is_asked(server, tmp_path, references, asked, expected):
    row = {"question": "Who?", "references": ["Jane A Austen", "Jane Austen"], "candidate": "Jane Austen", "label": 1}
    rows = [row, row | {"candidate": "Emily Bronte", "label": 0}]
    metric = metric_at(server.url, "answer-accuracy", references=references)
    result = assay.run(rows, [metric, "f1"], resamples=0, buckets="none", page=False, out=tmp_path / "run")
    scores = result.scores[result.scores["metric"].str.startswith("ragas")]["score"]
    assert scores.tolist() == [expected, 0.0]
    assert len(server.prompts) == 2 * asked


def test_what_it_needs_is_said():
    with pytest.raises(InputError, match="needs a model and its server: write ragas:answer-accuracy,model=MODEL"):
        load_metric("ragas:answer-accuracy")
    with pytest.raises(InputError, match="Did you mean 'answer-accuracy'"):
        load_metric("ragas:answer-acuracy,model=m,endpoint=http://127.0.0.1:1/v1")
    with pytest.raises(InputError, match="holds a user name"):
        load_metric("ragas:answer-accuracy,model=m,endpoint=http://a:b@127.0.0.1/v1")
    metric = load_metric("ragas:answer-accuracy,model=m,endpoint=http://127.0.0.1:1/v1,key=none")
    with pytest.raises(InputError, match="reads the question, and the data has none"):
        metric.score(Batch(("a",), ("b",)))
