"""Writing the files of a check without overwriting files that assay did not write."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from xml.etree import ElementTree as ET

from assay.errors import InputError
from assay.output import FileKind, written_whole


def _is_baseline(path: Path) -> bool:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        return False
    # a baseline that was edited by hand counts too: the remedy for it is to write it again
    keys = {"schema", "assay", "run", "confidence", "datasets"}
    return isinstance(value, dict) and set(value) - {"origin"} == keys


def _is_junit(path: Path) -> bool:
    try:
        # the root element is enough; the file is closed here, since Windows cannot replace an open file
        with path.open("rb") as file:
            _, root = next(iter(ET.iterparse(file, events=("start",))))
    except (ET.ParseError, ValueError, LookupError, StopIteration):
        return False
    return root.tag in ("testsuites", "testsuite")


def _is_summary(path: Path) -> bool:
    if _is_shared(path):
        # write_summary appends to this file, so that nothing is lost
        return True
    with path.open("rb") as file:
        return file.readline().startswith((b"### Gate passed: ", b"### Gate FAILED: "))


BASELINE = FileKind("a baseline", "`out`", _is_baseline)
JUNIT = FileKind("JUnit XML", "`junit`", _is_junit)
SUMMARY = FileKind("a summary of assay check", "`summary`", _is_summary)


def write_file(path: Path, text: str) -> None:
    """Write text to a file as UTF-8, completely or not at all; missing parent folders are created.

    Raises:
        InputError: the file cannot be written.
    """
    _write_bytes(path, text.encode("utf-8", errors="surrogatepass"), append=False)


def write_summary(path: Path, text: str) -> None:
    """Write a summary to a file; append it if *path* is the step summary of GitHub Actions, which commands share.

    Raises:
        InputError: the file cannot be written.
    """
    _write_bytes(path, text.encode("utf-8", errors="surrogatepass"), append=_is_shared(path))


def _is_shared(path: Path) -> bool:
    """Return whether *path* is ``$GITHUB_STEP_SUMMARY``, the file that all commands of a job's step append to."""
    shared = os.environ.get("GITHUB_STEP_SUMMARY")
    return bool(shared) and os.path.realpath(path) == os.path.realpath(str(shared))


def _write_bytes(path: Path, content: bytes, *, append: bool) -> None:
    """Write bytes to a file atomically, or append them; a path that is no regular file, such as a pipe, is appended to.

    Raises:
        InputError: the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if append or (path.exists() and not path.is_file()):
            with path.open("ab") as file:
                file.write(content)
            return
        # the target of a symbolic link is replaced, and not the link
        with written_whole(Path(os.path.realpath(path))) as scratch:
            scratch.write_bytes(content)
    except OSError as error:
        reason = "the disk is full" if error.errno == errno.ENOSPC else error.strerror or str(error)
        raise InputError(f"{path}: cannot be written ({reason})") from error
