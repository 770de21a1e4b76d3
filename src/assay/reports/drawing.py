"""Parts of SVG drawings: elements, text and scales. Whatever is text is escaped."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from assay.reports.sheets import Sheet
from assay.visible import visible

#: Width of a character of text in pixels, about.
CHARACTER = 6.6


@dataclass(frozen=True)
class Figure:
    """A drawing and the table behind it."""

    svg: Markup
    table: Sheet


@dataclass(frozen=True)
class Scale:
    """Maps values from *low* to *high* to coordinates from *start* to *end*."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Return the coordinate of a value."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def element(tag: str, *children: str, **attributes: object) -> Markup:
    """Return an element; children that are no Markup are escaped, ``class_`` and ``font_size`` give their names."""
    parts = [
        Markup(' {}="{}"').format(name.rstrip("_").replace("_", "-"), _number(value))
        for name, value in attributes.items()
        if value is not None
    ]
    # XML has no word for control characters, and one of them would make the file unreadable
    inner = Markup("").join(child if isinstance(child, Markup) else visible(child) for child in children)
    return Markup("<{0}{1}>{2}</{0}>").format(Markup(tag), Markup("").join(parts), inner)


def _number(value: object) -> object:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else value


def text(x: float, y: float, content: str, *children: str, class_: str = "", anchor: str = "start") -> Markup:
    """Return a line of text with its baseline at *y*."""
    return element("text", *children, content, x=x, y=y, class_=class_ or None, text_anchor=anchor)


def drawing(key: str, width: float, height: float, title: str, about: str, *children: str) -> Markup:
    """Return a drawing of a size in pixels with a name and a description for those who cannot see it."""
    return element(
        "svg",
        element("title", title, id=f"{key}-title"),
        element("desc", about, id=f"{key}-about"),
        *children,
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=width,
        height=height,
        role="img",
        aria_labelledby=f"{key}-title {key}-about",
    )
