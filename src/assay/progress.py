"""How long work reports its progress: the command line draws bars, a Python user may pass nothing."""

from __future__ import annotations

from typing import Protocol


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
