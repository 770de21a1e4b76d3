"""``assay figure``: a figure for a paper: PDF, SVG, PNG."""

from __future__ import annotations

from pathlib import Path

from assay.analysis.figure import FigureSettings
from assay.api.files import Run, open_runs
from assay.common.verbs import verb
from assay.paths import user_path
from assay.reports.figure.draw import draw_figure
from assay.reports.figure.style import check_figure_target, check_matplotlib, figure_style, save_figure


@verb(
    FigureSettings,
    "Draw a figure of a run for a paper, with matplotlib; the same run gives the same file.",
    "assay figure runs/answers --out agreement.pdf",
    run="A run folder, or a file with a label and score columns.",
    out="The figure: a name that ends in .pdf, .svg or .png.",
)
def figure(run: Run, out: str | Path, settings: FigureSettings) -> Path:
    """Write a figure of a run for a paper, and return its path; equal runs give identical files.

    Args:
        run: a run folder, a result of :func:`assay.run`, or a file with a label and score columns.
        out: the path of the figure, whose extension selects the format: ``.pdf``, ``.svg`` or ``.png``. An earlier
            figure is replaced.

    Raises:
        InputError: the run cannot be read, lacks a requested metric, dataset, bucket or statistic, has nothing to draw
            or needs too many panels; or *out* has another extension, is something else than a figure, or cannot be
            written.
        MissingExtraError: matplotlib is not installed.
    """
    target = user_path(out)
    with open_runs(run) as (opened,):
        check_figure_target(target)
        check_matplotlib()
        with figure_style():
            save_figure(draw_figure(opened, settings), target)
    return target
