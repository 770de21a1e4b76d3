"""Where assay keeps and finds files."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from assay.errors import InputError


def cache_dir() -> Path:
    """Return the folder for downloads and stored scores: ``$ASSAY_CACHE`` or the platform's cache folder.

    The folder need not exist yet.
    """
    chosen = os.environ.get("ASSAY_CACHE")
    if chosen:
        return user_path(chosen)
    import platformdirs

    return Path(platformdirs.user_cache_dir("assay"))


def private_folder(path: Path) -> Path:
    """Make a folder of the cache, and those above it that are missing, for the user alone; return it.

    Raises:
        OSError: it cannot be made.
    """
    if not path.parent.exists():
        private_folder(path.parent)
    path.mkdir(mode=0o700, exist_ok=True)
    return path


def data_dirs() -> list[Path]:
    """Return the folders of ``$ASSAY_DATA`` (separated as in ``$PATH``), in order."""
    value = os.environ.get("ASSAY_DATA", "")
    return [user_path(part) for part in value.split(os.pathsep) if part]


#: By what a user named, where its copy is on a node that has not the file itself.
_copies: dict[str, Path] = {}


def use_copy(named: str, path: Path) -> None:
    """Let :func:`user_path` return another path for what a user named, in this process."""
    _copies[named] = path


def user_path(path: str | Path) -> Path:
    """Return the path that a user named, with ``~`` and ``~name`` as the home folders they stand for.

    Raises:
        InputError: no file or folder can have that name: it is too long, holds NUL or half a character, or begins with
            the ``~name`` of a user that this machine does not have.
    """
    text = os.fspath(path)
    if text in _copies:
        return _copies[text]
    try:
        named = Path(text).expanduser()
    except RuntimeError:
        if exists(text):
            return Path(text)
        unknown = f"there is no user {Path(text).parts[0].removeprefix('~')!r} on this machine"
        raise InputError(f"{text}: {unknown}; write the path in full, or ./{text} if that is its name") from None
    try:
        named.lstat()
    except ValueError as error:
        reason = "holds NUL" if "\0" in text else "holds half a character"
        raise InputError(f"{text!r}: no path can be this ({reason})") from error
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise InputError(
                f"{text}: is longer than the name of a file can be ({len(text):,} characters); give a shorter one"
            ) from error
    return named


def exists(text: str | Path) -> bool:
    """Tell whether a text is the path of a file or folder; what no path can be is none."""
    return os.path.exists(text)  # noqa: PTH110  Path.exists raises for a name that is too long
