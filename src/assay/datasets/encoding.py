"""Texts that look as if they had been decoded wrongly somewhere on their way."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["encoding_findings", "looks_encoded_twice"]

#: Lead bytes of UTF-8 read as Latin-1 or Windows-1252, then what their continuation bytes become there.
_TAIL = (
    "\u0080-\u00bf\u20ac\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\u017d"
    "\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\u017e\u0178"
)
_SUSPECT = f"[\u00c2-\u00f4][{_TAIL}]"
#: Sequences that hardly any language writes on purpose: letters with accents, dashes and quotes, signs.
_SURE = re.compile(
    f"\u00c3[{_TAIL}]"
    "|\u00e2\u20ac[\u0153\u009d\u2122\u02dc\u201c\u201d\u00a6\u00a2]"
    "|\u00e2\u0080[\u0090-\u00bf]"
    "|\u00c2[\u00a0-\u00bf]"
)

_CHECKS = (
    ("replacement-character", "error", "\ufffd", "texts with the character U+FFFD (something could not be decoded)"),
    (
        "control-characters",
        "warning",
        "[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f]|[\u0080-\u009f]",
        "texts with control characters",
    ),
    (
        "escape-sequences",
        "warning",
        r"\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|&(amp|quot|lt|gt|nbsp|#\d+);",
        "texts with escape sequences left in (such as \\u00e9 or &amp;)",
    ),
)


def looks_encoded_twice(text: str) -> bool:
    """Tell whether a text looks like UTF-8 that was read as Latin-1 or Windows-1252 (``Ã¼`` for ``ü``)."""
    if _SURE.search(text):
        return True
    for encoding in ("cp1252", "latin-1"):
        try:
            back = text.encode(encoding).decode("utf-8")
        except UnicodeError:
            continue
        if len(back) < len(text):
            return True
    return False


def encoding_findings(table: pa.Table) -> list[tuple[str, str, np.ndarray[Any, Any], str]]:
    """Return (name, severity, rows, what) for each check that found rows."""
    columns = [_text(table.column(n)) for n in ("question", "reference", "candidate") if n in table.column_names]
    found = []
    blank = _rows([pc.equal(pc.utf8_trim_whitespace(c), "") for c in columns[-2:]])
    if len(blank):
        found.append(("blank-texts", "note", blank, "pairs with a blank text"))
    suspects = _rows([pc.match_substring_regex(column, _SUSPECT) for column in columns])
    twice = [
        int(row) for row in suspects if any(looks_encoded_twice(column[int(row)].as_py() or "") for column in columns)
    ]
    if twice:
        found.append(
            ("encoded-twice", "warning", np.asarray(twice), "pairs that look encoded twice (such as Ã¼ for ü)")
        )
    for name, severity, pattern, what in _CHECKS:
        rows = _rows([pc.match_substring_regex(column, pattern) for column in columns])
        if len(rows):
            found.append((name, severity, rows, what))
    return found


def _text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.binary_join(column, "\n") if pa.types.is_list(column.type) else column


def _rows(masks: list[pa.ChunkedArray]) -> np.ndarray[Any, Any]:
    """Return the rows where any mask holds."""
    total = np.zeros(len(masks[0]), dtype=bool)
    for mask in masks:
        total |= np.asarray(pc.fill_null(mask, False).to_numpy(zero_copy_only=False), dtype=bool)
    return np.flatnonzero(total)
