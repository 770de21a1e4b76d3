"""The categories of every pair of a dataset, and how frequent each is among the diverging pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.reports.categories.vocabulary import CATEGORIES, Tag, from_people, label_of_rules
from assay.reports.data import ScoredDataset
from assay.reports.errors.divergence import Divergence, label_scale
from assay.settings import Resampling
from assay.statistics.agreement import FEWEST as FEWEST_UNITS
from assay.statistics.agreement import percentile_interval
from assay.statistics.resampling import Resampler

if TYPE_CHECKING:
    from assay.reports.categories import PartsOfSpeech

# Categories of pairs: those that people gave, else those by the rules

#: Words of the longest answer that the rules can read: in a longer one they find a category as often as in an unrelated
#: answer (measured in docs/errors.md).
LONG = 20
#: Share of pairs with a longer answer from which on a reader is told.
MANY_LONG = 0.1
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
        masks: dict[str, NDArray[np.bool_]] = {}
        for row, categories in enumerate(self.categories):
            for category in categories:
                mask = masks.setdefault(category.name, np.zeros(len(self.categories), dtype=bool))
                mask[row] = True
        known = [name for name in CATEGORIES if name in masks]
        return {name: masks[name] for name in [*known, *sorted(masks.keys() - set(known))]}

    @cached_property
    def labels(self) -> dict[str, str]:
        """What a reader sees of each category that occurs; the word of people where they gave it to any pair."""
        by_people = set()
        for categories in self.categories:
            by_people |= {category.name for category in categories if category.source == "people"}
        return {name: name if name in by_people else label_of_rules(name) for name in self.masks}


def categories_of_people(data: ScoredDataset) -> list[str]:
    """Return the category that people gave each pair, an empty string where they gave none; n of them.

    It stands in the column ``category``; in the probe set, which was written by category, in ``subset``.
    """
    column = "subset" if data.facts.kind == "probe" else "category"
    if column not in data.table.column_names:
        return [""] * len(data)
    return [from_people(str(name)) if name else "" for name in data.table.column(column).to_pylist()]


def tag_by_rules(
    data: ScoredDataset, scale: tuple[float, float] | None = None, speech: PartsOfSpeech | None = None
) -> tuple[list[tuple[Tag, ...]], list[str]]:
    """Return the tags of the rules for each pair, n of them, and lines on packages and data that the rules miss.

    Categories that people gave are not looked at.

    Of several gold answers, the one with most words of the candidate is looked at (the first of equal ones). The
    language is that of the pair where the data says it, else that of the dataset.

    Args:
        data: n pairs.
        scale: lowest and highest label; see :func:`label_scale` for the default.
        speech: what reads parts of speech.
    """
    from assay.reports.categories import Tagger

    rows = _texts_of(data)
    taggers = {language: Tagger(language, speech) for language in dict.fromkeys(row.language for row in rows)}
    ends = scale or label_scale(data)
    tags = []
    for start in range(0, len(rows), _AHEAD):
        batch = rows[start : start + _AHEAD]
        for language, tagger in taggers.items():
            tagger.read_ahead(text for row in batch if row.language == language for text in row.texts)
        for row, label in zip(batch, data.labels[start : start + _AHEAD].tolist(), strict=True):
            tags.append(taggers[row.language].tag(*row.texts, label=label, scale=ends))
    missing = dict.fromkeys(line for tagger in taggers.values() for line in tagger.missing())
    return tags, list(missing)


class _PairTexts(NamedTuple):
    """Reference, candidate and question of a pair, and their language."""

    texts: tuple[str, str, str]
    language: str


def _texts_of(data: ScoredDataset) -> list[_PairTexts]:
    """Return the texts of every pair with one gold answer, empty where there is none."""
    columns = {}
    for name in ("reference", "candidate", "question", "language"):
        present = name in data.table.column_names
        columns[name] = data.table.column(name).to_pylist() if present else [None] * len(data)
    rows = []
    for golds, candidate, question, language in zip(*columns.values(), strict=True):
        texts = (_nearest(golds or [""], candidate or ""), candidate or "", question or "")
        rows.append(_PairTexts(texts, language or data.facts.language or "en"))
    return rows


def tag_all(
    data: ScoredDataset, scale: tuple[float, float] | None = None, speech: PartsOfSpeech | None = None
) -> Tagged:
    """Return the categories of every pair: that of people where they gave one, else what the rules find.

    Args:
        data: n pairs.
        scale: lowest and highest label; see :func:`label_scale` for the default.
        speech: what reads parts of speech.
    """
    by_people = categories_of_people(data)
    rules: list[tuple[Tag, ...]] = [()] * len(data)
    missing: list[str] = []
    if not all(by_people):
        rules, missing = tag_by_rules(data, scale, speech)
    categories: list[tuple[Category, ...]] = []
    for name, tags in zip(by_people, rules, strict=True):
        if name:
            categories.append((Category(name, "annotated in the data", "people"),))
        else:
            categories.append(tuple(Category(tag.category, tag.reason, "rules") for tag in tags))
    return Tagged(categories, missing)


def too_long(data: ScoredDataset) -> NDArray[np.bool_]:
    """Return which pairs have an answer that is too long for the rules and no category of people, shape (n,)."""
    is_long = np.zeros(len(data), dtype=bool)
    for row, (pair, of_people) in enumerate(zip(_texts_of(data), categories_of_people(data), strict=True)):
        reference, candidate, _ = pair.texts
        is_long[row] = not of_people and max(len(reference.split()), len(candidate.split())) > LONG
    return is_long


def about_long_answers(long: int, n: int, which: str = "") -> list[str]:
    """Return a line on *long* of *n* pairs with an answer that is too long for the rules; none where they are few.

    Args:
        long: their number.
        n: pairs in all.
        which: more about the long ones, behind their number.
    """
    if not n or long < MANY_LONG * n:
        return []
    line = (
        f"The categories are unreliable: {long:,} of {n:,} pairs{which} have an answer of more than {LONG} words, in "
    )
    return [line + "which the rules find a category as often as in an unrelated answer."]


def _nearest(golds: Sequence[str], candidate: str) -> str:
    """Return the gold answer that has most words of the candidate, the first of equal ones."""
    if len(golds) == 1:
        return golds[0]
    words = set(candidate.lower().split())
    return max(golds, key=lambda gold: len(words & set(gold.lower().split())))


# Frequencies of categories among the pairs that diverge, and among all

#: Diverging pairs of a category that the interval of a ratio needs: fewer resample to the same few values.
FEWEST = 5


@dataclass(frozen=True)
class Share:
    """A share: k of n, with Wilson's interval.

    Source: Wilson, Probable Inference, the Law of Succession, and Statistical Inference (1927). It takes pairs as
    independent.

    Attributes:
        count, of: k and n.
        low, high: bounds of the interval; None where n is 0.
    """

    count: int
    of: int
    low: float | None
    high: float | None

    @property
    def value(self) -> float | None:
        """k / n, or None where n is 0."""
        return self.count / self.of if self.of else None

    @classmethod
    def count_in(cls, mask: NDArray[np.bool_], inside: NDArray[np.bool_], confidence: float) -> Share:
        """Count the pairs of a mask among those inside."""
        from scipy.stats import binomtest

        k, n = int((mask & inside).sum()), int(inside.sum())
        if not n:
            return cls(k, n, None, None)
        interval = binomtest(k, n).proportion_ci(confidence, method="wilson")
        return cls(k, n, float(interval.low), float(interval.high))


@dataclass(frozen=True)
class Frequency:
    """How frequent one category is among the diverging pairs, compared with all pairs.

    Attributes:
        category: its name.
        too_low, too_high: diverging pairs that have it, by side.
        diverging: its share of the diverging pairs.
        everywhere: its share of all pairs considered.
        ratio: the one divided by the other; None where undefined. Above 1, errors have it more often than pairs do.
        low, high: percentile interval of the ratio from resamples of pairs (or of the groups the run resampled by);
            None where there is none.
        few: whether diverging pairs (see :data:`FEWEST`), or what is resampled, are too few for an interval.
    """

    category: str
    too_low: int
    too_high: int
    diverging: Share
    everywhere: Share
    ratio: float | None
    low: float | None
    high: float | None
    few: bool


def frequencies(
    tagged: Tagged, divergence: Divergence, groups: NDArray[np.intp] | None, drawing: Resampling, seed: Sequence[int]
) -> list[Frequency]:
    """Return the frequency of every category that one of the pairs considered has, most diverging pairs first.

    Args:
        tagged: the categories of n pairs.
        divergence: which of them diverge.
        groups: codes of what is resampled as a whole, shape (n,); None for single pairs.
        drawing: of the intervals.
        seed: of the draws, that of the bucket looked at.
    """
    too_low = divergence.mask.copy()
    too_low[divergence.rows[~divergence.too_low]] = False
    masks = {name: mask for name, mask in tagged.masks.items() if (mask & divergence.considered).any()}
    units = int(divergence.considered.sum()) if groups is None else len(np.unique(groups[divergence.considered]))
    intervals = ratio_intervals(masks, divergence, groups, drawing, seed)
    rows = []
    for name, mask in masks.items():
        diverging = Share.count_in(mask, divergence.mask, drawing.confidence)
        everywhere = Share.count_in(mask, divergence.considered, drawing.confidence)
        ratio = diverging.value / everywhere.value if diverging.value is not None and everywhere.value else None
        low, high = intervals.get(name, (None, None))
        rows.append(
            Frequency(
                category=name,
                too_low=int((mask & too_low).sum()),
                too_high=int((mask & divergence.mask & ~too_low).sum()),
                diverging=diverging,
                everywhere=everywhere,
                ratio=ratio,
                low=low,
                high=high,
                few=units < FEWEST_UNITS or diverging.count < FEWEST,
            )
        )
    return sorted(rows, key=lambda row: -row.diverging.count)


def ratio_intervals(
    masks: Mapping[str, NDArray[np.bool_]],
    divergence: Divergence,
    groups: NDArray[np.intp] | None,
    drawing: Resampling,
    seed: Sequence[int],
) -> dict[str, tuple[float, float]]:
    """Return the interval of the ratio of every category that has :data:`FEWEST` diverging pairs or more.

    The pairs considered are resampled; arguments as for :func:`frequencies`.
    """
    names = [name for name, mask in masks.items() if int((mask & divergence.mask).sum()) >= FEWEST]
    rows = np.flatnonzero(divergence.considered)
    if not names or not drawing.resamples:
        return {}
    codes = None if groups is None else np.unique(groups[rows], return_inverse=True)[1]
    everywhere = np.stack([masks[name][rows] for name in names]).astype(np.float64)
    diverges = divergence.mask[rows].astype(np.float64)
    resampler = Resampler(len(rows), drawing.resamples, tuple(seed), codes)
    drawn = []
    for weights in resampler.blocks():
        shares = _shares(everywhere * diverges, diverges, weights), _shares(everywhere, np.ones(len(rows)), weights)
        drawn.append(np.divide(*shares, out=np.full_like(shares[0], np.nan), where=shares[1] > 0))
    ratios = np.concatenate(drawn, axis=1)
    intervals = {}
    for name, values in zip(names, ratios, strict=True):
        interval = percentile_interval(values, resampler.units, drawing.confidence)
        if interval is not None:
            intervals[name] = interval
    return intervals


def _shares(
    having: NDArray[np.float64], inside: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the share of each category in a part, by resample, shape (categories, b); NaN where the part is empty."""
    sizes = np.broadcast_to(inside @ weights, (len(having), weights.shape[1]))
    shares = np.full(sizes.shape, np.nan)
    np.divide(having @ weights, sizes, out=shares, where=sizes > 0)
    return shares
