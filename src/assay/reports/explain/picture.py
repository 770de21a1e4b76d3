"""Explanations as one SVG picture with one panel per pair."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from assay.common.messages import Setting
from assay.common.numbers import short, signed, ticks
from assay.exceptions import InputError
from assay.reports.explain.document import ExplanationValues, unusual_aspects_line
from assay.reports.plots import Scale, element, text

# The picture: panels below each other.

#: The maximum number of panels in one picture.
MAX_PAIRS = 50


@dataclass(frozen=True)
class Geometry:
    """Sizes of the picture and its characters in pixels.

    Attributes:
        width: the width of the picture.
        margin: the margin at each side of a panel.
        item_height: the height of a line with an item.
        text_line_height: the height of a line of text above or below the items.
        character_width, strong_character_width, small_character_width: the approximate widths of a character of 14
            pixels, of a bold one, and of one of 12.5 pixels.
    """

    width: int = 760
    margin: int = 24
    item_height: int = 24
    text_line_height: int = 21
    character_width: float = 7.6
    strong_character_width: float = 9.0
    small_character_width: float = 6.9

    def characters_per_line(self, character_width: float) -> int:
        """Return the number of characters of this width in pixels that fit in a line between the margins."""
        return int((self.width - 2 * self.margin) / character_width)


SIZES = Geometry()
FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"
#: Light ground and dark text; the strong red is for unusual scores and lowering words.
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
    """The drawing of one pair.

    Attributes:
        parts: the SVG elements, with the upper left corner at (0, 0).
        height: the height in pixels; the width is that of the picture.
    """

    parts: Sequence[Markup]
    height: float


def to_svg(explanations: Sequence[ExplanationValues]) -> str:
    """Return the picture of explanations as the text of an SVG file, one panel below another; all text is escaped.

    Args:
        explanations: the explanations, of one metric and hence of one kind.

    Raises:
        InputError: there are more than :data:`MAX_PAIRS` explanations, or their kind has no picture.
    """
    if any(explanation["kind"] not in _PANELS_BY_KIND for explanation in explanations):
        raise InputError("of a judge and of a combination there is no picture; leave ", Setting("svg"), " away")
    if len(explanations) > MAX_PAIRS:
        raise InputError(f"a picture holds at most {MAX_PAIRS} pairs, these are {len(explanations)}; choose some")
    panels_markup: list[Markup] = []
    height = 0.0
    for explanation in explanations:
        panel = _PANELS_BY_KIND[explanation["kind"]](explanation)
        panels_markup.append(element("g", *panel.parts, transform=f"translate(0 {height:.0f})"))
        height += panel.height
    title = "; ".join(f"{explanation['reference']} | {explanation['candidate']}" for explanation in explanations)
    svg = element(
        "svg",
        element("title", f"Explained: {title}"),
        element("style", Markup(STYLE)),
        element("rect", width=SIZES.width, height=height, class_="ground"),
        *panels_markup,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {SIZES.width} {height:.0f}",
        width=SIZES.width,
        height=height,
        role="img",
        font_family=FONT,
    )
    return svg + "\n"


# The text of a panel: above, the two texts with metric and score; below, the legend.


def _draw_head(explanation: ExplanationValues) -> tuple[list[Markup], float]:
    """Return the lines above the items (both texts, metric and score), and the y coordinate where the items begin.

    The texts are wrapped; the line of metric and score is truncated.
    """
    id_prefix = f"{explanation['pair_id']}: " if explanation.get("pair_id") else ""
    lines_with_class = []
    for pair_text in (id_prefix + explanation["reference"], explanation["candidate"]):
        for line in textwrap.wrap(pair_text, SIZES.characters_per_line(SIZES.strong_character_width)) or ["(empty)"]:
            lines_with_class.append(("strong", line))
    score = f"{explanation['metric']}: {short(explanation['score'], 3)}"
    lines_with_class.append(("", _truncate_text(score, SIZES.characters_per_line(SIZES.character_width))))
    lines, end = _draw_lines(lines_with_class, SIZES.margin + 4)
    return lines, end + 10


def _draw_small_print(sentences: Sequence[str], top: float) -> tuple[list[Markup], float]:
    """Return the sentences below the items as wrapped lines of small text, and the y coordinate of the panel's end."""
    max_characters = SIZES.characters_per_line(SIZES.small_character_width)
    lines_with_class = []
    for sentence in sentences:
        lines_with_class += [("muted", line) for line in textwrap.wrap(sentence, max_characters)]
    lines, end = _draw_lines(lines_with_class, top)
    return lines, end + SIZES.margin


