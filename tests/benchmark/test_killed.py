"""kill -9 at random moments: the continuation ends with the same tables and repeats at most one batch."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
#: 50 in the figure of the documentation: ASSAY_TEST_KILLS=50 pytest tests/benchmark/test_killed.py
KILLS = int(os.environ.get("ASSAY_TEST_KILLS", "6"))
CHUNK = 50
DISTINCT = 1000


def start(folder, pause="0.02"):
    command = [sys.executable, "-m", "tests.benchmark.killed_run", folder / "store.sqlite", folder / "out", pause]
    environment = os.environ | {"COUNTING_LOG": str(folder / "log")}
    return subprocess.Popen(command, cwd=REPOSITORY, env=environment)


def tables(folder):
    names = ("agreement.json", "agreement.csv", "scores.parquet", "pairs.parquet", "table.md", "table.tex")
    found = {name: (folder / "out" / name).read_bytes() for name in names}
    return found | {"asked": json.loads((folder / "out/run.json").read_text())["request"]}


def wait_for(log, lines, process):
    """Wait until so many pairs were scored, or the run is over."""
    while process.poll() is None and (not log.exists() or len(log.read_bytes().splitlines()) < lines):
        time.sleep(0.005)


@pytest.mark.slow
def test_killed_runs_continue(tmp_path):
    whole = tmp_path / "whole"
    whole.mkdir()
    assert start(whole).wait(timeout=120) == 0
    expected = tables(whole)
    dice = random.Random(5)
    landed = 0
    for kill in range(KILLS):
        folder = tmp_path / str(kill)
        folder.mkdir()
        process = start(folder)
        wait_for(folder / "log", dice.randrange(DISTINCT), process)
        time.sleep(dice.uniform(0, 0.3))  # into the batch, the other metrics, the bootstrap or the writing
        process.kill()
        landed += process.wait() == -9
        assert not (folder / "out").exists() or tables(folder) == expected
        assert start(folder).wait(timeout=120) == 0
        assert tables(folder) == expected
        scored = (folder / "log").read_text().splitlines()
        assert len(set(scored)) == DISTINCT
        assert len(scored) <= DISTINCT + CHUNK
    assert landed >= KILLS // 2
