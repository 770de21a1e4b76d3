"""Figures of a run for a paper, drawn by matplotlib as PDF, SVG or PNG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.errors import InputError
from assay.reports.data import ALL
from assay.reports.figures.agreement import draw_agreement
from assay.reports.figures.chosen import choose, choose_statistic
from assay.reports.figures.files import check_target, save
from assay.reports.figures.layers import draw_layers
from assay.reports.figures.scores import draw_scores
from assay.reports.figures.style import as_in_print, check_matplotlib
from assay.reports.folder import RunFolder

__all__ = ["KINDS", "write_figure"]

KINDS = ("agreement", "layers", "scores")


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
        out: its ending is the format, ``.pdf``, ``.svg`` or ``.png``; an earlier figure is replaced.
        kind: ``agreement``, a forest plot; ``layers``, agreement over the layers of a model; ``scores``, how scores are
            spread by label.
        statistic: of the run; Spearman's by default, where the run has it. The kind ``scores`` shows none.
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
    with_scores = kind == "scores"
    if with_scores and statistic is not None:
        raise InputError(f"--statistic {statistic}: has no effect beside --kind scores; leave one of them out")
    check_target(out)
    check_matplotlib()
    shown = choose(run, datasets, metrics, buckets or ([ALL] if with_scores else []))
    chosen = choose_statistic(run, statistic)
    with as_in_print():
        if with_scores:
            figure = draw_scores(shown, width)
        else:
            figure = (draw_layers if kind == "layers" else draw_agreement)(shown, chosen, width)
        save(figure, out)
