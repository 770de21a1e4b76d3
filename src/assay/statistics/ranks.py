"""Ranks with confidence sets, letters for metrics that cannot be told apart, and groups of ranks.

All are derived from pairwise tests of metrics that are corrected together, so that with the stated confidence no test
errs, and all statements below hold at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from string import ascii_letters
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.statistics.draws import MetricPair


@dataclass(frozen=True)
class Rank:
    """The rank of a metric among k metrics.

    Attributes:
        rank: the rank by value: 1 plus the number of metrics with a higher value.
        low: the best possible rank by the tests: 1 plus the number of significantly better metrics.
        high: the worst possible rank by the tests: k less the number of significantly worse metrics.
    """

    rank: int
    low: int
    high: int


def rank(values: Mapping[str, float], better: Mapping[MetricPair, int]) -> dict[str, Rank]:
    """Return the ranks of metrics, the best first, with the confidence sets of their true ranks.

    The sets are simultaneous: the true ranks of all metrics lie in them with the confidence of the family of tests.
    Source: Mogstad, Romano, Shaikh & Wilhelm, Inference for ranks with applications to mobility across neighbourhoods
    and academic achievement across countries, Review of Economic Studies (2024): the rank of a metric lies between one
    more than the number of those that are significantly better and k less the number of those that are significantly
    worse, by tests of all pairs that control the family-wise error rate. (They test in steps by the bootstrap; here
    the tests are those of the tables.)

    Args:
        values: the agreement of each metric.
        better: the test result of each pair of these metrics: 1 if the first is significantly better after correction,
            -1 if the second is, 0 if the test cannot tell them apart. A pair without a test is absent, and bounds no
            rank.
    """
    sign_of = _signs_in_both_orders(better)
    ranks = {}
    for name in sorted(values, key=lambda name: -values[name]):
        other_names = [other_name for other_name in values if other_name != name]
        higher_count = sum(values[other_name] > values[name] for other_name in other_names)
        better_count = sum(sign_of.get((other_name, name), 0) > 0 for other_name in other_names)
        worse_count = sum(sign_of.get((other_name, name), 0) < 0 for other_name in other_names)
        ranks[name] = Rank(1 + higher_count, 1 + better_count, len(values) - worse_count)
    return ranks


def letters(order: Sequence[str], better: Mapping[MetricPair, int]) -> dict[str, str]:
    """Return letters by metric: two metrics share a letter exactly if no test tells them apart.

    After the 52 letters of both cases come numbers in parentheses.

    Source: Piepho, An algorithm for a letter-based representation of all-pairwise comparisons (2004): all metrics
    start with one letter, each significant difference splits the letters that both metrics have into two, and a letter
    whose metrics all have another letter in common is dropped.

    Args:
        order: the metrics, the best first.
        better: the test results, see :func:`rank`.
    """
    columns = [frozenset(order)]
    for (first, second), sign in better.items():
        if sign:
            columns = _split_columns(columns, first, second)
    position = {name: index for index, name in enumerate(order)}
    columns.sort(key=lambda column: sorted(position[name] for name in column))
    letters_of = dict.fromkeys(order, "")
    for index, column in enumerate(columns):
        for name in column:
            letters_of[name] += ascii_letters[index] if index < len(ascii_letters) else f"({index + 1})"
    return letters_of


def _split_columns(columns: Sequence[frozenset[str]], first: str, second: str) -> list[frozenset[str]]:
    """Return the columns, split so that none contains both names, without those that are subsets of another column."""
    split = []
    for column in columns:
        if first in column and second in column:
            split += [column - {first}, column - {second}]
        else:
            split.append(column)
    largest_columns: list[frozenset[str]] = []
    for column in sorted(set(split), key=len, reverse=True):
        # the larger columns come first, so that a subset is always found among the kept ones
        if not any(column <= larger for larger in largest_columns):
            largest_columns.append(column)
    return largest_columns


def rank_groups(order: Sequence[str], better: Mapping[MetricPair, int]) -> dict[str, tuple[int, int]]:
    """Return by metric the first and the last rank, from 1, of the group that the metric is in.

    A group ends where all metrics above are significantly better than all metrics below. Two metrics without a test are
    in one group.

    Args:
        order: the metrics, the best first.
        better: the test results, see :func:`rank`.
    """
    sign_of = _signs_in_both_orders(better)
    starts = []
    for index in range(len(order)):
        if all(sign_of.get((above, below), 0) > 0 for above in order[:index] for below in order[index:]):
            starts.append(index)
    groups = {}
    for start, end in pairwise([*starts, len(order)]):
        for name in order[start:end]:
            groups[name] = (start + 1, end)
    return groups


def _signs_in_both_orders(better: Mapping[MetricPair, int]) -> dict[MetricPair, int]:
    """Return the test results of each pair in both orders; the second order has the opposite sign."""
    return {**better, **{(second, first): -sign for (first, second), sign in better.items()}}
