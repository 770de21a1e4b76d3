"""Matches drawn: the parts of one text at the left, of the other at the right, a line from each to its partner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from assay.reports.explanation.panel import LINE, MARGIN, WIDTH, Panel, fitted, head, lines, small_print
from assay.reports.layout import short, signed
from assay.reports.svg import element, text

__all__ = ["graphs", "tokens", "words"]

#: Where the texts of the left column end and those of the right begin, and characters that fit beside them.
LEFT, RIGHT = 280, 480
LONGEST = 24


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
    found = [text(x, y, fitted(item.name, LONGEST), element("title", item.name), anchor=anchor)]
    return [*found, text(edge, y, item.beside, class_=item.kind, anchor=other)] if item.beside else found
