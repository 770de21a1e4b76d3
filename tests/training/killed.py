"""Real processes that are killed in the middle of a training."""

from __future__ import annotations

import multiprocessing
import os
import re
import runpy
import signal
import sys
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path

# to import torch and its companions takes longer than these trainings: where processes can be forked, they come from a
# server that has imported them once
_FORKED = "forkserver" in multiprocessing.get_all_start_methods()
_CONTEXT = multiprocessing.get_context("forkserver" if _FORKED else "spawn")
if _FORKED:
    _CONTEXT.set_forkserver_preload(["assay.training.pairwise.recipe", "assay.training.s3bert.recipe"])


def start(script: str, *arguments: object, largest_file: int | None = None, stderr: Path | None = None) -> BaseProcess:
    """Start a process with the environment and the working directory of this one.

    Args:
        script: the file beside this one, or the package, that it runs.
        *arguments: the arguments of the script.
        largest_file: the size in bytes at which a write to a file fails, as on a full disk; None for no limit.
        stderr: the file that receives the standard error; None for that of this process.
    """
    command = [script, *map(str, arguments)]
    process = _CONTEXT.Process(target=_run, args=(command, dict(os.environ), Path.cwd(), largest_file, stderr))
    process.start()
    return process


def _run(
    command: list[str], environment: dict[str, str], folder: Path, largest_file: int | None, stderr: Path | None
) -> None:
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    if stderr is not None:
        os.dup2(os.open(stderr, os.O_WRONLY | os.O_CREAT), 2)
    if largest_file is not None:
        import resource

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))
        # bytecode would be cut at the limit
        sys.dont_write_bytecode = True
    sys.argv = command
    if command[0].endswith(".py"):
        runpy.run_path(str(Path(__file__).with_name(command[0])), run_name="__main__")
    else:
        runpy.run_module(command[0], run_name="__main__", alter_sys=True)


def wait_until(process: BaseProcess, come: Callable[[], object], seconds: float = 120) -> None:
    """Wait until something has come about, the process has ended, or time is up."""
    until = time.monotonic() + seconds
    while process.exitcode is None and time.monotonic() < until and not come():
        time.sleep(0.01)


def wait_for_end(process: BaseProcess, seconds: float = 200) -> int | None:
    """Return the exit code of a process; None if it still runs after that time."""
    process.join(seconds)
    return process.exitcode


def kill(process: BaseProcess) -> None:
    """Kill a process that still runs."""
    process.kill()
    assert wait_for_end(process) == -signal.SIGKILL


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
