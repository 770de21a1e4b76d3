"""Explanations as one SVG: a panel a pair, one below the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from assay.errors import InputError
from assay.reports.explanation.links import graphs, tokens, words
from assay.reports.explanation.panel import FONT, STYLE, WIDTH, Panel
from assay.reports.explanation.ranges import aspects
from assay.reports.svg import element

__all__ = ["MOST", "to_svg"]

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
