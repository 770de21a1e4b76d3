"""The boards of a dataset, kept for later runs on the same pairs and scores."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, replace

from pydantic import TypeAdapter

from assay.analysis.leaderboard.board import Board, with_front
from assay.analysis.leaderboard.join import JoinedDataset
from assay.analysis.leaderboard.measurements import boards
from assay.analysis.leaderboard.plain import PlainBoard, board_of_plain, plain_board, without_nan
from assay.analysis.settings import PairedTests
from assay.common.database import StoreError
from assay.common.kept import MIN_WORK, KeptResults, default_results, result_key
from assay.exceptions import InputError

_ADAPTER = TypeAdapter(PlainBoard)


def kept_boards(
    joined: JoinedDataset,
    tests: PairedTests,
    *,
    by: str,
    buckets: Sequence[str],
) -> list[Board]:
    """Return the board of each bucket of a dataset: those of earlier runs where they took long, or computed and kept.

    Args:
        joined: the dataset.
        tests: the settings of intervals and tests.
        by: the coefficient that ranks.
        buckets: the buckets.
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
        return [_board(joined, tests, by, bucket, results) for bucket in buckets]


def _board(
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
    inputs = ["board", joined.title, joined.unranked, asdict(tests), by, bucket, data.name, data.facts.split]
    inputs += [data.labels, data.buckets[bucket], [] if data.groups is None else data.groups]
    for name, scores in joined.scores.items():
        record = joined.records[name]
        inputs += [name, record.declared.kind, record.short_signature, scores]
    key = result_key(*inputs)
    kept = None
    # a cache that fails later than on opening, such as on a full disk, is needed as little
    with suppress(StoreError):
        kept = results.find(key)
    if kept is None:
        [board] = boards([joined], tests, by=by, buckets=[bucket])
        with suppress(StoreError):
            results.keep(key, without_nan(_ADAPTER.dump_python(plain_board(board), mode="json")))
        return board
    board = board_of_plain(_ADAPTER.validate_python(kept))
    lines = []
    for line in board.lines:
        record = joined.records[line.metric]
        speed, price = record.cost.pairs_per_second, record.price_per_1000
        lines.append(replace(line, pairs_per_second=speed, price_per_1000=price))
    return replace(board, lines=tuple(lines if board.unranked else with_front(lines, by)))
