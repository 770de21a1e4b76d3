"""What a run would have to compute, and what its judges would cost, before anything is computed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from assay.benchmark.prepared import PreparedDataset, is_made_for, prepare
from assay.benchmark.request import Request
from assay.benchmark.scoring import CHUNK
from assay.benchmark.singles import Singles
from assay.benchmark.store import ScoreStore, default_store
from assay.errors import InputError, UnavailableError
from assay.metrics import Batch, ColumnMetric, Context, Metric
from assay.metrics.combined import Combined
from assay.metrics.judge.judge import Judge


@dataclass(frozen=True)
class Work:
    """What a metric would take on a dataset.

    Attributes:
        dataset, metric: names.
        pairs: distinct pairs.
        stored: scores or replies that are there.
        calls: that judges at an endpoint would make.
        tokens_in, tokens_out: of these calls; the first are estimated, the others the most there can be.
        price: of these tokens; None without prices, or where there are no calls.
        note: why nothing is known.
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


def estimate_work(request: Request, store: Path | None, *, fresh: bool) -> list[Work]:
    """Return what each metric of a run would take on each dataset, metric by metric.

    Args:
        request: the run.
        store: the SQLite file with scores; None for the shared one.
        fresh: whether scores that are there would be computed anew.

    Raises:
        InputError: a budget without prices, or data that the run would refuse.
    """
    works = []
    datasets = prepare(request)
    with ScoreStore(store or default_store()) as opened:
        for metric in _with_members(request.metrics):
            for dataset in datasets:
                works.append(_work(metric, dataset, opened, fresh=fresh))
    for name, absent in request.absent.items():
        works += [Work(dataset.pairs.name, name, note=absent.reason) for dataset in datasets]
    return works


def _with_members(metrics: Sequence[Metric]) -> list[Metric]:
    """Return metrics with those that they are computed from, each once."""
    every: dict[str, Metric] = {}
    for metric in metrics:
        try:
            members = metric.members()
        except InputError:
            # the run will say why
            members = ()
        for each in (*members, metric):
            every.setdefault(str(each), each)
    return list(every.values())


def _work(metric: Metric, dataset: PreparedDataset, store: ScoreStore, *, fresh: bool) -> Work:
    """Return what a metric would take on a dataset, over all languages that it picks by."""
    name = dataset.pairs.name
    if isinstance(metric, ColumnMetric):
        return Work(name, str(metric), note="read from the data")
    if not is_made_for(metric, dataset.pairs.language):
        return Work(name, str(metric), note="not applicable")
    if isinstance(metric, Combined):
        return Work(name, str(metric), note="computed from its members")
    pairs = stored = 0
    try:
        for part in dataset.parts(metric):
            bound = metric.bind(Context(part.language, partial(dataset.references, part)))
            bound.check_available()
            singles = dataset.singles(bound, part)
            if isinstance(bound, Judge) and bound.endpoint is not None:
                return _calls(bound, name, singles)
            pairs += len(singles.digests)
            if not fresh:
                scores, _ = store.get(store.metric_id(bound.signature()), singles.digests)
                stored += int(np.isfinite(scores).sum())
    except UnavailableError as error:
        return Work(name, str(metric), note=error.reason)
    return Work(name, str(metric), pairs, stored)


def _calls(judge: Judge, dataset: str, singles: Singles) -> Work:
    """Return what a judge at an endpoint would take."""
    from assay.metrics.judge.endpoint import Endpoint
    from assay.metrics.judge.request import estimate
    from assay.metrics.judge.spending import current_purse

    price = Endpoint.of(judge).price_by(current_purse())
    asked = estimate(judge, _batches(singles), price)
    return Work(
        dataset,
        str(judge),
        len(singles.digests),
        asked.kept,
        asked.calls,
        asked.tokens_in,
        asked.tokens_out,
        asked.price,
    )


def _batches(singles: Singles) -> Iterator[Batch]:
    """Yield the distinct pairs, a chunk at a time."""
    for start in range(0, len(singles.digests), CHUNK):
        yield singles.batch(np.arange(start, min(start + CHUNK, len(singles.digests))))
