"""What there is to do in a run, in its smallest part."""

from __future__ import annotations

from dataclasses import dataclass

from assay.benchmark.prepared import Part, PreparedDataset
from assay.benchmark.singles import Singles
from assay.metrics import Metric
from assay.metrics.work import Engine

__all__ = ["Task"]


@dataclass(frozen=True)
class Task:
    """One metric on one part of one dataset.

    Attributes:
        name: the metric as it was asked for.
        metric: bound to the data.
        dataset: where the scores go.
        part: which rows.
        engine: what the metric shares with others, or None.
    """

    name: str
    metric: Metric
    dataset: PreparedDataset
    part: Part
    engine: Engine | None

    @property
    def place(self) -> tuple[str, str]:
        """Metric and dataset."""
        return self.name, self.dataset.pairs.name

    @property
    def singles(self) -> Singles:
        """The distinct pairs."""
        return self.dataset.singles(self.metric, self.part)
