"""The page: findings, the parts given to the templates, and the HTML written to a folder."""

from __future__ import annotations

import base64
import hashlib
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from assay.errors import InputError
from assay.manifest import MetricRecord
from assay.output import written_whole
from assay.reports.data import ALL
from assay.reports.drawing import Figure
from assay.reports.folder import RunFolder, run_titles
from assay.reports.formats import write
from assay.reports.layout import Block, Cell, percent
from assay.reports.leaderboard.board import Filters, boards, enough_draws, join
from assay.reports.leaderboard.document import document
from assay.reports.page.agreement import AgreementTable, agreement_table, draw_layers, forest
from assay.reports.page.aspects import AspectModel, Profile, aspect_models, draw_aspects, draw_profile
from assay.reports.page.pairs import MOST, pack, tag_pairs
from assay.reports.page.scores import CostFigure, Spread, by_dataset, by_label, draw_cost
from assay.reports.settings import PairedTests
from assay.reports.sheets import Document, Sheet
from assay.reports.sweep import layered_models
from assay.reports.units import Unit, main_statistic, read_units
from assay.statistics.coefficients import title_of

__all__ = [
    "GENERATOR",
    "MOST_WORK",
    "NAME",
    "AspectPart",
    "PageFinding",
    "RunPart",
    "UnitPart",
    "asset",
    "environment",
    "find",
    "page_html",
    "put_page",
    "rank_metrics",
    "write_page",
]


# The page in a few sentences, computed from the numbers.

#: Buckets that the summary speaks of.
MOST_FINDINGS = 3
#: What a kind of labels that no people gave is called.
_UNRANKED = {"probe": "a probe set", "machine": "machine-made labels"}

PageFinding = tuple[str, str]


def find(unit: Unit) -> Iterator[PageFinding]:
    """Yield a bucket's name and a sentence on it: which metric agrees best, with its interval, and the next one."""
    statistic = unit.main_statistic
    for block in unit.blocks[:MOST_FINDINGS]:
        yield _where(block), _sentence(unit, block, statistic)


def _where(block: Block) -> str:
    place = "All pairs" if block.bucket == ALL else f"Where {_spelt(block.bucket)}"
    return f"{place} ({block.facts[0]})"


def _spelt(bucket: str) -> str:
    """Return a condition as people write it: ``f1=0`` becomes ``F1 = 0``."""
    for mark in (">=", "<=", "!=", "=", ">", "<"):
        name, found, value = bucket.partition(mark)
        if found and name and value and "+" not in bucket:
            shown = {">=": "≥", "<=": "≤", "!=": "≠"}.get(mark, mark)
            return f"{'F1' if name == 'f1' else name} {shown} {value}"
    return bucket


def _sentence(unit: Unit, block: Block, statistic: str) -> str:
    known = [
        (cell.value, metric, cell)
        for metric, _, _ in block.rows
        if (cell := unit.cell(block, metric, statistic)) is not None and cell.value is not None
    ]
    head = title_of(statistic)
    if not known:
        return f"no metric has a defined {head}."
    known.sort(key=lambda one: -one[0])
    count = len(block.rows) - len(known)
    verb = "is" if count == 1 else "are"
    left_out = f" {count} of {len(block.rows)} metrics {verb} undefined here." if count else ""
    if not unit.is_by_people:
        ends = f"from {_kept(known[-1][2])} to {_kept(known[0][2])}"
        return f"{head} {ends}; metrics are not ranked by {_UNRANKED[unit.data.facts.kind]}.{left_out}"
    _, best, cell = known[0]
    does = "agrees best with people" if known[0][0] > 0 else "has the highest value, which is no agreement with people"
    said = f"{unit.names[best]} {does}, {head} {_kept(cell)}"
    if cell.low is None or cell.high is None:
        said += ", without an interval"
    elif cell.low <= 0 <= cell.high:
        said += ", an interval that holds 0"
    if len(known) > 1:
        _, after, other = known[1]
        said += f"; next is {unit.names[after]}, {_kept(other)}{_overlap(cell, [one for _, _, one in known[1:]])}"
    return f"{said}.{left_out}"


def _kept(cell: Cell) -> str:
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
        return (
            f"{percent(request.confidence)} intervals by the bootstrap (expanded percentile), "
            f"{request.resamples:,} resamples, seed {request.seed}"
        )

    @property
    def command(self) -> str:
        """The line that was typed; empty where the run came from Python."""
        argv = self.run.manifest.environment.argv
        return shlex.join(["assay", *argv]) if argv else ""

    @property
    def versions(self) -> str:
        """Python and packages with their versions."""
        environment = self.run.manifest.environment
        installed = [f"{name} {version}" for name, version in environment.packages.items() if version != "absent"]
        return ", ".join([f"Python {environment.python or 'unknown'}", *installed])

    @property
    def platform(self) -> str:
        """The machine's system."""
        return self.run.manifest.environment.platform or "unknown"


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
    def signatures(self) -> list[MetricRecord]:
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


# The leaderboard of the page.

#: Buckets that are ranked: all pairs, F1 = 0 and F1 > 0.
BUCKETS = 3
#: Couples of metrics times pairs times draws; more would keep whoever waits for the page for longer than a minute.
MOST_WORK = 1_500_000_000


