"""What a user sees on stderr while a verb works: bars or lines of progress, and the log."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from assay.cli.printing import print_to_stderr
from assay.common.addresses import public_text
from assay.common.visible import brief_text

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bar
    from rich.progress import Task, TaskID

    from assay.common.progress import Progress

#: Seconds before the first line of progress, and between lines, when stderr is not a terminal.
SECONDS_TO_FIRST_LINE = 1.0
SECONDS_BETWEEN_LINES = 10.0


class _ProgressBars:
    """Progress on a terminal: one bar of Rich, which shows the current step.

    Args:
        bar: the display, already started.
    """

    def __init__(self, bar: Bar) -> None:
        self._progress_bar = bar
        self._task: TaskID | None = None

    def begin(self, what: str, total: int) -> None:
        """Replace the bar of the last step by a bar for this one."""
        if self._task is not None:
            self._progress_bar.remove_task(self._task)
        # Rich expects None for an unknown number of units
        self._task = self._progress_bar.add_task(brief_text(public_text(what)), total=total or None)

    def advance(self, units: int) -> None:
        if self._task is not None:
            self._progress_bar.advance(self._task, units)

    def say(self, line: str) -> None:
        self._progress_bar.console.print(brief_text(public_text(line)), markup=False, highlight=False)


class _ProgressLines:
    """Progress as occasional lines, for a file or pipe: ``chrf on tq, pairs: 320/600, 63/s, 5 s left``.

    The rate is measured from the first units on, since the time to load a model says nothing about the time left.
    """

    def __init__(self) -> None:
        self._work_name, self._total_units, self._done_units = "", 0, 0
        # the time of the first report, and the units done by then
        self._first_report: tuple[float, int] | None = None
        self._next_line_time = 0.0

    def begin(self, what: str, total: int) -> None:
        """Start counting a step anew; its first line is written after :data:`SECONDS_TO_FIRST_LINE` at the earliest."""
        self._work_name, self._total_units, self._done_units = what, total, 0
        self._first_report = None
        self._next_line_time = time.monotonic() + SECONDS_TO_FIRST_LINE

    def advance(self, units: int) -> None:
        """Count units as done, and write a line if the last one is long enough ago."""
        self._done_units += units
        time_now = time.monotonic()
        if self._done_units:
            self._first_report = self._first_report or (time_now, self._done_units)
        # work without a name, such as a short query of the store, is not reported
        if not self._work_name or time_now < self._next_line_time:
            return
        self._next_line_time = time_now + SECONDS_BETWEEN_LINES
        parts = [f"{self._done_units:,}/{self._total_units:,}" if self._total_units else f"{self._done_units:,}"]
        first_time, first_done = self._first_report or (time_now, 0)
        measured_units, seconds = self._done_units - first_done, time_now - first_time
        # of the first few units one may be much slower than the rest, such as one that warms up a model: 7 hours left
        if measured_units >= max(1, self._total_units / 100) and seconds > 0:
            rate = measured_units / seconds
            parts.append(f"{_rate_text(rate)}/s")
            if self._total_units:
                parts.append(f"{_duration_text((self._total_units - self._done_units) / rate)} left")
        print_to_stderr(f"{self._work_name}: {', '.join(parts)}")

    def say(self, line: str) -> None:
        print_to_stderr(line)


def _rate_text(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.2g}"


def _duration_text(seconds: float) -> str:
    """Return a duration in a unit that suits its length: ``45 s``, ``12 min``, ``3.5 h``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


@contextmanager
def progress_on_stderr(quiet: bool) -> Iterator[Progress]:
    """Yield a progress that is shown on stderr; a silent one if *quiet*.

    On a terminal it is a bar, unless the log is shown there as well; then, and in a file or pipe, it is lines.
    """
    from assay.common.progress import Silent, reported_here

    with reported_here():
        if quiet:
            yield Silent()
        elif not sys.stderr.isatty() or logging.getLogger("assay").isEnabledFor(logging.INFO):
            # bars and lines of the log would overwrite each other
            yield _ProgressLines()
        else:
            from rich.console import Console

            with _make_progress_bar(Console(stderr=True)) as bar:
                yield _ProgressBars(bar)


def _make_progress_bar(console: Console) -> Bar:
    """Return a progress bar with n/N, rate and time left; only the name of the work is shortened if space is short.

    Args:
        console: the console on which the bar is drawn.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn
    from rich.table import Column
    from rich.text import Text

    class RateColumn(ProgressColumn):
        """The units done per second."""

        def render(self, task: Task) -> Text:
            return Text(f"{_rate_text(task.speed)}/s" if task.speed else "")

    name_column = Column(ratio=1, no_wrap=True, overflow="ellipsis")
    return Progress(
        # a name such as static:v[/x].txt must not be read as markup
        TextColumn("{task.description}", markup=False, table_column=name_column),
        BarColumn(bar_width=12),
        MofNCompleteColumn(table_column=Column(no_wrap=True)),
        RateColumn(table_column=Column(no_wrap=True)),
        TimeRemainingColumn(compact=True, table_column=Column(no_wrap=True)),
        console=console,
        transient=True,
        expand=True,
    )


class _OneLineFormatter(logging.Formatter):
    """Formats a log record as one line with control characters escaped."""

    def format(self, record: logging.LogRecord) -> str:
        return brief_text(public_text(super().format(record)))


def log_to_stderr() -> None:
    """Send the log of assay from level INFO on to stderr, and no longer to the handlers of the root logger."""
    logger = logging.getLogger("assay")
    if not logger.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(_OneLineFormatter("%(relativeCreated)7.0f ms  %(message)s"))
        logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
