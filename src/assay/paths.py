"""Folders and paths: the cache, the data folders, and paths that a user types."""

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
    """Create a folder and its missing parents, accessible to the user alone, and return it.

    Raises:
        OSError: the folder cannot be created.
    """
    if not path.parent.exists():
        private_folder(path.parent)
    path.mkdir(mode=0o700, exist_ok=True)
    return path


def data_dirs() -> list[Path]:
    """Return the folders of ``$ASSAY_DATA`` (separated as in ``$PATH``), in order."""
    value = os.environ.get("ASSAY_DATA", "")
    return [user_path(part) for part in value.split(os.pathsep) if part]


#: Local copies of files that a cluster node lacks, by the path that the user typed.
_copies: dict[str, Path] = {}


def use_copy(named: str, path: Path) -> None:
    """Make :func:`user_path` return another path for a path that a user typed, in this process."""
    _copies[named] = path


def user_path(path: str | Path) -> Path:
    """Return a path that a user typed, with ``~`` and ``~name`` expanded to home folders.

    Raises:
        InputError: no file can have this name: it is too long, contains NUL or half a character (a lone surrogate), or
            begins with ``~name`` for an unknown user.
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
    """Tell whether a file or folder with this path exists; False for a text that cannot be a path."""
    return os.path.exists(text)  # noqa: PTH110  Path.exists raises for a name that is too long
