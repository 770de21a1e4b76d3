"""Checks of labelled data: missing and invalid labels, duplicate pairs, leaks between splits, wrongly decoded texts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assay.common.tables import exact_number
from assay.datasets.annotation_graph import describe_graph, graph_line, graph_of
from assay.datasets.card import Card
from assay.datasets.grouping import column_codes, effect_text, label_design_effect, suggest_groups
from assay.datasets.pairs import Pairs, row_codes

#: The characters that continuation bytes of UTF-8 become if read as Latin-1 or Windows-1252.
_MISREAD_CONTINUATION_BYTES = (
    "\u0080-\u00bf\u20ac\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\u017d"
    "\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\u017e\u0178"
)
#: A lead byte of UTF-8 read in that way, and a continuation byte.
_SUSPECT_PATTERN = f"[\u00c2-\u00f4][{_MISREAD_CONTINUATION_BYTES}]"
#: Sequences that hardly any text has on purpose: wrongly decoded accented letters, dashes and quotes, and signs.
_CERTAINLY_MISREAD = re.compile(
    f"\u00c3[{_MISREAD_CONTINUATION_BYTES}]"
    "|\u00e2\u20ac[\u0153\u009d\u2122\u02dc\u201c\u201d\u00a6\u00a2]"
    "|\u00e2\u0080[\u0090-\u00bf]"
    "|\u00c2[\u00a0-\u00bf]"
)

#: Checks of characters: the name and severity of the finding, the pattern to search for, and a description.
_CHARACTER_CHECKS = (
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
    if _CERTAINLY_MISREAD.search(text):
        return True
    for encoding in ("cp1252", "latin-1"):
        try:
            decoded = text.encode(encoding).decode("utf-8")
        except UnicodeError:
            continue
        # a text of ASCII characters alone keeps its length; only sequences of several bytes become shorter
        if len(decoded) < len(text):
            return True
    return False


def encoding_findings(table: pa.Table) -> list[tuple[str, str, np.ndarray[Any, Any], str]]:
    """Return (name, severity, row indices, description) for each check of characters that some rows fail.

    The row indices are ascending. Blank texts are among the checks; blank references only if others are not blank.

    Args:
        table: a pairs table with the columns reference and candidate, and question if there is one.
    """
    columns = []
    for name in ("question", "reference", "candidate"):
        if name in table.column_names:
            column = table.column(name)
            columns.append(pc.binary_join(column, "\n") if pa.types.is_list(column.type) else column)
    findings = []
    # only reference and candidate: a blank question is not a fault, nor is data without references
    blank_references, blank_candidates = (pc.equal(pc.utf8_trim_whitespace(column), "") for column in columns[-2:])
    has_references = not pc.all(blank_references).as_py()
    blank_rows = _rows_with_any([blank_references, blank_candidates] if has_references else [blank_candidates])
    if len(blank_rows):
        findings.append(("blank-texts", "note", blank_rows, "pairs with a blank text"))
    # a cheap search finds candidates, which are then decoded one by one
    suspects = _rows_with_any([pc.match_substring_regex(column, _SUSPECT_PATTERN) for column in columns])
    twice_encoded_rows = []
    for row in suspects:
        texts = [column[int(row)].as_py() or "" for column in columns]
        if any(map(looks_encoded_twice, texts)):
            twice_encoded_rows.append(int(row))
    if twice_encoded_rows:
        description = "pairs that look encoded twice (such as Ã¼ for ü)"
        findings.append(("encoded-twice", "warning", np.asarray(twice_encoded_rows), description))
    for name, severity, pattern, description in _CHARACTER_CHECKS:
        rows = _rows_with_any([pc.match_substring_regex(column, pattern) for column in columns])
        if len(rows):
            findings.append((name, severity, rows, description))
    return findings


def _rows_with_any(masks: list[pa.ChunkedArray]) -> np.ndarray[Any, Any]:
    """Return the ascending indices of the rows for which any mask is true; null counts as false."""
    total = np.zeros(len(masks[0]), dtype=bool)
    for mask in masks:
        total |= np.asarray(pc.fill_null(mask, False).to_numpy(zero_copy_only=False), dtype=bool)
    return np.flatnonzero(total)


#: The largest number of example pairs in a finding.
MAX_EXAMPLES = 3


@dataclass(frozen=True)
class DataFinding:
    """One finding in a dataset.

    Attributes:
        name: ``rows``, ``unlabelled``, ``out-of-scale``, ``constant-label``, ``duplicates``, ``swapped-duplicates``,
            ``conflicting-labels``, ``no-groups``, ``leaks``, ``shared-texts``, ``blank-texts`` or one of the encoding
            checks; ``annotation-graph`` and ``design-effect`` for measures that are not faults.
        severity: ``error`` (the data is wrong), ``warning`` (results may mislead) or ``note``.
        split: the split, or for ``shared-texts`` the dataset; several are joined by ``+``.
        count: the number of cases, in the unit of the message.
        message: one line that describes the finding.
        examples: up to three of the pairs, with pair_id, question, reference, candidate and label; of ``shared-texts``
            the text.
    """

    name: str
    severity: str
    split: str
    count: int
    message: str
    examples: tuple[dict[str, Any], ...] = ()


def check_dataset(pairs_by_split: Mapping[str, Pairs], card: Card | None = None) -> list[DataFinding]:
    """Return the findings in a dataset, first split by split and then across splits; empty if there is no fault.

    Two pairs are the same if question (if any) and both texts are equal, in either order of the texts. Splits of
    different aspects, which have the same pairs by design, are not compared with each other.

    Args:
        pairs_by_split: the pairs of each split by its name.
        card: the card, whose numbers of rows are compared; None for data without a card.
    """
    findings: list[DataFinding] = []
    for split, pairs in pairs_by_split.items():
        findings += _row_count_findings(split, pairs, card)
        findings += _label_findings(split, pairs)
        findings += _repeat_findings(split, pairs)
        findings += _group_findings(split, pairs)
        findings += [
            _rows_finding(name, severity, split, pairs, rows, description)
            for name, severity, rows, description in encoding_findings(pairs.table)
        ]
    # splits of different aspects have the same pairs by design
    aspects = {split: "" if card is None else card.splits[split].aspect for split in pairs_by_split}
    for aspect in dict.fromkeys(aspects.values()):
        findings += _leak_findings(
            {split: pairs for split, pairs in pairs_by_split.items() if aspects[split] == aspect}
        )
    return findings


def annotation_notes(pairs_by_split: Mapping[str, Pairs], *, directed: bool = False) -> list[DataFinding]:
    """Return a note on the annotation graph of each split, and of all splits together if there are several.

    Splits whose pairs have no reference or several gold answers, and so are not pairs of two texts, are left out. The
    notes are measures, not faults, so :func:`check_dataset` does not return them. The ``count`` of a note is the number
    of texts.

    Args:
        pairs_by_split: the pairs of each split by its name.
        directed: whether the order of two texts matters.
    """
    measurable = {}
    for split, pairs in pairs_by_split.items():
        if pairs.has_references and not pairs.has_several_references:
            measurable[split] = pairs
    tables_by_split = {split: [pairs] for split, pairs in measurable.items()}
    if len(measurable) > 1:
        tables_by_split["+".join(measurable)] = list(measurable.values())
    notes = []
    for split, tables in tables_by_split.items():
        graph = graph_of(tables, directed=directed)
        line = graph_line(describe_graph(graph))
        notes.append(DataFinding("annotation-graph", "note", split, len(graph.texts), line))
    return notes


def group_notes(pairs_by_split: Mapping[str, Pairs]) -> list[DataFinding]:
    """Return a note on the design effect of groups for each split with groups; ``count`` is the number of groups.

    A split without such an effect, since its labels are equal or it has a single group, has no note.
    """
    notes = []
    for split, pairs in pairs_by_split.items():
        codes = column_codes(pairs, "group") if "group" in pairs.table.column_names else None
        if codes is None:
            continue
        effect = label_design_effect(pairs, codes)
        if effect is not None:
            group_count = int(codes.max()) + 1
            line = f"{group_count:,} groups; {effect_text(effect)}"
            notes.append(DataFinding("design-effect", "note", split, group_count, line))
    return notes


def _group_findings(split: str, pairs: Pairs) -> list[DataFinding]:
    """Return a warning if the data has no groups but a column that looks like them, else an empty list."""
    suggested = suggest_groups(pairs)
    if suggested is None:
        return []
    effect = "" if suggested.effect is None else f"; {effect_text(suggested.effect)}"
    return [DataFinding("no-groups", "warning", split, suggested.groups, f"{suggested.message}{effect}")]


def _rows_finding(
    name: str, severity: str, split: str, pairs: Pairs, rows: np.ndarray[Any, Any], description: str
) -> DataFinding:
    """Return a finding on some rows of a split; its message is their number, followed by the description.

    Args:
        name: the name of the check.
        severity: ``error``, ``warning`` or ``note``.
        split: the name of the split.
        pairs: its pairs.
        rows: the indices of the rows, shape (m,).
        description: what these rows are, as it follows their number.
    """
    return DataFinding(
        name,
        severity,
        split,
        count=len(rows),
        message=f"{len(rows)} {description}",
        examples=_example_rows(pairs, rows),
    )


def _example_rows(pairs: Pairs, rows: np.ndarray[Any, Any]) -> tuple[dict[str, Any], ...]:
    """Return the first :data:`MAX_EXAMPLES` of the rows, each as its texts and label by column."""
    column_names = [
        name for name in ("pair_id", "question", "reference", "candidate", "label") if name in pairs.table.column_names
    ]
    row_indices = [int(row) for row in list(rows)[:MAX_EXAMPLES]]
    return tuple(pairs.table.select(column_names).take(pa.array(row_indices, pa.int64())).to_pylist())


def _row_count_findings(split: str, pairs: Pairs, card: Card | None) -> list[DataFinding]:
    """Return an error if the card gives another number of rows for the split, else an empty list."""
    expected = card.splits[split].rows if card is not None and split in card.splits else None
    if expected is None or expected == len(pairs):
        return []
    return [DataFinding("rows", "error", split, len(pairs), f"{len(pairs)} rows; the card says {expected}")]


def _label_findings(split: str, pairs: Pairs) -> list[DataFinding]:
    """Return findings on labels that are missing, outside the scale of the pairs, or all equal."""
    findings = []
    labels = pairs.labels
    unlabelled_rows = np.flatnonzero(np.isnan(labels))
    if len(unlabelled_rows):
        findings.append(_rows_finding("unlabelled", "warning", split, pairs, unlabelled_rows, "pairs without a label"))
    outside = pairs.rows_outside_scale
    if pairs.scale is not None and len(outside):
        description = f"labels outside {' to '.join(map(exact_number, pairs.scale))}"
        findings.append(_rows_finding("out-of-scale", "error", split, pairs, outside, description))
    if len(labels) > 1 and len(np.unique(labels[~np.isnan(labels)])) == 1:
        findings.append(DataFinding("constant-label", "warning", split, len(labels), "all labels are the same number"))
    return findings


def _repeat_findings(split: str, pairs: Pairs) -> list[DataFinding]:
    """Return findings on pairs that are repeated in the same order, in the other order, or with another label."""
    findings = []
    ordered_codes, unordered_codes = _pair_codes([pairs])[0]
    first_rows = np.unique(ordered_codes, return_index=True)[1]
    repeated_rows = np.setdiff1d(np.arange(len(ordered_codes)), first_rows)
    if len(repeated_rows):
        description = "rows repeat the two texts of an earlier row"
        findings.append(_rows_finding("duplicates", "warning", split, pairs, repeated_rows, description))
    # without the repeats, a second row with the same unordered code must have the texts in the other order
    first_rows = np.sort(first_rows)
    first_in_any_order = np.unique(unordered_codes[first_rows], return_index=True)[1]
    swapped_rows = np.setdiff1d(first_rows, first_rows[first_in_any_order])
    if len(swapped_rows):
        description = "pairs also appear in the other order"
        findings.append(_rows_finding("swapped-duplicates", "warning", split, pairs, swapped_rows, description))
    conflicting_rows = _conflicting_rows(unordered_codes, pairs.labels)
    if len(conflicting_rows):
        description = "pairs have several rows with different labels"
        findings.append(_rows_finding("conflicting-labels", "warning", split, pairs, conflicting_rows, description))
    return findings


def _conflicting_rows(keys: np.ndarray[Any, Any], labels: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the first row of each key that has different labels, ascending; a missing label is not counted.

    Args:
        keys: the keys of the pairs, shape (n,).
        labels: the labels of the pairs, shape (n,), NaN for unlabelled.
    """
    labelled = np.flatnonzero(~np.isnan(labels))
    # sorted by key and then by label, a key with several labels has two different ones next to each other
    rows_by_key = labelled[np.lexsort((labels[labelled], keys[labelled]))]
    sorted_keys, sorted_labels = keys[rows_by_key], labels[rows_by_key]
    has_same_key = sorted_keys[1:] == sorted_keys[:-1]
    has_different_label = sorted_labels[1:] != sorted_labels[:-1]
    conflicting_keys = sorted_keys[1:][has_same_key & has_different_label]
    return _first_rows_of_keys(keys, conflicting_keys)


