"""The common style of all figures: panels, colours, fitted text, and saving to a file."""

from __future__ import annotations

import io
import math
import textwrap
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.common.messages import Setting
from assay.common.output import FileKind, atomic_write, check_replaceable
from assay.common.visible import visible_text
from assay.exceptions import InputError, MissingExtraError
from assay.reports.layout import elide_middle
from assay.reports.plots import MAX_PANELS_PER_ROW

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The look of all figures: panels, colours, and fitted text.

#: The average width of a character and the height of a line of text, in inches.
CHARACTER_WIDTH, LINE_HEIGHT = 0.064, 0.14
#: Colours that readers with any kind of colour vision can tell apart: Okabe and Ito (2008), "Color Universal Design".
_LINE_COLOURS = ("#000000", "#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_MARKER_SHAPES = ("o", "s", "^", "D", "v", "P", "X")
_LINE_DASHES = ("-", "--", ":", "-.")
#: Fonts to try for each character, in this order; later ones have characters that the first lacks, such as CJK.
_FONT_FAMILIES = (
    "DejaVu Sans", "Noto Sans CJK JP", "Noto Sans CJK SC", "Noto Sans", "WenQuanYi Zen Hei", "Hiragino Sans",
    "Yu Gothic", "Microsoft YaHei", "Malgun Gothic", "Arial Unicode MS",
)  # fmt: skip
_RC_PARAMS = {
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
    # a dollar sign in the name of a metric or dataset starts no formula
    "text.parse_math": False,
    # text is embedded as text, not as outlines: journals require TrueType (42), and readers can search and edit it
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "assay",
    "savefig.dpi": 300,
}


def check_matplotlib() -> None:
    """Check that matplotlib is installed.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    try:
        import_module("matplotlib.figure")
    except ImportError as error:
        raise MissingExtraError("matplotlib", "plots") from error


@contextmanager
def figure_style() -> Iterator[None]:
    """Apply assay's figure style within the context; the settings of matplotlib are restored afterwards.

    Settings of the user for matplotlib have no effect within it. Fonts are those of the list that are installed.
    """
    import matplotlib as mpl
    from matplotlib.font_manager import fontManager

    installed = set(fontManager.get_font_names())
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_RC_PARAMS)
        mpl.rcParams["font.family"] = [name for name in _FONT_FAMILIES if name in installed]
        yield


def create_panels(
    rows: int, columns: int, width: float, height: float, **shared: Any
) -> tuple[Figure, list[list[Axes]]]:
    """Return a figure and its panels, one list per row.

    It is made without pyplot, with no window and no global state, except within :func:`pyplot_figures`.

    Args:
        rows, columns: the numbers of panel rows and columns.
        width, height: the size of the figure in inches.
        **shared: further arguments of ``Figure.subplots``, such as ``sharey``.
    """
    figure = _FIGURES.get()(figsize=(width, height), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **shared)
    return figure, [list(row) for row in axes]


def create_panel_grid(
    panel_count: int, columns: int, width: float, panel_height: float, **shared: Any
) -> tuple[Figure, list[Axes]]:
    """Return a figure and its panels, row by row, all of one height; the last row may have fewer.

    Args:
        panel_count: the number of panels.
        columns: the number of panels in a row.
        width: the width of the figure in inches.
        panel_height: the height of a row in inches.
        **shared: further arguments of ``Figure.subplots``, such as ``sharey``.
    """
    row_count = math.ceil(panel_count / columns)
    figure, rows = create_panels(row_count, columns, width, panel_height * row_count, **shared)
    panels = [panel for row in rows for panel in row]
    for unused_panel in panels[panel_count:]:
        unused_panel.set_visible(False)
    return figure, panels[:panel_count]


def _plain_figure(**settings: Any) -> Figure:
    from matplotlib.figure import Figure

    return Figure(**settings)


#: What makes figures in this context.
_FIGURES: ContextVar[Callable[..., Figure]] = ContextVar("figures", default=_plain_figure)


@contextmanager
def pyplot_figures() -> Iterator[None]:
    """Make the figures of the block by pyplot, so that a notebook or a window shows them."""
    from matplotlib import pyplot

    token = _FIGURES.set(pyplot.figure)
    try:
        yield
    finally:
        _FIGURES.reset(token)


def column_count(panel_count: int, width: float, min_panel_width: float) -> int:
    """Return the number of panels side by side in a width in inches: at least 1, at most :data:`MAX_PANELS_PER_ROW`."""
    return max(1, min(MAX_PANELS_PER_ROW, panel_count, int(width / min_panel_width)))


def line_style(number: int) -> dict[str, Any]:
    """Return the style of a line as arguments of ``Axes.plot``.

    The first 28 styles, counted from 0, all differ; the first seven differ both in colour and in marker.
    """
    return {
        "color": _LINE_COLOURS[number % len(_LINE_COLOURS)],
        "marker": _MARKER_SHAPES[number % len(_MARKER_SHAPES)],
        "linestyle": _LINE_DASHES[number // len(_LINE_COLOURS) % len(_LINE_DASHES)],
        "markersize": 3.5,
    }


def visible_line(text: str) -> str:
    """Return text on one line, with control and formatting characters made visible."""
    return visible_text(" ".join(text.splitlines()))


def fit_in_inches(text: str, inches: float) -> str:
    """Return text on one line that is at most about *inches* wide, with its middle elided if needed.

    Control and formatting characters are made visible. At least 8 characters are kept, even where that is too wide.
    """
    return elide_middle(visible_line(text), max(8, int(inches / CHARACTER_WIDTH)))


def metric_labels(names: Sequence[str], inches: float) -> list[str]:
    """Return an axis label for each metric: its name, elided to a width in inches.

    Names that would look alike when elided are wrapped over several lines instead.
    """
    elided_names = [fit_in_inches(name, inches) for name in names]
    counts = Counter(elided_names)
    characters_per_line = max(8, int(inches / CHARACTER_WIDTH))
    labels = []
    for name, elided_name in zip(names, elided_names, strict=True):
        is_distinct = counts[elided_name] == 1
        wrapped_lines = textwrap.wrap(visible_line(name), characters_per_line)
        labels.append(elided_name if is_distinct else "\n".join(wrapped_lines))
    return labels


def add_height(figure: Figure, height: float) -> None:
    """Make a figure higher, by inches, for what is written above and below its panels."""
    figure.set_size_inches(figure.get_figwidth(), figure.get_figheight() + height)


def add_caption(figure: Figure, parts: Sequence[str]) -> float:
    """Write the parts of a legend under the panels, and return the height of the text in inches.

    The parts are joined by semicolons, and the text is wrapped to the width of the figure.
    """
    characters_per_line = int(figure.get_size_inches()[0] / CHARACTER_WIDTH)
    lines = textwrap.wrap("; ".join(parts), characters_per_line)
    figure.supxlabel("\n".join(lines), fontsize=8)
    return LINE_HEIGHT * len(lines)


# The file that a figure is written to, and what it may already contain.

#: File extension -> the metadata to write, and the bytes by which a file with them is recognised. Dates and versions
#: are left out, since two files of the same figure would then differ.
_METADATA_BY_EXTENSION: dict[str, tuple[dict[str, Any], bytes]] = {
    ".pdf": ({"Creator": "assay", "CreationDate": None, "Producer": None}, b"/Creator (assay)"),
    ".svg": ({"Creator": ["assay"], "Date": None}, b"<dc:title>assay</dc:title>"),
    ".png": ({"Software": "assay"}, b"Software\0assay"),
}


def check_figure_target(out: Path) -> None:
    """Check that a figure may be written to *out*.

    Raises:
        InputError: the extension is not a supported format, *out* is a folder, or it exists and is not an earlier
            figure of assay.
    """
    extension = out.suffix.lower()
    if extension not in _METADATA_BY_EXTENSION:
        raise InputError(f"{out}: the name must end in {', '.join(_METADATA_BY_EXTENSION)}")
    mark = _METADATA_BY_EXTENSION[extension][1]
    check_replaceable(out, FileKind("a figure of assay", "out", lambda path: mark in path.read_bytes()))


def save_figure(figure: Figure, out: Path) -> None:
    """Write a figure atomically, in the format of the file extension; the folder is created if needed.

    Raises:
        InputError: the file cannot be written, the panels do not fit, or no installed font has some of the characters.
    """
    extension = out.suffix.lower()
    buffer = io.BytesIO()
    try:
        with warnings.catch_warnings(record=True) as caught_warnings:
            warnings.simplefilter("always")
            # in memory first: on a full disk matplotlib's PDF writer raises an error that hides the one of the disk
            figure.savefig(buffer, format=extension[1:], metadata=_METADATA_BY_EXTENSION[extension][0])
        _check_drawing_warnings([str(warning.message) for warning in caught_warnings], extension)
        out.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(out) as scratch:
            scratch.write_bytes(buffer.getvalue())
    except OSError as error:
        raise InputError(
            f"{out}: cannot be written ({error.strerror or error}); give ", Setting("out"), " another place"
        ) from error


def _check_drawing_warnings(messages: list[str], extension: str) -> None:
    """Raise InputError if a warning of matplotlib means that the figure would be unreadable.

    The warnings concern the room for the panels and, except for SVG, characters that no installed font has.

    Args:
        messages: the texts of the warnings.
        extension: the extension of the file, such as ``.pdf``.
    """
    # matplotlib has no class for these warnings: their texts tell
    if any("constrained_layout not applied" in message for message in messages):
        raise InputError(
            "there is too little room for the panels; use a larger ",
            Setting("width"),
            ", or fewer of ",
            Setting("buckets"),
        )
    if extension == ".svg":
        return  # the program that displays the file chooses the fonts
    # "Glyph 128512 (…) missing from font(s) …": the number is the code point
    missing_characters = sorted({int(message.split(" ")[1]) for message in messages if message.startswith("Glyph ")})
    if missing_characters:
        listed_characters = ", ".join(f"U+{code:04X} {chr(code)}" for code in missing_characters[:5])
        raise InputError(
            f"no font here has {listed_characters}; install one (such as Noto Sans CJK), or use a name in .svg"
        )
