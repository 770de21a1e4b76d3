"""Estimates, before anything is computed, of the work of a run and the price of its judges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from assay.benchmark.prepared import PreparedDataset, is_made_for, lacks_references, prepare_datasets
from assay.benchmark.request import Request
from assay.benchmark.scoring import CHUNK
from assay.benchmark.singles import Singles
from assay.benchmark.store import ScoreStore, default_store
from assay.exceptions import InputError, UnavailableError
from assay.metrics import Batch, ColumnMetric, Context, Metric
from assay.metrics.combined import Combined
from assay.metrics.judge.server import ServerJudge


@dataclass(frozen=True)
class WorkEstimate:
    """An estimate of the work of a metric on a dataset.

    Attributes:
        dataset, metric: the names of the dataset and the metric.
        pairs: the number of distinct pairs.
        stored: the number of scores or replies that are already stored.
        calls: the number of calls that a judge at an endpoint would make.
        tokens_in, tokens_out: the tokens of these calls: estimated input tokens and the most output tokens possible.
        price: the price of these tokens; None without prices or without calls.
        note: why there is no estimate, or what it rests on; may be empty.
    """

    dataset: str
    metric: str
    pairs: int = 0
    stored: int = 0
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    price: float | None = None
    note: str = ""


def estimate_work(request: Request, store: Path | None, *, fresh: bool) -> list[WorkEstimate]:
    """Return the estimated work of each metric of a run on each dataset, metric by metric.

    Each metric follows the metrics that it is computed from. The absent metrics of the request come last; a metric that
    is found to be unavailable has a note in its place.

    Args:
        request: the run.
        store: the SQLite file with scores; None for the shared one.
        fresh: whether stored scores would be computed again.

    Raises:
        InputError: a budget without prices, or data that the run would refuse.
        StoreError: the store cannot be read or written.
    """
    estimates = []
    datasets = prepare_datasets(request)
    with ScoreStore(store or default_store()) as score_store:
        for metric in _metrics_with_members(request.metrics):
            for dataset in datasets:
                estimates.append(_estimate_metric(metric, dataset, score_store, fresh=fresh))
    for name, absent in request.absent.items():
        estimates += [WorkEstimate(dataset.pairs.name, name, note=absent.reason) for dataset in datasets]
    return estimates


def _metrics_with_members(metrics: Sequence[Metric]) -> list[Metric]:
    """Return the metrics, each after the metrics that it is computed from, without duplicates."""
    by_name: dict[str, Metric] = {}
    for metric in metrics:
        try:
            members = metric.members()
        except InputError:
            # an unreadable combination has no estimate; the run itself will report the error
            members = ()
        for member_or_metric in (*members, metric):
            by_name.setdefault(str(member_or_metric), member_or_metric)
    return list(by_name.values())


def _estimate_metric(metric: Metric, dataset: PreparedDataset, store: ScoreStore, *, fresh: bool) -> WorkEstimate:
    """Return the estimated work of a metric on all parts of a dataset.

    A metric that computes nothing there, or is unavailable, has a note instead of numbers.
    """
    name = dataset.pairs.name
    if isinstance(metric, ColumnMetric):
        return WorkEstimate(name, str(metric), note="read from the data")
    if lacks_references(metric, dataset.pairs) or not is_made_for(metric, dataset.pairs.language):
        return WorkEstimate(name, str(metric), note="not applicable")
    if isinstance(metric, Combined) and not metric.is_stored:
        return WorkEstimate(name, str(metric), note="computed from its members")
    pairs = stored = 0
    try:
        for part in dataset.parts(metric):
            bound = metric.bind(Context(part.language, partial(dataset.references, part)))
            bound.check_available()
            singles = dataset.singles(bound, part)
            if isinstance(bound, ServerJudge):
                # it scores all languages, so that this is the only part
                return _estimate_judge(bound, name, singles)
            pairs += len(singles.digests)
            if not fresh:
                scores, _ = store.get(store.metric_id(bound.signature()), singles.digests)
                stored += int(np.isfinite(scores).sum())
    except UnavailableError as error:
        return WorkEstimate(name, str(metric), note=error.reason)
    return WorkEstimate(name, str(metric), pairs, stored)


def _estimate_judge(judge: ServerJudge, dataset: str, singles: Singles) -> WorkEstimate:
    """Return the calls, tokens and price of a judge at an endpoint on distinct pairs."""
    from assay.metrics.judge.request import estimate_cost
    from assay.metrics.judge.spending import current_purse

    price = judge.needs().token_price(current_purse())
    estimated = estimate_cost(judge, _batches_of(singles), price)
    return WorkEstimate(
        dataset,
        str(judge),
        pairs=len(singles.digests),
        stored=estimated.kept,
        calls=estimated.calls,
        tokens_in=estimated.tokens_in,
        tokens_out=estimated.tokens_out,
        price=estimated.price,
        note=f"thinks before it replies: up to {estimated.reply_tokens:,} tokens a reply" if estimated.reasons else "",
    )


def _batches_of(singles: Singles) -> Iterator[Batch]:
    """Yield the distinct pairs in chunks."""
    for start in range(0, len(singles.digests), CHUNK):
        yield singles.batch(np.arange(start, min(start + CHUNK, len(singles.digests))))
