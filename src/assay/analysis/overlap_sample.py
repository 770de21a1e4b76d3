"""Pairs of sentences sampled by the overlap of their words, so that they are related to every degree.

Source: Abdalla, Vishnubhotla and Mohammad, What Makes Sentences Semantically Related? (2023), appendix A. Words are
lower-cased runs of letters, digits and underscores, as in the metric ``dice:paper``.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from assay.common.declarations import setting
from assay.common.messages import Setting
from assay.exceptions import InputError
from assay.settings import WithProgress, check_seed, parse_scale

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
Words = frozenset[str]
_RUN = re.compile(r"\w+")
#: Numbers of sentences up to which all their pairs are gone through in random order.
_MOST_FOR_ALL_PAIRS = 2_000
#: The number of random pairs of more sentences that are looked at before giving up.
_MOST_DRAWS = 20_000_000
#: The number of random pairs that are drawn at a time.
_DRAWS_AT_ONCE = 100_000


#: The ways of sampling that read a setting, where not all do.
_READ_BY = {
    "text": ("shared", "idf-dice"),
    "shared": ("shared",),
    "longer": ("shared",),
    "bins": ("dice", "idf-dice"),
    "growth": ("idf-dice",),
    "candidates": ("idf-dice",),
}


@dataclass(frozen=True)
class SampleSettings(WithProgress):
    """Which pairs are sampled, and by what."""

    file: str | Path = setting("Sentences (one a row, column text), or pairs (reference, candidate).", argument=True)
    _: KW_ONLY
    out: str | Path = setting("The pairs: CSV, TSV, JSONL or Parquet.", flags=("--out", "-o"), metavar="FILE")
    n: int = setting("How many pairs.", flags=("--n", "-n"), at_least=1)
    by: Literal["shared", "dice", "idf-dice"] = setting(
        "shared: pairs of sentences that share some words; dice: pairs, as many from each range of overlap; idf-dice: "
        "random pairs of sentences, more from higher ranges.",
        "shared",
        choices=("shared", "dice", "idf-dice"),
    )
    text: str = setting("The column of sentences.", "text", metavar="COLUMN")
    length: str = setting("The fewest and the most words of a sentence.", "5,25", parse=parse_scale, metavar="LOW,HIGH")
    shared: str = setting(
        "shared: the share of the first sentence's words, from the first number to below the second.",
        "0.25,0.75",
        parse=parse_scale,
        metavar="LOW,HIGH",
    )
    longer: float = setting("shared: the largest difference in length, as a share of the first sentence's.", 0.25)
    bins: int = setting("dice, idf-dice: ranges of overlap with as many pairs each.", 50, at_least=1)
    growth: float = setting("idf-dice: pairs of a range for each of the range below it.", 1.1, above=0)
    candidates: int = setting("idf-dice: random pairs to choose from.", 100_000, at_least=1)
    seed: int = setting("Seed of every random draw.", 0)

    def check(self) -> None:
        """Raise InputError for an invalid seed, a negative difference in length, or a setting that has no effect."""
        super().check()
        check_seed(self.seed)
        for field in fields(self):
            value = getattr(self, field.name)
            sampling_methods = _READ_BY.get(field.name, (self.by,))
            if self.by not in sampling_methods and value != field.default:
                raise InputError("goes with ", Setting("by", sampling_methods[0]), setting=field.name, value=value)
        # so written, NaN is refused as well
        if not self.longer >= 0:
            raise InputError("must not be negative", setting="longer", value=self.longer)


def words_of(text: str) -> list[str]:
    """Return the words of a text, in lower case."""
    return _RUN.findall(text.lower())


def dice(first: Words, second: Words, weights: Mapping[str, float] | None = None) -> float:
    """Return the Dice coefficient of two sets of words, in [0, 1]; 0 if they have no weight (equation 1).

    Args:
        first, second: the words.
        weights: the weight of each word, such as its inverse document frequency; None for 1 each.
    """

    def weight(words: Words) -> float:
        return float(len(words)) if weights is None else math.fsum(weights[word] for word in words)

    total = weight(first) + weight(second)
    return 2 * weight(first & second) / total if total else 0.0


def inverse_document_frequencies(texts: Sequence[Words]) -> dict[str, float]:
    """Return the natural logarithm of the number of texts over that of the texts with the word, for each word."""
    counts = Counter(word for words in texts for word in words)
    return {word: math.log(len(texts) / count) for word, count in counts.items()}


def pair_by_shared_words(texts: Sequence[Sequence[str]], settings: SampleSettings, rng: np.random.Generator) -> Rows:
    """Return pairs of sentences that share some words and are about as long, drawn in random order (A.3, A.4).

    No two sentences are paired twice, nor one with another of the same words in the same order.

    Args:
        texts: the words of each sentence.
        settings: how many, which share and which difference in length.
        rng: the generator of the order.

    Returns:
        The numbers of the two sentences of each pair, shape (n, 2).

    Raises:
        InputError: there are fewer such pairs, or of many sentences, fewer among the pairs that are drawn.
    """
    low, high = parse_scale(settings.shared)
    sets = [frozenset(words) for words in texts]
    pairs: dict[frozenset[int], tuple[int, int]] = {}
    for first, second in _pairs_in_random_order(len(texts), rng):
        # a sentence without words shares none
        if not sets[first]:
            continue
        share = len(sets[first] & sets[second]) / len(sets[first])
        difference = abs(len(texts[first]) - len(texts[second]))
        are_about_as_long = difference <= settings.longer * len(texts[first])
        if are_about_as_long and low <= share < high and texts[first] != texts[second]:
            # the same two may be drawn again, and in the other order
            pairs.setdefault(frozenset((first, second)), (first, second))
            if len(pairs) == settings.n:
                return np.array(list(pairs.values()), dtype=np.intp)
    raise InputError(f"only {len(pairs):,} pairs share so many words", setting="n", value=settings.n)


def _pairs_in_random_order(count: int, rng: np.random.Generator) -> Iterator[tuple[int, int]]:
    """Yield ordered pairs of two different numbers below *count* in random order.

    For up to :data:`_MOST_FOR_ALL_PAIRS` numbers each pair comes once. For more, :data:`_MOST_DRAWS` are drawn: a pair
    may come again, and draws of twice the same number are left out.
    """
    if count <= _MOST_FOR_ALL_PAIRS:
        codes: Iterator[Rows] = iter([rng.permutation(count * count)])
    else:
        codes = (rng.integers(0, count * count, _DRAWS_AT_ONCE) for _ in range(_MOST_DRAWS // _DRAWS_AT_ONCE))
    for block in codes:
        for code in block.tolist():
            first, second = divmod(code, count)
            if first != second:
                yield first, second


def random_pairs(count: int, pairs: int, rng: np.random.Generator) -> Rows:
    """Return distinct random pairs of two different numbers below *count*, the lower first, shape (k, 2).

    Args:
        count: the number of numbers.
        pairs: how many pairs; if there are no more than these, all are returned, in ascending order.
        rng: the generator of the draws.
    """
    if count * (count - 1) // 2 <= pairs:
        return np.stack(np.triu_indices(count, 1), axis=1)
    drawn_pairs: dict[tuple[int, int], None] = {}
    while len(drawn_pairs) < pairs:
        for first, second in np.sort(rng.integers(0, count, (pairs, 2)), axis=1).tolist():
            if first != second and len(drawn_pairs) < pairs:
                drawn_pairs[first, second] = None
    return np.array(list(drawn_pairs), dtype=np.intp)


@dataclass(frozen=True)
class DrawnPairs:
    """Pairs that were drawn from ranges of overlap.

    Attributes:
        rows: the number of each drawn pair, shape (n,).
        bins: the range of each of them, counted from 1, the lowest, shape (n,).
    """

    rows: Rows
    bins: Rows


def draw_from_bins(scores: Floats, n: int, bins: int, growth: float, rng: np.random.Generator) -> DrawnPairs:
    """Return pairs drawn from ranges of overlap that have as many pairs each (A.5 to A.7).

    Args:
        scores: the overlap of each of m pairs, shape (m,); pairs with the same overlap may be in neighbouring ranges.
        n: how many to draw.
        bins: the number of ranges.
        growth: how many are drawn from a range for each from the range below it; 1 for as many from each.
        rng: the generator of the draws.

    Raises:
        InputError: a range has fewer pairs than are to be drawn from it.
    """
    shuffled = rng.permutation(len(scores))
    ranges = np.array_split(shuffled[np.argsort(scores[shuffled], kind="stable")], bins)
    weights = growth ** np.arange(bins, dtype=np.float64)
    exact_counts = n * weights / weights.sum()
    counts = np.floor(exact_counts).astype(np.intp)
    # what rounding down leaves goes to the largest remainders; those equal up to rounding errors are in random order
    remainders = (exact_counts - counts).round(9)
    order = np.lexsort((rng.permutation(bins), -remainders))
    counts[order[: n - counts.sum()]] += 1
    for number, (members, count) in enumerate(zip(ranges, counts, strict=True), start=1):
        if len(members) < count:
            raise InputError(
                f"range {number} of {bins} has {len(members):,} pairs, and {count:,} are to be drawn from it; give ",
                Setting("bins"),
                " a smaller number, or more pairs to choose from",
            )
    rows = [rng.permutation(members)[:count] for members, count in zip(ranges, counts, strict=True)]
    return DrawnPairs(np.concatenate(rows), np.repeat(np.arange(1, bins + 1), counts))
