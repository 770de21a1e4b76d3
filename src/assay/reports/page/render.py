"""The page of run folders: its content, and the HTML file that is written to a folder."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Sequence
from functools import cache
from importlib import resources
from itertools import chain
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from assay.analysis.errors.tags import MAX_TAGGED_PAIRS
from assay.analysis.folder import STRESS_FILE, RunFolder, run_titles
from assay.common.messages import Setting
from assay.common.output import FileKind, atomic_write, check_replaceable, is_unfinished
from assay.common.visible import visible_text
from assay.exceptions import InputError
from assay.reports.formats import format_document
from assay.reports.page.aspects import aspect_models
from assay.reports.page.parts import AspectPart, UnitPart, rank_metrics, run_part
from assay.reports.page.scores import spread_by_dataset
from assay.reports.sheets import Document, Sheet
from assay.reports.units import Unit, read_units
from assay.statistics.coefficients import main_statistic, title_of

# The content of the page; its appearance is defined in ``templates`` and ``assets``

#: Identifies a page of assay by one of its first lines.
GENERATOR = '<meta name="generator" content="assay">'
#: The scripts of the page, in order: later ones use definitions of earlier ones.
SCRIPTS = ("data.js", "views.js", "tables.js", "scatter.js", "explorer.js", "theme.js", "start.js")


def page_html(runs: Sequence[RunFolder], *, leaderboard: bool = True, categories: bool = True) -> str:
    """Return one HTML page on all datasets of some runs, which needs no other file and no network.

    The same runs result in the same text. Scores are embedded as 32-bit floats, if their range allows it. Evidence that
    is computed for the page is kept in the folders of the runs, where these can be written to.

    Args:
        runs: the runs to show.
        leaderboard: whether to rank the metrics; the tests for it take longer than the rest of the page.
        categories: whether to tag the pairs by rules, which takes longer than all but the leaderboard.

    Raises:
        InputError: there is no run, a run or its stress test is damaged or incomplete, or a run occurs twice.
    """
    if not runs:
        raise InputError("no run: give one run folder or more")
    units = read_units(runs)
    statistics = list(dict.fromkeys(chain.from_iterable(run.manifest.request.statistics for run in runs)))
    main_name = _main_statistic_of_runs(runs, statistics)
    parts = _unit_parts(units, categories=categories)
    aspects = []
    if any(record.declared.aspect for unit in units for record in unit.data.metrics.values()):
        aspects = [AspectPart(model, parts, statistics) for model in aspect_models(units)]
    profiled_ids = {id(part) for model in aspects for part, _ in model.profiles}
    content = {
        "runs": [run_part(title, run) for title, run in zip(run_titles(runs), runs, strict=True)],
        "units": parts,
        "layered": [part for part in parts if part.layers],
        "aspects": aspects,
        "profiled": [part for part in parts if id(part) in profiled_ids],
        "titles": {name: title_of(name) for name in statistics},
        "statistics": statistics,
        "main": main_name,
        "buckets": list(dict.fromkeys(block.bucket for unit in units for block in unit.blocks)),
        "metrics": list(dict.fromkeys(metric for unit in units for metric in unit.data.scores)),
        "names": units[0].names if units else {},
        "pairs": sum(len(unit.data) for unit in units),
        "across": spread_by_dataset(units) if len(units) > 1 else None,
        "ranking": rank_metrics(runs, main_name) if leaderboard else None,
        "stress": _stress_documents(runs),
    }
    style = asset_text("page.css")
    if aspects:
        style += asset_text("aspects.css")
    script = "\n".join(asset_text(name) for name in SCRIPTS)
    # the security policy of the page allows the script by its digest
    script_digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    template = template_environment().get_template("page.html")
    page: str = template.render(
        generator=Markup(GENERATOR),
        style=Markup(style),
        script=Markup(script),
        script_digest=script_digest,
        **content,
    )
    return page


def parts_of_one_run(run: RunFolder) -> list[str]:
    """Return those parts of the page of one run that differ between two runs with the same settings and numbers.

    Each is part of the text of :func:`page_html`: when the run was made, and by which command in which environment.
    """
    content = {
        "runs": [run_part(run_titles([run])[0], run)],
        "pairs": sum(record.n for record in run.manifest.datasets),
    }
    return [template_environment().get_template(name).render(**content) for name in ("lead.html", "made.html")]


def _unit_parts(units: Sequence[Unit], *, categories: bool) -> list[UnitPart]:
    """Return the part of the page on each dataset, and keep the evidence for them in the folders of the runs.

    Args:
        units: the datasets of all runs.
        categories: whether to tag their pairs by rules.
    """
    evidence_files = None
    if any(len(unit.data.scores) > 1 for unit in units):
        # a page on one metric needs no evidence, and loads nothing of it
        from assay.analysis.recommend.evidence import EvidenceFiles

        evidence_files = EvidenceFiles()
    pair_count = sum(len(unit.data) for unit in units)
    parts = []
    for unit in units:
        # the pairs that the rules may tag are divided among the datasets in proportion to their sizes
        max_tagged = max(1, MAX_TAGGED_PAIRS * len(unit.data) // max(pair_count, MAX_TAGGED_PAIRS))
        parts.append(UnitPart(unit, max_tagged if categories else 0, evidence_files))
    if evidence_files is not None:
        evidence_files.write()
    return parts


def _main_statistic_of_runs(runs: Sequence[RunFolder], statistics: Sequence[str]) -> str:
    """Return the main statistic that all runs share, else Spearman's ρ if it was computed, else the first."""
    main_names = {main_statistic(run.manifest.request.statistics) for run in runs}
    if len(main_names) == 1:
        return main_names.pop()
    return "spearman" if "spearman" in statistics else statistics[0]


