"""Folders and paths: the cache, the data folders, and paths that a user types."""

from __future__ import annotations

import difflib
import errno
import itertools
import os
import stat
from collections.abc import Callable
from pathlib import Path

from assay.exceptions import InputError


def cache_dir() -> Path:
    """Return the folder for downloads and stored scores: ``$ASSAY_CACHE``, or assay's folder in the platform's cache.

    The folder need not exist yet.

    Raises:
        InputError: ``$ASSAY_CACHE`` cannot be a path.
    """
    folder = os.environ.get("ASSAY_CACHE")
    if folder:
        return user_path(folder)
    import platformdirs

    return Path(platformdirs.user_cache_dir("assay"))


def make_private_folder(path: Path) -> Path:
    """Create a folder and its missing parents, accessible to the user alone, and return its path.

    Folders that exist already keep their permissions.

    Raises:
        OSError: the folder cannot be created.
    """
    # one by one, since Path.mkdir gives its mode to the last folder only
    if not path.parent.exists():
        make_private_folder(path.parent)
    path.mkdir(mode=0o700, exist_ok=True)
    return path


def data_dirs() -> list[Path]:
    """Return the folders of ``$ASSAY_DATA`` (separated as in ``$PATH``), in order; none if it is not set.

    Raises:
        InputError: a part of it cannot be a path.
    """
    value = os.environ.get("ASSAY_DATA", "")
    return [user_path(folder) for folder in value.split(os.pathsep) if folder]


#: Local copies of files that a cluster node lacks, by the path that the user typed.
_local_copies: dict[str, Path] = {}


def use_local_copy(typed_path: str, copy: Path) -> None:
    """Make :func:`user_path` return the path of a local copy for a path that a user typed, in this process."""
    _local_copies[typed_path] = copy


def user_path(path: str | Path) -> Path:
    """Return a path that a user typed, with ``~`` and ``~name`` expanded to home folders.

    On a cluster node it is the path of the local copy, if there is one. Nothing needs to exist at the path.

    Raises:
        InputError: the path cannot be used: it is too long, contains NUL or half a character (a lone surrogate that
            stands for no byte), or begins with ``~name`` for an unknown user, or with ``~`` where the home folder is
            unknown, while nothing exists at the path as it was typed.
    """
    text = os.fspath(path)
    if text in _local_copies:
        return _local_copies[text]
    try:
        expanded = Path(text).expanduser()
    except RuntimeError:
        # there is no such user, but a name may begin with ~
        if path_exists(text):
            return Path(text)
        user = Path(text).parts[0].removeprefix("~")
        unknown = f"there is no user {user!r} on this machine" if user else "your home folder is unknown"
        raise InputError(f"{text}: {unknown}; write the path in full, or ./{text} if that is its name") from None
    try:
        # only to find out whether the system accepts the name
        expanded.lstat()
    except ValueError as error:
        reason = "holds NUL" if "\0" in text else "holds half a character"
        raise InputError(f"{text!r}: no path can be this ({reason})") from error
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise InputError(
                f"{text}: is longer than the name of a file can be ({len(text):,} characters); give a shorter one"
            ) from error
    return expanded


def path_exists(text: str | Path) -> bool:
    """Tell whether a file or folder with this path exists; False for a text that cannot be a path."""
    return os.path.exists(text)  # noqa: PTH110  Path.exists raises for a name that is too long


#: The most entries of a folder that are looked at, and the most paths that are suggested.
_MAX_ENTRIES, _MAX_SUGGESTIONS = 1000, 3


