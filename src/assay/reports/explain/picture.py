"""Explanations as one SVG picture: a panel for each pair."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from assay.errors import InputError
from assay.reports.drawing import Scale, element, text
from assay.reports.explain.document import notable
from assay.reports.layout import short, signed
from assay.reports.plots import ticks

__all__ = [
    "CHARACTER",
    "FONT",
    "LINE",
    "MARGIN",
    "MOST",
    "STYLE",
    "WIDTH",
    "Panel",
    "aspects",
    "fitted",
    "graphs",
    "head",
    "lines",
    "small_print",
    "to_svg",
    "tokens",
    "words",
]


# What the panels of a picture share: sizes, colours, the head with the two texts.

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


# Matches drawn: the parts of one text at the left, of the other at the right, a line from each to its partner.

#: Where the texts of the left column end and those of the right begin, and characters that fit beside them.
LEFT, RIGHT = 280, 480
LONGEST_PART = 24


@dataclass(frozen=True)
class _Item:
    """A part of a text: how it is called, what is written beside it, the class of that."""

    name: str
    beside: str
    kind: str = "muted number"


@dataclass(frozen=True)
class _Link:
    """A line from one item of the left to one of the right, by their places; strength from 0 to 1."""

    left: int
    right: int
    strength: float
    hint: str


def tokens(one: Mapping[str, Any]) -> Panel:
    """Return the panel of BERTScore: from each token to its best partner, thicker for a higher cosine."""
    sides = _by_side(one["tokens"])
    columns, links = [], []
    places = [{item["position"]: number for number, item in enumerate(side)} for side in sides]
    for place, side in enumerate(sides):
        columns.append([_Item(item["token"], short(item["similarity"], 2)) for item in side])
        for number, item in enumerate(side):
            # a special token may be the partner, and is not drawn
            other = places[1 - place].get(item["partner_position"])
            if other is not None:
                hint = f"{item['token']} – {item['partner']}: {short(item['similarity'], 3)}"
                links.append(_link(place, number, other, item["similarity"], hint))
    return _panel(
        one, columns, links, "A line leads from each token to the most similar one, thicker for a higher cosine."
    )


def words(one: Mapping[str, Any]) -> Panel:
    """Return the panel of a cross-encoder: from each word to that with which it goes together."""
    sides = _by_side(one["words"])
    most = max((item["together"] or 0.0 for item in one["words"]), default=0.0) or 1.0
    columns, links = [], []
    for place, side in enumerate(sides):
        columns.append([_Item(item["word"], signed(item["change"]), _way(item["change"])) for item in side])
        for number, item in enumerate(side):
            if item["partner_position"] is not None:
                hint = f"{item['word']} – {item['partner']}: {short(item['together'], 3)}"
                links.append(_link(place, number, item["partner_position"], item["together"] / most, hint))
    about = "Number: the score with the word less the score without. Line: the word it goes with, thicker for more."
    return _panel(one, columns, links, about)


def graphs(one: Mapping[str, Any]) -> Panel:
    """Return the panel of Smatch: nodes and their alignment, then the triples that do not match."""
    columns: list[list[_Item]] = [[], []]
    links = []
    for node in one["nodes"]:
        for column, side in zip(columns, ("reference", "candidate"), strict=True):
            if node[side] is not None:
                column.append(_Item(node[side], ""))
        if node["reference"] is not None and node["candidate"] is not None:
            hint = f"{node['reference']} – {node['candidate']}"
            links.append(_Link(len(columns[0]) - 1, len(columns[1]) - 1, 1.0 if node["same"] else 0.3, hint))
    about = (
        f"Lines: aligned nodes, thick where the concept is the same. {one['matched']} triples match, of "
        f"{one['reference_triples']} and {one['candidate_triples']}."
    )
    rest = [
        (side, triple[side])
        for side, other in (("reference", "candidate"), ("candidate", "reference"))
        for triple in one["triples"]
        if triple[other] is None
    ]
    return _panel(one, columns, links, about, [f"only the {side}: {triple}" for side, triple in rest])


def _by_side(items: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    return [[item for item in items if item["side"] == side] for side in ("reference", "candidate")]


def _link(place: int, number: int, other: int, strength: float, hint: str) -> _Link:
    """Return a link from an item of the column *place*."""
    ends = (number, other) if place == 0 else (other, number)
    return _Link(*ends, max(0.0, min(1.0, strength)), hint)


def _way(change: float) -> str:
    return "number down" if change < 0 else "number up"


def _panel(
    one: Mapping[str, Any],
    columns: Sequence[Sequence[_Item]],
    links: Sequence[_Link],
    about: str,
    rest: Sequence[str] = (),
) -> Panel:
    parts, top = head(one)
    top += 10
    for link in links:
        y1, y2 = (top + LINE * (end + 0.5) for end in (link.left, link.right))
        parts.append(
            element(
                "path",
                element("title", link.hint),
                d=f"M{LEFT + 8} {y1:.0f} C{LEFT + 80} {y1:.0f} {RIGHT - 80} {y2:.0f} {RIGHT - 8} {y2:.0f}",
                stroke_width=0.5 + 4 * link.strength**2,
                opacity=0.25 + 0.6 * link.strength,
                class_="link",
            )
        )
    for place, column in enumerate(columns):
        for number, item in enumerate(column):
            parts += _written(item, place, top + LINE * (number + 0.5) + 5)
    bottom = top + LINE * max(map(len, columns), default=0)
    legend, end = lines(small_print([about, *rest, *one["notes"]]), bottom + 8)
    return Panel([*parts, *legend], end + MARGIN)


def _written(item: _Item, place: int, y: float) -> list[Markup]:
    x, anchor = (LEFT, "end") if place == 0 else (RIGHT, "start")
    edge, other = (MARGIN, "start") if place == 0 else (WIDTH - MARGIN, "end")
    found = [text(x, y, fitted(item.name, LONGEST_PART), element("title", item.name), anchor=anchor)]
    return [*found, text(edge, y, item.beside, class_=item.kind, anchor=other)] if item.beside else found


# Aspects drawn: a bar for what is usual, a dot for the score.

#: Room for the number at the right.
NUMBER = 46
LONGEST_ASPECT = 22


def aspects(one: Mapping[str, Any]) -> Panel:
    """Return the panel: a line an aspect."""
    parts, top = head(one)
    top += 10
    items = one["aspects"]
    known = [item["score"] for item in items]
    known += [item["usual"][end] for item in items if item["usual"] for end in ("low", "high")]
    marks = ticks(min(0.0, *known), max(1.0, *known), 6)
    # steps of .25 need a second decimal
    decimals = 1 if all(round(mark, 1) == mark for mark in marks) else 2
    left = MARGIN + min(LONGEST_ASPECT, max(len(item["aspect"]) for item in items)) * CHARACTER + 10
    scale = Scale(marks[0], marks[-1], left, WIDTH - MARGIN - NUMBER)
    bottom = top + LINE * len(items)
    for mark in marks:
        x = scale(mark)
        parts.append(element("line", x1=x, x2=x, y1=top, y2=bottom, class_="zero" if mark == 0 else "grid"))
        shown = short(mark, decimals) if mark else "0"
        parts.append(text(x, bottom + 17, shown, class_="muted number", anchor="middle"))
    for number, item in enumerate(items):
        parts += _line(item, scale, top + LINE * (number + 0.5))
    legend, end = lines(small_print(_legend(one)), bottom + 26)
    return Panel([*parts, *legend], end + MARGIN)


def _line(item: Mapping[str, Any], scale: Scale, y: float) -> list[Markup]:
    usual = item["usual"]
    strange = bool(usual and usual["unusual"])
    found = [text(MARGIN, y + 5, fitted(item["aspect"], LONGEST_ASPECT), class_="strong" if strange else "")]
    if usual:
        start, stop, middle = (scale(usual[name]) for name in ("low", "high", "median"))
        found.append(element("rect", x=start, y=y - 6, width=max(stop - start, 1.0), height=12.0, rx=3, class_="usual"))
        found.append(element("line", x1=middle, x2=middle, y1=y - 7, y2=y + 7, class_="median"))
    dot = scale(item["score"])
    hint = f"{item['aspect']}: {short(item['score'], 3)}"
    found.append(
        element("circle", element("title", hint), cx=dot, cy=y, r=5.0, class_="unusual" if strange else "score")
    )
    shown = short(item["score"], 2)
    found.append(text(WIDTH - MARGIN, y + 5, shown, class_="number strong" if strange else "number", anchor="end"))
    return found


def _legend(one: Mapping[str, Any]) -> list[str]:
    """Return what is said below: what is unusual, what the marks mean, what else is to be known."""
    if one["compared"] is None:
        return list(one["notes"])
    held = one["compared"]
    about = (
        f"Dot: the score. Bar and line: 5% to 95% and median of the {held['pairs']} reference pairs nearest in overall "
        f"score ({short(held['low'], 2)} to {short(held['high'], 2)})."
    )
    named = notable(one)
    return [named[0].upper() + named[1:] + ".", about, *one["notes"]]


# Explanations as one SVG: a panel a pair, one below the other.

#: Panels that one picture holds.
MOST = 50
_DRAWN: dict[str, Callable[[Mapping[str, Any]], Panel]] = {
    "aspects": aspects,
    "tokens": tokens,
    "words": words,
    "graphs": graphs,
}


def to_svg(explanations: Sequence[Mapping[str, Any]]) -> str:
    """Return the picture of explanations as a file of its own; all text is escaped.

    Raises:
        InputError: there are more than :data:`MOST`.
    """
    if len(explanations) > MOST:
        raise InputError(f"a picture holds at most {MOST} pairs, these are {len(explanations)}; choose some")
    panels = [_DRAWN[one["kind"]](one) for one in explanations]
    parts: list[Markup] = []
    height = 0.0
    for panel in panels:
        parts.append(element("g", *panel.parts, transform=f"translate(0 {height:.0f})"))
        height += panel.height
    title = "; ".join(f"{one['reference']} | {one['candidate']}" for one in explanations)
    return (
        element(
            "svg",
            element("title", f"Explained: {title}"),
            element("style", Markup(STYLE)),
            element("rect", width=WIDTH, height=height, class_="ground"),
            *parts,
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {WIDTH} {height:.0f}",
            width=WIDTH,
            height=height,
            role="img",
            font_family=FONT,
        )
        + "\n"
    )
