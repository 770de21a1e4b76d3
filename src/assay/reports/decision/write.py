"""The page for a decision as one HTML file, or as Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple
from pathlib import Path

from markupsafe import Markup

from assay.analysis.decision import gather_evidence
from assay.analysis.folder import RunFolder
from assay.analysis.report import PageSettings
from assay.reports.decision.words import DecisionPage, decision_page
from assay.reports.formats import format_document
from assay.reports.page.render import GENERATOR, HTML_SUFFIXES, asset_text, template_environment, write_page_file
from assay.reports.plots import drawing, element
from assay.reports.sheets import Column, Document, Sheet

#: Kind of decision -> its name in the legend of the picture, in the order in which they are drawn.
KINDS = {
    "hits": "correct yes",
    "rests": "correct no",
    "alarms": "wrong yes (people say no)",
    "misses": "wrong no (people say yes)",
}
#: The number of marks in the picture, and in each of its rows.
_MARKS, _ACROSS = 100, 25


def write_decision(run: RunFolder, out: Path, settings: PageSettings) -> Path:
    """Write the page for a decision and return the path of the file.

    Args:
        run: the run with the evidence.
        out: a file that ends in ``.html``, ``.htm`` or ``.md``, or a folder of its own, for ``index.html``.
        settings: the settings of the page, such as title, note and threshold.

    Raises:
        InputError: *out* exists and is not an earlier page, or cannot be written; see also :func:`gather_evidence`.
    """

    def text() -> str:
        page = decision_page(gather_evidence(run, settings), settings)
        return decision_markdown(page) if out.suffix.lower() == ".md" else decision_html(page)

    return write_page_file(text, out, (*HTML_SUFFIXES, ".md"))


def decision_html(page: DecisionPage) -> str:
    """Return a page as HTML that needs no other file, no network and no script.

    It has a picture of the kinds of decisions if there are decisions.
    """
    text: str = (
        template_environment()
        .get_template("decision.html")
        .render(
            generator=Markup(GENERATOR),
            style=Markup(asset_text("page.css") + asset_text("decision.css")),
            page=page,
            picture=draw_counts(page.counts) if page.counts else None,
            kinds=KINDS,
        )
    )
    return text


def decision_markdown(page: DecisionPage) -> str:
    """Return a page as Markdown, with a first line that marks it as a page of assay, which may be replaced."""
    opening = [page.note] if page.note else []
    answers = [f"{answer.about}: {answer.text}" for answer in page.answers]
    sheets = [Sheet(page.title, (), (), facts=[*opening, page.lead]), Sheet(page.verdict, (), (), notes=answers)]
    for section in page.sections:
        sheets.append(Sheet(section.title, (), (), notes=section.points))
    if page.commands:
        lines = [f"{purpose}: {command}" for purpose, command in page.commands.items()]
        sheets.append(Sheet("What to run next", (), (), notes=lines))
    heads = [Column(head) for head in ("question", "reference", "candidate", "people", "metric")]
    for title, judgements in page.examples.items():
        rows = [astuple(judgement) for judgement in judgements]
        if rows:
            sheets.append(Sheet(title, heads, rows))
    sheets.append(Sheet("How this was computed", (), (), notes=page.small))
    return f"{GENERATOR}\n\n{format_document(Document(sheets, ()), 'md')}"


def draw_counts(counts: Mapping[str, int]) -> Markup:
    """Return a picture of a hundred marks in proportion to the kinds of decisions: discs are right, squares wrong.

    Args:
        counts: the number of decisions by kind, a key of :data:`KINDS`; at least one decision.
    """
    shares = whole_percentages(counts)
    kinds_text = ", ".join(f"{shares[kind]} {meaning}" for kind, meaning in KINDS.items())
    marks = []
    number = 0
    for kind in KINDS:
        for _ in range(shares[kind]):
            x, y = 20.0 * (number % _ACROSS), 20.0 * (number // _ACROSS)
            marks.append(draw_mark(kind, x, y))
            number += 1
    description = f"Of 100 decisions: {kinds_text}."
    return drawing("counts", 20 * _ACROSS, 20 * _MARKS // _ACROSS, "One hundred decisions", description, *marks)


def draw_mark(kind: str, x: float, y: float) -> Markup:
    """Return the mark of one decision in a square of side 20 whose upper left corner is (*x*, *y*)."""
    if kind in ("hits", "rests"):
        return element("circle", cx=x + 10, cy=y + 10, r=6.5, class_=kind)
    return element("rect", x=x + 3.5, y=y + 3.5, width=13, height=13, class_=kind)


def whole_percentages(counts: Mapping[str, int]) -> dict[str, int]:
    """Return counts, of which at least one is positive, as whole percentages that sum to 100, with the same keys.

    They are rounded by the largest-remainder method; of equal remainders, the first ones are rounded up.
    """
    total = sum(counts.values())
    shares = {kind: _MARKS * count // total for kind, count in counts.items()}
    by_remainder = sorted(counts, key=lambda kind: -(_MARKS * counts[kind] % total))
    for kind in by_remainder[: _MARKS - sum(shares.values())]:
        shares[kind] += 1
    return shares
