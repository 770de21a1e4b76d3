"""Which metric to use on one's own labelled data."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.api.run import run
from assay.api.values import Report
from assay.errors import UnavailableError
from assay.progress import Progress, Silent
from assay.reports.data import signed
from assay.reports.folder import read_run
from assay.reports.leaderboard.board import Filters, boards, enough_draws, join, missing_metrics, work_of
from assay.reports.leaderboard.document import document
from assay.reports.recommend import advise, parse_budget, with_advice
from assay.reports.settings import PairedTests
from assay.statistics.coefficients import DEFAULT_STATISTICS, check_statistics

__all__ = ["recommend"]

#: Whose metrics are tried where none is named.
SUITE = "quickstart"


def recommend(
    dataset: Any,
    metrics: Sequence[str] = (),
    *,
    budget: str | None = None,
    by: str = "spearman",
    columns: str | Mapping[str, str] | None = None,
    buckets: Sequence[str] = (),
    permutations: int = 1000,
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
    out: str | Path | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Report:
    """Name the metric to use on labelled data within a cost, with the evidence.

    All scores are computed anew, since the store remembers scores and not what they cost.

    Args:
        dataset: as for :func:`assay.run`; labelled.
        metrics: what to choose from; those of the suite quickstart by default.
        budget: pairs per time that the metric must reach on this machine, such as ``"1000/s"``; None for any.
        by: the coefficient that decides.
        columns, buckets: as for :func:`assay.run`; there is one advice a bucket.
        permutations: draws of the permutation test.
        resamples: draws of the bootstrap.
        confidence: level of intervals and tests.
        seed: seeds all draws.
        out: where to keep the run; None to keep nothing.
        progress: told how far it is.
        **settings: as for :func:`assay.run`.

    Raises:
        InputError: something that was given cannot be used.
        UnavailableError: none of the metrics can be had.
    """
    progress = progress or Silent()
    needed = None if budget is None else parse_budget(budget)
    statistics = check_statistics(tuple(dict.fromkeys([*DEFAULT_STATISTICS, by])))
    tests = PairedTests(
        statistics=statistics, permutations=permutations, resamples=resamples, confidence=confidence, seed=seed
    )
    asked: dict[str, Any] = settings | {
        "suite": SUITE,
        "columns": columns,
        "buckets": buckets,
        "statistics": statistics,
        "seed": seed,
        "fresh": True,
    }
    with tempfile.TemporaryDirectory(prefix="assay-") as scratch:
        folder = Path(out) if out is not None else Path(scratch) / "run"
        run(
            dataset,
            metrics,
            **asked,
            resamples=0 if out is None else resamples,
            confidence=confidence,
            out=folder,
            progress=progress,
        )
        opened = read_run(folder)
        if not opened.manifest.has_scores:
            raise UnavailableError("no metric gave scores", "; ".join(missing_metrics([opened])))
        joined = join([opened], Filters())
        tests = enough_draws(joined, tests)
        progress.begin("comparing metrics", work_of(joined, tests))
        found = boards(joined, tests, by=by, advance=progress.advance)
    advice = [advise(board, needed, by) for board in found]
    evidence = signed(
        document(found, tests, by, missing_metrics([opened])), [one.data for one in joined], (), tests.signature
    )
    return Report(with_advice(evidence, advice, needed, by))
