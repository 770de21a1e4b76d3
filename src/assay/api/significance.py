"""``assay significance``: do systems with several seeds differ?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.analysis.significance.reading import read_results
from assay.analysis.significance.testing import SignificanceSettings, compare_samples, group_results, system_pairs
from assay.api.values import Report
from assay.common.progress import Silent
from assay.common.verbs import verb
from assay.paths import user_path
from assay.reports.figure.style import check_figure_target, check_matplotlib, figure_style, save_figure
from assay.reports.figure.systems import draw_cumulative
from assay.reports.significance import to_document


@verb(
    SignificanceSettings,
    "Test whether systems differ: almost stochastic order, Mann-Whitney U, bootstrap, t, Brown-Forsythe.",
    "assay significance results.csv --baseline base",
    "assay significance base=models/base node=models/node --all-pairs",
    results=(
        "CSV or JSONL with system, dataset, seed, value (and statistic); FOLDER or NAME=FOLDER of a training "
        "with several seeds."
    ),
)
def significance(results: str | Path | Sequence[str | Path], settings: SignificanceSettings) -> Report:
    """Test whether systems, each trained with several seeds, differ by more than seeds do.

    Args:
        results: tables with the columns system, dataset, seed, value and perhaps statistic (CSV or JSONL), and folders
            that a training with several seeds wrote, each as FOLDER or NAME=FOLDER. A higher value is better.

    Returns:
        A report with one record per comparison, that is per pair of systems, dataset and statistic.

    Raises:
        InputError: a file or folder cannot be read or lacks a column, a result is not a number, there are fewer than
            two systems or three seeds, the baseline is unknown, no dataset has results of two systems to compare, a
            setting is invalid, or the figure cannot be written.
        MissingExtraError: a figure is requested and matplotlib is not installed.
    """
    progress = settings.progress or Silent()
    rows, notes = read_results([results] if isinstance(results, str | Path) else results)
    samples = group_results(rows)
    pairs = system_pairs(samples, settings.baseline, settings.all_pairs)
    progress.begin("comparing systems", len(pairs) * len(samples))
    if settings.figure is not None:
        target = user_path(settings.figure)
        check_figure_target(target)
        check_matplotlib()
        with figure_style():
            save_figure(draw_cumulative(samples), target)
    comparisons = compare_samples(samples, pairs, settings, advance=progress.advance)
    # without all pairs, the second system of every pair is the baseline
    baseline = None if settings.all_pairs else pairs[0][1]
    return Report(to_document(samples, comparisons, settings, notes, baseline))
