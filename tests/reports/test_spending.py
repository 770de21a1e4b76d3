"""What a run spent on metrics that call a server, in the terminal, in its files and on its page."""

from __future__ import annotations

from functools import partial

import pytest

import assay
from assay.analysis.folder import read_run
from assay.common.numbers import money
from assay.exceptions import InputError
from assay.manifest import Cost, MetricRecord
from assay.metrics import load_metric
from assay.metrics.work import release_sessions
from assay.reports.page.render import page_html
from assay.reports.spending import spending_lines
from tests.judge_server import serve
from tests.paid import Paid

ROWS = [{"reference": f"a b {i}", "candidate": f"a {i % 4}", "label": i % 3} for i in range(30)]


@pytest.fixture(autouse=True)
def no_session():
    release_sessions()
    yield
    release_sessions()


def record(metric, *, scored=10, shared=(), price_per_1000=None, **details):
    cost = Cost(details=details, shared_with=list(shared), price_per_1000=price_per_1000)
    return MetricRecord(
        dataset="d", metric=metric, status="done", reason="", remedy="", scored=scored, short_signature="",
        signature={}, cost=cost,
    )  # fmt: skip


def test_a_run_says_what_it_spent_and_a_run_of_free_metrics_nothing(tmp_path):
    done = assay.run([ROWS], ["f1", Paid(price=0.5)], resamples=0, buckets="none", out=tmp_path / "run")
    line = (
        "paid: 30 calls, 6,000 tokens in and 30 out; spent 0.015 (0.50 per 1,000 pairs); 3 retries, 2 "
        "refusals, 1 reply without a verdict"
    )
    assert done.document.sheets[-1].facts == [line]
    assert line in " ".join(repr(done).split())
    assert line in done.to_markdown()
    assert "calls" not in done.to_latex(), "a table for print"
    assert f"<li>{line}</li>" in page_html([read_run(tmp_path / "run")], leaderboard=False, categories=False)
    free = assay.run([ROWS], ["f1"], resamples=0, buckets="none", out=tmp_path / "free")
    assert "Calls and price" not in repr(free)
    assert "Calls and price" not in page_html([read_run(tmp_path / "free")], leaderboard=False, categories=False)


def test_what_the_store_had_costs_nothing_again(tmp_path):
    ask = {"resamples": 0, "buckets": "none", "store": tmp_path / "scores.sqlite"}
    metrics = [Paid(price=0.5, remembers=True), Paid(price=0.5)]
    assay.run([ROWS], metrics, **ask)
    again = assay.run([ROWS], metrics, **ask)
    assert again.document.sheets[-1].facts == [
        "paid,remembers=true: the store had all scores; nothing spent (0.50 per 1,000 pairs)"
    ]


def test_an_engine_of_several_metrics_and_datasets_is_counted_once():
    counts = {"calls": 1, "tokens_in": 1, "tokens_out": 0, "price": 0.25, "retries": 1, "unreadable": 2}
    both = [record("a", shared=["b"], **counts), record("b", shared=["a"], **counts)]
    other = record("c", calls=1000, price=1.5, price_per_1000=1.5)
    assert spending_lines([*both, *both, other]) == [
        "a and b: 1 call, 1 token in and 0 out; spent 0.25; 1 retry, 2 replies without a verdict",
        "c: 1,000 calls; spent 1.50 (1.50 per 1,000 pairs)",
        "in all: 1.75 spent",
    ]


@pytest.mark.parametrize(
    ("details", "line"),
    [
        ({"calls": 3}, "m: 3 calls; price unknown"),
        ({"calls": 3, "price": None}, "m: 3 calls; price unknown"),
        ({"calls": 3, "price": 0.0}, "m: 3 calls; free"),
        ({"calls": 0, "kept": 7}, "m: no call, 7 replies of earlier runs"),
        (
            {"calls": 3, "unreadable": 2, "unreadable_such_as": ["I cannot", "no idea"]},
            "m: 3 calls; price unknown; 2 replies without a verdict, such as “I cannot”",
        ),
        (
            {"calls": 3, "price": 0.5, "unknown": 2, "price_unknown": 0.25, "key_repeats": 1},
            (
                "m: 3 calls; spent 0.50; of it 0.25 for 2 tries of unknown cost, the most possible; "
                "the server repeated the key in 1 answer, where *** replaces it"
            ),
        ),
        # a folder of a stranger
        ({"calls": 3, "price": "1", "tokens_in": [2], "retries": -1}, "m: 3 calls; price unknown"),
    ],
)
def test_what_is_not_known_is_not_said(details, line):
    assert spending_lines([record("m", **details)]) == [line]
    assert spending_lines([record("m", **details | {"calls": "many", "kept": True})]) == []


def test_a_judge_says_what_it_spent_and_nothing_where_all_replies_were_kept(tmp_path):
    pytest.importorskip("openai")
    ask = {"resamples": 0, "buckets": "none", "statistics": ["spearman"]}
    with serve() as server:
        judge = f"judge:stand-in,endpoint={server.url},key=none,price_in=2,price_out=8"
        first = assay.run([ROWS], ["f1", judge], **ask)
        again = assay.run([ROWS], ["f1", judge], out=tmp_path / "again", **ask)
    (line,), (later,) = first.document.sheets[-1].facts, again.document.sheets[-1].facts
    cost = first.outcome.metrics[1].cost
    assert cost.details["price"] == pytest.approx(
        (2 * cost.details["tokens_in"] + 8 * cost.details["tokens_out"]) / 1e6
    )
    assert cost.price_per_1000 == pytest.approx(1000 * cost.details["price"] / 30, abs=1e-4)
    price = f"({money(cost.price_per_1000)} per 1,000 pairs)"
    assert line.startswith(f"{judge}: 30 calls, {cost.details['tokens_in']:,} tokens in and 30 out; spent ")
    assert line.endswith(price)
    page = page_html([read_run(tmp_path / "again")], leaderboard=False, categories=False)
    assert "<li>judge:stand-in,endpoint=…/v1,key=none,price_in=2,price_out=8: no call, 30 replies" in page
    assert later == f"{judge}: no call, 30 replies of earlier runs; nothing spent {price}"
    (record,) = [row for row in assay.leaderboard(tmp_path / "again").document.records if row["metric"] == judge]
    assert (record["price_per_1000"], record["pairs_per_second"]) == (cost.price_per_1000, None)


def test_a_judge_in_this_process_is_free_and_one_at_an_endpoint_is_not_known_to_be():
    assert load_metric("judge:some/model").price_per_1000() == 0.0
    assert load_metric("judge:some/model,endpoint=http://localhost:1/v1").price_per_1000() is None


def test_recommend_and_profile_read_the_prices_of_tokens(tmp_path):
    pytest.importorskip("openai")
    file = tmp_path / "prices.toml"
    file.write_text("[stand-in]\ninput = 2\noutput = 8\n")
    with serve() as server:
        judge = f"judge:stand-in,endpoint={server.url},key=none"
        ask = {"prices": file, "buckets": "none", "statistics": ["spearman"], "language": "en"}
        report = assay.recommend([ROWS], [judge, "f1"], max_price=0, **ask)
    prices = {row["metric"]: row["price_per_1000"] for row in report.document.value["evidence"]}
    assert prices["f1"] == 0.0 and prices[judge] > 0.1
    for verb in (partial(assay.recommend, [ROWS]), assay.profile):
        with pytest.raises(InputError, match=r"absent\.toml: cannot be read"):
            verb(["f1"], prices=tmp_path / "absent.toml")
