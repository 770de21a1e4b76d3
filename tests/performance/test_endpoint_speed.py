"""A judge at an endpoint keeps as many calls in flight as it may, and plans many pairs in bounded memory."""

from __future__ import annotations

import json
import math
import os
import statistics
import subprocess
import sys

import pytest

import assay
from tests.judge_server import serve_apart
from tests.judge_server.protocol import Behaviour
from tests.metrics.judge.questions import judge_at, write_pairs
from tests.performance.ratio import PEAK

pytest.importorskip("openai", reason="openai is not installed")

CALLS, CONCURRENCY, DELAY = 1000, 32, 0.2
PAIRS = 100_000


def test_a_thousand_calls_take_at_most_a_fifth_longer_than_the_server(tmp_path, monkeypatch, capsys):
    """The server is a process of its own; on a machine with nothing else to do, since the clock is that of the wall."""
    pairs = write_pairs(tmp_path / "pairs.csv", CALLS)
    ideal = math.ceil(CALLS / CONCURRENCY) * DELAY
    ratios = []
    with serve_apart(Behaviour(delay=DELAY)) as (url, record):
        for number in range(3):
            monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / f"cache{number}"))
            assay.run(pairs, [judge_at(url, concurrency=CONCURRENCY)], resamples=0)
            calls = record().chats[number * CALLS :]
            assert len(calls) == CALLS
            # from the first call to the last reply: reading the data and agreement are those of any metric
            ratios.append((max(call.ended for call in calls) - min(call.begun for call in calls)) / ideal)
        assert record().greatest == CONCURRENCY
    with capsys.disabled():
        shown = ", ".join(f"{ratio:.3f}" for ratio in ratios)
        print(f"\n{CALLS} calls of {DELAY} s, {CONCURRENCY} at a time: {shown} times the ideal {ideal:.2f} s")
    assert statistics.median(ratios) <= 1.2


PLAN = f"""
import json, sys
import assay
{PEAK}
pairs, metric = sys.argv[1:]
calls = assay.estimate(pairs, [metric]).records["calls"].tolist()
print(json.dumps([peak_mb(), calls]))
"""


def planned(pairs, metric, **environment):
    command = [sys.executable, "-c", PLAN, str(pairs), metric]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ | environment)
    return json.loads(done.stdout)


def test_planning_a_hundred_thousand_pairs_takes_the_memory_of_a_few(tmp_path, capsys):
    """The peak of planning a judge, less that of planning a string metric on the same pairs, hardly grows with them."""
    judge = judge_at("http://127.0.0.1:9/v1", price_in=1, price_out=1)
    more = {}
    for count in (PAIRS // 20, PAIRS):
        pairs = write_pairs(tmp_path / f"{count}.csv", count)
        peaks = {metric: planned(pairs, metric)[0] for metric in ("f1", judge)}
        more[count] = peaks[judge] - peaks["f1"]
        with capsys.disabled():
            print(f"\n{count:,} pairs: {peaks['f1']:.0f} MB for f1, {peaks[judge]:.0f} MB for a judge")
    assert planned(tmp_path / f"{PAIRS}.csv", judge)[1] == [PAIRS]
    # the questions of the data, which f1 does not read; all prompts together have 60 MB of text alone
    assert more[PAIRS] - more[PAIRS // 20] <= 30
