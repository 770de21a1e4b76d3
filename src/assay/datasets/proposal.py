"""A complete proposal for reading a table whose columns have other names: labels and separators by what cells hold.

It is only proposed, never read: a column of yes and no need not be a label.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import pyarrow as pa

from assay.common.tables import finite_number, is_text
from assay.datasets.columns import MissingColumnsError, SourceTable, parse_columns
from assay.datasets.gold_answers import likely_separator
from assay.datasets.labels import BINARY_WORD_PAIRS, MAX_PROPOSED_WORDS, MAX_SCALE_LABELS
from assay.datasets.reading import MISSING_WORDS, Reading, normalised_word

#: The share of the cells of a column that must be words of yes and no, so that the others are taken for missing labels.
MIN_SHARE_OF_WORDS = 0.8
#: Each label occurs this often on average, at least, or the numbers are identifiers, years or lengths.
MIN_REPEATS = 3


def completed(error: MissingColumnsError, source: SourceTable, reading: Reading) -> MissingColumnsError:
    """Return an error for missing columns that proposes the labels, what is missing among them, and a separator."""
    guess = parse_columns(error.columns)
    if all(source.isdecimal() for sources in guess.values() for source in sources):
        # numbers of columns: the first row is one of data, and names none
        return error
    table = source.table
    known = {name: sources for name, sources in guess.items() if set(sources) <= set(table.column_names)}
    missing: list[str] = []
    if "label" in guess and "label" not in known:
        labels, missing = _label_columns(table, {name for sources in known.values() for name in sources})
        if labels:
            guess["label"] = labels
    separator = None
    if reading.separator is None and {"reference", "candidate"} <= known.keys():
        separator = _separator(table, known)
    options = {"separator": separator, "missing": ",".join(missing) if reading.missing is None and missing else None}
    columns = ",".join(f"{name}={'+'.join(sources)}" for name, sources in guess.items())
    return MissingColumnsError(error.problem, columns, remark=error.remark, options=options)


def _separator(table: pa.Table, known: Mapping[str, Sequence[str]]) -> str | None:
    columns = [table.column(known[name][0]) for name in ("reference", "candidate")]
    if not all(is_text(column.type) for column in columns):
        return None
    references, candidates = (column.cast(pa.string()).fill_null("") for column in columns)
    return likely_separator(references, candidates)


def _label_columns(table: pa.Table, used: set[str]) -> tuple[list[str], list[str]]:
    """Return the unused columns that look like the labels of people, and their words that are no labels.

    They have words of yes and no, else few numbers of overlapping scales. If two kinds of columns do, none is returned.
    """
    words: dict[tuple[str, str], list[str]] = {}
    numbers: dict[str, tuple[float, float]] = {}
    missing: dict[str, str] = {}
    for name in table.column_names:
        if name in used:
            continue
        cells = Counter(str(cell) for cell in table.column(name).to_pylist() if cell is not None)
        counts: Counter[str] = Counter()
        for cell, count in cells.items():
            if normalised_word(cell) not in MISSING_WORDS:
                counts[normalised_word(cell)] += count
        total = sum(counts.values())
        if not total:
            continue
        pair = max(BINARY_WORD_PAIRS, key=lambda pair: sum(counts[word] for word in pair))
        if sum(counts[word] for word in pair) >= MIN_SHARE_OF_WORDS * total and len(counts) <= MAX_PROPOSED_WORDS:
            words.setdefault(pair, []).append(name)
            missing |= {word: word for word in counts if word not in pair}
            continue
        values = [number for word in counts if (number := finite_number(word)) is not None]
        if 2 <= len(values) == len(counts) <= min(MAX_SCALE_LABELS, total / MIN_REPEATS):
            numbers[name] = (min(values), max(values))
    if words:
        return (next(iter(words.values())), list(missing)) if len(words) == 1 else ([], [])
    lowest_top = min((high for _, high in numbers.values()), default=0.0)
    overlap = all(low < lowest_top for low, _ in numbers.values())
    return (list(numbers), []) if overlap else ([], [])
