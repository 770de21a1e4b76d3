"""Where a run is written: what may stand there, and how the new folder takes its place."""

from __future__ import annotations

import errno
import json
import os
import shutil
import tempfile
from pathlib import Path

from assay.errors import InputError
from assay.tables import RUN_SCHEMA

__all__ = ["PAGE", "check_place", "check_target", "put_in_place"]

#: The page to look at.
PAGE = "report.html"
#: What a run folder holds; anything else is somebody's own and is never removed.
FILES = (
    "run.json",
    "agreement.json",
    "agreement.csv",
    "scores.parquet",
    "pairs.parquet",
    "table.md",
    "table.tex",
    PAGE,
)


def check_target(folder: Path, digest: str | None) -> None:
    """Return when a run may be written to *folder*: it is absent, empty, or holds the same request.

    Raises:
        InputError: the folder holds another run, or something else.
    """
    if folder.is_symlink() or folder.is_file():
        raise InputError(f"{folder}: is a file; give --out another name")
    if folder.exists() and folder.resolve() in (Path.cwd(), *Path.cwd().parents):
        raise InputError(f"{folder}: is the folder you are in; give --out a name of its own")
    check_place(folder)
    if not folder.exists() or not any(folder.iterdir()):
        return
    manifest = folder / "run.json"
    if not manifest.exists():
        raise InputError(f"{folder}: is not empty and holds no run; give --out another name")
    try:
        held = json.loads(manifest.read_text(encoding="utf-8", errors="surrogatepass"))
        newer, kept = int(held.get("schema", 0)) > RUN_SCHEMA, held.get("request_digest")
    except (ValueError, TypeError, AttributeError) as error:
        raise InputError(f"{manifest}: is no manifest of a run ({error}); give --out another name") from error
    if newer:
        raise InputError(f"{folder}: holds a run of a newer assay; give --out another name, or upgrade assay")
    if digest is not None and kept != digest:
        raise InputError(f"{folder}: holds another run; give --out another name or remove it")
    strangers = sorted({path.name for path in folder.iterdir()} - set(FILES))
    if strangers:
        raise InputError(f"{folder}: holds {strangers[0]} beside the run; move it away or give --out another name")


def check_place(path: Path) -> None:
    """Raise InputError where *path* cannot be made: its name, a folder above it that is none or may not be written."""
    try:
        str(path.absolute()).encode()
    except UnicodeEncodeError:
        # PyArrow opens no such file
        raise InputError(f"{str(path.absolute())!r}: this name is no UTF-8; give --out another place") from None
    above = next(one for one in path.absolute().parents if one.exists())
    if not above.is_dir():
        raise InputError(f"{path}: cannot be written ({above} is a file); give --out another place")
    if not os.access(above, os.W_OK | os.X_OK):
        raise InputError(f"{path}: cannot be written (no permission in {above}); give --out another place")


def put_in_place(scratch: Path, folder: Path, digest: str) -> None:
    """Rename the new folder to its name; what stood there is moved aside first and removed last.

    Another run may put the same folder there at any moment: its numbers are the same, and either may stay.

    Raises:
        InputError: something else stands there, or keeps coming; what stood there cannot be moved back.
        OSError: the folder cannot be renamed; what stood there stands there again.
    """
    for _ in range(20):
        aside = Path(tempfile.mkdtemp(prefix=f".{folder.name}.old.", dir=folder.parent))
        try:
            if folder.exists():
                check_target(folder, digest)
                folder.replace(aside)
            scratch.replace(folder)
            return
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT) or not scratch.exists():
                raise
        finally:
            _settle(aside, folder)
    raise InputError(f"{folder}: other runs keep writing there; give --out another name")


def _settle(aside: Path, folder: Path) -> None:
    """Move what was moved aside back where nothing came in its place; otherwise remove it.

    Raises:
        InputError: it cannot be moved back.
    """
    if not folder.exists() and any(aside.iterdir()):
        try:
            aside.replace(folder)
            return
        except OSError as error:
            if not folder.exists():
                raise InputError(
                    f"{folder}: cannot be written ({error.strerror}); the run that stood there is now {aside}"
                ) from error
    shutil.rmtree(aside, ignore_errors=True)
