"""The pairs of a dataset with their categories, packed for the browser."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.reports.data import ALL, ScoredDataset
from assay.reports.errors.categories import (
    Category,
    Tagged,
    about_long_answers,
    categories_of_people,
    tag_all,
    too_long,
)
from assay.reports.errors.divergence import diverging, label_scale
from assay.reports.errors.settings import Rule
from assay.reports.units import Unit

# Categories of the pairs that the page lists, in columns for the browser.

#: Pairs of a page that the rules look at; where there are more, those on which metrics and people differ most.
MOST = 10_000
#: Every pair whose ranks of score and label differ at all.
_ANY = Rule(by="rank", residual=1e-9)


@dataclass(frozen=True)
class TagColumns:
    """Categories of n pairs; those of pair i are numbers ``starts[i]`` to ``starts[i + 1]`` of the other columns.

    Attributes:
        about: what was looked at and by whom, in lines.
        names: what a reader sees of the categories that occur, in the order of the vocabulary.
        starts: shape (n + 1,).
        categories: index into *names*, shape (tags,).
        reasons: why, shape (tags,).
    """

    about: list[str]
    names: list[str]
    starts: NDArray[np.uint32]
    categories: NDArray[np.uint16]
    reasons: list[str]


def tag_pairs(data: ScoredDataset, most: int) -> TagColumns:
    """Return the categories of the pairs of a dataset: those of people, else what the rules find on *most* pairs."""
    people = categories_of_people(data)
    tags: list[Sequence[Category]] = [
        [Category(name, "annotated in the data", "people")] if name else [] for name in people
    ]
    about = _about_people(people)
    if most:
        rows = _choose(data, most)
        # the labels that occur give the scale where none is declared: those of all pairs, not of the chosen ones
        facts = data.facts.model_copy(update={"scale": label_scale(data)})
        chosen = tag_all(replace(data, facts=facts, table=data.table.take(rows), scores={}, metrics={}, _masks={}))
        for row, categories in zip(rows, chosen.categories, strict=True):
            tags[row] = categories
        long_answers = about_long_answers(int(too_long(data).sum()), len(data))
        about += [*_about_rules(people, len(rows)), *long_answers, *chosen.missing]
    elif not all(people):
        about.append("Rules that suggest categories did not look at the pairs; assay report RUN --out DIR asks them.")
    labels = Tagged([tuple(row) for row in tags], []).labels
    codes = {name: code for code, name in enumerate(labels)}
    return TagColumns(
        about,
        list(labels.values()),
        np.cumsum([0, *map(len, tags)]).astype("<u4"),
        np.array([codes[tag.name] for row in tags for tag in row], dtype="<u2"),
        [tag.reason for row in tags for tag in row],
    )


def _about_people(people: Sequence[str]) -> list[str]:
    by_people = sum(map(bool, people))
    if not by_people:
        return []
    return [f"People gave a category to {by_people:,} of {len(people):,} pairs; it stands alone there."]


def _about_rules(people: Sequence[str], looked_at: int) -> list[str]:
    n = len(people)
    if all(people):
        return []
    how_many = f"all {n:,}" if looked_at == n else f"{looked_at:,} of {n:,}"
    which = "" if looked_at == n else ", those on which some metric and people differ most in rank"
    return [f"Categories are suggestions of rules over the texts, which looked at {how_many} pairs{which}."]


def _choose(data: ScoredDataset, most: int) -> NDArray[np.intp]:
    """Return the pairs for the rules: all, or the *most* with the largest difference of ranks under some metric."""
    if len(data) <= most:
        return np.arange(len(data))
    largest = np.zeros(len(data))
    for metric in data.scores:
        divergence = diverging(data, metric, _ANY)
        largest[divergence.rows] = np.maximum(largest[divergence.rows], divergence.distances)
    return np.sort(np.argsort(-largest, kind="stable")[:most])


# The pairs of a dataset packed for the browser: columns of numbers, texts once each, compressed, in base64.
#
# Read by ``assets/data.js``. Unpacked, the bytes are: the length of the head as an unsigned 32-bit number; the head,
# JSON padded with spaces so that the columns start at a multiple of eight; the columns, each at a multiple of eight
# after the head. The head's ``columns`` gives kind, first byte after the head, and length of each. All numbers are
# little-endian.

_KINDS = {"f4": "Float32Array", "f8": "Float64Array", "u1": "Uint8Array", "u2": "Uint16Array", "u4": "Uint32Array"}
#: A browser reads 64-bit floats only from a multiple of their size.
_STEP = 8
#: Level of gzip: higher ones take several times as long for two hundredths less.
LEVEL = 6


def pack(unit: Unit, tagged: TagColumns) -> str:
    """Return pairs, labels, buckets, scores and tags of a dataset; a score is NaN where there is none.

    Labels and scores are 32-bit floats, or 64-bit ones where a number is too large or too small for 32 bits.
    """
    texts: dict[str, int] = {}
    columns: dict[str, NDArray[Any]] = {
        "label": _floats(unit.data.labels),
        "class": unit.labels.codes,
    }
    for name in ("question", "reference", "candidate"):
        columns[name] = _codes(_column(unit, name), texts)
    buckets = [bucket for bucket in unit.data.buckets if bucket != ALL]
    for number, bucket in enumerate(buckets):
        columns[f"bucket-{number}"] = unit.data.buckets[bucket].astype(np.uint8)
    for number, scores in enumerate(unit.data.scores.values()):
        columns[f"score-{number}"] = _floats(scores)
    columns["tag-start"] = tagged.starts
    columns["tag-category"] = tagged.categories
    columns["tag-reason"] = _codes(tagged.reasons, texts)
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
    return base64.b64encode(gzip.compress(_join(head, columns), LEVEL, mtime=0)).decode("ascii")


def _column(unit: Unit, name: str) -> Iterable[str]:
    if name not in unit.data.table.column_names:
        return [""] * len(unit.data)
    cells = unit.data.table.column(name).to_pylist()
    if name == "reference":
        return [" | ".join(cell or [""]) for cell in cells]
    return [cell or "" for cell in cells]


def _floats(values: NDArray[np.float64]) -> NDArray[Any]:
    with np.errstate(over="ignore", under="ignore"):
        short = values.astype("<f4")
    fits = (np.isfinite(short) == np.isfinite(values)) & ((short == 0) == (values == 0))
    return short if fits.all() else values.astype("<f8")


def _codes(column: Iterable[str], texts: dict[str, int]) -> NDArray[np.uint32]:
    return np.array([texts.setdefault(text, len(texts)) for text in column], dtype="<u4")


def _join(head: dict[str, Any], columns: dict[str, NDArray[Any]]) -> bytes:
    positions, offset = {}, 0
    for name, column in columns.items():
        positions[name] = [_KINDS[column.dtype.str[1:]], offset, len(column)]
        offset += -(-column.nbytes // _STEP) * _STEP
    # half a surrogate pair cannot be written as UTF-8, but as an escape of JSON
    written = json.dumps({**head, "columns": positions}, ensure_ascii=False).encode("utf-8", "backslashreplace")
    written += b" " * (-(4 + len(written)) % _STEP)
    parts = [len(written).to_bytes(4, "little"), written]
    for column in columns.values():
        parts += [column.tobytes(), bytes(-column.nbytes % _STEP)]
    return b"".join(parts)
