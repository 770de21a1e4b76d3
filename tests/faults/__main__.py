"""``python -m tests.faults [--kills N] [--times N] [--minutes M] [--seed S] [FAULT …]``: see the table it prints."""

from __future__ import annotations

import argparse
import importlib
import os
import random
import sys
import tempfile
import time
from pathlib import Path

# before anything imports a library that starts threads by them
os.environ |= {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}

from tests.faults import faults
from tests.faults.processes import DONE, call, preload
from tests.faults.trials import Bench, Count
from tests.faults.works import Run, Train, Tune, Work

WORKS: dict[str, type[Work]] = {work.name: work for work in (Run, Train, Tune)}
#: By name: the fault, and the works that it strikes.
FAULTS: dict[str, tuple[faults.Strike, tuple[str, ...]]] = {
    "kill -9": (faults.kill, ("run", "train", "tune")),
    "full disk": (faults.full_disk, ("run", "train")),
    "file limit": (faults.limited_files, ("run", "train")),
    "read-only folder": (faults.read_only, ("run", "train")),
    "locked store": (faults.locked_store, ("run",)),
    "damaged store": (faults.damaged_store, ("run",)),
    "two at once": (faults.at_once(2), ("run", "train")),
    "four at once": (faults.at_once(4), ("run",)),
    "clock goes back": (faults.clock, ("run", "train", "tune")),
    "data changes": (faults.changed_data, ("run", "train")),
    "cut download": (faults.cut_download, ("run",)),
    "worker dies": (faults.dead_scorer, ("run",)),
    "AMR worker dies": (faults.dead_worker, ("run",)),
}
#: Of the kills, how many strike each work.
SHARES = {"run": 0.6, "train": 0.25, "tune": 0.15}


def main() -> int:
    """Strike with each fault, print a table, and return 1 where anything came of it."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=main.__doc__)
    parser.add_argument("faults", nargs="*", metavar="FAULT", help=f"of {', '.join(FAULTS)}; all by default")
    parser.add_argument("--work", choices=WORKS, action="append", help="what is struck; all by default")
    parser.add_argument("--kills", type=int, default=60, help="kills over all works")
    parser.add_argument("--times", type=int, default=5, help="times that each other fault strikes each work")
    parser.add_argument("--minutes", type=float, default=60, help="no further strike begins after so many")
    parser.add_argument("--seed", type=int, default=5, help="of the random moments")
    asked = parser.parse_args()
    if unknown := set(asked.faults) - set(FAULTS):
        parser.error(f"no such fault: {', '.join(sorted(unknown))}")
    until = time.monotonic() + 60 * asked.minutes
    chosen = {name: FAULTS[name] for name in asked.faults or FAULTS}
    heads = ("fault", "work", "times", "lost", "user's", "left", "differ", "other", "seconds")
    failed = False
    print(_line(heads), flush=True)
    for work in asked.work or WORKS:
        struck = [name for name, (_, works) in chosen.items() if work in works]
        if not struck:
            continue
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as base:
            bench = _bench(WORKS[work], Path(base), asked.seed)
            for name in struck:
                times = round(asked.kills * SHARES[work]) if name == "kill -9" else asked.times
                started = time.monotonic()
                count = _strike(chosen[name][0], bench, times, until)
                seconds = round(time.monotonic() - started)
                numbers = (count.times, count.lost, count.deleted, count.left, count.different, len(count.wrong))
                print(_line((name, work, *numbers, seconds)), flush=True)
                for wrong in dict.fromkeys(count.wrong):
                    print(f"    {wrong}", flush=True)
                failed = failed or count.failed or not count.times
    return int(failed)


def _bench(work: type[Work], base: Path, seed: int) -> Bench:
    """Return the bench of a work: its input made, and what it imports imported."""
    for module in work.large:
        importlib.import_module(module)
    made = work(base / "input")
    if call(made.prepare, base / "log") != DONE:
        raise RuntimeError((base / "log").read_text())
    first = base / "first"
    first.mkdir()
    preload(lambda: made.do(first), base)
    return Bench(made, base / "bench", random.Random(seed))


def _strike(strike: faults.Strike, bench: Bench, times: int, until: float) -> Count:
    """Strike until the fault came so many times, or time is up; what comes too late to strike is drawn again."""
    count = Count()
    for _ in range(5 * times):
        if count.times >= times or time.monotonic() > until:
            break
        strike(bench, count)
    return count


def _line(cells: tuple[object, ...]) -> str:
    first, second, *numbers = map(str, cells)
    return f"{first:17}{second:6}" + "".join(f"{number:>8}" for number in numbers)


if __name__ == "__main__":
    sys.exit(main())
