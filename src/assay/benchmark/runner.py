"""A run: plan, score, agree."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assay.benchmark.executor import Executor, InProcess
from assay.benchmark.outcome import AgreementRow, BucketSummary, DatasetScores, MetricStatus, Outcome, Status
from assay.benchmark.progress import Progress, Silent
from assay.benchmark.recorded import read_recorded
from assay.benchmark.request import Request
from assay.benchmark.scoring import Scorer
from assay.benchmark.singles import Singles
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


def _score(request: Request, scorer: Scorer) -> tuple[list[_Dataset], list[MetricStatus]]:
    recorded = _Recorded(request)
    datasets = [_prepare(request, pairs, recorded) for pairs in request.pairs]
    return datasets, _score_all(request, datasets, scorer)


def _token_f1(dataset: _Dataset, scorer: Scorer) -> Callable[[], NDArray[np.float64]]:
    def compute() -> NDArray[np.float64]:
        metric = load_metric("f1")
        return scorer.score(metric, dataset.singles(metric)).scores

    return compute


class _Recorded:
    """Recorded scores, read before any row is left out, so that files beside the data stay in step."""

    def __init__(self, request: Request) -> None:
        self._scores: dict[tuple[int, str], NDArray[np.float64]] = {}
        self.errors: dict[tuple[int, str], InputError] = {}
        for metric in request.metrics:
            if not isinstance(metric, ColumnMetric):
                continue
            for pairs in request.pairs:
                try:
                    self._scores[id(pairs), str(metric)] = read_recorded(metric, pairs)
                except InputError as error:
                    self.errors[id(pairs), str(metric)] = error
            failed = [self.errors.get((id(pairs), str(metric))) for pairs in request.pairs]
            if failed and all(failed):
                raise next(error for error in failed if error)

    def of(self, pairs: Pairs, keep: NDArray[np.intp]) -> dict[str, NDArray[np.float64]]:
        return {name: scores[keep] for (table, name), scores in self._scores.items() if table == id(pairs)}


class _Dataset:
    """One dataset during a run."""

    def __init__(self, pairs: Pairs, recorded: dict[str, NDArray[np.float64]], dropped: int, group: str | None) -> None:
        self.pairs = pairs
        self.recorded = recorded
        self.dropped = dropped
        self.group_column = group
        self.scores: dict[str, NDArray[np.float64]] = {}
        self._singles: dict[tuple[bool, frozenset[str] | None], Singles] = {}

    def singles(self, metric: Metric) -> Singles:
        """Return the distinct pairs in a language of the metric, with the question for metrics that read it."""
        declaration = metric.declaration
        rows = self.rows_for(metric)
        key = declaration.reads_question, None if rows is None else declaration.languages
        if key not in self._singles:
            pairs = self.pairs if rows is None else self.pairs.take(rows)
            self._singles[key] = Singles(pairs, with_question=declaration.reads_question)
        return self._singles[key]

    def rows_for(self, metric: Metric) -> NDArray[np.intp] | None:
        """Return the rows whose language the metric is made for; None for all."""
        if metric.declaration.languages is None or "language" not in self.pairs.table.column_names:
            return None
        languages = self.pairs.table.column("language").to_pylist()
        made_for = {language: _is_made_for(metric, language) for language in set(languages)}
        return None if all(made_for.values()) else np.flatnonzero([made_for[language] for language in languages])

    def finished(self) -> DatasetScores:
        """Return what the run found."""
        return DatasetScores(self.pairs, self.dropped, self.group_column, self.scores)


def _is_made_for(metric: Metric, language: str | None) -> bool:
    try:
        metric.for_language(language)
    except UnavailableError:
        return False
    return True


def _prepare(request: Request, pairs: Pairs, recorded: _Recorded) -> _Dataset:
    kept, dropped = pairs, 0
    rows = np.arange(len(pairs))
    if request.drop_duplicates or request.limit is not None:
        numbered = pairs.with_column("__row__", rows)
        if request.drop_duplicates:
            numbered, dropped = numbered.drop_duplicates()
        if request.limit is not None:
            numbered = numbered.limit(request.limit)
        rows = np.asarray(numbered.table.column("__row__"), dtype=np.intp)
        kept = replace(numbered, table=numbered.table.drop_columns(["__row__"]))
    return _Dataset(kept, recorded.of(pairs, rows), dropped, _group_column(request, kept))


def _group_column(request: Request, pairs: Pairs) -> str | None:
    names = pairs.table.column_names
    if request.group_by == "none":
        return None
    if request.group_by is None:
        return "group" if "group" in names else None
    if request.group_by not in names:
        raise InputError(f"--group-by {request.group_by}: {pairs.name} has no such column; it has {', '.join(names)}")
    return request.group_by


def _score_all(request: Request, datasets: list[_Dataset], scorer: Scorer) -> list[MetricStatus]:
    """Score metric by metric, so that what a metric loads is in memory once, and only while it is needed."""
    statuses = []
    for metric in request.metrics:
        for dataset in datasets:
            name = dataset.pairs.name
            scorer.progress.begin(f"{metric} on {name}", _units_of(metric, dataset))
            try:
                statuses.append(_score_one(metric, dataset, scorer))
            except StoreError:
                raise
            except UnavailableError as error:
                statuses.append(_unscored(metric, name, "unavailable", error.reason, error.remedy))
            except Exception as error:  # noqa: BLE001 - whatever a metric raises must not cost the others
                reason = str(error) if isinstance(error, AssayError) else f"{type(error).__name__}: {error}"
                statuses.append(_unscored(metric, name, "failed", reason))
    return statuses


def _units_of(metric: Metric, dataset: _Dataset) -> int:
    return 0 if isinstance(metric, ColumnMetric) else len(dataset.singles(metric).digests)


def _score_one(metric: Metric, dataset: _Dataset, scorer: Scorer) -> MetricStatus:
    name, text = dataset.pairs.name, str(metric)
    rows = dataset.rows_for(metric)
    if not _is_made_for(metric, dataset.pairs.language) or (rows is not None and not len(rows)):
        languages = ", ".join(sorted(metric.declaration.languages or ()))
        language = dataset.pairs.language or "the languages of this data"
        return _unscored(metric, name, "not applicable", f"not available for {language} (made for {languages})")
    metric.check_available()
    done = MetricStatus(name, text, "done", short_signature=metric.short_signature(), signature=metric.signature())
    if isinstance(metric, ColumnMetric):
        if text not in dataset.recorded:
            return _unscored(metric, name, "not applicable", f"{name} has no column {metric.column!r}")
        dataset.scores[text] = dataset.recorded[text]
        return done
    scored = scorer.score(metric, dataset.singles(metric))
    if rows is None:
        dataset.scores[text] = scored.scores
    else:
        dataset.scores[text] = np.full(len(dataset.pairs), np.nan)
        dataset.scores[text][rows] = scored.scores
    return replace(done, seconds=scored.seconds, scored=scored.scored, stored=scored.stored)


def _unscored(metric: Metric, dataset: str, status: Status, reason: str, remedy: str = "") -> MetricStatus:
    return MetricStatus(dataset, str(metric), status, reason, remedy)
