"""Print how often the intervals of `assay recommend` hold the true value, as the table of docs/simulations.md.

Run ``python -m tests.simulations.selection``; it takes about four minutes. Every sample has its own seed.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from assay.analysis.leaderboard.board import Board, Line, Rank
from assay.analysis.recommend.advice import advise
from assay.analysis.recommend.settings import NO_LIMITS
from assay.common.numbers import Number
from assay.statistics.agreement import Coefficients, measure_all
from assay.statistics.comparison import Difference
from assay.statistics.draws import MetricPair
from assay.statistics.winners import fisher_covariances_of_resamples

CASES = 300
RESAMPLES = 200
#: Variance that the errors of two metrics share.
SHARED = 0.5

#: By name, Pearson's correlation of each metric with the labels; the population is normal.
POPULATIONS = {
    "10 equal metrics": np.full(10, 0.6),
    "20 equal metrics": np.full(20, 0.6),
    "one of 10 clearly higher": np.array([0.8, *[0.5] * 9]),
    "10 metrics, evenly spread": np.linspace(0.2, 0.7, 10),
}

Floats = NDArray[np.float64]


def sample(rng: np.random.Generator, n: int, correlations: Floats) -> tuple[dict[str, Floats], Floats]:
    """Return the scores of every metric, and n labels."""
    labels, common = rng.normal(size=(2, n))
    own = rng.normal(size=(len(correlations), n))
    errors = np.sqrt(SHARED) * common + np.sqrt(1 - SHARED) * own
    scores = correlations[:, None] * labels + np.sqrt(1 - correlations[:, None] ** 2) * errors
    return {f"metric {number}": row for number, row in enumerate(scores)}, labels


def tested(measured: dict[str, Coefficients], n: int) -> dict[MetricPair, Difference]:
    """Return the difference of each two metrics with a normal test, whose error is that of the resampled difference."""
    differences = {}
    for first, second in combinations(measured, 2):
        values = [float(measured[name].values[0]) for name in (first, second)]
        error = float((measured[first].resampled[0] - measured[second].resampled[0]).std(ddof=1))  # type: ignore[index]
        p = float(2 * stats.norm.sf(abs(values[0] - values[1]) / error))
        differences[first, second] = Difference.of(
            *values, statistic="spearman", p_jackknife=p, error=error, degrees=n - 1.0, n=n
        )
    return differences


def board_of(rng: np.random.Generator, n: int, correlations: Floats, seed: int) -> Board:
    """Return the leaderboard of one sample, with costs in random order."""
    scores, labels = sample(rng, n, correlations)
    measured = measure_all(scores, labels, statistics=("spearman",), resamples=RESAMPLES, seed=(seed,))
    lines = []
    for (name, found), speed in zip(measured.items(), rng.permutation(len(measured)) + 1.0, strict=True):
        low, high = found.interval(0, 0.95) or (None, None)
        values = {"spearman": Number(float(found.values[0]), low, high)}
        lines.append(Line(name, "", values, {"spearman": 0.0}, n, float(speed), "", Rank(1, 1, len(measured))))
    lines.sort(key=lambda line: -(line.values["spearman"].value or 0.0))
    resampled = {name: found.resampled[0] for name, found in measured.items() if found.resampled is not None}
    return Board(
        "",
        "all",
        n,
        tuple(lines),
        {},
        fisher_covariances=fisher_covariances_of_resamples(resampled, -1),
        units=n,
        differences=tested(measured, n),
    )


def simulate(n: int, correlations: Floats) -> list[float]:
    """Return shares of the samples in which intervals hold the true value, and more.

    Returns:
        Of the highest metric on the pairs that chose it, the same on a new sample, and of the metric to use, how often
        the interval holds the true value; how often the first two values are above it; how often the highest is used.
    """
    truth = {f"metric {number}": float(6 / np.pi * np.arcsin(one / 2)) for number, one in enumerate(correlations)}
    counted = np.zeros(6)
    for case in range(CASES):
        advice = advise(board_of(np.random.default_rng([n, case]), n, correlations, case), NO_LIMITS, "spearman")
        highest, use = advice.highest, advice.recommended
        assert highest is not None and use is not None
        shown = [
            (highest.values["spearman"], truth[highest.metric]),
            (advice.new_sample[highest.metric], truth[highest.metric]),
            (advice.new_sample[use.metric], truth[use.metric]),
        ]
        held = [(number.low or 0.0) <= true <= (number.high or 0.0) for number, true in shown]
        above = [(number.value or 0.0) > true for number, true in shown[:2]]
        counted += [*held, *above, use is highest]
    return list(counted / CASES)


def _short(value: float) -> str:
    return f"{value:.3f}".replace("0.", ".", 1)


def main() -> None:
    """Print the table."""
    print(
        "| population | n | own interval | new sample | used metric | own too high | new too high | highest is used |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for name, correlations in POPULATIONS.items():
        for n in (100, 300):
            found = simulate(n, correlations)
            print(f"| {name} | {n} | " + " | ".join(_short(value) for value in found) + " |", flush=True)


if __name__ == "__main__":
    main()
