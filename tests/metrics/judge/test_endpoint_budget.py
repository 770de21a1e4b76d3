"""A budget is never exceeded, is used up to one call, and a larger one goes on from there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import assay
from assay.metrics.judge.prompts import Prompt
from tests.cli.calling import call
from tests.judge_server import serve
from tests.judge_server.protocol import Behaviour, tokens_of
from tests.judge_server.server import Record
from tests.metrics.judge.questions import judge_at, write_pairs

pytest.importorskip("openai", reason="openai is not installed")

#: Prices of a million tokens: a call of about 84 tokens costs about a thousandth.
PRICES = {"price_in": 10, "price_out": 30}
#: The most that a call can cost: a token for each byte of its prompts, those of the form of a chat, a reply of 16.
PROMPT = Prompt.load("correctness")
ASKED = PROMPT.messages("which city has number 59?", ["Lagos"], "it is Lagos says source 59", PROMPT.scale)
MOST = ((sum(len(message.content) for message in ASKED) + 32) * 10 + 16 * 30) / 1e6


def spent(record: Record) -> float:
    """Return what the answers of a server cost by its own count of tokens, in a file of prices or not."""
    price = 0.0
    for chat in record.chats:
        if chat.outcome == "answer":
            price += PRICES["price_in"] * chat.tokens_in + PRICES["price_out"] * chat.tokens_out
    return price / 1e6


def dearest(record: Record) -> float:
    """Return the price of the dearest call."""
    return max(spent(Record([chat])) for chat in record.chats)


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    return write_pairs(tmp_path / "pairs.csv", 60)


def run(pairs: Path, metric: str, budget: float, name: str = "out", **options):
    folder = pairs.parent / name
    return assay.run(pairs, [metric, "f1"], resamples=0, budget=budget, out=folder, page=False, **options)


def money_of(folder: Path) -> dict[str, float]:
    metrics = json.loads((folder / "run.json").read_text())["metrics"]
    return next(metric["cost"] for metric in metrics if metric["metric"].startswith("judge"))


@pytest.mark.slow
@pytest.mark.parametrize("concurrency", [1, 16])
def test_it_stops_within_one_call_of_the_limit_and_a_larger_one_goes_on(pairs, concurrency):
    with serve(Behaviour(delay=0.005)) as server:
        judge = judge_at(server.url, concurrency=concurrency, **PRICES)
        result = run(pairs, judge, 0.02)
        first = server.outcomes["answer"]
        assert 0.02 - MOST < spent(server) <= 0.02
        (failure,) = result.failures
        assert "the budget of 0.02 has no room for another call" in failure
        # f1 has its scores
        assert set(result.agreement["metric"]) == {"f1"}

        again = run(pairs, judge, 0.02, "again")
        # the budget is that of one command: it buys as many calls once more
        assert spent(server) <= 0.04
        assert len(again.failures) == 1
        assert server.repeated == 0

        whole = run(pairs, judge, 5, "whole")
        assert not whole.failures
        assert server.outcomes == {"answer": 60}
        assert server.repeated == 0
    assert 0 < first < 30
    cost = money_of(pairs.parent / "whole")
    assert cost["price"] < 0.02
    # of all pairs, those that earlier commands paid for too
    assert cost["price_per_1000"] == pytest.approx(spent(server) / 60 * 1000)


@pytest.mark.slow
def test_what_cannot_be_used_counts_too(pairs):
    """A reply that is garbage was paid for, too: the most that it can have cost is set aside."""
    with serve(Behaviour(faults={"garbage": 0.5}, failures=3)) as server:
        run(pairs, judge_at(server.url, concurrency=4, **PRICES), 0.02)
        made = len(server.chats)
        assert made * dearest(server) <= 0.02 * 1.2
        assert server.outcomes["garbage"] > 3


@pytest.mark.slow
def test_what_a_call_that_timed_out_may_have_cost_counts(pairs):
    with serve(Behaviour(faults={"slow": 0.1}, failures=1, slow=600)) as server:
        result = run(pairs, judge_at(server.url, concurrency=16, timeout=5, **PRICES), 1.0)
        gone = server.outcomes["gone"]
    cost = result.outcome.metrics[0].cost.details
    assert not result.failures and cost["unknown"] >= gone > 0
    assert cost["price"] > spent(server) and cost["price_unknown"] > 0


def test_a_server_that_counts_no_tokens_is_paid_at_most(pairs):
    with serve(Behaviour(sparse=True)) as server:
        result = run(pairs, judge_at(server.url, concurrency=4, **PRICES), 0.02)
    assert len(result.failures) == 1
    tokens = sum(len(tokens_of(chat.text)) for chat in server.chats)
    assert PRICES["price_in"] * tokens / 1e6 <= 0.02


def test_prices_of_a_file(pairs, tmp_path):
    prices = tmp_path / "prices.toml"
    prices.write_text('["stand-in"]\ninput = 10\noutput = 30\n')
    with serve() as server:
        run(pairs, judge_at(server.url), 0.02, prices=prices)
        assert 0.02 - MOST < spent(server) <= 0.02


@pytest.mark.parametrize(
    ("options", "words"), [({}, "price_in=…,price_out=…"), ({"price_in": 1}, "both price_in and price_out")]
)
def test_a_budget_without_prices(pairs, options, words):
    with serve() as server:
        result = run(pairs, judge_at(server.url, **options), 0.02)
        assert server.calls == []
    (failure,) = result.failures
    assert words in failure


@pytest.mark.slow
def test_the_command_line(pairs):
    with serve() as server:
        command = ["run", pairs, "-m", judge_at(server.url, **PRICES), "--no-page", "-q", "--resamples", 0]
        planned = call(*command, "--dry-run", "-f", "json")
        assert server.calls == []
        stopped = call(*command, "--budget", ".02", "-o", pairs.parent / "out")
        done = call(*command, "--budget", "5", "-o", pairs.parent / "out")
    (row,) = json.loads(planned.out)
    assert row["calls"] == 60
    assert row["price"] >= spent(server)
    assert (planned.code, stopped.code, done.code) == (0, 1, 0)
    assert "`budget`" not in stopped.err
    assert "--budget" in stopped.err
    assert server.outcomes == {"answer": 60}


def test_the_counts_of_a_run_that_has_a_part_of_the_replies(pairs):
    with serve(Behaviour(refused="number 3", verdicts=("perhaps", "no"))) as server:
        judge = judge_at(server.url)
        run(pairs, judge, None, "part", limit=20)
        run(pairs, judge, None, "whole")
        assert server.outcomes == {"answer": 60}
        refused = sum("number 3" in chat.text for chat in server.chats)
    part, whole = money_of(pairs.parent / "part"), money_of(pairs.parent / "whole")
    assert (part["calls"], part["kept"]) == (20, 0)
    assert (whole["calls"], whole["kept"]) == (40, 20)
    assert whole["tokens_in"] == sum(chat.tokens_in for chat in server.chats[20:])
    assert whole["refusals"] == refused == 11
    # the examples are of replies that have no verdict, not of refusals
    assert whole["unreadable"] > 0
    assert whole["unreadable_such_as"] == ["perhaps"]
