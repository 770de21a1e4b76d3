"""Progress of long work, which the command line shows as bars; Python users need not pass one.

Code deep inside a unit of work, such as the loop over the batches of a model, has no :class:`Progress`. It reports the
share of its texts that is done to a listener of this process instead.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

Item = TypeVar("Item")
#: Minimum number of seconds between reports of a loop over pairs.
SECONDS_BETWEEN_REPORTS = 0.1


class Progress(Protocol):
    """Receives the steps of a run, a training or a download."""

    def begin(self, what: str, total: int) -> None:
        """Start a step, which ends the previous one.

        Args:
            what: what the step does or works on, as shown to the user.
            total: the number of units of the step; 0 if it is unknown.
        """
        ...

    def advance(self, units: int) -> None:
        """Report that so many further units of the current step are done."""
        ...

    def say(self, line: str) -> None:
        """Show one line of text to the user, such as a note on a step."""
        ...


class Silent:
    """A progress that shows nothing."""

    def begin(self, what: str, total: int) -> None:
        """Ignore the start of a step."""

    def advance(self, units: int) -> None:
        """Ignore that units are done."""

    def say(self, line: str) -> None:
        """Drop a line of text."""


#: Functions that receive the share of a unit of work that is done; only the last one, the innermost, is called.
_listeners: list[Callable[[float], None]] = []


@contextmanager
def share_listener(listener: Callable[[float], None]) -> Iterator[None]:
    """Pass the shares that are reported inside the block, from 0 to 1, to a function, and to no outer listener."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def report_share(share: float) -> None:
    """Report the share of the current unit of work that is done, from 0 to 1, to the innermost listener."""
    if _listeners:
        _listeners[-1](share)


@contextmanager
def scaled_shares(start: float, stop: float) -> Iterator[None]:
    """Map shares reported inside the block, from 0 to 1, to the part of the work from *start* to *stop*.

    *stop* is reported when the block ends. Without a listener, nothing happens.
    """
    if not _listeners:
        yield
        return
    outer = _listeners[-1]
    with share_listener(lambda share: outer(start + share * (stop - start))):
        yield
    outer(stop)


def track_progress(items: Iterable[Item], total: int) -> Iterator[Item]:
    """Yield items unchanged, and report to the innermost listener, if any, the share of *total* items that is done.

    A report follows an item if more than :data:`SECONDS_BETWEEN_REPORTS` have passed since the last one.
    """
    last_report = time.monotonic()
    for done, item in enumerate(items, start=1):
        yield item
        # not at every item: a report takes about as long as a fast metric takes for a pair
        if _listeners and time.monotonic() - last_report > SECONDS_BETWEEN_REPORTS:
            last_report = time.monotonic()
            report_share(done / total)
