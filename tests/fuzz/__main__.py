"""``python -m tests.fuzz``: hostile input for every reader, parser and string metric, for minutes.

Each target runs in a process of its own, which may die; what fails is made small and kept in ``tests/fuzz/corpus``,
which the suite replays.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from pathlib import Path
from random import Random

from tests.fuzz.running import CORPUS, failure_of, keep, smaller
from tests.fuzz.targets import TARGETS

#: Failures of one target after which it ends.
MOST_FAILURES = 10
#: Memory that one target may take: a reader that asks for more of a small input fails.
MEMORY = 4 << 30
#: Seconds of one input after which its process is ended: it hangs where no signal reaches it.
HANGS = 60


def made(target: str, seed: int, number: int) -> bytes:
    """Return an input of a target."""
    return TARGETS[target].make(Random(f"{seed}/{target}/{number}"))


def work(target: str, seed: int, first: int, last: int, end: float, counted, failed) -> None:
    """Run inputs until the time is over; the parent sees how far it came."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    os.environ["NO_COLOR"] = "1"
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115, PTH123
    seen = set()
    with tempfile.TemporaryDirectory(prefix="assay-fuzz-") as folder:
        os.chdir(folder)
        # what is made beside the inputs goes when they go
        tempfile.tempdir = folder
        for number in range(first, last):
            counted.value = number
            content = made(target, seed, number)
            why = failure_of(target, content, Path(folder))
            if why is not None:
                failed.value += 1
                if why.kind not in seen:
                    seen.add(why.kind)
                    content = smaller(target, content, why, Path(folder))
                    sys.__stdout__.write(f"{target}: {why}\n    {keep(target, content)}: {content[:200]!r}\n")
                    sys.__stdout__.flush()
                if len(seen) >= MOST_FAILURES:
                    break
            if time.monotonic() > end:
                break
        os.chdir("/")
        counted.value = number + 1


def run_target(target: str, seed: int, inputs: int, seconds: float) -> tuple[int, int, float]:
    """Return how many inputs a target was given, how many failed, and the seconds it took."""
    context = multiprocessing.get_context("fork")
    counted, failed = context.Value("q", 0), context.Value("q", 0)
    started = time.monotonic()
    first = 0
    while first < inputs and time.monotonic() - started < seconds:
        end = started + seconds
        process = context.Process(target=work, args=(target, seed, first, inputs, end, counted, failed))
        process.start()
        before, since = -1, time.monotonic()
        while process.is_alive():
            process.join(1)
            if counted.value != before:
                before, since = counted.value, time.monotonic()
            elif time.monotonic() - since > HANGS:
                process.kill()
        if process.exitcode == 0:
            break
        failed.value += 1
        content = made(target, seed, counted.value)
        print(f"{target}: the process ended with {process.exitcode}\n    {keep(target, content)}", flush=True)
        first = counted.value + 1
    return counted.value, failed.value, time.monotonic() - started


def main() -> int:
    """Run the targets and print a table; return 1 where one failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Hostile input for readers and parsers.")
    parser.add_argument("--minutes", type=float, default=10.0, help="of all targets together (default 10)")
    parser.add_argument("--inputs", type=int, default=10**9, help="most inputs of each target")
    parser.add_argument("--target", action="append", choices=sorted(TARGETS), metavar="NAME", help="only these")
    parser.add_argument("--seed", type=int, default=None, help="(default: the time)")
    asked = parser.parse_args()
    seed = int(time.time()) if asked.seed is None else asked.seed
    names = asked.target or list(TARGETS)
    end = time.monotonic() + 60 * asked.minutes
    print(
        f"seed {seed}; failures are kept in {CORPUS}\n{'target':<24} {'inputs':>9} {'failures':>8} {'seconds':>8}",
        flush=True,
    )
    failures = 0
    for place, name in enumerate(names):
        # what a target leaves is for the others
        share = (end - time.monotonic()) / (len(names) - place)
        inputs, failed, seconds = run_target(name, seed, asked.inputs, share)
        failures += failed
        print(f"{name:<24} {inputs:>9,} {failed:>8,} {seconds:>8.1f}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
