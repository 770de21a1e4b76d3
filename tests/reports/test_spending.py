"""What a run spent on metrics that call a server, in the terminal, in its files and on its page."""

from __future__ import annotations

import pytest

import assay
from assay.manifest import Cost, MetricRecord
from assay.metrics.work import release_sessions
from assay.reports.folder import read_run
from assay.reports.page.render import page_html
from assay.reports.spending import spending
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
        "paid: 30 calls, 6,000 tokens in and 30 out; spent 0.015, which is 0.50 per 1,000 pairs; 3 retries, 2 "
        "refusals, 1 reply without a verdict"
    )
    assert done.document.sheets[-1].facts == [line]
    assert line in " ".join(repr(done).split())
    assert line in (tmp_path / "run" / "table.md").read_text()
    assert "calls" not in (tmp_path / "run" / "table.tex").read_text(), "a table for print"
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
        "paid,remembers=true: nothing spent, the store had all scores (0.50 per 1,000 pairs)"
    ]


def test_an_engine_of_several_metrics_and_datasets_is_counted_once():
    counts = {"calls": 1, "tokens_in": 1, "tokens_out": 0, "price": 0.25, "retries": 1, "unreadable": 2}
    both = [record("a", shared=["b"], **counts), record("b", shared=["a"], **counts)]
    other = record("c", calls=1000, price=1.5, price_per_1000=1.5)
    assert spending([*both, *both, other]) == [
        "a and b: 1 call, 1 token in and 0 out; spent 0.25; 1 retry, 2 replies without a verdict",
        "c: 1,000 calls; spent 1.50, which is 1.50 per 1,000 pairs",
        "in all: 1.75 spent",
    ]


@pytest.mark.parametrize(
    ("details", "line"),
    [
        ({"calls": 3}, "m: 3 calls; price unknown"),
        ({"calls": 3, "price": None}, "m: 3 calls; price unknown"),
        ({"calls": 3, "price": 0.0}, "m: 3 calls; free"),
        # a folder of a stranger
        ({"calls": 3, "price": "1", "tokens_in": [2], "retries": -1}, "m: 3 calls; price unknown"),
    ],
)
def test_what_is_not_known_is_not_said(details, line):
    assert spending([record("m", **details)]) == [line]
    assert spending([record("m", **details | {"calls": "many"})]) == []
