"""Scores of pairs under several metrics, and the flags that qualify them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntFlag

import numpy as np
from numpy.typing import NDArray


class Flag(IntFlag):
    """A property of a pair's texts that qualifies its score; a pair may have several."""

    REFERENCE_CUT = 1
    CANDIDATE_CUT = 2
    REFERENCE_EMPTY = 4
    CANDIDATE_EMPTY = 8
    NO_VERDICT = 16
    REFUSED = 32
    TOO_LONG = 64
    CUT_OFF = 128

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
    Flag.REFUSED: "reply refused or failed, no score",
    Flag.TOO_LONG: "too long for the model, no score",
    Flag.CUT_OFF: "reply cut off before a verdict, no score",
}
#: Flags of a pair that has no score: its value is NaN.
MISSING = Flag.NO_VERDICT | Flag.REFUSED | Flag.TOO_LONG | Flag.CUT_OFF
#: Flags of a pair that a judge is not asked about: its value may be NaN. Any other metric scores an empty text.
NOT_ASKED = Flag.REFERENCE_EMPTY | Flag.CANDIDATE_EMPTY


@dataclass(frozen=True)
class Scores:
    """Scores of n pairs under m metrics.

    Attributes:
        values: the scores, float64, shape (n, m); NaN only if a flag gives the reason: one of :data:`MISSING`, or,
            for a judge, of :data:`NOT_ASKED`.
        flags: the bits of :class:`Flag`, uint8, shape (n, m).
        seconds: the wall time of each metric, float64, shape (m,). It includes work shared with other metrics, but not
            loading (unless there is only one pair).
        asymmetry: the distance between the scores of the two orders of the texts, float64, shape (n, m), NaN for a pair
            without a score and for a metric that reads one order only; may be None if all metrics do.
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
        asymmetries = []
        for scores in parts:
            unknown = np.full(scores.values.shape, np.nan)
            asymmetries.append(unknown if scores.asymmetry is None else scores.asymmetry)
        return cls(
            np.concatenate([scores.values for scores in parts], axis=1),
            np.concatenate([scores.flags for scores in parts], axis=1),
            np.concatenate([scores.seconds for scores in parts]),
            np.concatenate(asymmetries, axis=1),
        )


def phrases_of(flags: np.uint8) -> tuple[str, ...]:
    """Return one phrase for each flag that a score has, in the order of :class:`Flag`."""
    return tuple(flag.phrase for flag in Flag if int(flags) & flag)
