"""What a Python user gives, in the form that settings have it."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["several"]


def several(given: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return one name or several of them as a tuple; nothing for None."""
    return (given,) if isinstance(given, str) else tuple(given or ())
