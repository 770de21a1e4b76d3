"""A run: plan, score, agree."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assay.benchmark.buckets import check_columns
from assay.benchmark.executor import Executor, InProcess
from assay.benchmark.outcome import AgreementRow, BucketSummary, MetricStatus, Outcome, Status
from assay.benchmark.prepared import PreparedDataset, is_made_for, prepare
from assay.benchmark.progress import Progress, Silent
from assay.benchmark.request import Request
from assay.benchmark.scoring import Scorer
from assay.benchmark.store import ScoreStore, StoreError, default_store
from assay.benchmark.tabulate import tabulate
from assay.errors import AssayError, InputError, UnavailableError
from assay.metrics import ColumnMetric, Metric, load_metric

if TYPE_CHECKING:
    from assay.datasets import Pairs

__all__ = ["run", "score_pairs"]


def run(
    request: Request,
    *,
    store: Path | None = None,
    executor: Executor | None = None,
    fresh: bool = False,
    progress: Progress | None = None,
) -> Outcome:
    """Score every dataset with every metric and hold the scores against the labels.

    A metric that fails or is unavailable is reported in the outcome and costs the others nothing.

    Args:
        request: what to do.
        store: the SQLite file with scores; None for the shared one.
        executor: who scores; None for this process.
        fresh: compute scores anew even where the store has them.
        progress: told how far the run is.

    Raises:
        InputError: a bucket or column that the data does not have; a recorded score that no dataset has.
        StoreError: scores can no longer be kept.
    """
    progress = progress or Silent()
    for pairs in request.pairs:
        check_columns(pairs, request.buckets)
        _check_labels(pairs)
    begun = time.perf_counter()
    with ScoreStore(store or default_store()) as opened:
        scorer = Scorer(opened, executor or InProcess(), request.references, fresh, progress)
        datasets, statuses = _score(request, scorer)
        scored = time.perf_counter()
        rows: list[AgreementRow] = []
        summaries: list[BucketSummary] = []
        for dataset in datasets:
            found, summarised = tabulate(request, dataset.finished(), _token_f1(dataset, scorer), progress)
            rows += found
            summaries += summarised
    seconds = {"score": scored - begun, "agree": time.perf_counter() - scored}
    finished = tuple(dataset.finished() for dataset in datasets)
    return Outcome(request, finished, tuple(statuses), tuple(summaries), tuple(rows), seconds)


def score_pairs(
    request: Request,
    *,
    store: Path | None = None,
    executor: Executor | None = None,
    fresh: bool = False,
    progress: Progress | None = None,
) -> Outcome:
    """Score every dataset with every metric; labels are not looked at, and the outcome has no agreement.

    Arguments and errors as for :func:`run`.
    """
    begun = time.perf_counter()
    with ScoreStore(store or default_store()) as opened:
        scorer = Scorer(opened, executor or InProcess(), request.references, fresh, progress or Silent())
        datasets, statuses = _score(request, scorer)
    finished = tuple(dataset.finished() for dataset in datasets)
    return Outcome(request, finished, tuple(statuses), (), (), {"score": time.perf_counter() - begun})


def _check_labels(pairs: Pairs) -> None:
    missing = np.flatnonzero(~np.isfinite(pairs.labels))
    if len(missing):
        raise InputError(
            f"{pairs.name}, pair {pairs.column('pair_id')[int(missing[0])].as_py()}: has no label"
            f" ({len(missing)} of {len(pairs)} pairs); a run needs one for each, assay score does not"
        )


def _score(request: Request, scorer: Scorer) -> tuple[list[PreparedDataset], list[MetricStatus]]:
    datasets = prepare(request)
    return datasets, _score_all(request, datasets, scorer)


def _token_f1(dataset: PreparedDataset, scorer: Scorer) -> Callable[[], NDArray[np.float64]]:
    def compute() -> NDArray[np.float64]:
        metric = load_metric("f1")
        if str(metric) in dataset.scores:
            return dataset.scores[str(metric)]
        return scorer.score(metric, dataset.singles(metric)).scores

    return compute


def _score_all(request: Request, datasets: list[PreparedDataset], scorer: Scorer) -> list[MetricStatus]:
    """Score metric by metric, so that what a metric loads is in memory once, and only while it is needed."""
    statuses = []
    for metric in request.metrics:
        for dataset in datasets:
            name = dataset.pairs.name
            try:
                scorer.progress.begin(f"{metric} on {name}", _units_of(metric, dataset))
                statuses.append(_score_one(metric, dataset, scorer))
            except StoreError:
                raise
            except UnavailableError as error:
                statuses.append(_unscored(str(metric), name, "unavailable", error.reason, error.remedy))
            except Exception as error:  # noqa: BLE001 - whatever a metric raises must not cost the others
                reason = str(error) if isinstance(error, AssayError) else f"{type(error).__name__}: {error}"
                statuses.append(_unscored(str(metric), name, "failed", reason))
    for name, absent in request.absent.items():
        statuses += [_unscored(name, one.pairs.name, "unavailable", absent.reason, absent.remedy) for one in datasets]
    return statuses


def _units_of(metric: Metric, dataset: PreparedDataset) -> int:
    return 0 if isinstance(metric, ColumnMetric) else len(dataset.singles(metric).digests)


def _score_one(metric: Metric, dataset: PreparedDataset, scorer: Scorer) -> MetricStatus:
    name, text = dataset.pairs.name, str(metric)
    rows = dataset.rows_for(metric)
    if not is_made_for(metric, dataset.pairs.language) or (rows is not None and not len(rows)):
        languages = ", ".join(sorted(metric.declaration.languages or ()))
        language = dataset.pairs.language or "the languages of this data"
        return _unscored(text, name, "not applicable", f"not available for {language} (made for {languages})")
    metric.check_available()
    done = MetricStatus(name, text, "done", short_signature=metric.short_signature(), signature=metric.signature())
    if isinstance(metric, ColumnMetric):
        if text not in dataset.recorded:
            return _unscored(text, name, "not applicable", f"{name} has no column {metric.column!r}")
        dataset.scores[text] = dataset.recorded[text]
        return done
    scored = scorer.score(metric, dataset.singles(metric))
    if rows is None:
        dataset.scores[text] = scored.scores
    else:
        dataset.scores[text] = np.full(len(dataset.pairs), np.nan)
        dataset.scores[text][rows] = scored.scores
    return replace(done, seconds=scored.seconds, scored=scored.scored, stored=scored.stored)


def _unscored(metric: str, dataset: str, status: Status, reason: str, remedy: str = "") -> MetricStatus:
    return MetricStatus(dataset, metric, status, reason, remedy)
