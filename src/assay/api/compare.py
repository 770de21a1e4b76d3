"""Comparisons of metrics and runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.api.files import open_runs
from assay.api.values import Report
from assay.errors import InputError
from assay.progress import Progress, Silent
from assay.reports.compare.contests import CompareSettings, check_buckets, compare_metrics, contests, used_buckets
from assay.reports.compare.document import document
from assay.reports.data import signed
from assay.statistics.coefficients import check_statistics
from assay.statistics.significance import Correction

__all__ = ["compare"]

#: Pairs shown where two metrics differ most, shared by the couples.
SHOWN = 10


def compare(
    runs: str | Path | Sequence[str | Path],
    metrics: Sequence[str] = (),
    *,
    buckets: Sequence[str] = (),
    statistics: Sequence[str] = (),
    permutations: int = 1000,
    resamples: int = 1000,
    confidence: float = 0.95,
    correction: Correction = "holm",
    seed: int = 0,
    pairs: int | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Report:
    """Say which metric of a run, or which of two runs, agrees better with people, and whether that is more than chance.

    Args:
        runs: run folders, or files with a label and score columns: one, whose metrics are compared two by two, or two,
            of which each metric is compared with itself.
        metrics: which; all by default.
        buckets: which, by name; all by default.
        statistics: coefficients; those of the first run by default.
        permutations: draws of the permutation test; more where the correction for many couples needs them.
        resamples: draws of the paired bootstrap.
        confidence: level of intervals and tests.
        correction: for the number of couples in a bucket: "holm", "benjamini-hochberg", "bonferroni" or "none".
        seed: seeds all draws.
        pairs: pairs to show for each couple on which its two metrics differ most; by default ten in all.
        force: compare runs on different data on the pairs that both have.
        progress: told of every permutation.

    Raises:
        InputError: runs on different data, an unknown metric, or a value outside its range.
    """
    progress = progress or Silent()
    if pairs is not None and pairs < 0:
        raise InputError(f"`pairs={pairs}`: must not be negative")
    with open_runs([runs] if isinstance(runs, str | Path) else runs) as opened:
        found = contests(opened, metrics, force=force)
        check_buckets([contest.data for contest in found], buckets)
        chosen = check_statistics(tuple(statistics or opened[0].manifest.request.statistics))
        settings = CompareSettings(chosen, permutations, resamples, confidence, correction, seed)
        compared = []
        for contest in found:
            used = len(used_buckets(contest.data, buckets))
            progress.begin(
                f"comparing on {contest.data.name}",
                used * len(contest.couples) * settings.permutations_for(len(contest.couples)),
            )
            found_here = compare_metrics(contest, settings, buckets=buckets, advance=progress.advance)
            compared.append((contest, found_here))
        shown = SHOWN // max(1, sum(len(contest.couples) for contest in found)) if pairs is None else pairs
        sides = [side for contest in found for side in (contest.data, contest.other) if side is not None]
        laid_out = document(compared, settings, shown)
        compared_metrics = dict.fromkeys(name for contest in found for name in contest.metrics)
        return Report(signed(laid_out, sides, compared_metrics, settings.signature))
