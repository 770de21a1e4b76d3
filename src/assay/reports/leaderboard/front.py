"""The front of cost and agreement."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["front_of"]


def front_of(points: Mapping[str, tuple[float | None, float]]) -> set[str] | None:
    """Return the metrics on the Pareto front: no other is at least as fast and as good, and better in one of the two.

    Args:
        points: pairs per second and agreement by metric; None for a cost that is not known.

    Returns:
        Their names; None where a cost is not known, or there is no metric: that one could beat any other.
    """
    known = {name: (speed, value) for name, (speed, value) in points.items() if speed is not None}
    if not known or len(known) < len(points):
        return None
    return {
        name
        for name, own in known.items()
        if not any(other[0] >= own[0] and other[1] >= own[1] and other != own for other in known.values())
    }
