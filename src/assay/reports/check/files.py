"""Writing the files of a check without overwriting what assay did not write."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

from assay.errors import InputError
from assay.output import written_whole

__all__ = ["BASELINE", "JUNIT", "SUMMARY", "FileKind", "check_replaceable", "write_file", "write_summary"]


@dataclass(frozen=True)
class FileKind:
    """A kind of file that the gate writes.

    Attributes:
        what: what messages call it.
        option: the option that names its place.
        holds: whether a file is one of these, of this assay or an earlier one.
    """

    what: str
    option: str
    holds: Callable[[Path], bool]


def _is_baseline(path: Path) -> bool:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        return False
    # one that was changed by hand is still one: writing it again is the remedy
    return isinstance(value, dict) and set(value) == {"schema", "assay", "run", "confidence", "datasets"}


def _is_junit(path: Path) -> bool:
    try:
        # the root is enough, whatever stands in it; a file left open could not be replaced on Windows
        with path.open("rb") as file:
            _, root = next(iter(ET.iterparse(file, events=("start",))))
    except (ET.ParseError, ValueError, LookupError, StopIteration):
        return False
    return root.tag in ("testsuites", "testsuite")


def _is_summary(path: Path) -> bool:
    with path.open("rb") as file:
        return file.readline().startswith((b"### Gate passed: ", b"### Gate FAILED: "))


BASELINE = FileKind("a baseline", "`out`", _is_baseline)
JUNIT = FileKind("JUnit XML", "`junit`", _is_junit)
SUMMARY = FileKind("a summary of assay check", "`summary`", _is_summary)


def check_replaceable(path: Path, kind: FileKind) -> None:
    """Raise InputError where *path* holds anything but an earlier file of its kind: it would be lost.

    An empty file has nothing to lose, and what is no file (such as ``/dev/stdout``) holds nothing. The summary of a job
    on GitHub may hold anything, since :func:`write_summary` adds to it.
    """
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise InputError(f"{path}: is a folder; give {kind.option} another name")
        if not stat.S_ISREG(status.st_mode) or not status.st_size or (kind is SUMMARY and _is_shared(path)):
            return
        if kind.holds(path):
            return
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise InputError(f"{path}: cannot be opened ({error.strerror or error})") from error
    raise InputError(f"{path}: holds something else than {kind.what}; give {kind.option} another name or remove it")


def write_file(path: Path, text: str) -> None:
    """Write text to a file, whole or not at all; folders above it are made.

    Raises:
        InputError: it cannot be written.
    """
    _put(path, text.encode("utf-8", errors="surrogatepass"), added=False)


def write_summary(path: Path, text: str) -> None:
    """Write a summary; where *path* is the page of a job on GitHub, add it to what other commands wrote there.

    Raises:
        InputError: it cannot be written.
    """
    _put(path, text.encode("utf-8", errors="surrogatepass"), added=_is_shared(path))


def _is_shared(path: Path) -> bool:
    """Tell whether *path* is ``$GITHUB_STEP_SUMMARY``, the one file of a job's step that every command adds to."""
    shared = os.environ.get("GITHUB_STEP_SUMMARY")
    return bool(shared) and os.path.realpath(path) == os.path.realpath(str(shared))


def _put(path: Path, content: bytes, *, added: bool) -> None:
    """Write bytes to a file, or add them to one; what is no file, such as a pipe, is written to as it is."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if added or (path.exists() and not path.is_file()):
            with path.open("ab") as file:
                file.write(content)
            return
        # a link stays one
        with written_whole(Path(os.path.realpath(path))) as scratch:
            scratch.write_bytes(content)
    except OSError as error:
        why = "the disk is full" if error.errno == errno.ENOSPC else error.strerror or str(error)
        raise InputError(f"{path}: cannot be written ({why})") from error
