"""The boards that a reader of many datasets may ask for: of each dataset, and of the datasets that a filter leaves."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from assay.analysis.leaderboard.board import Board
from assay.analysis.leaderboard.join import JoinedDataset
from assay.analysis.leaderboard.measurements import boards_by_statistic
from assay.analysis.settings import PairedTests

#: The number of buckets of each dataset, usually all pairs, F1 = 0 and F1 > 0.
MAX_BUCKETS = 3
#: The maximum number of tests of two metrics on means, in each bucket and for each statistic: about two minutes.
MAX_TESTS = 100_000


@dataclass(frozen=True)
class ExploredSet:
    """A dataset as a reader filters it.

    Attributes:
        joined: the dataset, whose metrics are ranked by labels from people.
        tasks: the tasks of its card; empty without a card.
        terms: the licence of its card; empty without a card.
    """

    joined: JoinedDataset
    tasks: tuple[str, ...] = ()
    terms: str = ""

    @property
    def licence(self) -> str:
        """The name that the licence begins with, without conditions and sources."""
        return re.split("[;(]", self.terms)[0].strip()

    @property
    def title(self) -> str:
        """The unique title of the dataset."""
        return self.joined.title

    @property
    def language(self) -> str:
        """The language of the texts; empty if it is unknown or if there are several."""
        return self.joined.data.facts.language or ""


#: The positions of the datasets of a board, in ascending order.
Positions = tuple[int, ...]


def explore(sets: Sequence[ExploredSet], settings: PairedTests) -> dict[str, dict[str, dict[Positions, Board]]]:
    """Return boards by bucket, statistic, and the positions of the datasets that a board is about.

    There is a board of each dataset, of all of them, and of those that every filter by task, language and licence
    leaves, alone and together, from the widest filter on as long as :data:`MAX_TESTS` allow. There are none for groups
    without a metric that is compared on all of them. The buckets are the first :data:`MAX_BUCKETS` of each dataset;
    datasets without the bucket are not among the positions.

    Args:
        sets: the datasets.
        settings: the settings of intervals and tests, with the statistics.

    Raises:
        InputError: the pairs are resampled in groups that an older folder did not keep.
    """
    buckets = dict.fromkeys(name for dataset in sets for name in list(dataset.joined.data.buckets)[:MAX_BUCKETS])
    explored: dict[str, dict[str, dict[Positions, Board]]] = {}
    for bucket in buckets:
        with_bucket = {}
        for position, dataset in enumerate(sets):
            if bucket in dataset.joined.data.buckets:
                with_bucket[position] = dataset
        titles = {group: [sets[position].title for position in group] for group in filtered_groups(with_bucket)}
        joined_datasets = [dataset.joined for dataset in with_bucket.values()]
        group_boards = boards_by_statistic(joined_datasets, titles, settings, bucket=bucket)
        explored[bucket] = {}
        for statistic, boards_of_group in group_boards.items():
            explored[bucket][statistic] = {group: boards.means for group, boards in boards_of_group.items()}
    return explored


def filtered_groups(sets: Mapping[int, ExploredSet]) -> list[Positions]:
    """Return the distinct groups of datasets: each dataset alone, and what filters leave, see :func:`explore`.

    A filter by task, language or licence takes one value, or any. The widest filters come first; a group is left out if
    its tests and those of the filtered groups before it would be more than :data:`MAX_TESTS`.

    Args:
        sets: the datasets by position.
    """
    groups: dict[Positions, None] = {(position,): None for position in sets}
    filters: dict[tuple[str, str, str], None] = {}
    for dataset in sets.values():
        filters |= dict.fromkeys(product(("", *dataset.tasks), ("", dataset.language), ("", dataset.licence)))
    tests = 0
    # the widest first: those with the fewest values
    for task, language, licence in sorted(filters, key=lambda values: sum(map(bool, values))):
        group = []
        for position, dataset in sets.items():
            is_of_task = not task or task in dataset.tasks
            if is_of_task and language in ("", dataset.language) and licence in ("", dataset.licence):
                group.append(position)
        common_metrics = set.intersection(*(set(sets[position].joined.scores) for position in group))
        cost = math.comb(len(common_metrics), 2)
        if tuple(group) not in groups and tests + cost <= MAX_TESTS:
            groups[tuple(group)] = None
            tests += cost
    return list(groups)
