"""Processes that are forked after the imports, so that one costs what it does and no start of Python."""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from assay.exceptions import AssayError

#: Exit codes of :func:`begin`: done; refused in one line, as the command line would; any other exception.
DONE, REFUSED, BROKEN = 0, 2, 70
#: That of a process that was killed.
KILLED = -signal.SIGKILL


def begin(work: Callable[[], object], log: Path) -> int:
    """Fork a process that works and ends; what it prints goes to the end of a file.

    Returns:
        Its id.
    """
    child = os.fork()
    if child:
        return child
    code = BROKEN
    try:
        target = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        os.dup2(target, 1)
        os.dup2(target, 2)
        work()
        code = DONE
    except AssayError as error:
        print(f"error: {error}", file=sys.stderr)
        code = REFUSED
    except BaseException:  # noqa: BLE001  a fork must not run what its parent does next
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def end(process: int) -> int:
    """Wait for a process; its exit code, negative where a signal ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def call(work: Callable[[], object], log: Path) -> int:
    """Fork a process that works, and wait for its exit code."""
    return end(begin(work, log))


def kill_after(process: int, seconds: float) -> int:
    """Kill a process with signal 9 after some seconds; -9, or the exit code of one that had ended before."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(min(0.002, max(until - time.monotonic(), 0)))
    os.kill(process, signal.SIGKILL)
    return end(process)


def preload(work: Callable[[], object], folder: Path) -> None:
    """Import what some work imports; the work itself is done in a fork, so that this process starts no thread."""
    listed = folder / "modules"

    def list_modules() -> None:
        work()
        names = [name for name, module in list(sys.modules.items()) if getattr(module, "__file__", None)]
        listed.write_text("\n".join(names))

    if call(list_modules, folder / "preload.log") != DONE:
        raise RuntimeError((folder / "preload.log").read_text())
    for name in listed.read_text().splitlines():
        with contextlib.suppress(ImportError, AttributeError):
            importlib.import_module(name)