def _first_rows_of_keys(keys: np.ndarray[Any, Any], wanted_keys: Any) -> np.ndarray[Any, Any]:
    """Return the first row of each wanted key, ascending; *keys* holds the key of every row."""
    distinct_keys, first_rows = np.unique(keys, return_index=True)
    return np.sort(first_rows[np.isin(distinct_keys, wanted_keys)])


def _leak_findings(pairs_by_split: Mapping[str, Pairs]) -> list[DataFinding]:
    """Return one finding per set of splits that share pairs, in either order of the texts.

    A pair counts once, for the set of all splits that it appears in. The examples are from the first of these splits.
    """
    keys_by_split: dict[str, np.ndarray[Any, Any]] = {}
    for split, (_, unordered_codes) in zip(pairs_by_split, _pair_codes(list(pairs_by_split.values())), strict=True):
        keys_by_split[split] = unordered_codes
    splits_of_key: dict[int, tuple[str, ...]] = {}
    for split, keys in keys_by_split.items():
        for key in np.unique(keys):
            splits_of_key[int(key)] = (*splits_of_key.get(int(key), ()), split)
    shared_keys: dict[tuple[str, ...], list[int]] = {}
    for key, splits in splits_of_key.items():
        if len(splits) > 1:
            shared_keys.setdefault(splits, []).append(key)
    findings = []
    for splits, leaked_keys in sorted(shared_keys.items()):
        leaked_rows = _first_rows_of_keys(keys_by_split[splits[0]], leaked_keys)
        examples = _example_rows(pairs_by_split[splits[0]], leaked_rows)
        message = f"{len(leaked_keys)} pairs appear in {' and '.join(splits)}"
        findings.append(
            DataFinding(
                name="leaks",
                severity="warning",
                split="+".join(splits),
                count=len(leaked_keys),
                message=message,
                examples=examples,
            )
        )
    return findings


