"""The categories of all pairs of a dataset, in columns: those that people gave, and those of rules over the texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from assay.analysis.data import ScoredDataset
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

#: The maximum number of pairs that rules tag: those on which metrics and people differ most.
MAX_TAGGED_PAIRS = 10_000


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
    """Return the categories of the pairs of a dataset, in columns, with lines on their origin.

    A category that people gave to a pair is kept; other pairs get categories from rules over their texts. If there are
    more pairs than rules may tag, those on which some metric and people differ most in rank are tagged.

    Args:
        data: the dataset with its scores.
        max_tagged: the maximum number of pairs that the rules tag; 0 for none.
    """
    annotated_names = categories_of_people(data)
    categories_of_pairs: list[Sequence[Category]] = [
        [Category(name, "annotated in the data", "people")] if name else [] for name in annotated_names
    ]
    annotated_count = sum(map(bool, annotated_names))
    about = []
    if annotated_count:
        shares = f"{annotated_count:,} of {len(annotated_names):,}"
        about.append(f"People gave a category to {shares} pairs; only that one is shown there.")
    if max_tagged:
        rows = _choose_rows_to_tag(data, max_tagged)
        # without a declared scale, the labels of all pairs define it, and not only those of the chosen pairs
        facts = data.facts.model_copy(update={"scale": label_scale(data)})
        # the rules read texts and labels; scores and masks would be of another length than the chosen pairs
        chosen_pairs = replace(data, facts=facts, table=data.table.take(rows), scores={}, metrics={}, buckets={})
        tagged = categorise_pairs(chosen_pairs)
        for row, categories in zip(rows, tagged.categories, strict=True):
            categories_of_pairs[row] = categories
        long_answers = long_answer_warning(int(long_answer_mask(data).sum()), len(data))
        about += [*_rule_lines(annotated_names, len(rows)), *long_answers, *tagged.missing]
    elif not all(annotated_names):
        about.append("No categories were suggested by rules; assay report RUN --out DIR suggests them.")
    tags = list(chain.from_iterable(categories_of_pairs))
    labels = TaggedPairs([tuple(categories) for categories in categories_of_pairs], []).labels if tags else {}
    codes = {name: code for code, name in enumerate(labels)}
    return TagColumns(
        about=about,
        names=list(labels.values()),
        starts=np.cumsum([0, *map(len, categories_of_pairs)]).astype("<u4"),
        categories=np.array([codes[tag.name] for tag in tags], dtype="<u2"),
        reasons=[tag.reason for tag in tags],
    )


def _rule_lines(annotated_names: Sequence[str], tagged_count: int) -> list[str]:
    """Return a line, as a list, on the pairs that the rules looked at; an empty list if people tagged every pair.

    Args:
        annotated_names: the category that people gave to each pair; empty for none.
        tagged_count: the number of pairs that the rules looked at.
    """
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
    # a rule by which every pair diverges whose ranks of score and label differ at all
    any_rank_difference = Rule(by="rank", residual=1e-9)
    largest_distances = np.zeros(len(data))
    for metric in data.scores:
        divergence = find_divergence(data, metric, any_rank_difference)
        largest_distances[divergence.rows] = np.maximum(largest_distances[divergence.rows], divergence.distances)
    return np.sort(np.argsort(-largest_distances, kind="stable")[:max_tagged])
