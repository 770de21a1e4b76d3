"""What a careful person looks for in labelled data before believing a number from it, wrongly decoded text
included.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assay.datasets.annotation_graph import describe_graph, graph_line, graph_of
from assay.datasets.card import Card
from assay.datasets.pairs import Pairs, codes

__all__ = ["DataFinding", "annotation_notes", "check_dataset", "encoding_findings", "looks_encoded_twice"]


# Texts that look as if they had been decoded wrongly somewhere on their way.

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
    blank = _suspect_rows([pc.equal(pc.utf8_trim_whitespace(c), "") for c in columns[-2:]])
    if len(blank):
        found.append(("blank-texts", "note", blank, "pairs with a blank text"))
    suspects = _suspect_rows([pc.match_substring_regex(column, _SUSPECT) for column in columns])
    twice = [
        int(row) for row in suspects if any(looks_encoded_twice(column[int(row)].as_py() or "") for column in columns)
    ]
    if twice:
        found.append(
            ("encoded-twice", "warning", np.asarray(twice), "pairs that look encoded twice (such as Ã¼ for ü)")
        )
    for name, severity, pattern, what in _CHECKS:
        rows = _suspect_rows([pc.match_substring_regex(column, pattern) for column in columns])
        if len(rows):
            found.append((name, severity, rows, what))
    return found


def _text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.binary_join(column, "\n") if pa.types.is_list(column.type) else column


def _suspect_rows(masks: list[pa.ChunkedArray]) -> np.ndarray[Any, Any]:
    """Return the rows where any mask holds."""
    total = np.zeros(len(masks[0]), dtype=bool)
    for mask in masks:
        total |= np.asarray(pc.fill_null(mask, False).to_numpy(zero_copy_only=False), dtype=bool)
    return np.flatnonzero(total)


# What a careful person looks for in labelled data before believing a number from it.

EXAMPLES = 3


@dataclass(frozen=True)
class DataFinding:
    """One thing that was found.

    Attributes:
        name: ``rows``, ``unlabelled``, ``out-of-scale``, ``duplicates``, ``swapped-duplicates``,
            ``conflicting-labels``, ``leaks``, ``blank-texts`` or one of the encoding checks; ``annotation-graph`` for
            a measure that is not a fault.
        severity: ``error`` (the data is not what it should be), ``warning`` (numbers may mislead), ``note``.
        split: where; several are joined by ``+``.
        count: how many; in the unit of the message.
        message: one line.
        examples: up to three of the pairs, with pair_id, reference, candidate and label.
    """

    name: str
    severity: str
    split: str
    count: int
    message: str
    examples: tuple[dict[str, Any], ...] = ()


def check_dataset(pairs_by_split: Mapping[str, Pairs], card: Card | None = None) -> list[DataFinding]:
    """Return what was found in a dataset, split by split and then across splits; an empty list is good.

    Two pairs are the same where question (if any) and both texts are equal, in either order of the texts.
    """
    findings: list[DataFinding] = []
    for split, pairs in pairs_by_split.items():
        findings += _rows(split, pairs, card)
        findings += _labels(split, pairs)
        findings += _repeats(split, pairs)
        findings += [
            DataFinding(name, severity, split, len(found), f"{len(found)} {what}", _examples(pairs, found))
            for name, severity, found, what in encoding_findings(pairs.table)
        ]
    if len(pairs_by_split) > 1:
        findings += _leaks(pairs_by_split)
    return findings


def annotation_notes(pairs_by_split: Mapping[str, Pairs], *, directed: bool = False) -> list[DataFinding]:
    """Return a note on the annotation graph of each split and of all splits together, where pairs are of two texts.

    They are measures, no faults, and so not among what :func:`check_dataset` finds. ``count`` is the number of texts.

    Args:
        pairs_by_split: the splits.
        directed: whether the order of two texts matters.
    """
    parts = {split: [pairs] for split, pairs in pairs_by_split.items() if not pairs.has_several_references}
    if len(parts) > 1:
        parts["+".join(parts)] = [pairs for chosen in list(parts.values()) for pairs in chosen]
    notes = []
    for split, chosen in parts.items():
        graph = graph_of(chosen, directed=directed)
        line = graph_line(describe_graph(graph))
        notes.append(DataFinding("annotation-graph", "note", split, len(graph.texts), line))
    return notes


def _examples(pairs: Pairs, rows: Any) -> tuple[dict[str, Any], ...]:
    names = [n for n in ("pair_id", "question", "reference", "candidate", "label") if n in pairs.table.column_names]
    chosen = [int(row) for row in list(rows)[:EXAMPLES]]
    return tuple(pairs.table.select(names).take(pa.array(chosen, pa.int64())).to_pylist())


def _rows(split: str, pairs: Pairs, card: Card | None) -> list[DataFinding]:
    expected = card.splits[split].rows if card is not None and split in card.splits else None
    if expected is None or expected == len(pairs):
        return []
    return [DataFinding("rows", "error", split, len(pairs), f"{len(pairs)} rows; the card says {expected}")]


def _labels(split: str, pairs: Pairs) -> list[DataFinding]:
    found = []
    values = pairs.labels
    missing = np.flatnonzero(np.isnan(values))
    if len(missing):
        message = f"{len(missing)} pairs without a label"
        found.append(DataFinding("unlabelled", "warning", split, len(missing), message, _examples(pairs, missing)))
    if pairs.scale is not None:
        low, high = pairs.scale
        outside = np.flatnonzero((values < low) | (values > high))
        if len(outside):
            message = f"{len(outside)} labels outside {low:g} to {high:g}"
            found.append(DataFinding("out-of-scale", "error", split, len(outside), message, _examples(pairs, outside)))
    if len(values) > 1 and len(np.unique(values[~np.isnan(values)])) == 1:
        found.append(DataFinding("constant-label", "warning", split, len(values), "all labels are the same number"))
    return found


def _repeats(split: str, pairs: Pairs) -> list[DataFinding]:
    found = []
    (ordered, unordered), values = _keys([pairs])[0], pairs.labels
    first = np.unique(ordered, return_index=True)[1]
    again = np.setdiff1d(np.arange(len(ordered)), first)
    if len(again):
        message = f"{len(again)} rows repeat the two texts of an earlier row"
        found.append(DataFinding("duplicates", "warning", split, len(again), message, _examples(pairs, again)))
    # Of each pair as ordered, the first row; a second such row with the same unordered key is a swapped one.
    starts = np.sort(first)
    kept = np.unique(unordered[starts], return_index=True)[1]
    swapped = np.setdiff1d(starts, starts[kept])
    if len(swapped):
        message = f"{len(swapped)} pairs also appear in the other order"
        found.append(
            DataFinding("swapped-duplicates", "warning", split, len(swapped), message, _examples(pairs, swapped))
        )
    conflicts = _conflicts(unordered, values)
    if len(conflicts):
        message = f"{len(conflicts)} pairs have several rows with different labels"
        found.append(
            DataFinding("conflicting-labels", "warning", split, len(conflicts), message, _examples(pairs, conflicts))
        )
    return found


def _conflicts(keys: np.ndarray[Any, Any], values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the first row of each key that has more than one label."""
    labelled = np.flatnonzero(~np.isnan(values))
    order = labelled[np.lexsort((values[labelled], keys[labelled]))]
    same = keys[order][1:] == keys[order][:-1]
    differ = same & (values[order][1:] != values[order][:-1])
    wrong = np.unique(keys[order][1:][differ])
    firsts = np.unique(keys, return_index=True)
    return np.sort(firsts[1][np.isin(firsts[0], wrong)])


