"""A fault and its count: each trial has a folder with files of the user's beside what assay writes."""

from __future__ import annotations

import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.processes import DONE, KILLED, REFUSED, begin, call, kill_after
from tests.faults.works import MINE, Work, differ


@dataclass
class Count:
    """What came of the trials of one fault; all but *times* should stay 0.

    Attributes:
        times: how often the fault struck.
        lost: what was scored and is gone, or was scored again beyond the unit in flight.
        deleted: files of the user's that are gone or changed.
        left: files that nobody needs after the next command.
        different: results that are not those of an undisturbed command.
        wrong: anything else, a line each: a traceback, a message without remedy.
    """

    times: int = 0
    lost: int = 0
    deleted: int = 0
    left: int = 0
    different: int = 0
    wrong: list[str] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        """Whether something came of it."""
        return bool(self.lost or self.deleted or self.left or self.different or self.wrong)


class Bench:
    """A work with the result of an undisturbed run of it, and folders for trials.

    Args:
        work: what is disturbed.
        base: where all of it is; a new folder.
        dice: draws the moments.
    """

    def __init__(self, work: Work, base: Path, dice: random.Random) -> None:
        self.work, self.dice, self.base = work, dice, base
        self.log = base / "log"
        self.whole = base / "whole"
        self._furnish(self.whole)
        started = time.monotonic()
        if call(lambda: work.do(self.whole), self.log) != DONE:
            raise RuntimeError(self.log.read_text())
        #: Seconds of an undisturbed command.
        self.seconds = time.monotonic() - started
        self.tables = work.tables(self.whole)
        self._names = names_in(self.whole)

    @staticmethod
    def _furnish(folder: Path) -> None:
        for name in MINE:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"mine: {name}")

    @contextmanager
    def folder(self) -> Iterator[Path]:
        """Yield the folder of a trial, removed afterwards."""
        folder = Path(tempfile.mkdtemp(dir=self.base))
        self._furnish(folder)
        # the log as it stands now belongs to an earlier trial
        self.log.unlink(missing_ok=True)
        yield folder
        shutil.rmtree(folder)

    def do(self, folder: Path, change: Callable[[], object] = lambda: None) -> int:
        """Run the command in a process of its own, after some change there; its exit code."""
        return call(lambda: (change(), self.work.do(folder)), self.log)

    def start(self, folder: Path, change: Callable[[], object] = lambda: None) -> int:
        """Start the command; the id of its process."""
        return begin(lambda: (change(), self.work.do(folder)), self.log)

    def said(self) -> str:
        """Return the last line that a process printed."""
        lines = self.log.read_text(errors="replace").strip().splitlines() if self.log.exists() else []
        return lines[-1] if lines else ""

    def check_ended(self, code: int, count: Count, *, remedy: str) -> None:
        """Count an end that is neither a result nor one line with the remedy."""
        if code not in (DONE, REFUSED) or (code == REFUSED and remedy not in self.said()):
            count.wrong.append(f"exit {code}: {self.said()[:200]}")

    def check_mine(self, folder: Path, count: Count) -> None:
        """Count files of the user's that are gone or changed."""
        for name in MINE:
            path = folder / name
            count.deleted += not (path.is_file() and path.read_text() == f"mine: {name}")

    def finish(self, folder: Path, count: Count, disturbed: int = 1) -> None:
        """Run the command once more, undisturbed, and count what differs from a command that never was disturbed."""
        ended = self.work.once and (folder / "out").exists()
        code = self.do(folder)
        if code != (REFUSED if ended else DONE):
            count.wrong.append(f"the next command: exit {code}: {self.said()[:200]}")
            return
        self.check_mine(folder, count)
        count.different += differ(self.work.tables(folder), self.tables)
        count.lost += self.work.repeated(folder, disturbed)
        count.left += len(names_in(folder) - self._names)
        count.lost += len(self._names - names_in(folder))


def names_in(folder: Path) -> set[str]:
    """Return the paths of all that is in a folder, relative to it."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def kill_and_finish(bench: Bench, count: Count, most: int) -> None:
    """Kill a command again and again at random moments, up to *most* times, then let it end."""
    kills = 0
    with bench.folder() as folder:
        kept = bench.work.kept(folder)
        while kills < most:
            ended = kill_after(bench.start(folder), bench.dice.uniform(0, bench.seconds))
            if ended != KILLED:
                bench.check_ended(ended, count, remedy="is not an empty folder")
                break
            kills += 1
            now = bench.work.kept(folder)
            count.lost += sum(now.get(key) != value for key, value in kept.items())
            count.lost += bench.work.unkept(folder)
            kept = now
            bench.check_mine(folder, count)
            if (folder / "out").exists():
                count.different += differ(bench.work.tables(folder), bench.tables)
        count.times += kills
        bench.finish(folder, count, kills)
