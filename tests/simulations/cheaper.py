"""Print what a faster metric in place of the best costs, and intervals with rare scores, as in docs/simulations.md.

Run ``python -m tests.simulations.cheaper``; it takes about two minutes. Every sample has its own seed.
"""

from __future__ import annotations

import numpy as np

from assay.analysis.leaderboard.board import Board, Line, Rank
from assay.analysis.recommend.advice import advise
from assay.analysis.recommend.settings import Limits
from assay.common.numbers import Number
from assay.statistics.agreement import agreement, measure_all
from assay.statistics.comparison import summarise
from assay.statistics.draws import draw_all
from assay.statistics.winners import fisher_covariances_of_resamples

SAMPLES = 300
RESAMPLES = 200
#: Pearson's correlation of each metric with normal labels; each is twice as fast as the one before.
CORRELATIONS = (0.75, 0.65, 0.55, 0.45)


def board_of(n: int, sample: int) -> Board:
    """Return the leaderboard of one sample by Pearson's r, with independent errors."""
    rng = np.random.default_rng([n, sample])
    labels = rng.normal(size=n)
    scores = {f"r {r:g}": r * labels + np.sqrt(1 - r**2) * rng.normal(size=n) for r in CORRELATIONS}
    measured = measure_all(scores, labels, statistics=("pearson",), resamples=RESAMPLES, seed=(sample,))
    drawn = draw_all(scores, labels, statistics=("pearson",), permutations=0, resamples=0, seed=(sample,))
    lines = []
    for power, (name, found) in enumerate(measured.items()):
        low, high = found.interval(0, 0.95) or (None, None)
        values = {"pearson": Number(float(found.values[0]), low, high)}
        lines.append(Line(name, "", values, {"pearson": 0.0}, n, 2.0**power, "", Rank(1, 1, 4)))
    lines.sort(key=lambda line: -(line.values["pearson"].value or 0.0))
    differences = {pair: summarise(draws, ("pearson",), 0.95)[0] for pair, draws in drawn.items()}
    resampled = {name: found.resampled[0] for name, found in measured.items() if found.resampled is not None}
    covariances = fisher_covariances_of_resamples(resampled, -1)
    return Board(
        "", "all", n, tuple(lines), {}, fisher_covariances=covariances, units=n, differences=differences, shared=n
    )


def chosen(boards: list[Board], margin: float) -> tuple[float, float, float]:
    """Return how often the worst metric and one worse by more than the margin are recommended, and the mean loss."""
    losses = []
    for board in boards:
        recommended = advise(board, Limits(max_loss=margin), "pearson").recommended
        if recommended is not None:
            losses.append(CORRELATIONS[0] - float(recommended.metric.removeprefix("r ")))
    loss = np.array(losses)
    return float((loss > 0.29).mean()), float((loss > margin + 1e-9).mean()), float(loss.mean())


def excludes_zero(n: int, rare: int) -> float:
    """Return how often the bootstrap interval of ρ excludes 0 for a score that is not 0 in some pairs, at random."""
    outside = 0
    for sample in range(SAMPLES):
        rng = np.random.default_rng([n, rare, sample])
        labels = rng.integers(0, 5, size=n).astype(float)
        score = np.zeros(n)
        score[rng.choice(n, rare, replace=False)] = 1
        (found,) = agreement(
            {"m": score},
            labels,
            statistics=("spearman",),
            resamples=RESAMPLES,
            confidence=0.95,
            seed=(sample,),
        )
        outside += found.low is not None and found.high is not None and not found.low <= 0 <= found.high
    return outside / SAMPLES


def _short(value: float) -> str:
    return f"{value:.3f}".replace("0.", ".", 1)


def main() -> None:
    """Print both tables."""
    print("| n | margin | worst recommended | loss above the margin | mean loss of r |")
    print("|---:|---:|---:|---:|---:|")
    for n in (40, 100, 300, 1000):
        boards = [board_of(n, sample) for sample in range(SAMPLES)]
        for margin in (0.05, 0.15, 2.0):
            numbers = " | ".join(_short(value) for value in chosen(boards, margin))
            print(f"| {n} | {margin:g} | {numbers} |", flush=True)
    print()
    print("| n | pairs with the rarer score | interval excludes 0 |")
    print("|---:|---:|---:|")
    for n, rare in ((120, 1), (120, 2), (120, 5), (120, 9), (120, 20), (1000, 2), (1000, 9)):
        print(f"| {n} | {rare} | {_short(excludes_zero(n, rare))} |", flush=True)


if __name__ == "__main__":
    main()
