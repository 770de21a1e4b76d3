"""Writing the files of a check without overwriting files that assay did not write."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from xml.etree import ElementTree as ET

from assay.common.output import FileKind, atomic_write
from assay.exceptions import InputError


def _is_baseline(path: Path) -> bool:
    """Return whether a file is JSON with the keys of a baseline, valid or not.

    Raises:
        OSError: the file cannot be read.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        # deeply nested JSON exhausts the recursion of the parser
        return False
    # a baseline that was edited by hand counts too: the remedy for it is to write it again
    keys = {"schema", "assay", "run", "confidence", "datasets"}
    return isinstance(value, dict) and set(value) - {"origin"} == keys


def _is_junit(path: Path) -> bool:
    """Return whether a file is XML whose root element is that of a JUnit report.

    Raises:
        OSError: the file cannot be read.
    """
    try:
        # the root element is enough; the file is closed here, since Windows cannot replace an open file
        with path.open("rb") as file:
            _, root = next(iter(ET.iterparse(file, events=("start",))))
    except (ET.ParseError, ValueError, LookupError, StopIteration):
        return False
    return root.tag in ("testsuites", "testsuite")


def _is_summary(path: Path) -> bool:
    """Return whether a file begins like a summary of a check, or is one that is only appended to.

    Raises:
        OSError: the file cannot be read.
    """
    if _is_step_summary(path):
        # write_summary appends to this file, so that nothing is lost
        return True
    with path.open("rb") as file:
        return file.readline().startswith((b"### Gate passed: ", b"### Gate FAILED: "))


#: The kinds of files that a check may replace.
BASELINE = FileKind("a baseline", "out", _is_baseline)
JUNIT = FileKind("JUnit XML", "junit", _is_junit)
SUMMARY = FileKind("a summary of assay check", "summary", _is_summary)


def write_file(path: Path, text: str) -> None:
    """Write text to a file as UTF-8, completely or not at all; missing parent folders are created.

    Raises:
        InputError: the file cannot be written.
    """
    _write_bytes(path, _utf8_bytes(text), append=False)


def write_summary(path: Path, text: str) -> None:
    """Write a summary to a file; append it if *path* is the step summary of GitHub Actions, which commands share.

    Raises:
        InputError: the file cannot be written.
    """
    _write_bytes(path, _utf8_bytes(text), append=_is_step_summary(path))


def _utf8_bytes(text: str) -> bytes:
    """Return a text as UTF-8; names from the data may have lone surrogates, which strict UTF-8 refuses."""
    return text.encode("utf-8", errors="surrogatepass")


def _is_step_summary(path: Path) -> bool:
    """Return whether *path* is ``$GITHUB_STEP_SUMMARY``, the file that all commands of a job's step append to."""
    shared = os.environ.get("GITHUB_STEP_SUMMARY")
    return bool(shared) and os.path.realpath(path) == os.path.realpath(str(shared))


def _write_bytes(path: Path, content: bytes, *, append: bool) -> None:
    """Write bytes to a file atomically, or append them; missing parent folders are created.

    To a path that is not a regular file, such as a pipe, they are always appended. A link stays, and the file that it
    leads to is written.

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
        with atomic_write(Path(os.path.realpath(path))) as scratch:
            scratch.write_bytes(content)
    except OSError as error:
        reason = "the disk is full" if error.errno == errno.ENOSPC else error.strerror or str(error)
        raise InputError(f"{path}: cannot be written ({reason})") from error
