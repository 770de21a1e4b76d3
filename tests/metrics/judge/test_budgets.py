"""Budgets hold, and nothing is paid for twice, in a few random trials; many more by the command."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.metrics.judge import budgets
from tests.metrics.judge.counting import CountedCall
from tests.promises import REPOSITORY

pytest.importorskip("openai", reason="openai is not installed")


@pytest.mark.slow
def test_budgets_hold():
    pytest.importorskip("fcntl", reason="there are no locks and forks here")
    kills = stopped = failed = share = 0
    # where a process is killed depends on the machine: more trials are made until something could have gone wrong
    for seed in range(5, 11):
        command = [sys.executable, "-m", "tests.metrics.judge.budgets", "--runs", "8", "--seed", str(seed)]
        done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=280)
        assert done.returncode == 0, done.stdout + done.stderr[-2000:]
        count = json.loads(done.stdout)
        assert (count["trials"], count["exceeded"], count["repeated"], count["wrong"]) == (8, 0, 0, [])
        kills, stopped, failed = kills + count["kills"], stopped + count["stopped"], failed + count["failed"]
        share = max(share, count["share"])
        if kills and stopped and failed and share > 0.2:
            break
    assert kills and stopped and failed and 0.2 < share <= 1


def test_what_is_paid_for_twice_is_counted():
    first = CountedCall("Bearer a", "r", 0.0, 0.1, "answer")
    for second, kills, expected in (
        (CountedCall("Bearer b", "r", 0.3), {}, (1, 0)),
        (CountedCall("Bearer a", "r", 0.3), {}, (1, 0)),
        (CountedCall("Bearer b", "other", 0.3), {}, (0, 0)),
        (CountedCall("Bearer b", "r", 0.3), {"a": 0.2}, (0, 1)),
        (CountedCall("Bearer b", "r", 9.0), {"a": 8.0}, (1, 0)),
    ):
        result = budgets.Result()
        budgets.count_repeats([first, second], kills, result)
        assert (result.repeated, result.lost) == expected
