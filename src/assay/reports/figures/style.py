"""What all figures look like, and how one is written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.errors import InputError, MissingExtraError
from assay.output import written_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["COLOURS", "FORMATS", "SHAPES", "as_in_print", "check_matplotlib", "check_target", "grid", "save"]

#: Told apart by readers with any kind of colour vision: Okabe and Ito (2008), "Color Universal Design", black first.
COLOURS = ("#000000", "#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
#: Of points, so that lines are told apart without colour too.
SHAPES = ("o", "s", "^", "D", "v", "P", "X")
#: Ending of a file -> what stands in it besides the drawing. A date or a version would make two files of the same
#: figure differ.
FORMATS: dict[str, dict[str, Any]] = {
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    ".svg": {"Date": None, "Creator": None},
    ".png": {"Software": None},
}
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
    # names of metrics and datasets are no formulas
    "text.parse_math": False,
    # letters stay letters: journals ask for TrueType, and what is text can be found and edited
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

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_STYLE)
        yield


def grid(rows: int, columns: int, width: float, height: float, **shared: Any) -> tuple[Figure, list[list[Axes]]]:
    """Return a figure of a size in inches with its panels, row by row; no window and no state are opened for it."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False, **shared)
    return figure, [list(row) for row in panels]


def check_target(out: Path) -> None:
    """Return when a figure may be written to *out*.

    Raises:
        InputError: its ending is none of a format, or it is a folder.
    """
    if out.suffix.lower() not in FORMATS:
        raise InputError(f"{out}: the name must end in {', '.join(FORMATS)}")
    if out.is_dir():
        raise InputError(f"{out}: is a folder; give --out another name")


def save(figure: Figure, out: Path) -> None:
    """Write a figure, whole or not at all; the ending of the name is the format.

    Raises:
        InputError: it cannot be written.
    """
    kind = out.suffix.lower()
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with written_whole(out) as scratch:
            figure.savefig(scratch, format=kind[1:], metadata=FORMATS[kind])
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error.strerror or error}); give --out another place") from error
