"""The categories of every pair of a dataset: people's where they gave them, else what the rules find."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from assay.reports.categories import CATEGORIES, PartsOfSpeech, Tag, Tagger, from_people
from assay.reports.categories.vocabulary import label_of_rules
from assay.reports.data import ScoredDataset
from assay.reports.errors.divergence import label_scale

__all__ = ["Category", "Tagged", "categories_of_people", "tag_all", "tag_by_rules"]

#: Pairs whose parts of speech are read at once.
_AHEAD = 2000


@dataclass(frozen=True)
class Category:
    """A category of a pair.

    Attributes:
        name: as in :data:`assay.reports.categories.CATEGORIES`, or another one that people gave.
        reason: what speaks for it.
        source: who gave it.
    """

    name: str
    reason: str
    source: Literal["people", "rules"]

    @property
    def label(self) -> str:
        """What a reader sees."""
        return self.name if self.source == "people" else label_of_rules(self.name)


@dataclass(frozen=True)
class Tagged:
    """The categories of the n pairs of a dataset.

    Attributes:
        categories: of each pair, what explains most first; n of them.
        missing: lines on what could not be found, and how to get it; and on the pipeline that read parts of speech.
    """

    categories: Sequence[tuple[Category, ...]]
    missing: list[str]

    @cached_property
    def masks(self) -> dict[str, NDArray[np.bool_]]:
        """Which pairs have each category that occurs, shape (n,), in the order of the table of categories."""
        found: dict[str, NDArray[np.bool_]] = {}
        for row, given in enumerate(self.categories):
            for one in given:
                mask = found.setdefault(one.name, np.zeros(len(self.categories), dtype=bool))
                mask[row] = True
        known = [name for name in CATEGORIES if name in found]
        return {name: found[name] for name in [*known, *sorted(found.keys() - set(known))]}

    @cached_property
    def labels(self) -> dict[str, str]:
        """What a reader sees of each category that occurs; the word of people where they gave it to any pair."""
        given = {(one.name, one.source) for own in self.categories for one in own}
        return {name: name if (name, "people") in given else label_of_rules(name) for name in self.masks}


def categories_of_people(data: ScoredDataset) -> list[str]:
    """Return the category that people gave each pair, an empty string where they gave none; n of them.

    It stands in the column ``category``; in the probe set, which was written by category, in ``subset``.
    """
    column = "subset" if data.facts.get("kind") == "probe" else "category"
    if column not in data.table.column_names:
        return [""] * len(data)
    return [from_people(str(name)) if name else "" for name in data.table.column(column).to_pylist()]


def tag_by_rules(
    data: ScoredDataset, scale: tuple[float, float] | None = None, speech: PartsOfSpeech | None = None
) -> tuple[list[tuple[Tag, ...]], list[str]]:
    """Return what the rules find on each pair, whatever people gave, and what they lack here.

    Of several gold answers, the one with most words of the candidate is looked at (the first of equal ones). The
    language is that of the pair where the data says it, else that of the dataset.

    Args:
        data: n pairs.
        scale: lowest and highest label; see :func:`label_scale` for the default.
        speech: what reads parts of speech.
    """
    columns = {
        name: data.table.column(name).to_pylist() if name in data.table.column_names else [None] * len(data)
        for name in ("reference", "candidate", "question", "language")
    }
    language = data.facts.get("language") or "en"
    rows = [
        (_nearest(golds or [""], candidate or ""), candidate or "", question or "", spoken or language)
        for golds, candidate, question, spoken in zip(*columns.values(), strict=True)
    ]
    taggers = {spoken: Tagger(spoken, speech) for spoken in dict.fromkeys(spoken for *_, spoken in rows)}
    ends = scale or label_scale(data)
    found = []
    for start in range(0, len(rows), _AHEAD):
        for spoken, tagger in taggers.items():
            tagger.read_ahead(text for *texts, own in rows[start : start + _AHEAD] if own == spoken for text in texts)
        for row, label in zip(rows[start : start + _AHEAD], data.labels[start : start + _AHEAD].tolist(), strict=True):
            *texts, spoken = row
            found.append(taggers[spoken].tag(*texts, label=label, scale=ends))
    missing = dict.fromkeys(line for tagger in taggers.values() for line in tagger.missing())
    return found, list(missing)


def tag_all(
    data: ScoredDataset, scale: tuple[float, float] | None = None, speech: PartsOfSpeech | None = None
) -> Tagged:
    """Return the categories of every pair: that of people where they gave one, else what the rules find.

    Args:
        data: n pairs.
        scale: lowest and highest label; see :func:`label_scale` for the default.
        speech: what reads parts of speech.
    """
    given = categories_of_people(data)
    rules: list[tuple[Tag, ...]] = [()] * len(data)
    missing: list[str] = []
    if not all(given):
        rules, missing = tag_by_rules(data, scale, speech)
    return Tagged(
        [
            (Category(name, "annotated in the data", "people"),)
            if name
            else tuple(Category(tag.category, tag.reason, "rules") for tag in tags)
            for name, tags in zip(given, rules, strict=True)
        ],
        missing,
    )


def _nearest(golds: Sequence[str], candidate: str) -> str:
    if len(golds) == 1:
        return golds[0]
    words = set(candidate.lower().split())
    return max(golds, key=lambda gold: len(words & set(gold.lower().split())))
