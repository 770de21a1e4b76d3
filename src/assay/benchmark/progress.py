"""How long work tells how far it is; the command line draws bars, a library user may pass nothing."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Progress", "Silent"]


class Progress(Protocol):
    """Receives the steps of a run."""

    def begin(self, what: str, total: int) -> None:
        """Start a step of *total* units; ends the step before."""
        ...

    def advance(self, units: int) -> None:
        """Report units done in the step at hand."""
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
