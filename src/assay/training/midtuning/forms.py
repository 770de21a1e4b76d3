"""Semantic forms of sentences: frames of predicates with their roles and fillers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

#: The numbered roles, which belong to the sense of a predicate, in PropBank's and AMR's spelling; first in a frame.
_CORE = re.compile(r"(?i)A(RG)?\d")


@dataclass(frozen=True)
class Frame:
    """A predicate and its arguments.

    Attributes:
        predicate: the predicate with its sense, such as ``want-01``.
        roles: the arguments in order, as (role, filler), such as ``("ARG0", "boy")``. A role may occur repeatedly; the
            filler is an empty text if it was removed.
    """

    predicate: str
    roles: tuple[tuple[str, str], ...]

    @property
    def text(self) -> str:
        """The frame as text: ``want-01 ARG0: boy, ARG1: go boy``; a role without filler ends with its colon."""
        roles = ", ".join(f"{role}: {filler}".rstrip() for role, filler in self.roles)
        return f"{self.predicate} {roles}".rstrip()


@dataclass(frozen=True)
class SemanticForm:
    """The frames of a sentence, at least one.

    Attributes:
        frames: the frames, in the order of their source.
    """

    frames: tuple[Frame, ...]

    @cached_property
    def text(self) -> str:
        """The form as an encoder reads it: its frames, joined by semicolons.

        The paper does not print its notation. This one spends one token on each separator and keeps the names of roles,
        so that dropping a role, dropping a filler or swapping two fillers changes the text.

        Example:
            >>> SemanticForm((Frame("want-01", (("ARG0", "boy"),)), Frame("go-02", ()))).text
            'want-01 ARG0: boy; go-02'
        """
        return "; ".join(frame.text for frame in self.frames)

    @cached_property
    def role_positions(self) -> list[tuple[int, int]]:
        """The position of every role: the index of its frame, and its own index within the frame."""
        positions = []
        for frame_index, frame in enumerate(self.frames):
            positions += [(frame_index, role_index) for role_index in range(len(frame.roles))]
        return positions


def make_frame(predicate: str, roles: Iterable[tuple[str, str]]) -> Frame:
    """Return a frame with distinct arguments: the core roles first, sorted by name, then the others in the given order.

    Args:
        predicate: the predicate with its sense.
        roles: the arguments as (role, filler), possibly repeated.
    """
    distinct = list(dict.fromkeys(roles))
    core = [argument for argument in distinct if _CORE.match(argument[0])]
    further_arguments = [argument for argument in distinct if not _CORE.match(argument[0])]
    return Frame(predicate, (*sorted(core, key=lambda argument: argument[0]), *further_arguments))
