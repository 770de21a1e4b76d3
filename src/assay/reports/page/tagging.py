"""Categories of the pairs that the page lists, in columns for the browser."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from assay.reports.data import ScoredDataset
from assay.reports.errors.divergence import Rule, diverging, label_scale
from assay.reports.errors.tagged import Category, Tagged, categories_of_people, tag_all

__all__ = ["MOST", "TagColumns", "tag_pairs"]

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
        facts = {**data.facts, "scale": label_scale(data)}
        chosen = tag_all(replace(data, facts=facts, table=data.table.take(rows), scores={}, metrics={}, _masks={}))
        for row, found in zip(rows, chosen.categories, strict=True):
            tags[row] = found
        about += [*_about_rules(people, len(rows)), *chosen.missing]
    elif not all(people):
        about.append("Rules that suggest categories did not look at the pairs; assay report RUN --out DIR asks them.")
    labels = Tagged([tuple(row) for row in tags], []).labels
    places = {name: place for place, name in enumerate(labels)}
    return TagColumns(
        about,
        list(labels.values()),
        np.cumsum([0, *map(len, tags)]).astype("<u4"),
        np.array([places[tag.name] for row in tags for tag in row], dtype="<u2"),
        [tag.reason for row in tags for tag in row],
    )


def _about_people(people: Sequence[str]) -> list[str]:
    by_people = sum(map(bool, people))
    return (
        [f"People gave a category to {by_people:,} of {len(people):,} pairs; it stands alone there."]
        if by_people
        else []
    )


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
        found = diverging(data, metric, _ANY)
        largest[found.rows] = np.maximum(largest[found.rows], found.distances)
    return np.sort(np.argsort(-largest, kind="stable")[:most])
