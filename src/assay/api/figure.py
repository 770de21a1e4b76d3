"""Figures of a run for a paper."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.api.files import open_runs
from assay.reports.figure import FigureSettings, write_figure

__all__ = ["figure"]


def figure(
    run: str | Path,
    out: str | Path,
    kind: str = "agreement",
    *,
    statistic: str | None = None,
    datasets: Sequence[str] = (),
    metrics: Sequence[str] = (),
    buckets: Sequence[str] = (),
    width: float = 6.5,
) -> Path:
    """Draw a figure of a run for a paper, write it and return its file; the same run gives the same file.

    Args:
        run: a run folder, or a file with a label and score columns.
        out: its ending is the format, ``.pdf``, ``.svg`` or ``.png``; an earlier figure is replaced.
        kind: ``agreement``, a forest plot; ``layers``, agreement over the layers of a model; ``scores``, how scores are
            spread by label.
        statistic, datasets, metrics, buckets, width: see :class:`assay.reports.figure.selection.FigureFigureSettings`.

    Raises:
        InputError: the run does not have what was asked for, or nothing can be written there.
        MissingExtraError: matplotlib is not installed.
    """
    settings = FigureSettings(kind, statistic, datasets, metrics, buckets, width)
    with open_runs([run]) as (opened,):
        write_figure(opened, Path(out), settings)
    return Path(out)
