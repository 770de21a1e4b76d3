"""Parts of SVG drawings: elements, text and scales. All text is escaped."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from assay.reports.sheets import Sheet
from assay.visible import visible

#: The approximate width of a character of text in pixels.
CHARACTER = 6.6


@dataclass(frozen=True)
class Figure:
    """A drawing, and a table of the values that it shows."""

    svg: Markup
    table: Sheet


@dataclass(frozen=True)
class Scale:
    """A linear map from values between *low* and *high* to coordinates between *start* and *end*."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Return the coordinate of a value."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def element(tag: str, *children: str, **attributes: object) -> Markup:
    """Return an SVG element.

    Args:
        tag: the name of the element.
        *children: its contents, in order; those that are not Markup are escaped.
        **attributes: its attributes. A trailing underscore is dropped and others become hyphens, as in ``class_`` and
            ``font_size``; an attribute that is None is left out.
    """
    parts = [
        Markup(' {}="{}"').format(name.rstrip("_").replace("_", "-"), _number(value))
        for name, value in attributes.items()
        if value is not None
    ]
    # XML cannot represent control characters; a single one would make the file unreadable
    inner = Markup("").join(child if isinstance(child, Markup) else visible(child) for child in children)
    return Markup("<{0}{1}>{2}</{0}>").format(Markup(tag), Markup("").join(parts), inner)


def _number(value: object) -> object:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else value


def text(x: float, y: float, content: str, *children: str, class_: str = "", anchor: str = "start") -> Markup:
    """Return a text element with its baseline at *y*; *children* precede the text, such as a title element."""
    return element("text", *children, content, x=x, y=y, class_=class_ or None, text_anchor=anchor)


def drawing(key: str, width: float, height: float, title: str, about: str, *children: str) -> Markup:
    """Return an SVG drawing.

    Args:
        key: the prefix of the ids of title and description, unique on the page.
        width, height: the size in pixels.
        title, about: the name and the description for readers who cannot see the drawing.
        *children: the elements.
    """
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
