"""Figures of a run for a paper, drawn by matplotlib as PDF, SVG or PNG."""

from __future__ import annotations

from pathlib import Path

from assay.reports.data import ALL
from assay.reports.figures.agreement import draw_agreement
from assay.reports.figures.chosen import choose, choose_statistic
from assay.reports.figures.files import check_target, save
from assay.reports.figures.layers import draw_layers
from assay.reports.figures.scores import draw_scores
from assay.reports.figures.settings import Settings
from assay.reports.figures.style import as_in_print, check_matplotlib
from assay.reports.folder import RunFolder

__all__ = ["Settings", "write_figure"]


def write_figure(run: RunFolder, out: Path, settings: Settings) -> None:
    """Draw a figure of a run and write it; the same run gives the same file.

    Args:
        run: what is drawn.
        out: its ending is the format, ``.pdf``, ``.svg`` or ``.png``; an earlier figure is replaced.
        settings: what is shown of it.

    Raises:
        InputError: the run does not have what was asked for, or nothing can be written there.
        MissingExtraError: matplotlib is not installed.
    """
    check_target(out)
    check_matplotlib()
    with_scores = settings.kind == "scores"
    shown = choose(run, settings.datasets, settings.metrics, settings.buckets or ([ALL] if with_scores else []))
    statistic = choose_statistic(run, settings.statistic)
    with as_in_print():
        if with_scores:
            figure = draw_scores(shown, settings.width)
        else:
            draw = draw_layers if settings.kind == "layers" else draw_agreement
            figure = draw(shown, statistic, settings.width)
        save(figure, out)
