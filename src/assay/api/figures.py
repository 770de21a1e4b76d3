"""Figures of a run for a paper."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.api.evidence import open_runs
from assay.reports.figures import write_figure

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
        statistic: of the run; Spearman's by default, where the run has it.
        datasets, metrics, buckets: what is shown; by default all, of scores the bucket ``all``.
        width: in inches; the height follows from what is shown.

    Raises:
        InputError: the run does not have what was asked for, or nothing can be written there.
        MissingExtraError: matplotlib is not installed.
    """
    with open_runs([run]) as (opened,):
        write_figure(
            opened,
            Path(out),
            kind,
            statistic=statistic,
            datasets=datasets,
            metrics=metrics,
            buckets=buckets,
            width=width,
        )
    return Path(out)
