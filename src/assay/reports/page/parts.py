"""What the templates are given of a run and of a dataset."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from assay.reports.data import MetricFacts
from assay.reports.folder import RunFolder
from assay.reports.layered import layered_models
from assay.reports.layout import percent
from assay.reports.page.agreement import AgreementTable, agreement_table
from assay.reports.page.aspects import AspectModel, draw_aspects
from assay.reports.page.cost import CostFigure, draw_cost
from assay.reports.page.distributions import Spread, by_label
from assay.reports.page.embedded import pack
from assay.reports.page.findings import find
from assay.reports.page.forest import forest
from assay.reports.page.layers import draw_layers
from assay.reports.page.profile import Profile, draw_profile
from assay.reports.page.tagging import tag_pairs
from assay.reports.svg import Figure
from assay.reports.units import Unit

__all__ = ["AspectPart", "RunPart", "UnitPart"]

#: Buckets of a dataset whose distributions are drawn; the list of pairs has them all.
MOST_BUCKETS = 6


@dataclass(frozen=True)
class RunPart:
    """What the page says of a run: a title, and its settings in words."""

    title: str
    run: RunFolder

    @property
    def created(self) -> str:
        """The day of the run."""
        return str(self.run.manifest.get("created", "unknown"))[:10]

    @property
    def signature(self) -> str:
        """The line that says how the numbers were resampled."""
        return str(self.run.manifest["signature"])

    @property
    def resampling(self) -> str:
        """The same in words."""
        request = self.run.manifest["request"]
        if not request["resamples"]:
            return "no intervals were computed"
        return (
            f"{percent(request['confidence'])} intervals by the bootstrap (expanded percentile), "
            f"{request['resamples']:,} resamples, seed {request['seed']}"
        )

    @property
    def command(self) -> str:
        """The line that was typed; empty where the run came from Python."""
        argv = self.run.manifest.get("environment", {}).get("argv", [])
        return shlex.join(["assay", *argv]) if argv else ""

    @property
    def versions(self) -> str:
        """Python and packages with their versions."""
        environment = self.run.manifest.get("environment", {})
        packages = environment.get("packages", {})
        there = [f"{name} {version}" for name, version in packages.items() if version != "absent"]
        return ", ".join([f"Python {environment.get('python', 'unknown')}", *there])

    @property
    def platform(self) -> str:
        """The machine's system."""
        return str(self.run.manifest.get("environment", {}).get("platform", "unknown"))


class UnitPart:
    """What the page shows of a dataset of a run; the rules tag at most so many of its pairs, or none."""

    def __init__(self, unit: Unit, most: int) -> None:
        self.unit = unit
        self.key, self.title, self.data = unit.key, unit.title, unit.data
        self.facts = unit.section.facts
        self.remarks = [*unit.section.remarks, *unit.section.missing]
        self.statistics = unit.section.statistics
        self.has_numbers = bool(unit.blocks)
        self.findings = list(find(unit))
        self.tagged = tag_pairs(unit.data, most)
        self.embedded = pack(unit, self.tagged)

    @property
    def agreement(self) -> list[tuple[str, Figure, AgreementTable]]:
        """A statistic, its forest plot and its table."""
        return [(name, forest(self.unit, name), agreement_table(self.unit, name)) for name in self.statistics]

    @property
    def spreads(self) -> list[tuple[str, Spread]]:
        """A bucket and the distributions in it."""
        names = [name for name, mask in self.unit.data.buckets.items() if mask.any()][:MOST_BUCKETS]
        return [(name, by_label(self.unit, name)) for name in names] if self.unit.data.scores else []

    @property
    def buckets_left_out(self) -> int:
        """How many buckets have no drawing."""
        return max(0, sum(bool(mask.any()) for mask in self.unit.data.buckets.values()) - MOST_BUCKETS)

    @property
    def cost(self) -> list[tuple[str, CostFigure]]:
        """A statistic and its figure of cost."""
        return [(name, draw_cost(self.unit, name)) for name in self.statistics]

    @cached_property
    def layers(self) -> list[tuple[str, str, Figure]]:
        """A model, a statistic, and the curve over its layers."""
        return [
            (model.name, name, draw_layers(self.unit, model, name))
            for model in layered_models(self.unit)
            for name in self.statistics
        ]

    @property
    def signatures(self) -> list[MetricFacts]:
        """What is known of each metric."""
        return list(self.unit.data.metrics.values())

    @property
    def notes(self) -> list[str]:
        """What a reader should know of buckets: labels, ties, the human ceiling, groups."""
        return [f"{block.bucket}: {'; '.join(block.facts)}" for block in self.unit.section.blocks]


class AspectPart:
    """What the page shows of a model whose aspects were scored, on all datasets that have them."""

    def __init__(self, model: AspectModel, parts: Sequence[UnitPart], statistics: Sequence[str]) -> None:
        self.number, self.title = model.number, model.title
        self.has_whole = any(model.whole in unit.data.scores for unit in model.units)
        drawn = ((name, draw_aspects(model, name)) for name in statistics)
        self.figures: list[tuple[str, Figure]] = [(name, figure) for name, figure in drawn if figure]
        keys = {unit.key for unit in model.units}
        profiles = ((part, draw_profile(part.unit, model, part.tagged)) for part in parts if part.key in keys)
        self.profiles: list[tuple[UnitPart, Profile]] = [(part, profile) for part, profile in profiles if profile]
