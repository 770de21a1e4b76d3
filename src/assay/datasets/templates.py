"""Texts with gaps, such as ``scores/{item}/me``: reading what stands in the gaps, and filling them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

_GAP = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Template:
    """A text in which ``{NAME}`` is a gap.

    Example:
        >>> Template("scores/{item}/me").match("scores/1.7/me")
        {'item': '1.7'}
        >>> Template("{item}-{row}").fill({"item": "1.7", "row": "3"})
        '1.7-3'
    """

    text: str

    @cached_property
    def _parts(self) -> list[str]:
        """The texts and the names of the gaps between them, in turn; it begins and ends with a text."""
        return _GAP.split(self.text)

    @property
    def names(self) -> list[str]:
        """The names of the gaps, in order."""
        return list(dict.fromkeys(self._parts[1::2]))

    def match(self, text: str) -> dict[str, str] | None:
        """Return what stands in each gap of a text; None if the text has another form.

        A gap ends where the text after it first occurs, and the last one as late as possible. It may be empty, and two
        gaps of one name hold the same. The time grows with the length of the text, whatever the template.
        """
        first, *further_parts = self._parts
        if not text.startswith(first):
            return None
        gaps: dict[str, str] = {}
        start = len(first)
        for position in range(0, len(further_parts), 2):
            name, following = further_parts[position : position + 2]
            is_last = position == len(further_parts) - 2
            end = len(text) - len(following) if is_last else text.find(following, start)
            if end < start or not text.startswith(following, end):
                return None
            if gaps.setdefault(name, text[start:end]) != text[start:end]:
                return None
            start = end + len(following)
        return gaps if start == len(text) else None

    def fill(self, values: Mapping[str, str]) -> str:
        """Return the text with the gaps filled; one that has no value stays a gap."""
        return _GAP.sub(lambda gap: values.get(gap[1], gap[0]), self.text)


def matching_names(pattern: str, names: Collection[str]) -> list[tuple[str, dict[str, str]]]:
    """Return the names of files that fit a template, each with what stands in its gaps, which is never empty.

    A gap holds no ``/``. Without gaps, only the template itself fits, if it is among the names.

    Args:
        pattern: the template.
        names: the names of all files.
    """
    template = Template(pattern)
    matches = ((name, template.match(name)) for name in names)
    return [(name, gaps) for name, gaps in matches if gaps is not None and all(map(_is_part, gaps.values()))]


def _is_part(text: str) -> bool:
    return bool(text) and "/" not in text