def _stress_documents(runs: Sequence[RunFolder]) -> list[tuple[str, Document]]:
    """Return the title of each run that has a result of ``assay stress``, with the tables of that result."""
    documents = []
    for title, run in zip(run_titles(runs), runs, strict=True):
        if run.path is None or not (run.path / STRESS_FILE).is_file():
            continue
        # only now: most runs have no such result
        from assay.analysis.stress import read_study
        from assay.reports.stress import to_document

        study = read_study(run.path)
        if study is not None:
            documents.append((title, to_document(study, examples=True)))
    return documents


@cache
def template_environment() -> Environment:
    """Return the cached environment of the templates; it escapes text, and an undefined name is an error."""
    environment = Environment(
        loader=PackageLoader("assay.reports.page"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_with_visible_text,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["table"] = _html_table
    environment.filters["parted"] = _breakable_signature
    environment.filters["count"] = "{:,}".format
    return environment


def _with_visible_text(value: object) -> object:
    """Return a template value with control characters spelt out if it is text; HTML and other values are unchanged."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return visible_text(value, keep="\n\t")
    return value


def _breakable_signature(signature: str) -> Markup:
    """Return a signature as HTML that a browser can break after each bar."""
    return escape(visible_text(signature)).replace("|", Markup("|<wbr>"))


def asset_text(name: str) -> str:
    """Return the text of a style sheet or script of the page, given its file name in ``assets``."""
    return (resources.files("assay.reports.page") / "assets" / name).read_text(encoding="utf-8")


def _html_table(sheet: Sheet) -> Markup:
    """Return a sheet as an HTML table with escaped text."""
    return Markup(format_document(Document([sheet], []), "html"))


# Writing the page to a folder of its own

PAGE_NAME = "index.html"


def write_page(runs: Sequence[RunFolder], out: Path, *, leaderboard: bool = True, categories: bool = True) -> Path:
    """Write the page of some runs and return its file, ``index.html`` in the folder *out*.

    Args:
        runs: the runs to show.
        out: the folder, which is created if needed; an earlier page in it is replaced.
        leaderboard: whether to rank the metrics.
        categories: whether to tag the pairs by rules.

    Raises:
        InputError: *out* contains anything but an earlier page, or cannot be written; or there is no run, a run or its
            stress test is damaged or incomplete, or a run occurs twice.
    """
    try:
        check_page_target(out)
        text = page_html(runs, leaderboard=leaderboard, categories=categories)
        out.parent.mkdir(parents=True, exist_ok=True)
        is_new = not out.exists()
        out.mkdir(exist_ok=True)
        try:
            put_page(text, out / PAGE_NAME)
        except OSError:
            if is_new:
                # no empty folder is left behind
                out.rmdir()
            raise
    except OSError as error:
        raise InputError(
            f"{out}: cannot be written ({error.strerror or error}); give ", Setting("out"), " another place"
        ) from error
    return out / PAGE_NAME


#: The suffixes of a page in a file of its own.
HTML_SUFFIXES = (".html", ".htm")


def write_page_file(text: Callable[[], str], out: Path, suffixes: Sequence[str] = HTML_SUFFIXES) -> Path:
    """Write a page to a file, or to ``index.html`` in a folder of its own, and return the path of the file.

    Args:
        text: returns the text of the page; called once the place has been checked.
        out: a file with one of the suffixes, or a folder.
        suffixes: the suffixes of files.

    Raises:
        InputError: *out* is or holds anything but an earlier page, or cannot be written; *text* may raise it as well.
    """
    is_file = out.suffix.lower() in suffixes
    path = out if is_file else out / PAGE_NAME
    try:
        if is_file:
            check_replaceable(out, FileKind("a page of assay", "out", _is_page))
        else:
            check_page_target(out)
        content = text()
        path.parent.mkdir(parents=True, exist_ok=True)
        put_page(content, path)
    except OSError as error:
        raise InputError(
            f"{out}: cannot be written ({error.strerror or error}); give ", Setting("out"), " another place"
        ) from error
    return path


def put_page(text: str, path: Path) -> None:
    """Write the page to a file atomically, even if an earlier version is open in a browser."""
    with atomic_write(path) as scratch:
        # a lone surrogate, which a text of the data may have, cannot be encoded as UTF-8
        scratch.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")


def check_page_target(out: Path) -> None:
    """Check that a page may be written to *out*: a folder that is absent, empty, or contains only an earlier page.

    Raises:
        InputError: *out* is a file or a link, or contains anything else but unfinished files of assay.
        OSError: the folder or the page in it cannot be read.
    """
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise InputError(f"{out}: is not a folder; give ", Setting("out"), " the name of a folder")
    if not out.exists():
        return
    names = sorted(path.name for path in out.iterdir() if not is_unfinished(path))
    foreign_names = [name for name in names if name != PAGE_NAME]
    if foreign_names:
        raise InputError(f"{out}: holds {foreign_names[0]}; give ", Setting("out"), " a folder of its own")
    if names and not _is_page(out / PAGE_NAME):
        raise InputError(f"{out / PAGE_NAME}: is not a page of assay; give ", Setting("out"), " a folder of its own")


def _is_page(path: Path) -> bool:
    """Return whether a file is a page of assay; False if there is no such file."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        # the line is in the head of the page
        return GENERATOR.encode() in file.read(1000)
