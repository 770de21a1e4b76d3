"""What the panels of a picture share: sizes, colours, the head with the two texts."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from assay.reports.layout import short
from assay.reports.svg import text

__all__ = ["CHARACTER", "FONT", "LINE", "MARGIN", "STYLE", "WIDTH", "Panel", "fitted", "head", "lines", "small_print"]

WIDTH = 760
MARGIN = 24
LINE = 24
FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"
#: Width of a character of 14 pixels, about.
CHARACTER = 7.6
#: The same of bold letters, and of small ones.
_STRONG, _SMALL = 9.0, 6.9
#: Height of a line of the head.
HEAD = 21
#: Light ground, dark letters; the one strong colour is for what is unusual.
STYLE = """
.ground { fill: #ffffff }
text { font-size: 14px; fill: #1b1f24 }
.strong { font-weight: 600 }
.muted { fill: #57606a; font-size: 12.5px }
.number { font-variant-numeric: tabular-nums }
.grid { stroke: #e4e7eb; stroke-width: 1 }
.zero { stroke: #afb8c1; stroke-width: 1 }
.usual { fill: #cfdbe8 }
.median { stroke: #5b7a99; stroke-width: 2 }
.score { fill: #1b4f8a }
.unusual { fill: #b3261e }
.link { stroke: #1b4f8a; fill: none }
.up { fill: #1b4f8a }
.down { fill: #b3261e }
"""


@dataclass(frozen=True)
class Panel:
    """One pair drawn.

    Attributes:
        parts: elements, the upper left corner at 0, 0.
        height: in pixels; the width is that of the picture.
    """

    parts: Sequence[Markup]
    height: float


def head(one: Mapping[str, Any]) -> tuple[list[Markup], float]:
    """Return the two texts, metric and score as lines of text, and the height they take."""
    place = f"{one['pair_id']}: " if one.get("pair_id") else ""
    written = [
        ("strong", line)
        for side in (place + one["reference"], one["candidate"])
        for line in textwrap.wrap(side, _room(_STRONG)) or ["(empty)"]
    ]
    written.append(("", fitted(f"{one['metric']}: {short(one['score'], 3)}", _room(CHARACTER))))
    return lines(written, MARGIN + 4)


def small_print(sentences: Sequence[str]) -> list[tuple[str, str]]:
    """Return sentences as lines of small text that fit."""
    return [("muted", line) for one in sentences for line in textwrap.wrap(one, _room(_SMALL))]


def _room(character: float) -> int:
    """Return how many characters of a width a line has."""
    return int((WIDTH - 2 * MARGIN) / character)


def lines(written: Sequence[tuple[str, str]], top: float) -> tuple[list[Markup], float]:
    """Return lines of text, each with its class, from *top* on, and where they end."""
    found = [text(MARGIN, top + HEAD * (i + 0.7), line, class_=kind) for i, (kind, line) in enumerate(written)]
    return found, top + HEAD * len(written)


def fitted(content: str, room: int) -> str:
    """Return a text that has at most *room* characters, with an ellipsis where it was cut."""
    return content if len(content) <= room else content[: room - 1] + "…"
