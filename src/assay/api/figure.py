"""Figures of a run for a paper."""

from __future__ import annotations

from pathlib import Path

from assay.api.files import Run, open_runs
from assay.paths import user_path
from assay.reports.figure.settings import FigureSettings
from assay.reports.figure.write import write_figure
from assay.settings import takes_settings


@takes_settings(FigureSettings)
def figure(run: Run, out: str | Path, settings: FigureSettings) -> Path:
    """Draw a figure of a run for a paper, write it and return its file; the same run gives the same file.

    Args:
        run: a run folder, a result of :func:`assay.run`, or a file with a label and score columns.
        out: its ending is the format, ``.pdf``, ``.svg`` or ``.png``; an earlier figure is replaced.

    Raises:
        InputError: the run does not have what was asked for, or nothing can be written there.
        MissingExtraError: matplotlib is not installed.
    """
    with open_runs(run) as (opened,):
        write_figure(opened, user_path(out), settings)
    return user_path(out)
