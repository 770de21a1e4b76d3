"""Files of rows whose content is of another format than their name says, recognised by their first bytes."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path

from assay.common.transfer import ARCHIVE_ERRORS
from assay.datasets.archives import is_archive
from assay.datasets.unpacking import COMPRESSIONS
from assay.exceptions import InputError

#: What a file is that begins with certain bytes, and the end of its name.
_MARKS = {
    b"\x1f\x8b\x08": ("compressed by gzip", ".gz"),
    b"BZh91AY&SY": ("compressed by bzip2", ".bz2"),
    b"\x28\xb5\x2f\xfd": ("compressed by Zstandard", ".zst"),
    b"\xfd7zXZ\0": ("compressed by xz", ".xz"),
    b"PK\x03\x04": ("a zip archive", ".zip"),
    b"PAR1": ("a Parquet file", ".parquet"),
}
#: The mark of a workbook of an old form, or of one with a password.
_OLD_WORKBOOK = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_PAGE = re.compile(rb"(\xef\xbb\xbf)?\s*(<!doctype html|<html[\s>]|<\?xml )", re.IGNORECASE)
#: The start of a list of objects, or of an object over several lines.
_JSON = re.compile(r"\s*(\[\s*\{|\{\s*\n)")
#: What a file with a name of this end may hold, if that is more than the end says.
_EXPECTED = {
    ".ndjson": (".jsonl",),
    ".json": (".json", ".jsonl"),
    ".xlsx": (".xlsx", ".zip"),
    ".eval": (".zip",),
    **dict.fromkeys((".csv", ".tsv", ".tab", ".txt"), (".csv",)),
}


def check_content(path: Path) -> None:
    """Raise InputError if the content of a file is of another format than its name says; the message names it."""
    with path.open("rb") as file:
        start = file.read(1 << 16)
        file.seek(-min(64, path.stat().st_size), 2)
        end = file.read().rstrip()
    if _PAGE.match(start):
        raise InputError(f"{path}: is a page of HTML or XML, such as that of an error or a login; get the file again")
    if start.startswith(_OLD_WORKBOOK):
        raise InputError(f"{path}: is an old workbook or has a password; save it as .xlsx without one, or as CSV")
    if start.startswith(b"version https://git-lfs.github.com/spec/"):
        raise InputError(f"{path}: is a pointer of Git LFS to the file; get the file itself with git lfs pull")
    suffix = path.suffix.lower()
    description, actual = _format_of(path, start, end)
    expected = _EXPECTED.get(suffix, (suffix,))
    if suffix not in _EXPECTED and is_archive(path):
        # they are read by their content, whatever their name
        expected = (".zip", *COMPRESSIONS)
    if actual and actual not in expected:
        if actual in COMPRESSIONS and suffix not in COMPRESSIONS:
            raise InputError(f"{path}: is {description}; name the file {suffix}{actual}")
        raise InputError(f"{path}: is {description}; name the file {actual} (standard input: -{actual})")


def _format_of(path: Path, start: bytes, end: bytes) -> tuple[str, str]:
    """Return what a file is and the end of the name of such files, by its first and last bytes; empty texts if unknown.

    Text is delimited if its first line has a delimiter.
    """
    for mark, (description, suffix) in _MARKS.items():
        # a text may begin with PAR1, too
        if start.startswith(mark) and (suffix != ".parquet" or end.endswith(mark)):
            is_workbook = suffix == ".zip" and _is_workbook(path)
            return ("a workbook", ".xlsx") if is_workbook else (description, suffix)
    if b"\0" in start:
        return "", ""
    text = start.decode("utf-8-sig", "replace")
    first_line, line_end, _ = text.partition("\n")
    if _JSON.match(text):
        return ("JSON", ".json") if end.endswith((b"]", b"}")) else ("", "")
    if first_line.lstrip().startswith("{"):
        try:
            return ("JSON, an object in each line", ".jsonl") if isinstance(json.loads(first_line), dict) else ("", "")
        except (ValueError, RecursionError):
            return "", ""
    has_delimiter = any(delimiter in first_line for delimiter in ",;\t")
    may_be_json = "{" in first_line or first_line.lstrip().startswith(("[", '"'))
    return ("delimited text", ".csv") if line_end and has_delimiter and not may_be_json else ("", "")


def _is_workbook(path: Path) -> bool:
    """Tell whether a zip archive has the parts of a workbook; not if it is damaged."""
    try:
        with zipfile.ZipFile(path) as archive:
            return any(name.startswith("xl/") for name in archive.namelist())
    except ARCHIVE_ERRORS:
        return False