def _leaks(pairs_by_split: Mapping[str, Pairs]) -> list[DataFinding]:
    names = list(pairs_by_split)
    keys = [unordered for _, unordered in _keys(list(pairs_by_split.values()))]
    found = []
    everywhere: dict[int, set[str]] = {}
    for name, key in zip(names, keys, strict=True):
        for value in np.unique(key):
            everywhere.setdefault(int(value), set()).add(name)
    shared = {value: homes for value, homes in everywhere.items() if len(homes) > 1}
    for homes in sorted({tuple(n for n in names if n in h) for h in shared.values()}):
        values = [value for value, where in shared.items() if where == set(homes)]
        place = names.index(homes[0])
        rows = np.unique(keys[place], return_index=True)
        examples = _examples(pairs_by_split[homes[0]], np.sort(rows[1][np.isin(rows[0], values)]))
        message = f"{len(values)} pairs appear in {' and '.join(homes)}"
        found.append(DataFinding("leaks", "warning", "+".join(homes), len(values), message, examples))
    return found


def _keys(parts: list[Pairs]) -> list[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
    """Return for each table the codes of its pairs, with and without regard to the order of the texts.

    Codes are shared by all tables. Texts count as they are, but for space around them; where there is none, the graph
    stands for it.
    """
    asked = any("question" in part.table.column_names for part in parts)
    texts, questions, sizes = [], [], [len(part) for part in parts]
    for side in ("reference", "candidate"):
        texts += [_content(part, side) for part in parts]
    if asked:
        questions = [
            _plain(part.table.column("question"))
            if "question" in part.table.column_names
            else pa.chunked_array([pa.nulls(len(part), pa.string())])
            for part in parts
        ]
    both = codes(pa.table({"text": _join(texts)}), ["text"])
    half = sum(sizes)
    left, right = both[:half], both[half:]
    context = codes(pa.table({"q": _join(questions)}), ["q"]) if asked else np.zeros(half, dtype=np.int64)
    width = int(both.max(initial=0)) + 1

    def key(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        pair = np.unique(a * width + b, return_inverse=True)[1].reshape(-1)
        return pair + context * (int(pair.max(initial=0)) + 1)

    ordered, unordered = key(left, right), key(np.minimum(left, right), np.maximum(left, right))
    cuts = np.cumsum(sizes)[:-1]
    return list(zip(np.split(ordered, cuts), np.split(unordered, cuts), strict=True))


def _content(part: Pairs, side: str) -> pa.ChunkedArray:
    text = _plain(part.table.column(side))
    name = f"{side}_graph"
    if name not in part.table.column_names:
        return text
    return pc.if_else(pc.equal(text, ""), pc.fill_null(part.table.column(name), ""), text)


def _join(parts: list[pa.ChunkedArray]) -> pa.ChunkedArray:
    return pa.chunked_array([chunk for part in parts for chunk in part.chunks], pa.string())


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_list(column.type):
        column = pc.binary_join(column, "\x1f")
    return pc.utf8_trim_whitespace(column)
