"""Numbers of a run held against the same numbers computed now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from assay.statistics.concordance import Floats

__all__ = ["EXACT", "Change", "Outcome", "Recomputed", "changes", "hold_agreement", "hold_scores", "not_recomputed"]

#: How far two computations of a coefficient from the same scores and labels may lie apart.
EXACT = 1e-12
_ABSENT = "absent"
_NUMBERS = ("value", "low", "high")

Outcome = Literal["same", "differs", "not recomputed"]


@dataclass(frozen=True)
class Change:
    """Something that had one value in the run and has another one now."""

    what: str
    then: str
    now: str

    def __str__(self) -> str:
        return f"{self.what} {self.then} → {self.now}"


@dataclass(frozen=True)
class Recomputed:
    """Numbers of a run held against the same numbers computed now.

    Attributes:
        outcome: whether they are the same.
        n: how many were compared.
        differing: how many of them differ.
        largest: the largest difference; None where nothing differs, or a number stands on one side only.
        place: where that is: a pair, or a bucket and a coefficient.
        reason: why they could not be recomputed, or what must have made them differ, where that is known.
        remedy: what would make it possible.
    """

    outcome: Outcome
    n: int = 0
    differing: int = 0
    largest: float | None = None
    place: str = ""
    reason: str = ""
    remedy: str = ""

    @property
    def text(self) -> str:
        """It as a cell of a table."""
        if self.outcome == "same":
            return f"{self.n:,} same"
        if self.outcome == "not recomputed":
            return f"not recomputed: {self.reason}" + (f" -> {self.remedy}" if self.remedy else "")
        by = "" if self.largest is None else f", by {self.largest:.3g} at most"
        return f"{self.differing:,} of {self.n:,} differ{by} ({self.place})"


def changes(then: Mapping[str, str], now: Mapping[str, str]) -> tuple[Change, ...]:
    """Return what has another value now, in the order of *then*; a part that one side lacks is ``absent`` there."""
    keys = dict.fromkeys((*then, *now))
    pairs = ((key, str(then.get(key, _ABSENT)), str(now.get(key, _ABSENT))) for key in keys)
    return tuple(Change(key, before, after) for key, before, after in pairs if before != after)


def not_recomputed(reason: str, remedy: str = "") -> Recomputed:
    """Return what stands for numbers that could not be had."""
    return Recomputed("not recomputed", reason=reason, remedy=remedy)


def hold_scores(then: Floats, now: Floats, pairs: Sequence[str], tolerance: float) -> Recomputed:
    """Compare scores of n pairs.

    Args:
        then: shape (n,); NaN where a pair had no score.
        now: likewise.
        pairs: the ids of the pairs, n of them.
        tolerance: how far two scores of a pair may lie apart.
    """
    apart = np.abs(then - now)
    differs = np.flatnonzero(~(apart <= tolerance) & ~(np.isnan(then) & np.isnan(now)))
    if not len(differs):
        return Recomputed("same", len(then))
    # a score on one side only has no distance, and stands behind those that have one
    worst = int(differs[np.argmax(np.nan_to_num(apart[differs], nan=-1.0))])
    largest = None if np.isnan(apart[worst]) else float(apart[worst])
    return Recomputed("differs", len(then), len(differs), largest, f"pair {pairs[worst]}")


def hold_agreement(then: Sequence[Mapping[str, Any]], now: Sequence[Mapping[str, Any]]) -> Recomputed:
    """Compare rows of the agreement table of one metric on one dataset: value, both bounds, and n.

    Where a row stands twice the table was changed by hand, whichever of the two is right.
    """
    counts = Counter((row["bucket"], row["statistic"]) for row in then)
    held = {(row["bucket"], row["statistic"]): row for row in then}
    found = {(row["bucket"], row["statistic"]): row for row in now}
    buckets = {bucket for bucket, _ in found}
    unknown = list(dict.fromkeys(bucket for bucket, _ in held if bucket not in buckets))
    repeated = {key: f"{count} rows in agreement.json" for key, count in counts.items() if count > 1}
    odd = repeated | {key: "missing in agreement.json" for key in found if key not in held}
    odd |= {key: "in agreement.json alone" for key in held if key not in found and key[0] in buckets}
    differing: list[tuple[float | None, str]] = [(None, f"{', '.join(key)}: {how}") for key, how in odd.items()]
    for key, row in found.items():
        if key in odd:
            continue
        apart = [_apart(held[key][name], row[name]) for name in _NUMBERS]
        if held[key]["n"] != row["n"] or any(one is None or one > EXACT for one in apart):
            largest = None if None in apart else max(one for one in apart if one is not None)
            differing.append((largest, ", ".join(key)))
    if differing:
        largest, place = max(differing, key=lambda one: -1.0 if one[0] is None else one[0])
        reason = "agreement.json was changed after the run" if repeated else ""
        return Recomputed("differs", len({*found, *odd}), len(differing), largest, place, reason)
    if unknown:
        return not_recomputed(
            f"the folder does not say which pairs are in {', '.join(unknown)}", "make the run again with this assay"
        )
    return Recomputed("same", len(found))


def _apart(then: float | None, now: float | None) -> float | None:
    """Return the distance of two numbers, 0 where both are undefined, None where one is (or is no number)."""
    if then is None or now is None:
        return 0.0 if then is now else None
    apart = abs(then - now)
    return apart if apart < np.inf else None
