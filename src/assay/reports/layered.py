"""Metrics of a run that are the layers of one model."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from assay.reports.units import Unit

__all__ = ["LAYER", "LayeredModel", "layered_models"]

#: The layer in the name of a metric.
LAYER: Final = re.compile(r",layer=(\d+)")


@dataclass(frozen=True)
class LayeredModel:
    """A metric without its layer, its number in the run, and the metric of each layer in ascending order."""

    name: str
    number: int
    layers: dict[int, str]


def layered_models(unit: Unit) -> list[LayeredModel]:
    """Return the models of which the run has at least two layers."""
    found: dict[str, dict[int, str]] = {}
    for metric in unit.data.scores:
        layer = LAYER.search(metric)
        if layer:
            found.setdefault(LAYER.sub("", metric), {})[int(layer[1])] = metric
    return [
        LayeredModel(name, number, dict(sorted(layers.items())))
        for number, (name, layers) in enumerate(found.items())
        if len(layers) > 1
    ]
