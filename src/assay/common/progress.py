"""Progress of long work: the bars that Python users see, and what reports to them.

The command line has bars of its own, see :mod:`assay.cli.progress`.

Code deep inside a unit of work, such as the loop over the batches of a model, has no :class:`Progress`. It reports the
share of its texts that is done to a listener of this process instead.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol, TypeVar

from assay.common.visible import brief_text
from assay.exceptions import InputError

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


#: Seconds of work before a bar appears.
SECONDS_TO_BAR = 2.0
#: The parts of a bar of tqdm whose total is known.
BAR_FORMAT = "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}<{remaining}]"


class Bars:
    """A progress as bars of tqdm, as notebooks and terminals show them; the first appears after two seconds of work."""

    def __init__(self) -> None:
        with warnings.catch_warnings():
            # in a notebook without widgets, the bar is a line of text
            warnings.simplefilter("ignore")
            from tqdm.auto import tqdm
        self._tqdm: Any = tqdm
        self._bar: Any = None
        self._start = time.monotonic()

    def begin(self, what: str, total: int) -> None:
        """Replace the bar of the last step by one for this step."""
        self.close()
        delay = max(0.0, SECONDS_TO_BAR - (time.monotonic() - self._start))
        settings = {"delay": delay, "leave": False, "file": sys.stderr, "bar_format": BAR_FORMAT if total else None}
        self._bar = self._tqdm(desc=brief_text(what), total=total or None, **settings)

    def advance(self, units: int) -> None:
        """Move the bar."""
        if self._bar is not None:
            self._bar.update(units)

    def say(self, line: str) -> None:
        """Write a line above the bar."""
        self._tqdm.write(brief_text(line), file=sys.stderr)

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None


#: The number of verbs, and of commands, within which this context runs: the outermost one reports for all.
_DEPTH: ContextVar[int] = ContextVar("depth", default=0)


def is_outermost_verb() -> bool:
    """Return whether a Python user called the running verb, so that nothing else reports what failed in it."""
    return _DEPTH.get() == 1


@contextmanager
def reported_here() -> Iterator[None]:
    """Leave reports to the block, as a command does, which shows the progress and the failures of its verbs itself."""
    token = _DEPTH.set(_DEPTH.get() + 1)
    try:
        yield
    finally:
        _DEPTH.reset(token)


#: The methods of :class:`Progress`.
_METHODS = ("begin", "advance", "say")


@contextmanager
def shown_progress(progress: object) -> Iterator[Progress]:
    """Yield the progress that the ``progress`` of a Python call means; within another verb or a command it is silent.

    Args:
        progress: None for bars in a terminal or a notebook, True for bars anywhere, False for none; or an object with
            the methods of :class:`Progress`, which is yielded even within another verb.

    Raises:
        InputError: it is something else.
    """
    if isinstance(progress, bool | None):
        is_wanted = _has_viewer() if progress is None else progress
        is_outermost = not _DEPTH.get()
        listener: Any = Bars() if is_wanted and is_outermost else Silent()
    elif isinstance(progress, type) or not all(callable(getattr(progress, name, None)) for name in _METHODS):
        raise InputError(
            "expected True, False, or an object with the methods begin, advance and say",
            setting="progress",
            value=repr(progress),
        )
    else:
        listener = progress
    try:
        with reported_here():
            yield listener
    finally:
        if isinstance(listener, Bars):
            listener.close()


def _has_viewer() -> bool:
    """Return whether stderr is shown to somebody now: in a terminal or a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return sys.stderr.isatty() or type(shell).__name__ == "ZMQInteractiveShell"


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

    *stop* is reported when the block ends without an exception. Without a listener, nothing happens.
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
    for count, item in enumerate(items, start=1):
        yield item
        # not at every item: a report takes about as long as a fast metric takes for a pair
        if _listeners and time.monotonic() - last_report > SECONDS_BETWEEN_REPORTS:
            last_report = time.monotonic()
            report_share(count / total)
