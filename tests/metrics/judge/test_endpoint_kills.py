"""A run of a judge at an endpoint that is killed again and again pays for no reply that it has."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.metrics.judge.killing import CONCURRENCY, KILLS, PAIRS
from tests.promises import REPOSITORY

pytest.importorskip("openai", reason="openai is not installed")


@pytest.mark.slow
def test_ten_kills_cost_at_most_the_calls_in_flight(tmp_path):
    pytest.importorskip("fcntl", reason="there are no forks here")
    command = [sys.executable, "-m", "tests.metrics.judge.killing", str(tmp_path)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr[-2000:]
    count = json.loads(done.stdout)
    assert (count["kills"], count["pairs"], count["wrong"]) == (KILLS, PAIRS, 0)
    # what came is kept at once: a kill costs the answers that the process had no time to read
    assert count["forgotten"] == 0
    assert count["repeated by one kill"] <= CONCURRENCY
    # and the calls in flight
    assert count["calls"] <= PAIRS + KILLS * CONCURRENCY
    assert count["greatest"] <= CONCURRENCY