def rank_metrics(runs: Sequence[RunFolder], statistic: str) -> Document | str:
    """Return the leaderboard of some runs under one statistic, or why there is none.

    Ranks stand on permutation tests of every couple of metrics in the first three buckets of each dataset.
    """
    scored = any(run.manifest.has_scores for run in runs)
    joined = join(runs, Filters()) if scored else []
    settings = enough_draws(joined, PairedTests(statistics=(statistic,)))
    buckets = list(dict.fromkeys(name for one in joined for name in list(one.data.buckets)[:BUCKETS]))
    work = 0
    for one in joined:
        if len(one.scores) > 1:
            pairs = sum(int(mask.sum()) for name, mask in one.data.buckets.items() if name in buckets)
            # without tests, intervals alone are drawn, metric by metric
            tests = one.metric_pairs * (settings.permutations + settings.resamples)
            work += pairs * (tests or len(one.scores) * settings.resamples)
    if not work:
        return "There is nothing to rank: no dataset has scores of two metrics."
    if work > MOST_WORK:
        return "Ranks need a test of every couple of metrics, long on so many pairs: assay leaderboard does it."
    return document(boards(joined, settings, by=statistic, buckets=buckets), settings, statistic)


# The page: what it says is put together here, how it looks stands in ``templates`` and ``assets``.

#: Says in the first lines of a page who wrote it.
GENERATOR = '<meta name="generator" content="assay">'
#: In this order: later ones use what earlier ones define.
SCRIPTS = ("data.js", "views.js", "tables.js", "scatter.js", "explorer.js", "start.js")


def page_html(runs: Sequence[RunFolder], *, leaderboard: bool = True, categories: bool = True) -> str:
    """Return one HTML page of all datasets of some runs; it needs no other file and no network.

    The same runs give the same text. Scores are embedded as 32-bit floats.

    Args:
        runs: what to show.
        leaderboard: rank the metrics as well; the tests behind it take longer than the rest of the page.
        categories: tag the pairs by rules as well, which takes longer than what is left.

    Raises:
        InputError: there is no run; a run is not whole, or is given twice.
    """
    if not runs:
        raise InputError("no run: give one run folder or more")
    units = read_units(runs)
    pairs = sum(len(unit.data) for unit in units)
    statistics = list(dict.fromkeys(name for run in runs for name in run.manifest.request.statistics))
    main = main_statistic(statistics)
    script = "\n".join(asset(name) for name in SCRIPTS)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    parts = [UnitPart(unit, max(1, MOST * len(unit.data) // max(pairs, MOST)) if categories else 0) for unit in units]
    aspects = [AspectPart(model, parts, statistics) for model in aspect_models(units)]
    page: str = (
        environment()
        .get_template("page.html")
        .render(
            generator=Markup(GENERATOR),
            style=Markup(asset("page.css") + (asset("aspects.css") if aspects else "")),
            script=Markup(script),
            script_digest=digest,
            runs=[RunPart(title, run) for title, run in zip(run_titles(runs), runs, strict=True)],
            units=parts,
            layered=[part for part in parts if part.layers],
            aspects=aspects,
            profiled=[part for part in parts if any(part is one for model in aspects for one, _ in model.profiles)],
            titles={name: title_of(name) for name in statistics},
            statistics=statistics,
            main=main,
            buckets=list(dict.fromkeys(block.bucket for unit in units for block in unit.blocks)),
            metrics=list(dict.fromkeys(metric for unit in units for metric in unit.data.scores)),
            names=units[0].names if units else {},
            pairs=pairs,
            across=by_dataset(units) if len(units) > 1 else None,
            ranking=rank_metrics(runs, main) if leaderboard else None,
        )
    )
    return page


def environment() -> Environment:
    """Return what fills the templates: text is escaped, a name without a value is an error."""
    environment = Environment(
        loader=PackageLoader("assay.reports.page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["table"] = _table
    environment.filters["parted"] = _parted
    environment.filters["count"] = "{:,}".format
    return environment


def _parted(signature: str) -> Markup:
    """Return a signature that a line break parts after a bar."""
    return escape(signature).replace("|", Markup("|<wbr>"))


def asset(name: str) -> str:
    """Return a file of the page's style or scripts."""
    return (resources.files("assay.reports.page") / "assets" / name).read_text(encoding="utf-8")


def _table(sheet: Sheet) -> Markup:
    """Return a sheet as an HTML table; its text is escaped there."""
    return Markup(write(Document([sheet], []), "html"))


# Where the page is written: a folder of its own.

NAME = "index.html"


def write_page(runs: Sequence[RunFolder], out: Path, *, leaderboard: bool = True, categories: bool = True) -> Path:
    """Write the page of some runs and return its file, ``index.html`` in the folder *out*.

    Args:
        runs: what to show.
        out: made where it does not exist; an earlier page in it is replaced.
        leaderboard, categories: as for :func:`assay.reports.page.page_html`.

    Raises:
        InputError: *out* holds something else than an earlier page, or cannot be written; a run is not whole.
    """
    try:
        check_target(out)
        text = page_html(runs, leaderboard=leaderboard, categories=categories)
        out.mkdir(parents=True, exist_ok=True)
        put_page(text, out / NAME)
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error.strerror or error}); give `out` another place") from error
    return out / NAME


def put_page(text: str, path: Path) -> None:
    """Write a file whole or not at all, also where an earlier one is open in a browser."""
    with written_whole(path) as scratch:
        scratch.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")


def check_target(out: Path) -> None:
    """Return when a page may be written to *out*: it is absent, empty, or holds an earlier page alone.

    Raises:
        InputError: it is a file, or holds something else.
    """
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise InputError(f"{out}: is no folder; give `out` the name of a folder")
    if not out.exists():
        return
    names = sorted(path.name for path in out.iterdir())
    strangers = [name for name in names if name != NAME]
    if strangers:
        raise InputError(f"{out}: holds {strangers[0]}; give `out` a folder of its own")
    if names and not _is_page(out / NAME):
        raise InputError(f"{out / NAME}: is no page of assay; give `out` a folder of its own")


def _is_page(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return GENERATOR.encode() in file.read(1000)