def suggested_path(missing: Path, is_wanted: Callable[[Path], bool]) -> str:
    """Return ``Did you mean 'models/minilm'?`` for a path at which nothing exists; empty if there is none like it.

    Suggested are up to three paths, all of the first kind that there is: paths in which the first missing name is
    spelled otherwise; the same relative path from a folder above the working folder; the same name in a folder beside
    its own or in it, where it may have been moved to.

    Args:
        missing: the path.
        is_wanted: tells whether a path exists and is of the kind that is sought.

    Example:
        >>> suggested_path(Path("nowhere/at/all"), Path.is_file)
        ''
    """
    parent = missing.parent
    try:
        above = []
        if not missing.is_absolute():
            above = [Path(*[".."] * levels) / missing for levels in range(1, len(Path.cwd().parts))]
        moved = [folder / missing.name for folder in (*entries_of(parent), *entries_of(parent.parent))]
        for paths in (_similar_paths(missing), above, moved):
            similar_paths = list(
                dict.fromkeys(repr(str(path)) for path in paths if path != missing and is_wanted(path))
            )
            if similar_paths:
                return f"Did you mean {' or '.join(similar_paths[:_MAX_SUGGESTIONS])}?"
    except OSError:
        pass  # the working folder was removed, or a folder cannot be read: there is nothing to suggest
    return ""


def no_such_file(missing: Path, is_wanted: Callable[[Path], bool], kind: str = "file") -> str:
    """Return the message for a path at which nothing exists, with the path that may be meant.

    Args:
        missing, is_wanted: as for :func:`suggested_path`.
        kind: what is missing.

    Example:
        >>> no_such_file(Path("nowhere/at/all"), Path.is_file)
        'nowhere/at/all: there is no such file'
    """
    suggestion = suggested_path(missing, is_wanted)
    return f"{missing}: there is no such {kind}" + (f". {suggestion}" if suggestion else "")


def _similar_paths(missing: Path) -> list[Path]:
    """Return the paths that differ from a missing one in the spelling of its first name that does not exist.

    Names are compared without their endings and capitals, and the most similar come first. The names after that one
    are as in *missing*, so that the paths need not exist.
    """
    outermost_first = (*reversed(missing.parents), missing)
    misspelled = next((path for path in outermost_first if not path_exists(path)), missing)
    # endings alone make no two names similar
    entries_by_stem: dict[str, list[Path]] = {}
    for path in entries_of(misspelled.parent):
        entries_by_stem.setdefault(path.stem.lower(), []).append(path)
    similar_stems = difflib.get_close_matches(misspelled.stem.lower(), entries_by_stem, n=_MAX_ENTRIES, cutoff=0.5)
    return [path / missing.relative_to(misspelled) for stem in similar_stems for path in entries_by_stem[stem]]


def entries_of(folder: Path) -> list[Path]:
    """Return the visible ones of at most 1,000 entries of a folder, sorted by name.

    Of more entries they are those that the disk lists first, in no order of names. There are none if the path is not
    that of a folder, or if the folder cannot be read.
    """
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in itertools.islice(entries, _MAX_ENTRIES) if not entry.name.startswith(".")]
    except OSError:
        return []
    return [folder / name for name in sorted(names)]


#: Bytes of the largest file of settings, such as a configuration, a card or a prompt.
MAX_SETTINGS_BYTES = 1 << 24


def check_regular_file(path: Path) -> None:
    """Raise OSError for a pipe, a device or a socket, which may block or have no end; links are followed.

    What is absent, and a folder, passes: reading it raises an error of its own. A path in a folder that may not be
    looked into raises PermissionError, and one below a file NotADirectoryError.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise _not_regular(path)


def check_is_no_run(folder: Path) -> None:
    """Raise InputError, with the path of the pairs of the run, if *folder* is that of a run where pairs are wanted."""
    if path_exists(folder / "run.json"):
        raise InputError(f"{folder}: is the folder of a run; the pairs that it scored are {folder / 'pairs.parquet'}")


def read_settings_file(path: Path, limit: int = MAX_SETTINGS_BYTES) -> bytes:
    """Return the content of a file of settings, which may have at most *limit* bytes.

    Raises:
        OSError: the file cannot be read, is a pipe, a device or a socket, or has more bytes.
    """
    check_regular_file(path)
    # not blocked by a pipe that took the place of the file in between
    with open(path, "rb", opener=_open_unblocked) as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise _not_regular(path)
        content = stream.read(limit + 1)
    if len(content) > limit:
        raise OSError(errno.EFBIG, f"it has more than {limit:,} bytes", str(path))
    return content


def _open_unblocked(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _not_regular(path: Path) -> OSError:
    return OSError(errno.EINVAL, "it is a pipe, a device or a socket, not a file", str(path))
