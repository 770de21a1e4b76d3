"""Semantic forms: what a sentence says, as frames of predicates with their roles and fillers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

__all__ = ["Frame", "SemanticForm", "make_frame"]

#: Roles that belong to the sense of a predicate, in PropBank's and in AMR's spelling; they come first in a frame.
_CORE = re.compile(r"(?i)A(RG)?\d")


@dataclass(frozen=True)
class Frame:
    """A predicate with what takes part in it.

    Attributes:
        predicate: with its sense, ``want-01``.
        roles: (role, filler) in order, such as ``("ARG0", "boy")``; a role may come twice, and a filler that was taken
            away is an empty text.
    """

    predicate: str
    roles: tuple[tuple[str, str], ...]

    @property
    def text(self) -> str:
        """``want-01 ARG0: boy, ARG1: go boy``; a role without filler ends with its colon."""
        roles = ", ".join(f"{role}: {filler}".rstrip() for role, filler in self.roles)
        return f"{self.predicate} {roles}".rstrip()


@dataclass(frozen=True)
class SemanticForm:
    """The frames of a sentence, at least one.

    Attributes:
        frames: in the order of their source.
    """

    frames: tuple[Frame, ...]

    @cached_property
    def text(self) -> str:
        """The form as an encoder reads it: its frames, joined by semicolons.

        The paper does not print its notation. This one spends one token on each joint and keeps the names of roles, so
        that a form without a role, without a filler or with two fillers exchanged reads differently.

        Example:
            >>> SemanticForm((Frame("want-01", (("ARG0", "boy"),)), Frame("go-02", ()))).text
            'want-01 ARG0: boy; go-02'
        """
        return "; ".join(frame.text for frame in self.frames)

    @cached_property
    def places(self) -> list[tuple[int, int]]:
        """Number of the frame, and of the role in it, of every role."""
        return [(number, place) for number, frame in enumerate(self.frames) for place in range(len(frame.roles))]


def make_frame(predicate: str, roles: Iterable[tuple[str, str]]) -> Frame:
    """Return a frame whose core roles come first, in order of their names, and then the others as they were given."""
    given = list(dict.fromkeys(roles))
    core = sorted((one for one in given if _CORE.match(one[0])), key=lambda one: one[0])
    return Frame(predicate, (*core, *(one for one in given if not _CORE.match(one[0]))))
