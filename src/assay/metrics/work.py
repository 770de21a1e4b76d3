"""Sessions, which hold what metrics share, such as a model in memory, and the scores and flags that they return."""

from __future__ import annotations

import time
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from enum import IntFlag
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from assay.errors import AssayError
from assay.progress import portion

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
        """The meaning in words."""
        if self in _NO_SCORE:
            return _NO_SCORE[self]
        part = "reference" if self in (Flag.REFERENCE_CUT, Flag.REFERENCE_EMPTY) else "candidate"
        what = "truncated" if self in (Flag.REFERENCE_CUT, Flag.CANDIDATE_CUT) else "without a token that counts"
        return f"{part} {what}"


#: Why a pair has no score, in words.
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
        values: float64, shape (n, m); NaN only where a flag of :data:`MISSING` says why.
        flags: :class:`Flag` bits, uint8, shape (n, m).
        seconds: wall time of each metric, with the work that it shares with others, and without what it loads (unless
            there is only one pair), shape (m,).
        asymmetry: difference between the scores of the two orders of the texts, float64, shape (n, m), NaN for a
            metric that reads one order; None where all do.
    """

    values: NDArray[np.float64]
    flags: NDArray[np.uint8]
    seconds: NDArray[np.float64]
    asymmetry: NDArray[np.float64] | None = None

    @classmethod
    def joined(cls, parts: Sequence[Scores]) -> Scores:
        """Return the scores of the same pairs under all metrics of some parts, in their order."""
        unknown = [np.full(part.values.shape, np.nan) if part.asymmetry is None else part.asymmetry for part in parts]
        return cls(
            np.concatenate([part.values for part in parts], axis=1),
            np.concatenate([part.flags for part in parts], axis=1),
            np.concatenate([part.seconds for part in parts]),
            np.concatenate(unknown, axis=1),
        )


class Session(Protocol):
    """Holds what is costly, such as a model in memory, while pairs are scored."""

    def score(self, metrics: Sequence[Metric], batch: Batch, again: Collection[str] = ()) -> Scores:
        """Score a batch with metrics of this session's engine.

        Args:
            metrics: what scores, m of them.
            batch: n pairs.
            again: texts of the batch that a later batch will have as well, worth keeping.
        """
        ...

    def cost(self) -> dict[str, Any]:
        """Return what the work has cost so far, as plain values."""
        ...

    def close(self) -> None:
        """Free the memory."""
        ...


class Engine(Hashable, Protocol):
    """What must be loaded to score; metrics with equal engines share a session. Can be pickled.

    Attributes:
        pairs: pairs in a unit of work, the most that an interrupted run loses.
    """

    @property
    def pairs(self) -> int:
        """See the class."""
        ...

    def open(self) -> Session:
        """Load it."""
        ...


def scores_of(metric: Metric, batch: Batch) -> NDArray[np.float64]:
    """Return the scores that a metric gives n pairs, shape (n,).

    Raises:
        AssayError: it returned something else, or called exit().
    """
    try:
        scores = metric.score(batch)
    except SystemExit as error:
        raise AssayError(f"called exit({error.code!r}) where scores were expected") from error
    values = np.asarray(scores)
    masked = np.ma.is_masked(scores)
    if values.shape != (len(batch),) or values.dtype.kind not in "fiub" or masked:
        what = f"{'masked ' if masked else ''}{values.dtype} of shape {values.shape}"
        raise AssayError(
            f"gave {type(scores).__name__} ({what}) where scores were expected: a float64 array of shape "
            f"({len(batch)},)"
        )
    return values.astype(np.float64)


class OwnSession:
    """The session of metrics that need none: each scores by itself."""

    def score(self, metrics: Sequence[Metric], batch: Batch, again: Collection[str] = ()) -> Scores:
        """See :meth:`Session.score`."""
        columns, flags, seconds = [], [], []
        for number, metric in enumerate(metrics):
            parts = []
            if metric not in _warm and len(batch) > 1:
                # the first pair apart: its imports and files do not count as the metric's speed
                with portion(number / len(metrics), number / len(metrics)):
                    parts.append(scores_of(metric, batch.take(range(1))))
            _warm.add(metric)
            started = time.perf_counter()
            with portion(number / len(metrics), (number + 1) / len(metrics)):
                parts.append(scores_of(metric, batch.take(range(len(parts), len(batch))) if parts else batch))
            elapsed = time.perf_counter() - started
            columns.append(np.concatenate(parts))
            # scaled to all pairs where the first one was not timed
            seconds.append(elapsed * len(batch) / max(1, len(parts[-1])))
            flags.append(metric.flags(batch))
        return Scores(np.stack(columns, axis=1), np.stack(flags, axis=1), np.array(seconds))

    def cost(self) -> dict[str, Any]:
        """Nothing beyond the time of each metric."""
        return {}

    def close(self) -> None:
        """Nothing to free."""


_open: dict[Engine, Session] = {}
#: Metrics without a session that have scored in this process.
_warm: set[Metric] = set()


def open_session(engine: Engine | None, *, keep: bool = False) -> Session:
    """Return the session of an engine; one that is open is used again.

    Args:
        engine: None for metrics that score by themselves.
        keep: whether other sessions stay open; otherwise they are closed first, so that one model is in memory.
    """
    if engine is None:
        return OwnSession()
    if engine not in _open:
        if not keep:
            release_sessions()
        _open[engine] = engine.open()
    return _open[engine]


def session_if_open(engine: Engine) -> Session | None:
    """Return the session of an engine if it is open."""
    return _open.get(engine)


def release_sessions() -> None:
    """Close all sessions of this process."""
    while _open:
        _open.popitem()[1].close()
