"""What the templates of the page are given: findings in sentences, and the parts of runs, datasets and aspects."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from assay.configuration import Configuration
from assay.manifest import MetricRecord
from assay.reports.data import ALL
from assay.reports.drawing import Figure
from assay.reports.folder import RunFolder
from assay.reports.layout import Block, Cell, intervals_of, short
from assay.reports.page.agreement import AgreementTable, agreement_table, draw_layers, forest
from assay.reports.page.aspects import AspectModel, Profile, draw_aspects, draw_profile
from assay.reports.page.cost import CostFigure, draw_cost, draw_price
from assay.reports.page.pairs import pack, tag_pairs
from assay.reports.page.scores import Spread, by_label
from assay.reports.sheets import ShortNames
from assay.reports.spending import spending
from assay.reports.sweep import layered_models
from assay.reports.units import Unit
from assay.statistics.coefficients import title_of

# The page in a few sentences, computed from the numbers.

#: Buckets that the summary speaks of.
MOST_FINDINGS = 3
#: What a kind of labels that no people gave is called.
_UNRANKED = {"probe": "a probe set", "machine": "machine-made labels"}


def find(unit: Unit) -> Iterator[tuple[str, str]]:
    """Yield a bucket's name and a sentence on it: which metric agrees best, with its interval, and the next one."""
    statistic = unit.main_statistic
    for block in unit.blocks[:MOST_FINDINGS]:
        yield _where(block), _sentence(unit, block, statistic)


def _where(block: Block) -> str:
    name = "All pairs" if block.bucket == ALL else f"Where {spelt(block.bucket)}"
    return f"{name} ({block.facts[0]})"


def spelt(bucket: str) -> str:
    """Return a condition as people write it: ``f1=0`` becomes ``F1 = 0``."""
    for mark in (">=", "<=", "!=", "=", ">", "<"):
        name, found, value = bucket.partition(mark)
        if found and name and value and "+" not in bucket:
            shown = {">=": "≥", "<=": "≤", "!=": "≠"}.get(mark, mark)
            return f"{'F1' if name == 'f1' else name} {shown} {value}"
    return bucket


def _sentence(unit: Unit, block: Block, statistic: str) -> str:
    """Return which metric agrees best in a bucket, or the range of values where no metric is ranked."""
    known = []
    for metric, _, _ in block.rows:
        cell = unit.cell(block, metric, statistic)
        if cell is not None and cell.value is not None:
            known.append((cell.value, metric, cell))
    head = title_of(statistic)
    if not known:
        return f"no metric has a defined {head}."
    known.sort(key=lambda row: -row[0])
    cells = [cell for _, _, cell in known]
    count = len(block.rows) - len(known)
    verb = "is" if count == 1 else "are"
    left_out = f" {count} of {len(block.rows)} metrics {verb} undefined here." if count else ""
    if not unit.is_by_people:
        ends = f"from {_unbroken(cells[-1])} to {_unbroken(cells[0])}"
        return f"{head} {ends}; metrics are not ranked by {_UNRANKED[unit.data.facts.kind]}.{left_out}"
    value, best, cell = known[0]
    chance = block.chance[unit.section.statistics.index(statistic)] or 0.0
    agrees = "agrees best with people" if value > chance else "has the highest value, which is no agreement with people"
    sentence = f"{unit.names[best]} {agrees}, {head} {_unbroken(cell)}"
    if cell.low is None or cell.high is None:
        sentence += ", without an interval"
    elif cell.low <= chance <= cell.high:
        sentence += f", an interval that holds {f'{short(chance, 2)}, which is chance' if chance else 0}"
    if len(known) > 1:
        _, second, other = known[1]
        sentence += f"; next is {unit.names[second]}, {_unbroken(other)}{_overlap(cell, cells[1:])}"
    return f"{sentence}.{left_out}"


def _unbroken(cell: Cell) -> str:
    """Return a value with its interval that no line break parts."""
    return cell.text.replace(" ", "\N{NO-BREAK SPACE}")


def _overlap(best: Cell, others: list[Cell]) -> str:
    """Say how many of the other intervals reach into that of the best metric; nothing where there are none."""
    low = best.low
    if low is None:
        return ""
    count = sum(other.high is not None and other.high >= low for other in others)
    return f" (of the {len(others)} other intervals, {count or 'none'} overlap{'s' * (count == 1)} with the best one)"


# What the templates are given of a run and of a dataset.

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
        return self.run.manifest.created[:10] or "unknown"

    @property
    def signature(self) -> str:
        """The line that says how the numbers were resampled."""
        return self.run.manifest.signature

    @property
    def resampling(self) -> str:
        """The same in words."""
        request = self.run.manifest.request
        if not request.resamples:
            return "no intervals were computed"
        return f"{intervals_of(self.run)}, seed {request.seed}"

    @property
    def command(self) -> str:
        """The line that was typed; empty where the run came from Python."""
        argv = self.run.manifest.environment.argv
        return shlex.join(["assay", *argv]) if argv else ""

    @property
    def configured(self) -> str:
        """The settings that a configuration file gave beside that line; empty for none."""
        environment = self.run.manifest.environment
        return Configuration(Path(environment.configuration), environment.configured).line

    @property
    def versions(self) -> str:
        """Python and packages with their versions."""
        environment = self.run.manifest.environment
        installed = [f"{name} {version}" for name, version in environment.packages.items() if version != "absent"]
        return ", ".join([f"Python {environment.python or 'unknown'}", *installed])

    @property
    def spending(self) -> list[str]:
        """What it spent on metrics that call a server, a line each, with their short names."""
        records = self.run.manifest.metrics
        names = ShortNames(record.metric for record in records)
        return [names.within(line) for line in spending(records)]

    @property
    def platform(self) -> str:
        """The machine's system."""
        return self.run.manifest.environment.platform or "unknown"


class UnitPart:
    """What the page shows of a dataset of a run; the rules tag at most so many of its pairs, or none."""

    def __init__(self, unit: Unit, most: int) -> None:
        self.unit = unit
        self.key, self.title, self.data = unit.key, unit.title, unit.data
        self.facts = [*unit.section.facts, *unit.section.hints]
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
    def cost(self) -> list[tuple[str, CostFigure, CostFigure | None]]:
        """A statistic, its figure of speed, and that of price where pairs of some metric are paid for."""
        return [(name, draw_cost(self.unit, name), draw_price(self.unit, name)) for name in self.statistics]

    @property
    def is_priced(self) -> bool:
        """Whether pairs of some metric are paid for."""
        return any(record.price_per_1000 for record in self.unit.data.metrics.values())

    @cached_property
    def layers(self) -> list[tuple[str, str, Figure]]:
        """A model, a statistic, and the curve over its layers."""
        return [
            (model.name, name, draw_layers(self.unit, model, name))
            for model in layered_models(self.unit)
            for name in self.statistics
        ]

    @property
    def signatures(self) -> list[MetricRecord]:
        """What is known of each metric."""
        return list(self.unit.data.metrics.values())

    @property
    def notes(self) -> list[str]:
        """What a reader should know of buckets: labels, ties, reliability of the labels, groups."""
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
