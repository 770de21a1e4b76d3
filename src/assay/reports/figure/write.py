"""Drawing and writing the figure that a user requested."""

from __future__ import annotations

from pathlib import Path

from assay.analysis.data import ALL
from assay.analysis.figure import FigureSettings
from assay.analysis.folder import RunFolder
from assay.reports.figure.plots import choose_datasets, choose_statistic, draw_agreement, draw_layers, draw_scores
from assay.reports.figure.style import check_figure_target, check_matplotlib, figure_style, save_figure


def write_figure(run: RunFolder, out: Path, settings: FigureSettings) -> None:
    """Draw a figure of a run and write it; equal runs and settings produce equal files.

    Args:
        run: the run.
        out: the path, whose extension is the format: ``.pdf``, ``.svg`` or ``.png``. An earlier figure is replaced.
        settings: the kind of figure and the choice of datasets, metrics and buckets.

    Raises:
        InputError: the run lacks a chosen name or has nothing to draw, or the figure cannot be written to *out*.
        MissingExtraError: matplotlib is not installed.
    """
    check_figure_target(out)
    check_matplotlib()
    shows_scores = settings.kind == "scores"
    chosen = choose_datasets(
        run, settings.datasets, settings.metrics, settings.buckets or ([ALL] if shows_scores else [])
    )
    statistic = choose_statistic(run, settings.statistic)
    with figure_style():
        if shows_scores:
            figure = draw_scores(chosen, settings.width)
        else:
            draw = draw_layers if settings.kind == "layers" else draw_agreement
            figure = draw(chosen, statistic, settings.width)
        save_figure(figure, out)
