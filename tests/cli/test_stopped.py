"""Ctrl-C: one line, exit code 130, the scores so far kept."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.calling import command

#: A shell that runs the tests in the background has SIGINT ignored, which children inherit: Ctrl-C is put back.
CODE = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
import assay.benchmark.scoring as scoring
scoring.CHUNK = 64
from assay.cli import main
sys.argv[0] = "assay"
main()
"""


def stored(cache: Path) -> int:
    store = cache / "scores-2.sqlite"
    if not store.exists():
        return 0
    connection = sqlite3.connect(store)
    try:
        return int(connection.execute("SELECT count(*) FROM scores").fetchone()[0])
    except sqlite3.OperationalError:
        return 0
    finally:
        connection.close()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")
def test_interrupted(own_cache):
    words = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa"]
    lines = ["reference,candidate,label"]
    for i in range(6000):
        text = [words[(i * k) % 10] for k in range(1, 12)]
        lines.append(f"{' '.join(text)} {i},{' '.join(reversed(text))},{i % 3}")
    Path("many.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    arguments = command("run", "-d", "many.csv", "-m", "ter", "--resamples", 0, "--out", "OUT")[3:]
    run = subprocess.Popen(
        [sys.executable, "-c", CODE, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=dict(os.environ),
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not stored(own_cache) and run.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=300)
    assert run.returncode == 130, err
    assert out == ""
    # a loaded machine may have reported progress before
    assert err.splitlines()[-1] == "assay: stopped; what was scored so far is kept"
    assert "Traceback" not in err
    assert 0 < stored(own_cache) < 6000
    assert sorted(path.name for path in Path().iterdir()) == ["many.csv", "own.csv"]
