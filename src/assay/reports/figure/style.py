"""What all figures share: panels, colours, text that fits, and the file they are saved to."""

from __future__ import annotations

import io
import textwrap
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.errors import InputError, MissingExtraError
from assay.output import FileKind, check_replaceable, written_whole
from assay.reports.layout import fit
from assay.visible import visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# What all figures look like: panels, colours, and text that fits.

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


def panels(rows: int, columns: int, width: float, height: float, **shared: Any) -> tuple[Figure, list[list[Axes]]]:
    """Return a figure of a size in inches with its panels, row by row; no window and no state are opened for it."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **shared)
    return figure, [list(row) for row in axes]


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
    return visible(" ".join(text.splitlines()))


def fit_in(text: str, inches: float) -> str:
    """Return a name as :func:`safe` does, its middle left out where it would be wider than *inches*."""
    return fit(safe(text), max(8, int(inches / LETTER)))


def metric_labels(names: Sequence[str], inches: float) -> list[str]:
    """Return the names of metrics for an axis; those that would look alike when cut stand whole, on several lines."""
    short = [fit_in(name, inches) for name in names]
    shared = Counter(short)
    room = max(8, int(inches / LETTER))
    return [
        label if shared[label] == 1 else "\n".join(textwrap.wrap(safe(name), room))
        for label, name in zip(short, names, strict=True)
    ]


def caption(figure: Figure, parts: Sequence[str]) -> float:
    """Write what the marks mean below the panels, on as many lines as it takes, and return their height in inches."""
    room = int(figure.get_size_inches()[0] / LETTER)
    lines = textwrap.wrap("; ".join(parts), room)
    figure.supxlabel("\n".join(lines), fontsize=8)
    return LINE_OF_TEXT * len(lines)


# Where a figure is written, and what may stand there before.

#: Ending of a file -> what stands in it besides the drawing, and how that looks in the file. A date or a version would
#: make two files of the same figure differ.
_FORMATS: dict[str, tuple[dict[str, Any], bytes]] = {
    ".pdf": ({"Creator": "assay", "CreationDate": None, "Producer": None}, b"/Creator (assay)"),
    ".svg": ({"Creator": ["assay"], "Date": None}, b"<dc:title>assay</dc:title>"),
    ".png": ({"Software": "assay"}, b"Software\0assay"),
}


def check_target(out: Path) -> None:
    """Return when a figure may be written to *out*.

    Raises:
        InputError: its ending is none of a format, it is a folder, or it holds something else than an earlier figure.
    """
    kind = out.suffix.lower()
    if kind not in _FORMATS:
        raise InputError(f"{out}: the name must end in {', '.join(_FORMATS)}")
    mark = _FORMATS[kind][1]
    check_replaceable(out, FileKind("a figure of assay", "`out`", lambda path: mark in path.read_bytes()))


def save(figure: Figure, out: Path) -> None:
    """Write a figure, whole or not at all; the ending of the name is the format.

    Raises:
        InputError: it cannot be written, has too little room, or no font has its letters.
    """
    kind = out.suffix.lower()
    drawn = io.BytesIO()
    try:
        with warnings.catch_warnings(record=True) as raised:
            warnings.simplefilter("always")
            # in memory, since on a full disk matplotlib's writer of PDF ends in another error than that of the disk
            figure.savefig(drawn, format=kind[1:], metadata=_FORMATS[kind][0])
        _check_readable([str(warning.message) for warning in raised], kind)
        out.parent.mkdir(parents=True, exist_ok=True)
        with written_whole(out) as scratch:
            scratch.write_bytes(drawn.getvalue())
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error.strerror or error}); give `out` another place") from error


def _check_readable(warnings: list[str], kind: str) -> None:
    """Raise InputError for what matplotlib only warns of, where the figure would be unreadable."""
    if any("constrained_layout not applied" in warning for warning in warnings):
        raise InputError("there is too little room for the panels; take a larger `width`, or fewer of `buckets`")
    if kind == ".svg":
        return  # its letters are drawn by whatever shows it
    missing = sorted({int(warning.split(" ")[1]) for warning in warnings if warning.startswith("Glyph ")})
    if missing:
        letters = ", ".join(f"U+{code:04X} {chr(code)}" for code in missing[:5])
        raise InputError(f"no font here has {letters}; install one (such as Noto Sans CJK), or take a name in .svg")
