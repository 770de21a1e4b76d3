"""What a Python user gives, in the form that settings have it."""

from __future__ import annotations

from collections.abc import Sequence
from types import UnionType
from typing import Any

from assay.errors import InputError

__all__ = ["listed", "several"]


def several(given: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return one name or several of them as a tuple; nothing for None."""
    return (given,) if isinstance(given, str) else tuple(given or ())


def listed(argument: str, given: Any, kind: type | UnionType = str) -> list[Any]:
    """Return one thing of a kind, or several, as a list.

    Args:
        argument: what it is called in a message.
        given: a thing of that kind, or an iterable of such.
        kind: a class, or several joined by ``|``.

    Raises:
        InputError: neither of the two.
    """
    if isinstance(given, kind):
        return [given]
    try:
        found = list(given)
    except TypeError:
        found = [given]
    for one in found:
        if not isinstance(one, kind):
            raise InputError(f"{argument}: {one!r} is no name; expected a name or a list of names")
    return found
