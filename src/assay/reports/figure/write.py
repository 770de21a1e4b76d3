"""Draws and writes the figure that a user asked for."""

from __future__ import annotations

from pathlib import Path

from assay.reports.data import ALL
from assay.reports.figure.plots import draw_agreement, draw_layers, draw_scores
from assay.reports.figure.selection import choose, choose_statistic
from assay.reports.figure.settings import FigureSettings
from assay.reports.figure.style import as_in_print, check_matplotlib, check_target, save
from assay.reports.folder import RunFolder


def write_figure(run: RunFolder, out: Path, settings: FigureSettings) -> None:
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
