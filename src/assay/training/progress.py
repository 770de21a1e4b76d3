"""How a training tells how far it is."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Progress"]


class Progress(Protocol):
    """Receives the steps of a training; a run's progress is one."""

    def begin(self, what: str, total: int) -> None:
        """Start a step of *total* units; ends the step before."""
        ...

    def advance(self, units: int) -> None:
        """Report units done in the step at hand."""
        ...

    def say(self, line: str) -> None:
        """Report one line."""
        ...
