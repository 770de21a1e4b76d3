"""A judge at an endpoint that fails in every way that a seed draws: the table is that of an endpoint without faults."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import assay
from assay.analysis.folder import read_run
from assay.reports.formats import format_document
from assay.reports.run import document
from tests.judge_server import serve
from tests.judge_server.protocol import Behaviour
from tests.metrics.judge.questions import judge_at, scores_by_protocol, scores_of, write_pairs

pytest.importorskip("openai", reason="openai is not installed")

TABLES = ("agreement.json", "agreement.csv", "scores.parquet", "pairs.parquet")
#: Faults that go over when a call is tried again, and their rates; together, of four calls in ten.
PASSING = {
    "rate limit": 0.06, "rate limit unsaid": 0.02, "error": 0.03, "unavailable": 0.03, "cut": 0.04, "closed": 0.04,
    "garbage": 0.04, "shapeless": 0.03, "empty": 0.03, "slow": 0.008, "other model": 0.03, "huge": 0.008, "html": 0.02,
}  # fmt: skip


def run(monkeypatch, pairs: Path, metric: str, folder: Path):
    """Run with a cache of its own, in which no reply is kept yet."""
    monkeypatch.setenv("ASSAY_CACHE", str(folder / "cache"))
    return assay.run(pairs, [metric], out=folder / "out", resamples=100, page=False)


@pytest.mark.slow
def test_five_hundred_pairs_end_with_the_table_of_a_server_without_faults(tmp_path, monkeypatch):
    pairs = write_pairs(tmp_path / "pairs.csv", 500)
    with serve() as server:
        metric = judge_at(server.url, timeout=10, concurrency=32)
        run(monkeypatch, pairs, metric, tmp_path / "fine")
        fine = server.outcomes
        server.calls.clear()
        server.behaviour = Behaviour(faults=PASSING, slow=30, seed=3)
        run(monkeypatch, pairs, metric, tmp_path / "faulty")
        struck = server.outcomes
        expected = scores_by_protocol(server, list(scores_of(tmp_path / "fine/out")))
    assert fine == {"answer": 500}
    # one that arrived after the client had given up was asked for again
    assert struck["answer"] - server.repeated == 500
    assert set(struck) == {*PASSING, "answer", "gone"} - {"slow"}
    assert scores_of(tmp_path / "faulty/out") == pytest.approx(expected)
    (metric_record,) = json.loads((tmp_path / "faulty/out/run.json").read_text())["metrics"]
    cost = metric_record["cost"]
    assert (cost["calls"], cost["unreadable"], cost["refusals"]) == (500, 0, 0)
    # each failure cost another try; on a machine with more to do, a few tries more had no time to reach the server
    failures = struck.total() - 500
    assert failures <= cost["retries"] <= failures + 10
    for name in TABLES:
        fine_table, faulty_table = (tmp_path / folder / "out" / name for folder in ("fine", "faulty"))
        assert faulty_table.read_bytes() == fine_table.read_bytes(), name
    fine_text, faulty_text = (
        format_document(document(read_run(tmp_path / folder / "out")), "md") for folder in ("fine", "faulty")
    )
    # the last lines say what the calls took
    assert faulty_text.replace(f"; {cost['retries']} retries", "") == fine_text
