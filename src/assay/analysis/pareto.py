"""The Pareto front of cost and agreement."""

from __future__ import annotations

import math
from collections.abc import Mapping


def pareto_front(points: Mapping[str, tuple[tuple[float | None, ...], float]]) -> dict[str, bool | None]:
    """Tell by metric whether it is on the Pareto front, where no other metric dominates it.

    A metric dominates another one if it is at least as good in everything, and better in something.

    Args:
        points: the costs and the agreement of each metric. A cost is a number where higher is better, such as pairs per
            second, or None if unknown.

    Returns:
        For each metric: False if a metric with known costs dominates it; else None if an unknown cost leaves this open,
        either its own cost or the cost of a metric with at least its agreement; else True.
    """
    known_points: dict[str, tuple[float, ...]] = {}
    highest_unknown = -math.inf
    for name, (costs, agreement) in points.items():
        known_costs = tuple(cost for cost in costs if cost is not None)
        if len(known_costs) == len(costs):
            known_points[name] = (*known_costs, agreement)
        else:
            highest_unknown = max(highest_unknown, agreement)
    on_front: dict[str, bool | None] = {}
    for name, (_, agreement) in points.items():
        point = known_points.get(name)
        # another one is at least as high in everything, and higher in something
        is_dominated = point is not None and any(
            other != point and all(value >= least for value, least in zip(other, point, strict=True))
            for other in known_points.values()
        )
        if is_dominated:
            on_front[name] = False
        elif point is None or highest_unknown >= agreement:
            on_front[name] = None
        else:
            on_front[name] = True
    return on_front
