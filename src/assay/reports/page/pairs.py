"""The pairs of a dataset with their categories, packed for the browser."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.analysis.data import ALL, ScoredDataset
from assay.analysis.errors.categories import (
    Category,
    TaggedPairs,
    categories_of_people,
    categorise_pairs,
    long_answer_mask,
    long_answer_warning,
)
from assay.analysis.errors.divergence import find_divergence, label_scale
from assay.analysis.errors.settings import Rule
from assay.reports.units import Unit

# Categories of the pairs on the page, in columns for the browser

#: The maximum number of pairs of a page that rules tag: those on which metrics and people differ most.
MAX_TAGGED_PAIRS = 10_000
#: A rule by which every pair diverges whose ranks of score and label differ at all.
_ANY_RANK_DIFFERENCE = Rule(by="rank", residual=1e-9)


@dataclass(frozen=True)
class TagColumns:
    """The tags of n pairs in columns: pair i has the tags ``starts[i]`` up to, not including, ``starts[i + 1]``.

    Attributes:
        about: lines for the reader: who gave categories, and to how many pairs.
        names: the names that a reader sees of the categories that occur, in the order of the vocabulary.
        starts: the index of the first tag of each pair, and the number of all tags, shape (n + 1,).
        categories: the index in *names* of each tag, shape (tags,).
        reasons: the reason for each tag, shape (tags,).
    """

    about: list[str]
    names: list[str]
    starts: NDArray[np.uint32]
    categories: NDArray[np.uint16]
    reasons: list[str]


def tag_pairs(data: ScoredDataset, max_tagged: int) -> TagColumns:
    """Return the categories of the pairs of a dataset.

    A category that people gave to a pair is kept; other pairs get categories from rules over their texts.

    Args:
        data: the dataset with its scores.
        max_tagged: the maximum number of pairs that the rules tag; 0 for none.
    """
    annotated_names = categories_of_people(data)
    tags: list[Sequence[Category]] = [
        [Category(name, "annotated in the data", "people")] if name else [] for name in annotated_names
    ]
    about = _annotation_lines(annotated_names)
    if max_tagged:
        rows = _choose_rows_to_tag(data, max_tagged)
        # without a declared scale, the labels of all pairs define it, and not only those of the chosen pairs
        facts = data.facts.model_copy(update={"scale": label_scale(data)})
        # the rules read texts and labels; scores and masks would be of another length than the chosen pairs
        chosen_pairs = replace(data, facts=facts, table=data.table.take(rows), scores={}, metrics={}, _masks={})
        tagged = categorise_pairs(chosen_pairs)
        for row, categories in zip(rows, tagged.categories, strict=True):
            tags[row] = categories
        long_answers = long_answer_warning(int(long_answer_mask(data).sum()), len(data))
        about += [*_rule_lines(annotated_names, len(rows)), *long_answers, *tagged.missing]
    elif not all(annotated_names):
        about.append("No categories were suggested by rules; assay report RUN --out DIR suggests them.")
    labels = TaggedPairs([tuple(row) for row in tags], []).labels
    codes = {name: code for code, name in enumerate(labels)}
    tags_in_order = list(chain.from_iterable(tags))
    return TagColumns(
        about,
        names=list(labels.values()),
        starts=np.cumsum([0, *map(len, tags)]).astype("<u4"),
        categories=np.array([codes[tag.name] for tag in tags_in_order], dtype="<u2"),
        reasons=[tag.reason for tag in tags_in_order],
    )


def _annotation_lines(annotated_names: Sequence[str]) -> list[str]:
    """Return a line, as a list, on the number of pairs that people gave a category; an empty list if there are none."""
    annotated_count = sum(map(bool, annotated_names))
    if not annotated_count:
        return []
    shares = f"{annotated_count:,} of {len(annotated_names):,}"
    return [f"People gave a category to {shares} pairs; only that one is shown there."]


def _rule_lines(annotated_names: Sequence[str], tagged_count: int) -> list[str]:
    """Return a line, as a list, on the pairs that the rules looked at; an empty list if people tagged every pair."""
    if all(annotated_names):
        return []
    pair_count = len(annotated_names)
    pairs = f"all {pair_count:,} pairs"
    if tagged_count != pair_count:
        pairs = f"{tagged_count:,} of {pair_count:,} pairs, those on which some metric and people differ most in rank"
    return [f"Categories are suggested by rules over the texts, here for {pairs}."]


def _choose_rows_to_tag(data: ScoredDataset, max_tagged: int) -> NDArray[np.intp]:
    """Return the rows of the pairs that the rules tag, in ascending order, shape (min(n, max_tagged),).

    Of more pairs, those with the largest rank difference under any metric are chosen.
    """
    if len(data) <= max_tagged:
        return np.arange(len(data))
    largest_distances = np.zeros(len(data))
    for metric in data.scores:
        divergence = find_divergence(data, metric, _ANY_RANK_DIFFERENCE)
        largest_distances[divergence.rows] = np.maximum(largest_distances[divergence.rows], divergence.distances)
    return np.sort(np.argsort(-largest_distances, kind="stable")[:max_tagged])


# The pairs of a dataset packed for the browser: columns of numbers, and each text once, compressed and in base64
#
# They are read by ``assets/data.js``. The unpacked bytes are: the length of the head as an unsigned 32-bit number; the
# head, JSON padded with spaces so that the columns start at a multiple of eight bytes; the columns, each at a multiple
# of eight bytes after the head. The entry ``columns`` of the head has the type, the first byte after the head, and the
# length of each column. All numbers are little-endian.

_ARRAY_TYPES = {
    "f4": "Float32Array",
    "f8": "Float64Array",
    "u1": "Uint8Array",
    "u2": "Uint16Array",
    "u4": "Uint32Array",
}
#: Alignment of columns in bytes: a browser reads 64-bit floats only from a multiple of their size.
_ALIGNMENT = 8
#: Level of gzip: higher levels take several times as long to save two per cent.
GZIP_LEVEL = 6


def pack_pairs(unit: Unit, tagged: TagColumns) -> str:
    """Return the pairs, labels, buckets, scores and tags of a dataset as base64 text; a missing score is NaN.

    Labels and scores are 32-bit floats; a column with a number too large or too small for 32 bits has 64-bit floats.
    """
    texts: dict[str, int] = {}
    columns: dict[str, NDArray[Any]] = {
        "label": _narrowest_floats(unit.data.labels),
        "class": unit.labels.codes,
    }
    for name in ("question", "reference", "candidate"):
        columns[name] = _text_codes(_text_column(unit, name), texts)
    buckets = [bucket for bucket in unit.data.buckets if bucket != ALL]
    for number, bucket in enumerate(buckets):
        columns[f"bucket-{number}"] = unit.data.buckets[bucket].astype(np.uint8)
    for number, scores in enumerate(unit.data.scores.values()):
        columns[f"score-{number}"] = _narrowest_floats(scores)
    columns["tag-start"] = tagged.starts
    columns["tag-category"] = tagged.categories
    columns["tag-reason"] = _text_codes(tagged.reasons, texts)
    head = {
        "n": len(unit.data),
        "ids": unit.data.table.column("pair_id").to_pylist(),
        "classes": unit.labels.titles,
        "buckets": buckets,
        "metrics": [
            {
                "name": name,
                "short": unit.names[name],
                "kind": metric.declared.kind,
                "higher": metric.declared.higher_is_better,
            }
            for name, metric in unit.data.metrics.items()
        ],
        "ranking": [list(unit.data.scores).index(name) for name in unit.ranking(unit.main_statistic)],
        "categories": tagged.names,
        "texts": list(texts),
    }
    # without the time of compression, equal pairs make equal text
    compressed = gzip.compress(_join_columns(head, columns), GZIP_LEVEL, mtime=0)
    return base64.b64encode(compressed).decode("ascii")


def _text_column(unit: Unit, name: str) -> Iterable[str]:
    """Return the texts of a column, one per pair, with several gold answers joined by bars.

    A missing cell is an empty text, and so are all if the dataset lacks the column.
    """
    if name not in unit.data.table.column_names:
        return [""] * len(unit.data)
    cells = unit.data.table.column(name).to_pylist()
    if name == "reference":
        return [" | ".join(cell or [""]) for cell in cells]
    return [cell or "" for cell in cells]


def _narrowest_floats(values: NDArray[np.float64]) -> NDArray[Any]:
    """Return numbers as 32-bit floats, or as 64-bit floats if one of them would overflow or become 0."""
    with np.errstate(over="ignore", under="ignore"):
        narrow_values = values.astype("<f4")
    is_representable = (np.isfinite(narrow_values) == np.isfinite(values)) & ((narrow_values == 0) == (values == 0))
    return narrow_values if is_representable.all() else values.astype("<f8")


def _text_codes(column: Iterable[str], texts: dict[str, int]) -> NDArray[np.uint32]:
    """Return the index of each text in *texts*, to which new texts are added; shape (n,)."""
    return np.array([texts.setdefault(text, len(texts)) for text in column], dtype="<u4")


def _join_columns(head: dict[str, Any], columns: dict[str, NDArray[Any]]) -> bytes:
    """Return the length of the head, the head and the columns as bytes, in the format that this section begins with."""
    positions, offset = {}, 0
    for name, column in columns.items():
        positions[name] = [_ARRAY_TYPES[column.dtype.str[1:]], offset, len(column)]
        offset += -(-column.nbytes // _ALIGNMENT) * _ALIGNMENT
    # a lone surrogate cannot be encoded as UTF-8; a JSON escape can express it
    encoded_head = json.dumps({**head, "columns": positions}, ensure_ascii=False).encode("utf-8", "backslashreplace")
    encoded_head += b" " * (-(4 + len(encoded_head)) % _ALIGNMENT)
    chunks = [len(encoded_head).to_bytes(4, "little"), encoded_head]
    for column in columns.values():
        chunks += [column.tobytes(), bytes(-column.nbytes % _ALIGNMENT)]
    return b"".join(chunks)