def _draw_lines(lines_with_class: Sequence[tuple[str, str]], top: float) -> tuple[list[Markup], float]:
    """Return text elements for (class, text) lines from *top* on, and the y coordinate at which they end."""
    parts = []
    for line_index, (css_class, line) in enumerate(lines_with_class):
        parts.append(text(SIZES.margin, top + SIZES.text_line_height * (line_index + 0.7), line, class_=css_class))
    return parts, top + SIZES.text_line_height * len(lines_with_class)


def _truncate_text(content: str, max_characters: int) -> str:
    """Return a text of at most *max_characters* characters; a longer one is truncated and ends in an ellipsis."""
    return content if len(content) <= max_characters else content[: max_characters - 1] + "…"


# Matches: the parts of the reference on the left, those of the candidate on the right, and lines between partners.

#: The x coordinates at which the left column ends and the right one begins.
LEFT, RIGHT = 280, 480
#: The maximum number of characters that are shown of a part of a text.
MAX_PART_CHARACTERS = 24
SIDES = ("reference", "candidate")


@dataclass(frozen=True)
class _Item:
    """A part of a text: its name, the number beside it (empty for none), and the CSS class of the number."""

    name: str
    number: str
    number_class: str = "muted number"


@dataclass(frozen=True)
class _Link:
    """A line between two items.

    Attributes:
        left, right: the indices of the items in the left and the right column.
        strength: the thickness and opacity, from 0 to 1.
        hint: the tooltip.
    """

    left: int
    right: int
    strength: float
    hint: str


def _tokens_panel(explanation: ExplanationValues) -> Panel:
    """Return the panel of BERTScore: a line from each token to its best partner, thicker for a higher cosine.

    A token whose partner is a special token has no line.
    """
    sides = _items_by_side(explanation["tokens"])
    row_by_position = []
    for side in sides:
        row_by_position.append({item["position"]: row for row, item in enumerate(side)})
    columns, links = [], []
    for column, side in enumerate(sides):
        columns.append([_Item(item["token"], short(item["similarity"], 2)) for item in side])
        for row, item in enumerate(side):
            # the partner may be a special token, which is not drawn
            partner_row = row_by_position[1 - column].get(item["partner_position"])
            if partner_row is not None:
                hint = f"{item['token']} – {item['partner']}: {short(item['similarity'], 3)}"
                links.append(_make_link(column, row, partner_row, item["similarity"], hint))
    about = "A line leads from each token to the most similar one, thicker for a higher cosine."
    return _matches_panel(explanation, columns, links, [about])


def _words_panel(explanation: ExplanationValues) -> Panel:
    """Return the panel of a cross-encoder: a line from each word to the word that it goes with, if there is one.

    The line is thicker for a larger interaction of the two words. The number beside a word is red if the word lowers
    the score, else blue.
    """
    # strengths are relative to the highest; 1 avoids a division by 0
    highest_together = max((item["together"] or 0.0 for item in explanation["words"]), default=0.0) or 1.0
    columns, links = [], []
    for column, side in enumerate(_items_by_side(explanation["words"])):
        items = []
        for row, item in enumerate(side):
            css_class = "number down" if item["change"] < 0 else "number up"
            items.append(_Item(item["word"], signed(item["change"]), css_class))
            if item["partner_position"] is not None:
                hint = f"{item['word']} – {item['partner']}: {short(item['together'], 3)}"
                strength = item["together"] / highest_together
                links.append(_make_link(column, row, item["partner_position"], strength, hint))
        columns.append(items)
    about = "Number: the score with the word minus the score without. Line: the word it goes with, thicker for more."
    return _matches_panel(explanation, columns, links, [about])


