"""A run: plan, score, agree."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assay.benchmark.adjusted import Control, make_controls
from assay.benchmark.buckets import check_columns, split_into_buckets, usable_rules
from assay.benchmark.executor import Executor, InProcess
from assay.benchmark.kept import table_of
from assay.benchmark.prepared import DatasetPart, PreparedDataset, prepare_datasets
from assay.benchmark.records import DatasetScores, Outcome
from assay.benchmark.request import Request
from assay.benchmark.scoring import Scorer
from assay.benchmark.store import ScoreStore, default_store
from assay.benchmark.work import score_all
from assay.common.batches import release_pages
from assay.common.progress import Progress, Silent
from assay.common.tables import first_repeated
from assay.exceptions import InputError
from assay.manifest import AgreementRow, BucketRecord, MetricRecord
from assay.metrics import load_metric
from assay.settings import check_level

if TYPE_CHECKING:
    from assay.datasets import Pairs


log = logging.getLogger(__name__)


def run(
    request: Request,
    *,
    store: Path | None = None,
    executor: Executor | None = None,
    fresh: bool = False,
    progress: Progress | None = None,
) -> Outcome:
    """Return the scores of every dataset under every metric, and their agreement with the labels.

    A metric that fails or is unavailable is reported in the outcome and does not affect the others.

    Args:
        request: the datasets, metrics and settings.
        store: the SQLite file with scores; None for the shared one.
        executor: the executor that computes scores, which is closed once they are computed; None for this process.
        fresh: whether to compute scores again that the store has.
        progress: the progress display; None for none.

    Raises:
        InputError: a level that the resamples cannot resolve; a duplicate bucket; a bucket or column that no dataset
            has; a group column that one lacks; a statistic within groups if there are none; recorded scores that cannot
            be read; a name that no table can hold; a pair without a label; a store that is none.
        StoreError: the store is damaged, or cannot be read or written.
        ClusterError: no machine is left to compute scores.
    """
    progress = progress or Silent()
    _check_request(request, progress)
    begun = time.perf_counter()
    with ScoreStore(store or default_store()) as score_store:
        scorer = Scorer(score_store, executor or InProcess(), request.references, fresh, progress)
        datasets, records = _score_datasets(request, scorer)
        scoring_end = time.perf_counter()
        finished = [_with_buckets(dataset, request, scorer) for dataset in datasets]
    rows: list[AgreementRow] = []
    summaries: list[BucketRecord] = []
    # agreement needs memory of its own, and no longer the texts
    release_pages()
    for scored_dataset in finished:
        dataset_rows, dataset_summaries = table_of(request, scored_dataset, store, progress, fresh=fresh)
        rows += dataset_rows
        summaries += dataset_summaries
    seconds = {"score": scoring_end - begun, "agree": time.perf_counter() - scoring_end}
    log.info("scored in %.1f s, agreement in %.1f s", seconds["score"], seconds["agree"])
    return Outcome(
        request,
        datasets=tuple(finished),
        metrics=tuple(records),
        buckets=tuple(summaries),
        agreement=tuple(rows),
        seconds=seconds,
    )


def score_pairs(
    request: Request,
    *,
    store: Path | None = None,
    executor: Executor | None = None,
    fresh: bool = False,
    progress: Progress | None = None,
) -> Outcome:
    """Return the scores of every dataset under every metric; labels are not read, and the outcome has no agreement.

    A metric that fails or is unavailable is reported in the outcome and does not affect the others.

    Args:
        request: the datasets, metrics and settings.
        store: the SQLite file with scores; None for the shared one.
        executor: the executor that computes scores, which is closed once they are computed; None for this process.
        fresh: whether to compute scores again that the store has.
        progress: the progress display; None for none.

    Raises:
        InputError: recorded scores that cannot be read; a group column that a dataset lacks; a statistic within groups
            if there are none; a name that no table can hold; a store that is none.
        StoreError: the store is damaged, or cannot be read or written.
        ClusterError: no machine is left to compute scores.
    """
    _check_utf8(map(str, request.metrics))
    begun = time.perf_counter()
    with ScoreStore(store or default_store()) as score_store:
        scorer = Scorer(score_store, executor or InProcess(), request.references, fresh, progress or Silent())
        datasets, records = _score_datasets(request, scorer)
    finished = tuple(dataset.finish() for dataset in datasets)
    return Outcome(
        request,
        datasets=finished,
        metrics=tuple(records),
        buckets=(),
        agreement=(),
        seconds={"score": time.perf_counter() - begun},
    )


def _check_request(request: Request, progress: Progress) -> None:
    """Check what a run needs of its request, and show notes on buckets and controls whose columns a dataset lacks.

    It is not a part of the request itself, because the request of an earlier run is read and verified as it was.

    Raises:
        InputError: as for :func:`run`.
    """
    check_level(request.confidence, request.resamples)
    repeated_rule = first_repeated(request.buckets)
    if repeated_rule is not None:
        raise InputError(f"the bucket {repeated_rule} is asked for twice")
    _check_utf8([*(pairs.name for pairs in request.pairs), *map(str, request.metrics)])
    check_columns(request.pairs, [*request.buckets, *request.controls])
    for pairs in request.pairs:
        _check_labels(pairs)
        for note in usable_rules(pairs, [*request.buckets, *request.controls])[1]:
            progress.say(f"{pairs.name}: {note}")


def _with_buckets(dataset: PreparedDataset, request: Request, scorer: Scorer) -> DatasetScores:
    """Return the scores of a dataset, divided into buckets, with the quantities to control for if any are named."""
    token_f1 = partial(_token_f1, dataset, scorer)
    buckets = split_into_buckets(dataset.pairs, dataset.rules, token_f1)
    controls: tuple[Control, ...] = ()
    if request.controls:
        controls = make_controls(dataset.pairs, usable_rules(dataset.pairs, request.controls)[0], token_f1)
    return replace(dataset.finish(), buckets=tuple(buckets), controls=controls)


def _check_utf8(names: Iterable[str]) -> None:
    """Raise InputError for a name that is not valid UTF-8, as the name of a file can be."""
    for name in names:
        try:
            name.encode()
        except UnicodeEncodeError:
            raise InputError(f"{name!r}: this name is not UTF-8, and no table can hold it; rename the file") from None


def _check_labels(pairs: Pairs) -> None:
    """Raise InputError for a pair without a label."""
    missing = np.flatnonzero(~np.isfinite(pairs.labels))
    if len(missing):
        raise InputError(
            f"{pairs.name}, pair {pairs.column('pair_id')[int(missing[0])].as_py()}: has no label"
            f" ({len(missing)} of {len(pairs)} pairs); a run needs one for each, assay score does not"
        )


def _score_datasets(request: Request, scorer: Scorer) -> tuple[list[PreparedDataset], list[MetricRecord]]:
    """Return the scored datasets and the record of each metric; the executor is closed even after an error.

    Raises:
        InputError: as for :func:`~assay.benchmark.prepared.prepare_datasets`.
        StoreError, ClusterError: as for :func:`~assay.benchmark.work.score_all`.
    """
    try:
        datasets = prepare_datasets(request)
        return datasets, score_all(request, datasets, scorer, scorer.progress.say)
    finally:
        scorer.executor.close()


def _token_f1(dataset: PreparedDataset, scorer: Scorer) -> NDArray[np.float64]:
    """Return the token F1 of each pair, shape (n,): from the run, or computed now."""
    metric = load_metric("f1")
    if str(metric) in dataset.scores:
        return dataset.scores[str(metric)]
    all_pairs = DatasetPart(rows=None, language=None)
    return scorer.score(metric, dataset.singles(metric, all_pairs)).scores
