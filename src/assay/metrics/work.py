"""The open sessions of this process, and the session of metrics that need no model."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.common.progress import scaled_shares
from assay.exceptions import AssayError
from assay.metrics.base import Batch, Engine, Metric, Session
from assay.metrics.scores import Scores


def scores_of(metric: Metric, batch: Batch) -> NDArray[np.float64]:
    """Return a metric's scores of n pairs, float64, shape (n,).

    Raises:
        AssayError: the metric returned something else, or called exit().
        Exception: whatever the metric raises.
    """
    try:
        scores = metric.score(batch)
    except SystemExit as error:
        raise AssayError(f"called exit({error.code!r}) where scores were expected") from error
    values = np.asarray(scores)
    is_masked = np.ma.is_masked(scores)
    # accepted are floating-point numbers, signed and unsigned integers, and booleans
    if values.shape != (len(batch),) or values.dtype.kind not in "fiub" or is_masked:
        prefix = "masked " if is_masked else ""
        raise AssayError(
            f"gave {type(scores).__name__} ({prefix}{values.dtype} of shape {values.shape}) where scores were "
            f"expected: a float64 array of shape ({len(batch)},)"
        )
    return values.astype(np.float64)


class OwnSession:
    """The session of metrics without an engine: each one computes its scores by itself."""

    def score(self, metrics: Sequence[Metric], batch: Batch, again: Collection[str] = ()) -> Scores:
        """Return the scores and flags that each metric computes by itself, and its time; *again* is not used.

        Raises:
            AssayError: a metric returned something else than scores, or called exit().
            Exception: whatever a metric raises.
        """
        columns, flags, seconds = [], [], []
        for index, metric in enumerate(metrics):
            first_scores = np.zeros(0)
            if metric not in _warm_metrics and len(batch) > 1:
                # the first pair is scored separately, so that imports and opening files do not count as speed
                with scaled_shares(index / len(metrics), index / len(metrics)):
                    first_scores = scores_of(metric, batch.take(range(1)))
            _warm_metrics.add(metric)
            timed_batch = batch.take(range(1, len(batch))) if len(first_scores) else batch
            started = time.perf_counter()
            with scaled_shares(index / len(metrics), (index + 1) / len(metrics)):
                timed_scores = scores_of(metric, timed_batch)
            elapsed = time.perf_counter() - started
            columns.append(np.concatenate([first_scores, timed_scores]))
            # scaled to all pairs, since the first one may not have been timed
            seconds.append(elapsed * len(batch) / max(1, len(timed_batch)))
            flags.append(metric.flags(batch))
        return Scores(np.stack(columns, axis=1), np.stack(flags, axis=1), np.array(seconds))

    def cost(self) -> dict[str, Any]:
        """Return an empty dict, since there is no cost beyond the time of each metric."""
        return {}

    def close(self) -> None:
        """Do nothing, since there is nothing to free."""


#: The open sessions of this process, by their engines.
_open_sessions: dict[Engine, Session] = {}
#: Metrics without a session that have scored in this process.
_warm_metrics: set[Metric] = set()


def open_session(engine: Engine | None, *, keep: bool = False) -> Session:
    """Return the session of an engine: the open one if there is one, else a new one.

    Args:
        engine: the engine; None for metrics without one.
        keep: whether other sessions stay open when a new one is opened; if not, they are closed first, so that only one
            model is in memory.

    Raises:
        AssayError: the resource of the engine cannot be loaded.
    """
    if engine is None:
        return OwnSession()
    if engine not in _open_sessions:
        if not keep:
            release_sessions()
        _open_sessions[engine] = engine.open()
    return _open_sessions[engine]


def session_if_open(engine: Engine) -> Session | None:
    """Return the session of an engine if it is open, else None."""
    return _open_sessions.get(engine)


def release_sessions() -> None:
    """Close all sessions of this process."""
    while _open_sessions:
        _, session = _open_sessions.popitem()
        session.close()


def score_alone(metric: Metric, batch: Batch) -> NDArray[np.float64]:
    """Return a metric's scores of n pairs, float64, shape (n,), by its engine, which stays open afterwards.

    What the engine needs is downloaded if need be.

    Raises:
        AssayError: the download failed, the engine cannot be opened, or the scores cannot be computed; except after a
            failed download, all open sessions are then closed.
    """
    metric.obtain()
    try:
        values: NDArray[np.float64] = open_session(metric.needs()).score([metric], batch).values[:, 0]
    except AssayError:
        release_sessions()
        raise
    return values
