"""What all figures look like: panels, colours, and text that fits."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from assay.errors import MissingExtraError
from assay.reports.escape import terminal
from assay.reports.names import fit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "ABREAST", "LETTER", "LINE_OF_TEXT", "as_in_print", "caption", "check_matplotlib", "fit_in", "grid", "line_style",
    "metric_labels", "safe",
]  # fmt: skip

#: Panels side by side at the most.
ABREAST = 3
#: Inches that a letter takes on average, and a line of text.
LETTER, LINE_OF_TEXT = 0.064, 0.14
#: Told apart by readers with any kind of colour vision: Okabe and Ito (2008), "Color Universal Design", black first.
_COLOURS = ("#000000", "#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_SHAPES = ("o", "s", "^", "D", "v", "P", "X")
_DASHES = ("-", "--", ":", "-.")
#: Fonts with the letters that the first one lacks; the first ones that are installed are used.
_FONTS = (
    "DejaVu Sans", "Noto Sans CJK JP", "Noto Sans CJK SC", "Noto Sans", "WenQuanYi Zen Hei", "Hiragino Sans",
    "Yu Gothic", "Microsoft YaHei", "Malgun Gothic", "Arial Unicode MS",
)  # fmt: skip
_STYLE = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.2,
    "legend.frameon": False,
    "legend.fontsize": 7,
    # names of metrics and datasets are no formulas
    "text.parse_math": False,
    # text stays text: journals ask for TrueType, and it can be found and edited
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "assay",
    "savefig.dpi": 300,
}


def check_matplotlib() -> None:
    """Return when figures can be drawn.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    try:
        import_module("matplotlib.figure")
    except ImportError as error:
        raise MissingExtraError("matplotlib", "plots") from error


@contextmanager
def as_in_print() -> Iterator[None]:
    """Draw and write in the one style; what a user set for other figures is as before afterwards."""
    import matplotlib as mpl
    from matplotlib.font_manager import fontManager

    installed = set(fontManager.get_font_names())
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_STYLE)
        mpl.rcParams["font.family"] = [name for name in _FONTS if name in installed]
        yield


def grid(rows: int, columns: int, width: float, height: float, **shared: Any) -> tuple[Figure, list[list[Axes]]]:
    """Return a figure of a size in inches with its panels, row by row; no window and no state are opened for it."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False, **shared)
    return figure, [list(row) for row in panels]


def line_style(number: int) -> dict[str, Any]:
    """Return colour, points and dashes of a line: no two are alike below 28, and seven are told apart by either."""
    return {
        "color": _COLOURS[number % len(_COLOURS)],
        "marker": _SHAPES[number % len(_SHAPES)],
        "linestyle": _DASHES[number // len(_COLOURS) % len(_DASHES)],
        "markersize": 3.5,
    }


def safe(text: str) -> str:
    """Return a name on one line, with control and formatting characters spelt out."""
    return terminal(" ".join(text.splitlines()))


def fit_in(text: str, inches: float) -> str:
    """Return a name as :func:`safe` does, its middle left out where it would be wider than *inches*."""
    return fit(safe(text), max(8, int(inches / LETTER)))


def metric_labels(names: Mapping[str, str], metrics: Sequence[str], inches: float) -> list[str]:
    """Return the names of metrics for an axis; those that would look alike when cut stand whole, on several lines."""
    short = [fit_in(names[metric], inches) for metric in metrics]
    shared = Counter(short)
    room = max(8, int(inches / LETTER))
    return [
        one if shared[one] == 1 else "\n".join(textwrap.wrap(safe(names[metric]), room))
        for one, metric in zip(short, metrics, strict=True)
    ]


def caption(figure: Figure, parts: Sequence[str]) -> float:
    """Write what the marks mean below the panels, on as many lines as it takes, and return their height in inches."""
    room = int(figure.get_size_inches()[0] / LETTER)
    lines = textwrap.wrap("; ".join(parts), room)
    figure.supxlabel("\n".join(lines), fontsize=8)
    return LINE_OF_TEXT * len(lines)
