"""How long work reports its progress: the command line draws bars, a Python user may pass nothing.

What is deep inside a unit of work, such as the loop over the batches of a model, has no :class:`Progress`: it reports
which share of its texts is done, to whoever listens in this process.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

Item = TypeVar("Item")
#: Seconds between two reports of a loop over pairs.
SECONDS_BETWEEN_REPORTS = 0.1


class Progress(Protocol):
    """Receives the steps of a run, a training or a download."""

    def begin(self, what: str, total: int) -> None:
        """Start a step of *total* units; ends the step before."""
        ...

    def advance(self, units: int) -> None:
        """Report units done in the current step."""
        ...

    def say(self, line: str) -> None:
        """Report one line."""
        ...


class Silent:
    """Shows nothing."""

    def begin(self, what: str, total: int) -> None:
        """See :meth:`Progress.begin`."""

    def advance(self, units: int) -> None:
        """See :meth:`Progress.advance`."""

    def say(self, line: str) -> None:
        """See :meth:`Progress.say`."""


#: Who is told of the share of a unit of work that is done, the innermost last.
_listeners: list[Callable[[float], None]] = []


@contextmanager
def shares_told_to(listener: Callable[[float], None]) -> Iterator[None]:
    """Give the shares that are reported inside the block, from 0 to 1, to a function."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def tell_share(share: float) -> None:
    """Report the share of the work that is done, from 0 to 1."""
    if _listeners:
        _listeners[-1](share)


@contextmanager
def portion(start: float, stop: float) -> Iterator[None]:
    """Take the shares that are reported inside the block as those of a part of the work, from *start* to *stop*."""
    if not _listeners:
        yield
        return
    outer = _listeners[-1]
    with shares_told_to(lambda share: outer(start + share * (stop - start))):
        yield
    outer(stop)


def counted(items: Iterable[Item], total: int) -> Iterator[Item]:
    """Yield items, and report now and then which share of *total* is done."""
    reported = time.monotonic()
    for done, item in enumerate(items, start=1):
        yield item
        # a fast metric takes microseconds for a pair, a report as many
        if _listeners and time.monotonic() - reported > SECONDS_BETWEEN_REPORTS:
            reported = time.monotonic()
            _listeners[-1](done / total)
