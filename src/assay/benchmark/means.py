"""The mean of a coefficient over the buckets of a column: another number than the coefficient over all pairs.

The STS tasks 2012 to 2016 were ranked by a mean over their sources, papers since then report either; each is shown
under its own name.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from statistics import fmean

from assay.benchmark.outcome import AgreementRow, BucketSummary
from assay.statistics.agreement import Estimate

__all__ = ["mean_over"]

NOTE = "mean of {} buckets that count the same, without interval"


def mean_over(
    column: str, buckets: Collection[str], rows: Sequence[AgreementRow], summaries: Sequence[BucketSummary]
) -> tuple[list[AgreementRow], list[BucketSummary]]:
    """Return the rows and the summary of a bucket ``mean over COLUMN``; nothing where fewer than two have pairs.

    Args:
        column: whose values the buckets are.
        buckets: their names.
        rows: of one dataset, those buckets among them.
        summaries: likewise.
    """
    held = [one for one in summaries if one.bucket in buckets and one.n]
    if len(held) < 2:
        return [], []
    name = f"mean over {column}"
    inside = {one.bucket for one in held}
    values: dict[tuple[str, str], list[AgreementRow]] = {}
    for row in rows:
        if row.bucket in inside:
            values.setdefault((row.estimate.metric, row.estimate.statistic), []).append(row)
    found = [
        AgreementRow(held[0].dataset, held[0].split, name, _mean(metric, statistic, parts))
        for (metric, statistic), parts in values.items()
    ]
    ceiling = {
        statistic: None
        if any(one.ceiling[statistic] is None for one in held)
        else fmean(value for one in held if (value := one.ceiling[statistic]) is not None)
        for statistic in held[0].ceiling
    }
    whole = BucketSummary(
        dataset=held[0].dataset,
        split=held[0].split,
        bucket=name,
        n=sum(one.n for one in held),
        labels={},
        ties=None,
        ceiling=ceiling,
        reliability=None,
        groups=None,
    )
    return found, [whole]


def _mean(metric: str, statistic: str, parts: Sequence[AgreementRow]) -> Estimate:
    n = sum(part.estimate.n for part in parts)
    undefined = [part.bucket for part in parts if part.estimate.value is None]
    if undefined:
        return Estimate(metric, statistic, None, None, None, n, f"undefined in {', '.join(undefined)}")
    mean = fmean(value for part in parts if (value := part.estimate.value) is not None)
    return Estimate(metric, statistic, mean, None, None, n, NOTE.format(len(parts)))
