"""Real processes that are killed in the middle of a training."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path


def start(script: str, *arguments: object) -> subprocess.Popen[bytes]:
    """Start a script that lies beside this file as a process of its own, which imports what this one can."""
    command = [sys.executable, str(Path(__file__).with_name(script)), *map(str, arguments)]
    paths = os.pathsep.join(path for path in sys.path if path)
    return subprocess.Popen(command, env=os.environ | {"PYTHONPATH": paths})


def wait_until(process: subprocess.Popen[bytes], come: Callable[[], object], seconds: float = 120) -> None:
    """Wait until something has come about, the process has ended, or time is up."""
    until = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < until and not come():
        time.sleep(0.01)


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that still runs."""
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL


def kill_in_training(out: Path, script: str, *arguments: object) -> None:
    """Start a training of one model to *out* and kill it a moment after its first checkpoint."""
    process = start(script, *arguments)
    work = out.with_name(f".{out.name}.training") / "checkpoints-0"
    wait_until(process, lambda: list(work.glob("checkpoint-*/trainer_state.json")))
    time.sleep(0.4)
    kill(process)
    assert not out.exists()


def assert_resumed(lines: list[str]) -> None:
    """Check that a training resumed from a checkpoint, and evaluated no step before it again."""
    shown = "\n".join(lines)
    (start,) = re.findall(r"resumes from step (\d+)", shown)
    evaluated = [int(step) for step in re.findall(r"step (\d+) of", shown)]
    assert evaluated and min(evaluated) > int(start), lines
