"""Where the page is written: a folder of its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.errors import InputError
from assay.output import written_whole
from assay.reports.folder import RunFolder
from assay.reports.page.render import GENERATOR, page_html

__all__ = ["NAME", "put_page", "write_page"]

NAME = "index.html"


def write_page(runs: Sequence[RunFolder], out: Path, *, leaderboard: bool = True, categories: bool = True) -> Path:
    """Write the page of some runs and return its file, ``index.html`` in the folder *out*.

    Args:
        runs: what to show.
        out: made where it does not exist; an earlier page in it is replaced.
        leaderboard, categories: as for :func:`assay.reports.page.page_html`.

    Raises:
        InputError: *out* holds something else than an earlier page, or cannot be written; a run is not whole.
    """
    try:
        check_target(out)
        text = page_html(runs, leaderboard=leaderboard, categories=categories)
        out.mkdir(parents=True, exist_ok=True)
        put_page(text, out / NAME)
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error.strerror or error}); give --out another place") from error
    return out / NAME


def put_page(text: str, path: Path) -> None:
    """Write a file whole or not at all, also where an earlier one is open in a browser."""
    with written_whole(path) as scratch:
        scratch.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")


def check_target(out: Path) -> None:
    """Return when a page may be written to *out*: it is absent, empty, or holds an earlier page alone.

    Raises:
        InputError: it is a file, or holds something else.
    """
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise InputError(f"{out}: is no folder; give --out the name of a folder")
    if not out.exists():
        return
    names = sorted(path.name for path in out.iterdir())
    strangers = [name for name in names if name != NAME]
    if strangers:
        raise InputError(f"{out}: holds {strangers[0]}; give --out a folder of its own")
    if names and not _is_page(out / NAME):
        raise InputError(f"{out / NAME}: is no page of assay; give --out a folder of its own")


def _is_page(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return GENERATOR.encode() in file.read(1000)
