"""The boards of a dataset, kept for later runs on the same pairs and scores."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, replace

from pydantic import TypeAdapter

from assay.analysis.leaderboard.board import KEPT_FORM, Board, with_front
from assay.analysis.leaderboard.join import JoinedDataset
from assay.analysis.leaderboard.measurements import boards
from assay.analysis.settings import PairedTests
from assay.common.database import StoreError
from assay.common.kept import KeptResults, default_results, result_key
from assay.exceptions import InputError

#: The least product of metrics, pairs and resamples of which boards are kept: two metrics on 60 pairs in three buckets
#: take half a second, and about 30 ms if they were kept.
MIN_WORK = 100_000
# a list, since a class has its own configuration
_ADAPTER = TypeAdapter(list[Board], config=KEPT_FORM)


def kept_boards(
    joined: JoinedDataset,
    tests: PairedTests,
    *,
    by: str,
    buckets: Sequence[str],
) -> list[Board]:
    """Return the board of each bucket of a dataset, as kept by an earlier call or else computed and kept.

    Boards that take less work than :data:`MIN_WORK` are computed and not kept, and so are all if the file of kept
    results cannot be opened.

    Args:
        joined: the dataset.
        tests: the settings of intervals and tests.
        by: the coefficient that ranks, one of the settings' statistics.
        buckets: the names of buckets with pairs.

    Raises:
        InputError: an older folder lacks the groups that it was resampled by.
    """
    pair_count = sum(int(joined.data.buckets[bucket].sum()) for bucket in buckets)
    if pair_count * len(joined.scores) * tests.resamples < MIN_WORK:
        return boards([joined], tests, by=by, buckets=buckets)
    try:
        opened = KeptResults(default_results())
    except InputError:
        # a cache that cannot be written: reports need none
        return boards([joined], tests, by=by, buckets=buckets)
    with opened as results:
        return [_kept_or_computed(joined, tests, by, bucket, results) for bucket in buckets]


def _kept_or_computed(
    joined: JoinedDataset,
    tests: PairedTests,
    by: str,
    bucket: str,
    results: KeptResults,
) -> Board:
    """Return the board of one bucket, kept or computed, with the costs of this run.

    Args:
        joined: the dataset with its scores.
        tests: the settings of the tests.
        by: the coefficient that ranks.
        bucket: the name of the bucket.
        results: the file of kept results.
    """
    data = joined.data
    # all that a board depends on, apart from the costs
    inputs = ["board", joined.title, joined.unranked, asdict(tests), by, bucket, data.name, data.facts.split]
    inputs += [data.labels, data.buckets[bucket], [] if data.groups is None else data.groups]
    for name, scores in joined.scores.items():
        record = joined.records[name]
        inputs += [name, record.declared.kind, record.short_signature, scores]
    key = result_key(*inputs)
    content = None
    # a cache that fails later than on opening, such as on a full disk, is needed as little
    with suppress(StoreError):
        content = results.find_bytes(key)
    if content is None:
        computed = boards([joined], tests, by=by, buckets=[bucket])
        with suppress(StoreError):
            results.keep_bytes(key, _ADAPTER.dump_json(computed))
        return computed[0]
    [board] = _ADAPTER.validate_json(content)
    lines = []
    for line in board.lines:
        record = joined.records[line.metric]
        speed, price = record.cost.pairs_per_second, record.price_per_1000
        lines.append(replace(line, pairs_per_second=speed, price_per_1000=price))
    return replace(board, lines=tuple(lines if board.unranked else with_front(lines, by)))
