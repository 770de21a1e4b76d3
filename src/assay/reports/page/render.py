"""The page: what it says is put together here, how it looks stands in ``templates`` and ``assets``."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from assay.errors import InputError
from assay.reports.folder import RunFolder, run_titles
from assay.reports.layout import TITLES
from assay.reports.page.aspects import aspect_models
from assay.reports.page.distributions import by_dataset
from assay.reports.page.parts import AspectPart, RunPart, UnitPart
from assay.reports.page.ranking import rank_metrics
from assay.reports.page.tagging import MOST
from assay.reports.sheets import Document, Sheet, write
from assay.reports.units import main_statistic, read_units

__all__ = ["GENERATOR", "asset", "environment", "page_html"]

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
    statistics = list(dict.fromkeys(name for run in runs for name in run.manifest["request"]["statistics"]))
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
            titles=TITLES,
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
