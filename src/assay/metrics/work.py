"""Sessions, which hold resources that metrics share, such as a model in memory, and the scores that they return."""

from __future__ import annotations

import time
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from enum import IntFlag
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from assay.errors import AssayError
from assay.progress import scaled_shares

if TYPE_CHECKING:
    from assay.metrics.base import Batch, Metric


class Flag(IntFlag):
    """A property of a pair's texts that qualifies its score; a pair may have several."""

    REFERENCE_CUT = 1
    CANDIDATE_CUT = 2
    REFERENCE_EMPTY = 4
    CANDIDATE_EMPTY = 8
    NO_VERDICT = 16
    REFUSED = 32
    TOO_LONG = 64

    @property
    def phrase(self) -> str:
        """The meaning of a single flag in words."""
        if self in _NO_SCORE:
            return _NO_SCORE[self]
        side = "reference" if self in (Flag.REFERENCE_CUT, Flag.REFERENCE_EMPTY) else "candidate"
        state = "truncated" if self in (Flag.REFERENCE_CUT, Flag.CANDIDATE_CUT) else "without a token that counts"
        return f"{side} {state}"


#: The reasons why a pair has no score, in words.
_NO_SCORE = {
    Flag.NO_VERDICT: "reply without a verdict, no score",
    Flag.REFUSED: "reply refused, no score",
    Flag.TOO_LONG: "too long for the model, no score",
}
#: Flags of a pair that has no score: its value is NaN.
MISSING = Flag.NO_VERDICT | Flag.REFUSED | Flag.TOO_LONG


@dataclass(frozen=True)
class Scores:
    """Scores of n pairs under m metrics.

    Attributes:
        values: the scores, float64, shape (n, m); NaN only if a flag of :data:`MISSING` gives the reason.
        flags: the bits of :class:`Flag`, uint8, shape (n, m).
        seconds: the wall time of each metric, float64, shape (m,). It includes work shared with other metrics, but not
            loading (unless there is only one pair).
        asymmetry: the difference between the scores of the two orders of the texts, float64, shape (n, m), NaN for a
            metric that reads one order only; None if all metrics do.
    """

    values: NDArray[np.float64]
    flags: NDArray[np.uint8]
    seconds: NDArray[np.float64]
    asymmetry: NDArray[np.float64] | None = None

    @classmethod
    def concatenate(cls, parts: Sequence[Scores]) -> Scores:
        """Return the scores of the same pairs under the metrics of all *parts*, side by side in the order of the parts.

        The asymmetry is NaN for the metrics of a part without one.
        """
        asymmetries = [
            np.full(part.values.shape, np.nan) if part.asymmetry is None else part.asymmetry for part in parts
        ]
        return cls(
            np.concatenate([part.values for part in parts], axis=1),
            np.concatenate([part.flags for part in parts], axis=1),
            np.concatenate([part.seconds for part in parts]),
            np.concatenate(asymmetries, axis=1),
        )


class Session(Protocol):
    """A costly resource, such as a model in memory, that is held while pairs are scored."""

    def score(self, metrics: Sequence[Metric], batch: Batch, again: Collection[str] = ()) -> Scores:
        """Return the scores of a batch under metrics with this session's engine.

        Args:
            metrics: the m metrics.
            batch: the n pairs.
            again: texts of the batch that a later batch will contain too, so that keeping their embeddings pays off.

        Raises:
            AssayError: the scores cannot be computed.
        """
        ...

    def cost(self) -> dict[str, Any]:
        """Return the cost of the work so far, such as a price or numbers of tokens, as plain values by name."""
        ...

    def close(self) -> None:
        """Free what the session holds, such as memory and processes; it is not used afterwards."""
        ...


class Engine(Hashable, Protocol):
    """The description of a resource that scoring needs; metrics with equal engines share a session.

    It can be pickled.
    """

    @property
    def pairs(self) -> int:
        """The number of pairs in a unit of work, which are the most that an interrupted run loses."""
        ...

    def open(self) -> Session:
        """Load the resource and return its session.

        Raises:
            AssayError: the resource cannot be loaded, such as a model that is damaged.
        """
        ...


def scores_of(metric: Metric, batch: Batch) -> NDArray[np.float64]:
    """Return a metric's scores of n pairs, float64, shape (n,).

    Raises:
        AssayError: the metric returned something else, or called exit().
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
        """
        columns, flags, seconds = [], [], []
        for index, metric in enumerate(metrics):
            parts = []
            if metric not in _warm_metrics and len(batch) > 1:
                # the first pair is scored separately, so that imports and opening files do not count as speed
                with scaled_shares(index / len(metrics), index / len(metrics)):
                    parts.append(scores_of(metric, batch.take(range(1))))
            _warm_metrics.add(metric)
            started = time.perf_counter()
            with scaled_shares(index / len(metrics), (index + 1) / len(metrics)):
                parts.append(scores_of(metric, batch.take(range(len(parts), len(batch))) if parts else batch))
            elapsed = time.perf_counter() - started
            columns.append(np.concatenate(parts))
            # scaled to all pairs, since the first one may not have been timed
            seconds.append(elapsed * len(batch) / max(1, len(parts[-1])))
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
