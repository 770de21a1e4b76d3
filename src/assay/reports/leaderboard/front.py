"""The front of cost and agreement."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["front_of"]


def front_of(points: Mapping[str, tuple[float | None, float]]) -> dict[str, bool | None]:
    """Tell which metrics are on the Pareto front: no other is at least as fast and as good, and better in one of these.

    Args:
        points: pairs per second and agreement by metric; None for a cost that is not known.

    Returns:
        By metric: False where one of known cost beats it; else None where an unknown cost leaves it open, its own or
        that of a metric with at least its agreement; else True.
    """
    known = [(speed, value) for speed, value in points.values() if speed is not None]
    highest_unknown = max((value for speed, value in points.values() if speed is None), default=None)
    found: dict[str, bool | None] = {}
    for name, (speed, value) in points.items():
        if speed is None:
            found[name] = None
        elif any(fast >= speed and good >= value and (fast, good) != (speed, value) for fast, good in known):
            found[name] = False
        else:
            found[name] = None if highest_unknown is not None and highest_unknown >= value else True
    return found
