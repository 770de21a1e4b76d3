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
        """Start a step of *total* units, which ends the previous step; 0 if the number is unknown."""
        ...

    def advance(self, units: int) -> None:
        """Report that further units of the current step are done."""
        ...

    def say(self, line: str) -> None:
        """Report one line of text."""
        ...


class Silent:
    """A progress that shows nothing."""

    def begin(self, what: str, total: int) -> None:
        """See :meth:`Progress.begin`."""

    def advance(self, units: int) -> None:
        """See :meth:`Progress.advance`."""

    def say(self, line: str) -> None:
        """See :meth:`Progress.say`."""


#: Functions that receive the share of a unit of work that is done; only the last one, the innermost, is called.
_listeners: list[Callable[[float], None]] = []


@contextmanager
def shares_told_to(listener: Callable[[float], None]) -> Iterator[None]:
    """Pass the shares that are reported inside the block, from 0 to 1, to a function."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def tell_share(share: float) -> None:
    """Report the share of the current unit of work that is done, from 0 to 1, to the innermost listener."""
    if _listeners:
        _listeners[-1](share)


@contextmanager
def portion(start: float, stop: float) -> Iterator[None]:
    """Scale shares reported inside the block, from 0 to 1, to the part of the work from *start* to *stop*."""
    if not _listeners:
        yield
        return
    outer = _listeners[-1]
    with shares_told_to(lambda share: outer(start + share * (stop - start))):
        yield
    outer(stop)


def counted(items: Iterable[Item], total: int) -> Iterator[Item]:
    """Yield items, and regularly report the share of *total* that is done."""
    reported = time.monotonic()
    for done, item in enumerate(items, start=1):
        yield item
        # not at every item: a report takes about as long as a fast metric takes for a pair
        if _listeners and time.monotonic() - reported > SECONDS_BETWEEN_REPORTS:
            reported = time.monotonic()
            _listeners[-1](done / total)
