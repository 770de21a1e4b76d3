"""The categories of every pair of a dataset, and their frequencies among the diverging pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.analysis.categories.vocabulary import CATEGORIES, Tag, from_people, label_of_rules
from assay.analysis.data import ScoredDataset
from assay.analysis.errors.divergence import Divergence, label_scale
from assay.common.numbers import Number
from assay.settings import Resampling
from assay.statistics.coefficients import MIN_UNITS as FEWEST_UNITS
from assay.statistics.intervals import percentile_interval
from assay.statistics.resampling import Resampler
from assay.statistics.shares import share_interval

if TYPE_CHECKING:
    from assay.analysis.categories import PartsOfSpeech

# Categories of pairs: by people if they gave one, else by the rules

#: Number of words of the longest answer that the rules can read. In longer answers they find a category as often as in
#: unrelated ones (measured in docs/error-rules.md).
MAX_WORDS = 20
#: Share of pairs with a longer answer from which on the reader is warned.
MAX_SHARE_OF_LONG_ANSWERS = 0.1
#: Number of pairs whose parts of speech are read in one batch.
_BATCH_PAIRS = 2000


@dataclass(frozen=True)
class Category:
    """A category of a pair.

    Attributes:
        name: a key of :data:`assay.analysis.categories.CATEGORIES`, or another name that people gave.
        reason: the evidence for it, in words.
        source: who assigned it, people or rules.
    """

    name: str
    reason: str
    source: Literal["people", "rules"]

    @property
    def label(self) -> str:
        """The name that a reader sees."""
        return self.name if self.source == "people" else label_of_rules(self.name)


@dataclass(frozen=True)
class TaggedPairs:
    """The categories of the n pairs of a dataset.

    Attributes:
        categories: the categories of each pair, the one that explains most first; one tuple per pair.
        missing: lines on packages and data that the rules lack and how to install them, and on the pipeline that read
            parts of speech.
    """

    categories: Sequence[tuple[Category, ...]]
    missing: list[str]

    @cached_property
    def masks(self) -> dict[str, NDArray[np.bool_]]:
        """The mask of the pairs with each category that occurs, shape (n,) each, by the name of the category.

        The names are in the order of the vocabulary; names that only people gave come last.
        """
        masks: dict[str, NDArray[np.bool_]] = {}
        for row, categories in enumerate(self.categories):
            for category in categories:
                mask = masks.setdefault(category.name, np.zeros(len(self.categories), dtype=bool))
                mask[row] = True
        known_names = [name for name in CATEGORIES if name in masks]
        return {name: masks[name] for name in [*known_names, *sorted(masks.keys() - set(known_names))]}

    @cached_property
    def labels(self) -> dict[str, str]:
        """The name that a reader sees of each category that occurs, by its name.

        A name that people gave to any pair is shown as it is, another one as that of a category by rules.
        """
        names_by_people = set()
        for categories in self.categories:
            names_by_people |= {category.name for category in categories if category.source == "people"}
        return {name: name if name in names_by_people else label_of_rules(name) for name in self.masks}


def categories_of_people(data: ScoredDataset) -> list[str]:
    """Return the category that people gave to each pair, one per pair; an empty string if they gave none.

    It is read from the column ``category``, or from ``subset`` in the probe set, which was written by category.
    """
    column = "subset" if data.facts.kind == "probe" else "category"
    if column not in data.table.column_names:
        return [""] * len(data)
    return [from_people(str(name)) if name else "" for name in data.table.column(column).to_pylist()]


def tag_by_rules(
    data: ScoredDataset, scale: tuple[float, float] | None = None, speech: PartsOfSpeech | None = None
) -> tuple[list[tuple[Tag, ...]], list[str]]:
    """Return the tags of the rules for each pair, and lines on packages and data that the rules lack.

    Categories that people gave are ignored. Of several gold answers, the one that shares most words with the candidate
    is read (the first one in a tie). The language is that of the pair if the data has one, else that of the dataset.

    Args:
        data: n pairs.
        scale: the lowest and the highest label; that of the data by default, see :func:`label_scale`.
        speech: the tagger of parts of speech; None for none.

    Raises:
        UnavailableError: WordNet is installed, and NLTK refuses it because of its permissions.
    """
    from assay.analysis.categories import Tagger

    pairs = _pair_texts(data)
    labels = data.labels.tolist()
    languages = dict.fromkeys(pair.language for pair in pairs)
    taggers = {language: Tagger(language, speech) for language in languages}
    lowest_and_highest = scale or label_scale(data)
    tags = []
    for start in range(0, len(pairs), _BATCH_PAIRS):
        batch = pairs[start : start + _BATCH_PAIRS]
        for language, tagger in taggers.items():
            in_language = [pair.texts for pair in batch if pair.language == language]
            tagger.read_ahead(chain.from_iterable(in_language))
        for pair, label in zip(batch, labels[start : start + _BATCH_PAIRS], strict=True):
            tags.append(taggers[pair.language].tag(*pair.texts, label=label, scale=lowest_and_highest))
    missing = dict.fromkeys(chain.from_iterable(tagger.missing() for tagger in taggers.values()))
    return tags, list(missing)


class _PairTexts(NamedTuple):
    """Reference, candidate and question of a pair, and the language of the pair."""

    texts: tuple[str, str, str]
    language: str


def _pair_texts(data: ScoredDataset) -> list[_PairTexts]:
    """Return the texts and the language of every pair, with the gold answer nearest to the candidate.

    Missing texts are empty. A pair without a language has that of the dataset, else English.
    """
    columns = []
    for name in ("reference", "candidate", "question", "language"):
        is_present = name in data.table.column_names
        columns.append(data.table.column(name).to_pylist() if is_present else [None] * len(data))
    rows = []
    for golds, candidate, question, language in zip(*columns, strict=True):
        texts = (_closest_gold_answer(golds or [""], candidate or ""), candidate or "", question or "")
        rows.append(_PairTexts(texts, language or data.facts.language or "en"))
    return rows


def categorise_pairs(
    data: ScoredDataset, scale: tuple[float, float] | None = None, speech: PartsOfSpeech | None = None
) -> TaggedPairs:
    """Return the categories of every pair: the one that people gave, else those that the rules find.

    Args:
        data: n pairs.
        scale: the lowest and the highest label; that of the data by default, see :func:`label_scale`.
        speech: the tagger of parts of speech; None for none.

    Raises:
        UnavailableError: the rules are needed, and NLTK refuses WordNet because of its permissions.
    """
    names_by_people = categories_of_people(data)
    tags_by_rules: list[tuple[Tag, ...]] = [()] * len(data)
    missing: list[str] = []
    if not all(names_by_people):
        tags_by_rules, missing = tag_by_rules(data, scale, speech)
    categories: list[tuple[Category, ...]] = []
    for name, tags in zip(names_by_people, tags_by_rules, strict=True):
        if name:
            categories.append((Category(name, "annotated in the data", "people"),))
        else:
            categories.append(tuple(Category(tag.category, tag.reason, "rules") for tag in tags))
    return TaggedPairs(categories, missing)


def long_answer_mask(data: ScoredDataset) -> NDArray[np.bool_]:
    """Return the mask of the pairs with an answer of more than :data:`MAX_WORDS` words and no category by people.

    The mask has shape (n,).
    """
    mask = np.zeros(len(data), dtype=bool)
    for row, (pair, category) in enumerate(zip(_pair_texts(data), categories_of_people(data), strict=True)):
        reference, candidate, _ = pair.texts
        is_long = max(len(reference.split()), len(candidate.split())) > MAX_WORDS
        mask[row] = is_long and not category
    return mask


def long_answer_warning(long_count: int, n: int, detail: str = "") -> list[str]:
    """Return a warning that the categories are unreliable, as a list of one line; empty if few answers are too long.

    Args:
        long_count: the number of pairs with an answer that is too long for the rules.
        n: the number of all pairs.
        detail: words about the pairs with long answers, which are inserted after their number.
    """
    if not n or long_count < MAX_SHARE_OF_LONG_ANSWERS * n:
        return []
    which_pairs = f"{long_count:,} of {n:,} pairs{detail}"
    line = f"The categories are unreliable: {which_pairs} have an answer of more than {MAX_WORDS} words, "
    return [line + "in which the rules find a category as often as in an unrelated answer."]


def _closest_gold_answer(golds: Sequence[str], candidate: str) -> str:
    """Return the gold answer that shares most words with the candidate; in a tie, the first one of them."""
    if len(golds) == 1:
        return golds[0]
    words = set(candidate.lower().split())
    return max(golds, key=lambda gold: len(words & set(gold.lower().split())))


# Frequencies of categories among the diverging pairs, and among all pairs

#: Number of diverging pairs of a category from which on its ratio has an interval; fewer resample to few values.
MIN_DIVERGING_PAIRS = 5


@dataclass(frozen=True)
class Share(Number):
    """A share of k in n pairs, with the interval of :func:`~assay.statistics.shares.share_interval`.

    It is undefined if n is 0, and has no interval if all n pairs are of one group.

    Attributes:
        count, of: the numbers k and n.
    """

    count: int = field(kw_only=True)
    of: int = field(kw_only=True)

    @classmethod
    def from_masks(
        cls,
        mask: NDArray[np.bool_],
        is_in_bucket: NDArray[np.bool_],
        confidence: float,
        groups: NDArray[np.intp] | None = None,
    ) -> Share:
        """Return the share of the pairs in *is_in_bucket* that are in *mask* as well; all arrays have shape (n,).

        Args:
            mask: the pairs that count.
            is_in_bucket: the pairs of which it is a share.
            confidence: the level of the interval.
            groups: codes of groups of dependent pairs; None for independent pairs.
        """
        hits = mask & is_in_bucket
        low, high = share_interval(hits, confidence, groups=groups, among=is_in_bucket) or (None, None)
        count, of = int(hits.sum()), int(is_in_bucket.sum())
        return cls(count / of if of else None, low, high, count=count, of=of)


@dataclass(frozen=True)
class Frequency:
    """How frequent one category is among the diverging pairs, compared with all pairs.

    Attributes:
        category: the name of the category.
        too_low, too_high: the numbers of diverging pairs with the category, scored too low and too high.
        diverging: the share of the diverging pairs that have the category.
        everywhere: the share of all considered pairs that have the category.
        ratio: *diverging* divided by *everywhere*, above 1 if the category is more frequent among errors, with the
            percentile interval from resamples of pairs (or of the groups of the run).
        has_too_few_pairs: whether fewer diverging pairs than :data:`MIN_DIVERGING_PAIRS` have the category, or there
            are too few resampled units for an interval.
    """

    category: str
    too_low: int
    too_high: int
    diverging: Share
    everywhere: Share
    ratio: Number
    has_too_few_pairs: bool


def frequencies_of(
    tagged: TaggedPairs,
    divergence: Divergence,
    groups: NDArray[np.intp] | None,
    drawing: Resampling,
    seed: Sequence[int],
) -> list[Frequency]:
    """Return the frequency of every category that a considered pair has, most diverging pairs first.

    Args:
        tagged: the categories of n pairs.
        divergence: the diverging pairs among them.
        groups: codes of groups that are resampled as a whole, shape (n,); None to resample pairs.
        drawing: how intervals are drawn.
        seed: the seed of the resamples, which is that of the considered bucket.
    """
    is_diverging, considered = divergence.mask, divergence.considered
    too_low = np.zeros_like(is_diverging)
    too_low[divergence.rows[divergence.too_low]] = True
    masks = {name: mask for name, mask in tagged.masks.items() if (mask & considered).any()}
    unit_count = int(considered.sum()) if groups is None else len(np.unique(groups[considered]))
    intervals = ratio_intervals(masks, divergence, groups, drawing, seed)
    rows = []
    for name, mask in masks.items():
        diverging = Share.from_masks(mask, is_diverging, drawing.confidence, groups)
        everywhere = Share.from_masks(mask, considered, drawing.confidence, groups)
        # undefined if no pair diverges; the category has a considered pair
        ratio = diverging.value / everywhere.value if diverging.value is not None and everywhere.value else None
        rows.append(
            Frequency(
                category=name,
                too_low=int((mask & too_low).sum()),
                too_high=int((mask & is_diverging & ~too_low).sum()),
                diverging=diverging,
                everywhere=everywhere,
                ratio=Number(ratio, *intervals.get(name, ())),
                has_too_few_pairs=unit_count < FEWEST_UNITS or diverging.count < MIN_DIVERGING_PAIRS,
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
    """Return the bounds (low, high) of the ratio of :class:`Frequency` by category.

    The considered pairs are resampled. The share of a category that all diverging pairs have does not vary between
    resamples: the lower bound of its own interval then bounds the ratio, too. A category without an interval is left
    out: one with fewer diverging pairs than :data:`MIN_DIVERGING_PAIRS`, or of too few resampled units.

    Args:
        masks: by category, which of n pairs have it, shape (n,).
        divergence: the diverging pairs among them, and those that were considered.
        groups: codes of groups that are resampled as a whole, shape (n,); None to resample pairs.
        drawing: how intervals are drawn; with 0 resamples, the result is empty.
        seed: the seed of the resamples.
    """
    names = [name for name, mask in masks.items() if int((mask & divergence.mask).sum()) >= MIN_DIVERGING_PAIRS]
    if not names or not drawing.resamples:
        return {}
    rows = np.flatnonzero(divergence.considered)
    codes = None if groups is None else np.unique(groups[rows], return_inverse=True)[1]
    has_category = np.stack([masks[name][rows] for name in names]).astype(np.float64)
    diverges = divergence.mask[rows].astype(np.float64)
    resampler = Resampler(len(rows), drawing.resamples, tuple(seed), codes)
    ratios_of_blocks = []
    for weights in resampler.blocks():
        diverging_shares = _shares_of_resamples(has_category * diverges, diverges, weights)
        all_shares = _shares_of_resamples(has_category, np.ones(len(rows)), weights)
        ratios_of_block = np.full_like(diverging_shares, np.nan)
        np.divide(diverging_shares, all_shares, out=ratios_of_block, where=all_shares > 0)
        ratios_of_blocks.append(ratios_of_block)
    ratios = np.concatenate(ratios_of_blocks, axis=1)
    intervals = {}
    for name, values, has in zip(names, ratios, has_category, strict=True):
        interval = percentile_interval(values, resampler.units, drawing.confidence)
        if interval is None:
            continue
        low, high = interval
        if has[diverges > 0].all():
            # every resample has the category in all errors, too: the share's own interval bounds the ratio
            bounds = share_interval(has * diverges, drawing.confidence, groups=codes, among=diverges)
            low = min(low, bounds[0] / float(has.mean())) if bounds else low
        intervals[name] = low, high
    return intervals


def _shares_of_resamples(
    has_category: NDArray[np.float64], is_in_bucket: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the share of each category in a subset of the pairs, in each of b resamples, shape (categories, b).

    Args:
        has_category: 1 for pairs in the subset that have the category, else 0, shape (categories, n).
        is_in_bucket: 1 for pairs in the subset, else 0, shape (n,).
        weights: how often each pair was drawn, shape (n, b).

    Returns:
        The shares; NaN if no pair of the subset was drawn.
    """
    sizes = np.broadcast_to(is_in_bucket @ weights, (len(has_category), weights.shape[1]))
    shares = np.full(sizes.shape, np.nan)
    np.divide(has_category @ weights, sizes, out=shares, where=sizes > 0)
    return shares
