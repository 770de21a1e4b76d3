"""Replies as many servers and models give them: none becomes a wrong score, and each kind is counted."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import assay
from assay.analysis.folder import read_run
from assay.metrics import Batch, load_metric
from assay.metrics.judge.client import RefusedRequestError
from assay.metrics.judge.endpoint import MOST_FAILED_FIRST
from assay.metrics.judge.probing import simpler_server
from assay.metrics.judge.replies import Server
from assay.metrics.judge.request import Request
from assay.reports.formats import format_document
from assay.reports.run import document
from tests.judge_server.mixed import FAILING, SILENT, STATED, serve_mixed
from tests.metrics.judge.mixing import PRICES, run_mixed, tokens_spent
from tests.metrics.judge.questions import judge_at, write_pairs

pytest.importorskip("openai", reason="openai is not installed")
CUT = ("cut thought", "cut", "all thought", "no message")
REFUSED = ("refusal", "filter")


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))


def test_five_hundred_pairs_of_all_kinds_have_no_wrong_score(tmp_path):
    with serve_mixed() as server:
        outcome = run_mixed(server, 500, tmp_path, budget=1.0)
    counts, cost = server.counts, outcome.cost

    def number(ways):
        return sum(counts[way] for way in ways)

    assert all(counts[way] for way in (*STATED, *SILENT, *FAILING))
    assert (outcome.wrong, outcome.right, outcome.missing) == (0, number(STATED), 500 - number(STATED))
    assert (cost["cut_off"], cost["refusals"], cost["failed"]) == (number(CUT), number(REFUSED), number(FAILING))
    assert cost["contradictory"] == counts["changed"]
    assert cost["unreadable"] == number(SILENT) - number(CUT) - number(REFUSED)
    assert outcome.flags["reply cut off before a verdict, no score"] == number(CUT)
    table = " ".join(format_document(document(read_run(tmp_path / "run")), "md").split())
    assert f"{number(CUT)} replies cut off after 5 tokens; raise reply" in table
    # a reply that is an error counts as the most that it can have cost
    assert tokens_spent(server) < cost["price"] <= 1
    assert cost["unknown"] == number(FAILING)


def test_the_budget_is_kept_and_the_same_command_continues(tmp_path):
    pairs = write_pairs(tmp_path / "pairs.csv", 200)
    with serve_mixed() as server:
        metric = judge_at(server.url, retries=0, **PRICES)
        (failure,) = assay.run(pairs, [metric, "f1"], resamples=0, budget=0.01).failures
        assert "the budget of 0.01 has no room" in failure and "the same command continues" in failure
        assert 0 < tokens_spent(server) <= 0.01
        answered = server.outcomes["answer"]
        again = assay.run(pairs, [metric], resamples=0, budget=1.0).outcome.metrics[0].cost.details
        # errors are asked again; all else is paid for once
        errors = sum(server.counts[way] for way in FAILING)
        assert answered < server.outcomes["answer"] <= 200 + errors
        assert again["kept"] >= answered - errors


@pytest.mark.parametrize(
    ("refused", "gives", "without", "words"),
    [
        ({"logprobs": (403, "You are not allowed to request logprobs")}, "json", None, "verdicts as JSON"),
        ({"logprobs": (500, "logprobs is not implemented")}, "json", None, "verdicts as JSON"),
        ({"logprobs": (500, "Internal Server Error")}, "json", None, "verdicts as JSON"),
        ({"logprobs": (404, "No endpoints found that support the requested parameters")}, "json", None, "as JSON"),
        (
            {"logprobs": (400, "not supported"), "response_format": (422, "response_format: json_schema is unknown")},
            "text", None, "no probabilities and no JSON",
        ),
        ({"role_system": (400, "System role not supported")}, "probability", "system", "the system's text in the user"),
        (
            {"temperature": (400, "Unsupported value: 'temperature' does not support 0 with this model")},
            "probability", "temperature", "no temperature, which the server refuses",
        ),
    ],
)  # fmt: skip
def test_what_a_server_refuses_is_left_out_once(tmp_path, refused, gives, without, words):
    with serve_mixed(**refused) as server:
        outcome = run_mixed(server, 60, tmp_path)
        assert server.outcomes["refusal"] == len(refused)
    assert outcome.wrong == 0 and outcome.right > 20
    assert outcome.signature["gives"] in (gives, "json") and outcome.signature.get("without") == without
    assert any(words in note for note in outcome.cost["fallbacks"])
    # it is said once, however many pairs were asked in this way
    assert " ".join(format_document(document(read_run(tmp_path / "run")), "md").split()).count(words) == 1


@pytest.mark.parametrize(
    ("status", "reason", "words"),
    [
        (400, "bad request", "refuses the request, in its simplest form, too: bad request"),
        (422, "unprocessable", "refuses the request, in its simplest form, too: unprocessable"),
        (403, "Forbidden", "does not accept the key in OPENAI_API_KEY (403: Forbidden)"),
        (500, "Internal Server Error", "answers 500 at once: Internal Server Error"),
    ],
)
def test_a_server_that_refuses_each_form_of_a_request_ends_its_metric_alone(tmp_path, status, reason, words):
    pairs = write_pairs(tmp_path / "pairs.csv", 12)
    with serve_mixed(model=(status, reason)) as server:
        result = assay.run(pairs, [judge_at(server.url, retries=0), "f1"], resamples=0, buckets=("none",))
    (failure,) = result.failures
    assert words in failure and "\n" not in failure
    counted = {row.metric: row.n for row in result.outcome.agreement}
    assert counted["f1"] == 12
    # every simpler form was tried
    bodies = [set(call) for call in server.asked]
    assert any("logprobs" not in body for body in bodies) and any("temperature" not in body for body in bodies)


@pytest.mark.parametrize("status", [400, 500])
def test_a_first_pair_that_is_refused_is_not_the_server(tmp_path, status):
    pairs = write_pairs(tmp_path / "pairs.csv", 12)
    with serve_mixed() as server:
        server.refused_texts["number 0?"] = (status, "bad request")
        (record,) = assay.run(pairs, [judge_at(server.url, retries=0)], resamples=0).outcome.metrics
    cost, without = record.cost.details, sum(server.counts[way] for way in (*FAILING, *REFUSED))
    assert cost.get("failed", 0) + cost["refusals"] == 1 + without
    assert record.flags["reply refused or failed, no score"] == 1 + without
    # no simpler form of the request is taken for what the server needs
    assert "without" not in record.signature


def test_json_that_a_server_refuses_has_a_remedy(tmp_path):
    pairs = write_pairs(tmp_path / "pairs.csv", 12)
    for reason in ("response_format is not supported", "structured outputs are not enabled"):
        with serve_mixed(response_format=(400, reason)) as server:
            (failure,) = assay.run(pairs, [judge_at(server.url, retries=0, verdict="json"), "f1"], resamples=0).failures
        assert f"{reason}; leave verdict=json away, or write verdict=text" in failure


def test_a_refusal_in_the_middle_of_a_run_is_learned_then(tmp_path):
    pairs = write_pairs(tmp_path / "pairs.csv", 60)
    with serve_mixed() as server:
        metric = judge_at(server.url, retries=0)
        assay.run(pairs, [metric], resamples=0, limit=20)
        server.refused = {
            "logprobs": (403, "logprobs are not allowed"),
            "response_format": (400, "no json_schema"),
        }
        (record,) = assay.run(pairs, [metric], resamples=0).outcome.metrics
        known = record.cost.details["fallbacks"]
    assert record.signature["gives"] == "text" and known == ["no probabilities and no JSON"]
    # those that were in flight are refused, too
    assert 2 <= server.outcomes["refusal"] <= 2 * 16


def request(name="judge:m,endpoint=http://localhost:9/v1,prompt=correctness"):
    judge = load_metric(name)
    (conversation,) = judge.conversations(Batch(["a"], ["b"], ["c"]))[0]
    return Request.for_sample(judge, conversation, 0, None)


@pytest.mark.parametrize(
    ("reason", "changed"),
    [
        ("max_tokens is too large: 4096. This model supports at most 1000 completion tokens", {"room": 1000}),
        ("'max_tokens' is too large: 4096. This model's maximum context length is 4096 tokens", {"room": 2048}),
        ("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'", {"limit": "max_completion_tokens"}),
        ("Developer instruction is not enabled for this model", {"without": ("system",)}),
        ("seed: Extra inputs are not permitted", {"without": ("seed",)}),
        ("response_format json_schema is not supported", {"gives": "json"}),
        ("bad request", {"gives": "json"}),
    ],
)
def test_the_words_of_a_refusal_tell_what_to_leave_out(reason, changed):
    server = Server("m", "", "probability", reasons=True)
    assert simpler_server(server, request(), reason) == replace(server, **changed)
    assert not RefusedRequestError(reason).flag


def test_each_fallback_has_a_note_and_is_in_the_signature():
    plain = Server("m", "", "probability")
    assert plain.fallbacks() == {"gives": "probability"} and plain.fallback_notes() == []
    changes = ({"gives": "json"}, {"gives": "text"}, {"without": ("system",)}, {"without": ("seed",)}, {"room": 1000})
    for change in changes:
        simpler = replace(plain, **change)
        assert len(simpler.fallback_notes()) == 1 and simpler.fallbacks() != plain.fallbacks()


def test_nothing_is_left_to_leave_out():
    server = Server("m", "", "text", without=("system", "temperature", "seed"))
    assert simpler_server(server, request(), "bad request") is None


def test_an_error_in_an_answer_of_success_is_shown_in_its_own_words(tmp_path):
    pairs = write_pairs(tmp_path / "pairs.csv", 12)
    for way, words in (("error in 200", "Provider returned error"), ("error of a worker", "NETWORK ERROR DUE TO")):
        with serve_mixed() as server:
            server._reply = lambda *_, body=FAILING[way]: body
            (failure,) = assay.run(pairs, [judge_at(server.url, retries=0), "f1"], resamples=0).failures
            assert len(server.chats) == MOST_FAILED_FIRST
        assert f"its answer is an error: {words}" in failure and "continues" not in failure


def test_a_dry_run_sends_nothing_and_says_that_the_model_thinks(tmp_path):
    pairs = write_pairs(tmp_path / "pairs.csv", 5)
    with serve_mixed() as server:
        name = judge_at(server.url, price_in=1, price_out=4)
        plain = assay.estimate(pairs, [name], resamples=0)
        thinking = assay.estimate(pairs, [name.replace("stand-in", "maker/o3-mini")], resamples=0)
        assert server.calls == []
    assert plain.records["tokens_out"].tolist() == [5 * 16]
    assert thinking.records["tokens_out"].tolist() == [5 * 4096]
    assert "thinks before it replies: up to 4,096 tokens a reply" in " ".join(thinking.to_markdown().split())


def test_the_page_shows_ten_replies_with_what_was_read(tmp_path):
    with serve_mixed() as server:
        outcome = run_mixed(server, 100, tmp_path)
    shown = outcome.cost["shown"]
    assert [reply["chosen"] for reply in shown] == ["at random"] * 5 + ["hardest to read"] * 5
    hardest = {reply["rule"] for reply in shown[5:]}
    assert hardest <= {"no verdict", "states one verdict and ends with another"}
    page = (tmp_path / "run" / "report.html").read_text()
    assert "Replies of judges" in page and "hardest to read" in page
    json.dumps(shown)
