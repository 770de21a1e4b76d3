"""Print how often each procedure calls one of the best metrics worse, as the table of docs/simulations.md.

Run ``python -m tests.simulations.best_set``, about three minutes, and with ``rare`` for the table of rare labels, about
four. Every sample has its own seed.
"""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import ndtri, stdtr

from assay.statistics.coefficients import title_of
from assay.statistics.comparison import Difference, summarise
from assay.statistics.draws import MetricPair, draw_all
from assay.statistics.significance import adjust_p_values
from assay.statistics.winners import DRAWS, _points_from_squared_distances, confidence_set_of_best
from tests.simulations.metrics_alike import Population
from tests.simulations.selection import sample

CASES = 400
LEVEL = 0.05
#: Pearson's correlation with the labels of metrics that are equally good, and of those that are worse.
BEST, WORSE = 0.6, 0.45

Floats = NDArray[np.float64]
Differences = dict[MetricPair, Difference]

#: Metrics, how many of them are equally the best, pairs; the errors of two metrics share half of their variance.
NORMAL = (
    (3, 3, 100),
    (3, 3, 1000),
    (5, 5, 300),
    (10, 10, 300),
    (10, 10, 1000),
    (10, 2, 300),
)
#: Rare labels: equally good metrics, pairs, how many of them have the label yes, and the coefficient.
RARE = (
    (5, 100, 5, "auc"),
    (10, 100, 5, "auc"),
    (10, 300, 15, "auc"),
    (10, 1000, 50, "auc"),
)
RARE_CASES = 200
#: Another population, of ten equal metrics.
GROUPED = Population("15 unequal groups", 90, groups=15, unequal=True)


def differences_of(
    scores: dict[str, Floats],
    labels: Floats,
    groups: NDArray[np.intp] | None,
    seed: int,
    statistic: str = "spearman",
) -> Differences:
    """Return the difference in a coefficient of every two metrics, with its jackknife t-test."""
    drawn = draw_all(scores, labels, statistics=[statistic], permutations=0, resamples=0, seed=(seed,), groups=groups)
    return {names: summarise(found, [statistic], 1 - LEVEL)[0] for names, found in drawn.items()}


def kept_by_holm(differences: Differences, names: list[str], winner_alone: bool) -> set[str]:
    """Return what Holm's tests cannot tell from the winner: of all pairs, or of the winner's alone."""
    values = {}
    for (first, second), found in differences.items():
        values |= {first: found.first, second: found.second}
    winner = max(names, key=lambda name: values[name])
    tested = [pair for pair in differences if winner in pair or not winner_alone]
    adjusted = adjust_p_values(np.array([differences[pair].p_jackknife for pair in tested]))
    worse = {name for pair, p in zip(tested, adjusted, strict=True) if winner in pair and p <= LEVEL for name in pair}
    return set(names) - (worse - {winner})


