"""Metrics of a run that are the layers of one model, and the layer that agrees best with people."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

#: Matches the layer in the name of a metric; the group is its index.
LAYER_PATTERN: Final = re.compile(r",layer=(\d+)")


@dataclass(frozen=True)
class LayeredModel:
    """A model of which several layers were scored.

    Attributes:
        name: the name of its metrics, without the layer.
        number: an index that is unique within the dataset, for ids.
        layers: the metric's full name by layer index, in ascending order.
    """

    name: str
    number: int
    layers: dict[int, str]


def layered_models(metrics: Iterable[str]) -> list[LayeredModel]:
    """Return, in the order of the metrics of a dataset, each model that has scores from at least two layers."""
    models: dict[str, dict[int, str]] = {}
    for metric in metrics:
        match = LAYER_PATTERN.search(metric)
        if match:
            models.setdefault(LAYER_PATTERN.sub("", metric), {})[int(match[1])] = metric
    return [
        LayeredModel(name, number, dict(sorted(layers.items())))
        for number, (name, layers) in enumerate(models.items())
        if len(layers) > 1
    ]


def best_layer(values: Mapping[int, float | None]) -> int | None:
    """Return the layer with the highest value, on ties the lowest layer; None if all values are undefined."""
    defined = {layer: value for layer, value in values.items() if value is not None}
    return max(defined, key=lambda layer: (defined[layer], -layer), default=None)