def _graphs_panel(explanation: ExplanationValues) -> Panel:
    """Return the panel of Smatch: the nodes of both graphs, lines between aligned ones, and triples without a match.

    A line is thick if both nodes have the same concept. The triples are in the text below.
    """
    columns: list[list[_Item]] = [[], []]
    links = []
    for node in explanation["nodes"]:
        for column, side in zip(columns, SIDES, strict=True):
            if node[side] is not None:
                column.append(_Item(node[side], ""))
        if node["reference"] is not None and node["candidate"] is not None:
            hint = f"{node['reference']} – {node['candidate']}"
            links.append(_Link(len(columns[0]) - 1, len(columns[1]) - 1, 1.0 if node["same"] else 0.3, hint))
    triple_counts = f"{explanation['reference_triples']} and {explanation['candidate_triples']}"
    about = "Lines: aligned nodes, thick where the concept is the same."
    sentences = [f"{about} {explanation['matched']} triples match, of {triple_counts}."]
    for side, other_side in (SIDES, SIDES[::-1]):
        unmatched_triples = [triple[side] for triple in explanation["triples"] if triple[other_side] is None]
        sentences += [f"only the {side}: {triple}" for triple in unmatched_triples]
    return _matches_panel(explanation, columns, links, sentences)


def _items_by_side(items: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    return [[item for item in items if item["side"] == side] for side in SIDES]


def _make_link(column: int, row: int, partner_row: int, strength: float, hint: str) -> _Link:
    """Return a link from item *row* of a column to item *partner_row* of the other; *strength* is clipped to [0, 1]."""
    ends = (row, partner_row) if column == 0 else (partner_row, row)
    return _Link(*ends, max(0.0, min(1.0, strength)), hint)


def _matches_panel(
    explanation: ExplanationValues, columns: Sequence[Sequence[_Item]], links: Sequence[_Link], sentences: Sequence[str]
) -> Panel:
    """Return a panel of two columns with links between them, and sentences and the notes of the explanation below.

    Args:
        explanation: the explanation, for the head and the notes.
        columns: the items of the reference, at the left, and of the candidate, at the right.
        links: the lines between them.
        sentences: what is written before the notes.
    """
    parts, top = _draw_head(explanation)
    for link in links:
        y1 = top + SIZES.item_height * (link.left + 0.5)
        y2 = top + SIZES.item_height * (link.right + 0.5)
        # a Bézier curve that leaves both items horizontally
        curve = f"M{LEFT + 8} {y1:.0f} C{LEFT + 80} {y1:.0f} {RIGHT - 80} {y2:.0f} {RIGHT - 8} {y2:.0f}"
        width, opacity = 0.5 + 4 * link.strength**2, 0.25 + 0.6 * link.strength
        hint = element("title", link.hint)
        parts.append(element("path", hint, d=curve, stroke_width=width, opacity=opacity, class_="link"))
    for column, items in enumerate(columns):
        for row, item in enumerate(items):
            parts += _draw_item(item, column, top + SIZES.item_height * (row + 0.5) + 5)
    bottom = top + SIZES.item_height * max(map(len, columns), default=0)
    legend, height = _draw_small_print([*sentences, *explanation["notes"]], bottom + 8)
    return Panel([*parts, *legend], height)


def _draw_item(item: _Item, column: int, y: float) -> Iterator[Markup]:
    """Yield the name of an item next to the links, and its number, if it has one, at the outer edge of the picture.

    *column* is 0 for the left column and 1 for the right one; *y* is the coordinate of the baseline.
    """
    x, anchor = (LEFT, "end") if column == 0 else (RIGHT, "start")
    yield text(x, y, _truncate_text(item.name, MAX_PART_CHARACTERS), element("title", item.name), anchor=anchor)
    if item.number:
        edge, edge_anchor = (SIZES.margin, "start") if column == 0 else (SIZES.width - SIZES.margin, "end")
        yield text(edge, y, item.number, class_=item.number_class, anchor=edge_anchor)


# Aspects: a bar for the usual range, a dot for the score.

#: The width of the number on the right in pixels, and the maximum number of characters of the name of an aspect.
NUMBER_WIDTH = 46
MAX_ASPECT_CHARACTERS = 22


def _aspects_panel(explanation: ExplanationValues) -> Panel:
    """Return the panel of aspects, at least one: a line for each, on an axis that includes 0 and 1."""
    elements, top = _draw_head(explanation)
    aspects = explanation["aspects"]
    numbers = [aspect["score"] for aspect in aspects]
    for aspect in aspects:
        if aspect["usual"]:
            numbers += [aspect["usual"]["low"], aspect["usual"]["high"]]
    marks = ticks(min(0.0, *numbers), max(1.0, *numbers), 6)
    # steps of .25 need a second decimal
    decimals = 1 if all(round(mark, 1) == mark for mark in marks) else 2
    names_width = min(MAX_ASPECT_CHARACTERS, max(len(aspect["aspect"]) for aspect in aspects)) * SIZES.character_width
    scale = Scale(marks[0], marks[-1], SIZES.margin + names_width + 10, SIZES.width - SIZES.margin - NUMBER_WIDTH)
    bottom = top + SIZES.item_height * len(aspects)
    for mark in marks:
        x = scale(mark)
        label = short(mark, decimals) if mark else "0"
        elements.append(element("line", x1=x, x2=x, y1=top, y2=bottom, class_="zero" if mark == 0 else "grid"))
        elements.append(text(x, bottom + 17, label, class_="muted number", anchor="middle"))
    for number, aspect in enumerate(aspects):
        elements += _draw_aspect(aspect, scale, top + SIZES.item_height * (number + 0.5))
    legend, height = _draw_small_print(_legend_sentences(explanation), bottom + 26)
    return Panel([*elements, *legend], height)


def _draw_aspect(aspect: Mapping[str, Any], scale: Scale, y: float) -> Iterator[Markup]:
    """Yield the parts of an aspect: its name, the dot and number of its score, and the bar of its usual range.

    The bar, with a line at the median, is left out if there is no usual range. A score outside it has a red dot, and
    its name and number are bold. *y* is the coordinate of the middle.
    """
    usual = aspect["usual"]
    is_unusual = bool(usual and usual["unusual"])
    yield text(
        SIZES.margin,
        y + 5,
        _truncate_text(aspect["aspect"], MAX_ASPECT_CHARACTERS),
        class_="strong" if is_unusual else "",
    )
    if usual:
        start, stop, median = (scale(usual[name]) for name in ("low", "high", "median"))
        yield element("rect", x=start, y=y - 6, width=max(stop - start, 1.0), height=12.0, rx=3, class_="usual")
        yield element("line", x1=median, x2=median, y1=y - 7, y2=y + 7, class_="median")
    hint = element("title", f"{aspect['aspect']}: {short(aspect['score'], 3)}")
    yield element("circle", hint, cx=scale(aspect["score"]), cy=y, r=5.0, class_="unusual" if is_unusual else "score")
    css_class = "number strong" if is_unusual else "number"
    yield text(SIZES.width - SIZES.margin, y + 5, short(aspect["score"], 2), class_=css_class, anchor="end")


def _legend_sentences(explanation: ExplanationValues) -> list[str]:
    """Return the sentences below the aspects: unusual aspects, the meaning of the marks, and further notes.

    Only the notes are returned if there are no reference pairs to compare with.
    """
    compared = explanation["compared"]
    if compared is None:
        return list(explanation["notes"])
    about = (
        f"Dot: the score. Bar and line: 5% to 95% and median of the {compared['pairs']} reference pairs nearest in "
        f"overall score ({short(compared['low'], 2)} to {short(compared['high'], 2)})."
    )
    unusual = unusual_aspects_line(explanation)
    return [unusual[0].upper() + unusual[1:] + ".", about, *explanation["notes"]]


_PANELS_BY_KIND: dict[str, Callable[[ExplanationValues], Panel]] = {
    "aspects": _aspects_panel,
    "tokens": _tokens_panel,
    "words": _words_panel,
    "graphs": _graphs_panel,
}
