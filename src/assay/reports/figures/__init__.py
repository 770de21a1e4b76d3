"""Figures of a run for a paper, drawn by matplotlib as PDF, SVG or PNG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.errors import InputError
from assay.reports.data import ALL
from assay.reports.figures.agreement import draw_agreement
from assay.reports.figures.chosen import choose, choose_statistic
from assay.reports.figures.layers import draw_layers
from assay.reports.figures.scores import draw_scores
from assay.reports.figures.style import as_in_print, check_matplotlib, check_target, save
from assay.reports.folder import RunFolder

__all__ = ["KINDS", "write_figure"]

#: What a figure shows.
KINDS = {
    "agreement": "a forest plot: each metric's value and interval, a panel a bucket",
    "layers": "agreement over the layers of a model, a line a bucket",
    "scores": "how each metric's scores are spread, a strip a label",
}


def write_figure(
    run: RunFolder,
    out: Path,
    kind: str = "agreement",
    *,
    statistic: str | None = None,
    datasets: Sequence[str] = (),
    metrics: Sequence[str] = (),
    buckets: Sequence[str] = (),
    width: float = 6.5,
) -> None:
    """Draw a figure of a run and write it; the same run gives the same file.

    Args:
        run: what is drawn.
        out: its ending is the format, ``.pdf``, ``.svg`` or ``.png``; an earlier file is replaced.
        kind: one of :data:`KINDS`.
        statistic: of the run; Spearman's by default, where the run has it.
        datasets, metrics, buckets: what is shown; by default all, of scores the bucket ``all``.
        width: in inches; the height follows from what is shown.

    Raises:
        InputError: the run does not have what was asked for, or nothing can be written there.
        MissingExtraError: matplotlib is not installed.
    """
    if kind not in KINDS:
        raise InputError(f"--kind {kind}: there are {', '.join(KINDS)}")
    if not 1 <= width <= 100:
        raise InputError(f"--width {width:g}: must be from 1 to 100 inches")
    check_target(out)
    check_matplotlib()
    with_scores = kind == "scores"
    shown = choose(run, datasets, metrics, buckets or ([ALL] if with_scores else []))
    chosen = choose_statistic(run, statistic)
    with as_in_print():
        if with_scores:
            figure = draw_scores(shown, width)
        else:
            figure = (draw_layers if kind == "layers" else draw_agreement)(shown, chosen, width)
        save(figure, out)
