"""What may be asked of draws: how many, at which level of confidence, and from which seed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real

from assay.errors import InputError

__all__ = ["LEAST", "Drawing", "check_level", "check_resamples", "check_seed", "is_whole"]

#: Draws that an interval or a test needs: of fewer, the tails hold two or three.
LEAST = 100
#: Draws that must lie beyond each bound of a percentile interval, or the bound is a single extreme draw: as many as
#: :data:`LEAST` leaves at a level of 95%.
BEYOND = 2.5


def is_whole(value: object) -> bool:
    """Tell whether a value is a whole number, of Python or NumPy, and no truth value."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def check_seed(seed: int) -> None:
    """Raise InputError for what is no whole number from 0 on."""
    if not is_whole(seed):
        raise InputError(f"--seed {seed}: must be a whole number")
    if seed < 0:
        raise InputError(f"--seed {seed}: must not be negative")


def check_level(confidence: float, resamples: int = 0) -> None:
    """Raise InputError for a level of confidence outside (0.5, 1), or one that the draws cannot resolve.

    Args:
        confidence: the level.
        resamples: draws whose percentiles are the bounds of an interval; 0 where there is no such interval.
    """
    if not isinstance(confidence, Real) or not 0.5 < confidence < 1:
        raise InputError(f"--confidence {confidence}: must lie between 0.5 and 1, such as 0.95")
    # 1 - .95 is a little more than .05
    needed = math.ceil(round(2 * BEYOND / (1 - confidence), 3))
    if 0 < resamples < needed:
        raise InputError(
            f"--confidence {confidence}: {resamples:,} resamples leave {resamples * (1 - confidence) / 2:.1g} beyond "
            f"each bound, too few to place it; take --resamples {needed} or more, or a lower level"
        )


def check_resamples(
    resamples: int, *, none_allowed: bool = False, most: int | None = None, option: str = "resamples"
) -> None:
    """Raise InputError for what is no whole number, or for fewer draws than :data:`LEAST`.

    Args:
        resamples: number of draws.
        none_allowed: whether 0 may be asked for.
        most: more than these are refused; None for no bound.
        option: what messages call the number.
    """
    if not is_whole(resamples):
        raise InputError(f"--{option} {resamples}: must be a whole number")
    if resamples < LEAST and not (none_allowed and resamples == 0):
        none = "; 0 for none" if none_allowed else ""
        raise InputError(f"--{option} {resamples}: an interval or a test needs at least {LEAST} draws{none}")
    if most is not None and resamples > most:
        raise InputError(f"--{option} {resamples}: more than {most:,} draws tell no more")


@dataclass(frozen=True)
class Drawing:
    """How intervals are drawn.

    Attributes:
        resamples: bootstrap resamples, at least :data:`LEAST` and as many as the level needs; 0 for no intervals.
        confidence: level of the intervals, in (0.5, 1).
        seed: seeds the resamples, see :func:`~assay.statistics.resampling.seed_of`; not negative.

    Raises:
        InputError: a value out of its range.
    """

    resamples: int = 1000
    confidence: float = 0.95
    seed: int = 0

    def __post_init__(self) -> None:
        check_resamples(self.resamples, none_allowed=True)
        check_level(self.confidence, self.resamples)
        check_seed(self.seed)
