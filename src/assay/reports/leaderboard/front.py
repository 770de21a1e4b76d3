"""The front of cost and agreement."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["on_front"]


def on_front(points: Mapping[str, tuple[float, float]]) -> set[str]:
    """Return the metrics on the Pareto front: no other is at least as fast and as good, and better in one of the two.

    Args:
        points: pairs per second and agreement by metric.
    """
    return {
        name
        for name, own in points.items()
        if not any(other[0] >= own[0] and other[1] >= own[1] and other != own for other in points.values())
    }