def _pair_codes(tables: list[Pairs]) -> list[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
    """Return two codes per pair for each table, int64, shape (n,) each: by ordered texts, and by texts in any order.

    Pairs with equal texts and questions have equal codes across all tables. Texts are compared without the space around
    them; an empty text is replaced by its AMR graph.
    """
    references = [_texts_or_graphs(table, "reference") for table in tables]
    candidates = [_texts_or_graphs(table, "candidate") for table in tables]
    # references and candidates in one column, so that a text has one code on either side
    text_codes = row_codes(pa.table({"text": _concatenate_columns([*references, *candidates])}), ["text"])
    first, second = np.split(text_codes, 2)
    question_codes = _question_codes(tables)
    base = int(text_codes.max(initial=0)) + 1

    def combine_codes(one_side: np.ndarray[Any, Any], other_side: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        # one number for both texts and the question; renumbering keeps the products small, so that none overflows
        text_pair_codes = np.unique(one_side * base + other_side, return_inverse=True)[1].reshape(-1)
        return text_pair_codes + question_codes * (int(text_pair_codes.max(initial=0)) + 1)

    ordered_codes = combine_codes(first, second)
    unordered_codes = combine_codes(np.minimum(first, second), np.maximum(first, second))
    table_ends = np.cumsum([len(table) for table in tables])[:-1]
    return list(zip(np.split(ordered_codes, table_ends), np.split(unordered_codes, table_ends), strict=True))


def _question_codes(tables: list[Pairs]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the code of the question of each of all n pairs, int64, shape (n,); all 0 if no table has questions.

    The pairs of one table follow those of the one before, and equal questions have equal codes across all tables.
    """
    if not any("question" in table.table.column_names for table in tables):
        return np.zeros(sum(len(table) for table in tables), dtype=np.int64)
    questions = []
    for table in tables:
        if "question" in table.table.column_names:
            questions.append(_stripped_texts(table.table.column("question")))
        else:
            # null and not "": a pair without a question differs from one with an empty question
            questions.append(pa.chunked_array([pa.nulls(len(table), pa.string())]))
    return row_codes(pa.table({"question": _concatenate_columns(questions)}), ["question"])


def _texts_or_graphs(pairs: Pairs, side: str) -> pa.ChunkedArray:
    """Return the texts of a side, "reference" or "candidate"; for an empty text, its AMR graph if there is one."""
    texts = _stripped_texts(pairs.table.column(side))
    graph_column = f"{side}_graph"
    if graph_column not in pairs.table.column_names:
        return texts
    return pc.if_else(pc.equal(texts, ""), pc.fill_null(pairs.table.column(graph_column), ""), texts)


def _concatenate_columns(columns: list[pa.ChunkedArray]) -> pa.ChunkedArray:
    return pa.chunked_array([chunk for column in columns for chunk in column.chunks], pa.string())


def _stripped_texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column as texts without surrounding space; several gold answers are joined into one text."""
    if pa.types.is_list(column.type):
        # the unit separator hardly ever occurs in texts
        column = pc.binary_join(column, "\x1f")
    return pc.utf8_trim_whitespace(column)
