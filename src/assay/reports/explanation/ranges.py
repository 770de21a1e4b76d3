"""Aspects drawn: a bar for what is usual, a dot for the score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from assay.reports.explanation.panel import CHARACTER, LINE, MARGIN, WIDTH, Panel, fitted, head, lines, small_print
from assay.reports.explanation.wording import notable
from assay.reports.layout import short
from assay.reports.svg import Scale, element, text
from assay.reports.ticks import ticks

__all__ = ["aspects"]

#: Room for the number at the right.
NUMBER = 46
LONGEST = 22


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
    left = MARGIN + min(LONGEST, max(len(item["aspect"]) for item in items)) * CHARACTER + 10
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
    found = [text(MARGIN, y + 5, fitted(item["aspect"], LONGEST), class_="strong" if strange else "")]
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
