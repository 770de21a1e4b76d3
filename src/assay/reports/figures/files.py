"""Where a figure is written, and what may stand there before."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.errors import InputError
from assay.output import written_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["check_target", "save"]

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
    if out.is_dir():
        raise InputError(f"{out}: is a folder; give --out another name")
    try:
        held = out.read_bytes() if out.is_file() else b""
    except OSError as error:
        raise InputError(f"{out}: cannot be opened ({error.strerror or error})") from error
    if held and _FORMATS[kind][1] not in held:
        raise InputError(f"{out}: is no figure of assay; give --out another name or remove it")


def save(figure: Figure, out: Path) -> None:
    """Write a figure, whole or not at all; the ending of the name is the format.

    Raises:
        InputError: it cannot be written, has too little room, or no font has its letters.
    """
    kind = out.suffix.lower()
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with written_whole(out) as scratch:
            with warnings.catch_warnings(record=True) as raised:
                warnings.simplefilter("always")
                figure.savefig(scratch, format=kind[1:], metadata=_FORMATS[kind][0])
            _look_at([str(one.message) for one in raised], kind)
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error.strerror or error}); give --out another place") from error


def _look_at(said: list[str], kind: str) -> None:
    """Raise InputError for what matplotlib only warns of, where the figure would be unreadable."""
    if any("constrained_layout not applied" in one for one in said):
        raise InputError("there is too little room for the panels; take a larger --width, or fewer of --bucket")
    # letters of an SVG are drawn by whatever shows it
    missing = sorted({one.split(" ")[1] for one in said if one.startswith("Glyph ")}) if kind != ".svg" else []
    if missing:
        letters = ", ".join(f"U+{int(one):04X} {chr(int(one))}" for one in missing[:5])
        raise InputError(f"no font here has {letters}; install one (such as Noto Sans CJK), or take a name in .svg")
