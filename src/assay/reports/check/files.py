"""Writing the files of a check without overwriting what assay did not write."""

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
    # one that was changed by hand is still one: writing it again is the remedy
    keys = {"schema", "assay", "run", "confidence", "datasets"}
    return isinstance(value, dict) and set(value) - {"origin"} == keys


def _is_junit(path: Path) -> bool:
    try:
        # the root is enough, whatever stands in it; a file left open could not be replaced on Windows
        with path.open("rb") as file:
            _, root = next(iter(ET.iterparse(file, events=("start",))))
    except (ET.ParseError, ValueError, LookupError, StopIteration):
        return False
    return root.tag in ("testsuites", "testsuite")


def _is_summary(path: Path) -> bool:
    if _is_shared(path):
        # write_summary adds to it, so that nothing is lost
        return True
    with path.open("rb") as file:
        return file.readline().startswith((b"### Gate passed: ", b"### Gate FAILED: "))


BASELINE = FileKind("a baseline", "`out`", _is_baseline)
JUNIT = FileKind("JUnit XML", "`junit`", _is_junit)
SUMMARY = FileKind("a summary of assay check", "`summary`", _is_summary)


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