def kept_by_hsu(differences: Differences, names: list[str]) -> set[str]:
    """Return Hsu's set: metrics that no other beats by Dunnett's one-sided test with that metric as the control."""
    squared = np.zeros((len(names), len(names)))
    p_worse = np.ones((len(names), len(names)))  # one-sided, that the metric of the column is worse
    for (first, second), found in differences.items():
        i, j = names.index(first), names.index(second)
        squared[i, j] = squared[j, i] = found.error**2
        loser, winner = (j, i) if found.value > 0 else (i, j)
        p_worse[winner, loser] = found.p_jackknife / 2
    points = _points_from_squared_distances(squared)
    normal = np.random.default_rng(0).normal(size=(DRAWS // 5, len(names))) @ points.T
    kept = set()
    for j, name in enumerate(names):
        others = [i for i in range(len(names)) if i != j]
        largest = ((normal[:, others] - normal[:, [j]]) / np.sqrt(squared[others, j])).max(axis=1)
        if np.quantile(largest, 1 - LEVEL) >= -ndtri(p_worse[:, j].min()):
            kept.add(name)
    return kept


def simulate(draw, best: int) -> list[float]:
    """Return by procedure the share of samples in which one of the best is missing, and the share of worse ones kept.

    Args:
        draw: returns the scores of metrics, labels and groups of a sample, from its number.
        best: how many metrics, from the first, are equally the best.
    """
    missing, kept_worse = np.zeros(4), np.zeros(4)
    for case in range(CASES):
        scores, labels, groups = draw(case)
        names = list(scores)
        differences = differences_of(scores, labels, groups, case)
        procedures = [
            kept_by_holm(differences, names, winner_alone=False),
            kept_by_holm(differences, names, winner_alone=True),
            kept_by_hsu(differences, names),
            set(confidence_set_of_best(names, differences, level=LEVEL)),
        ]
        for place, kept in enumerate(procedures):
            missing[place] += not kept.issuperset(names[:best])
            kept_worse[place] += len(kept.intersection(names[best:])) / max(len(names) - best, 1)
    return [*missing / CASES, *kept_worse / CASES]


def _normal(metrics: int, best: int, n: int):
    correlations = np.array([BEST] * best + [WORSE] * (metrics - best))

    def draw(case: int):
        scores, labels = sample(np.random.default_rng([n, metrics, best, case]), n, correlations)
        return scores, labels, None

    return draw


def _grouped(metrics: int):
    def draw(case: int):
        rng = np.random.default_rng([GROUPED.n, case])
        scores, labels, groups = GROUPED.draw(rng, (1.0,) * metrics)
        return {f"metric {place}": values for place, values in enumerate(scores)}, labels, groups

    return draw


def simulate_rare(metrics: int, n: int, yes: int, statistic: str) -> list[float]:
    """Return the share of samples in which one of equally good metrics is missing, by the degrees of freedom.

    They are those of all pairs, those of the pairs with yes alone, and assay's, of two samples.
    """
    labels = np.repeat([1.0, 0.0], [yes, n - yes])
    # an AUC of .8; half of the variance of the errors is shared
    shift = np.sqrt(2) * stats.norm.ppf(0.8)
    missing = np.zeros(3)
    for case in range(RARE_CASES):
        errors = np.random.default_rng([n, metrics, yes, case]).normal(size=(metrics + 1, n)) * np.sqrt(0.5)
        scores = {f"metric {place}": shift * labels + errors[0] + own for place, own in enumerate(errors[1:])}
        found = differences_of(scores, labels, None, case, statistic)
        for place, degrees in enumerate((n - 1, yes - 1, None)):
            kept = confidence_set_of_best(list(scores), _with_degrees(found, degrees), level=LEVEL)
            missing[place] += len(kept) < metrics
    return (missing / RARE_CASES).tolist()


def _with_degrees(differences: Differences, degrees: int | None) -> Differences:
    """Return the differences with the p-values of other degrees of freedom; as they are for None."""
    if degrees is None:
        return differences
    changed = {}
    for pair, found in differences.items():
        p = float(2 * stdtr(degrees, -abs(found.value) / found.error)) if found.error else found.p_jackknife
        changed[pair] = replace(found, p_jackknife=p)
    return changed


def main_rare() -> None:
    """Print the table of rare labels."""
    print("| metrics | n | yes | coefficient | degrees of all pairs | of the pairs with yes | of two samples (assay) |")
    print("|---|---:|---:|---|---:|---:|---:|")
    for metrics, n, yes, statistic in RARE:
        cells = [f"{share:.3f}".replace("0.", ".", 1) for share in simulate_rare(metrics, n, yes, statistic)]
        print(f"| {metrics} equal | {n} | {yes} | {title_of(statistic)} | {' | '.join(cells)} |", flush=True)


def _row(name: str, n: int, found: list[float], some_worse: bool) -> str:
    cells = []
    for place, share in enumerate(found):
        is_known = place < 4 or some_worse
        cells.append(f"{share:.3f}".replace("0.", ".", 1) if is_known else "–")
    return f"| {name} | {n} | " + " | ".join(cells) + " |"


def main() -> None:
    """Print the table."""
    procedures = ["Holm, all pairs", "Holm, winner's", "Hsu", "confidence set"]
    heads = [f"{name}: missing" for name in procedures] + [f"{name}: kept" for name in procedures]
    print(f"| metrics | n | {' | '.join(heads)} |")
    print("|---|---:|" + "---:|" * len(heads))
    for metrics, best, n in NORMAL:
        name = f"{metrics} equal" if metrics == best else f"{best} best of {metrics}"
        print(_row(name, n, simulate(_normal(metrics, best, n), best), best < metrics), flush=True)
    print(_row(f"10 equal, {GROUPED.name}", GROUPED.n, simulate(_grouped(10), 10), some_worse=False), flush=True)


if __name__ == "__main__":
    main_rare() if sys.argv[1:] == ["rare"] else main()
