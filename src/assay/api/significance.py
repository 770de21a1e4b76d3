"""Systems that were trained with several seeds held against each other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.api.values import Report
from assay.progress import Progress, Silent
from assay.reports.significance.document import document
from assay.reports.significance.reading import read_results
from assay.reports.significance.testing import (
    Correction,
    SignificanceSettings,
    compare_samples,
    couples_of,
    group_results,
)

__all__ = ["compare_systems"]


def compare_systems(
    results: str | Path | Sequence[str | Path],
    *,
    baseline: str | None = None,
    all_pairs: bool = False,
    confidence: float = 0.99,
    tau: float = 0.2,
    alpha: float = 0.05,
    correction: Correction = "holm",
    resamples: int = 1000,
    seed: int = 0,
    progress: Progress | None = None,
) -> Report:
    """Say whether systems, each trained with several seeds, differ by more than the chance of a seed.

    Args:
        results: tables with the columns system, dataset, seed, value and perhaps statistic (CSV or JSONL), and folders
            that a training with several seeds wrote, each as FOLDER or NAME=FOLDER. A higher value is better.
        baseline: what the other systems are held against; the first one by default.
        all_pairs: compare every couple of systems instead.
        confidence: level of almost stochastic order before it is corrected.
        tau: by almost stochastic order a system is better where epsilon_min lies below this.
        alpha: level of the other tests.
        correction: for the number of comparisons of one statistic: "holm", "bonferroni" or "none".
        resamples: bootstrap resamples of each system's results; more where the correction needs them.
        seed: seeds all draws.
        progress: told of every comparison.

    Raises:
        InputError: fewer than two systems or than three seeds, a value that is no number, or a value outside its range.
    """
    progress = progress or Silent()
    settings = SignificanceSettings(confidence, tau, alpha, correction, resamples, seed)
    rows, notes = read_results([results] if isinstance(results, str | Path) else results)
    samples = group_results(rows)
    couples = couples_of(samples, baseline, all_pairs)
    progress.begin("comparing systems", len(couples) * len(samples))
    compared = compare_samples(samples, couples, settings, advance=progress.advance)
    return Report(document(samples, compared, settings, notes, None if all_pairs else couples[0][1]))
