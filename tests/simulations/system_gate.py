"""Level and power of the gate for systems: how often a loss of exactly the margin passes, or is called worse.

python -m tests.simulations.system_gate
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from assay.analysis.check.cells import Verdict, judge
from assay.analysis.rate.rating import LEAST_OF_KIND
from assay.statistics.corrected_change import corrected_change_interval, followed_part
from assay.statistics.paired_means import mean_difference_interval

REPEATS = 3000
SIZES = (50, 100, 200, 500)
#: The correlation of the normal variables behind the answers of one group.
WITHIN = 0.4
Differences = NDArray[np.float64]


def yes_no(uniform: Differences, loss: float, gains: float, rng: np.random.Generator) -> Differences:
    """Return what answers gain: a share of *gains* turns right, a share of *gains* + *loss* wrong."""
    return (uniform > 1 - gains).astype(float) - (uniform < gains + loss)


def votes(uniform: Differences, loss: float, gains: float, rng: np.random.Generator) -> Differences:
    """Return what the share of right among three votes gains; each vote is wrong in a tenth of cases."""
    # a turn from right to wrong changes the expected share by .8
    turned = yes_no(uniform, loss / 0.8, gains, rng)
    # of the others, three quarters are right before and now
    right = np.where(turned < 0, True, np.where(turned > 0, False, rng.random(len(uniform)) < 0.75))
    now_right = np.where(turned < 0, False, np.where(turned > 0, True, right))
    before, now = (rng.binomial(3, np.where(of, 0.9, 0.1)) / 3 for of in (right, now_right))
    return now - before


def grades(uniform: Differences, loss: float, gains: float, rng: np.random.Generator) -> Differences:
    """Return what grades from 0 to 4 gain, divided by 4: one or two steps down, one step up."""
    # a quarter of all losses are of two steps
    losing = (4 * loss + gains) / 1.25
    steps = np.where(rng.random(len(uniform)) < 0.25, 2.0, 1.0)
    return np.where(uniform < losing, -steps, (uniform > 1 - gains).astype(float)) / 4


def group_codes(n: int, sizes: str, rng: np.random.Generator) -> NDArray[np.intp] | None:
    """Return the groups of n items: none, of five items each, or of 1 to 15 items."""
    if sizes == "none":
        return None
    if sizes == "of 5":
        return np.arange(n) // 5
    drawn = np.repeat(np.arange(n), rng.integers(1, 16, n))[:n]
    return np.unique(drawn, return_inverse=True)[1]


def uniform_values(groups: NDArray[np.intp] | None, n: int, rng: np.random.Generator) -> Differences:
    """Return uniform values of n items, which within a group are correlated."""
    noise = rng.normal(size=n)
    if groups is not None:
        shared = rng.normal(size=int(groups.max()) + 1)[groups]
        noise = np.sqrt(WITHIN) * shared + np.sqrt(1 - WITHIN) * noise
    values: Differences = ndtr(noise)
    return values


def verdicts(
    draw: Callable[[Differences, float, float, np.random.Generator], Differences],
    n: int,
    sizes: str,
    loss: float,
    margin: float,
    gains: float,
) -> tuple[float, float]:
    """Return the shares of samples that pass a strict check, and that are called worse."""
    passed = worse = 0
    for repeat in range(REPEATS):
        rng = np.random.default_rng((n, round(1000 * loss), round(1000 * gains), repeat))
        groups = group_codes(n, sizes, rng)
        differences = draw(uniform_values(groups, n, rng), loss, gains, rng)
        low, high = mean_difference_interval(differences, 1.0, 0.95, groups) or (None, None)
        verdict = judge(0.0, float(differences.mean()), low, high, margin)
        passed += verdict in (Verdict.better, Verdict.no_worse)
        worse += verdict is Verdict.worse
    return passed / REPEATS, worse / REPEATS


def verdicts_by_rate(
    n: int, sizes: str, loss: float, margin: float, gains: float, right: float, sensitivity: float, specificity: float
) -> tuple[float, float]:
    """Return the shares of samples that pass a strict check, and that are called worse, if nobody labelled the answers.

    A share *right* of answers is right before. Those that turn, and three in ten of the others, are other texts, of
    which a metric decides anew; it finds shares of right and of wrong answers. All answers before are labelled.
    """
    passed = worse = 0
    for repeat in range(REPEATS):
        rng = np.random.default_rng((n, round(1000 * loss), round(1000 * gains), round(100 * sensitivity), repeat))
        groups = group_codes(n, sizes, rng)
        uniform = uniform_values(groups, n, rng)
        before = uniform_values(groups, n, rng) < right
        losing, gaining = before & (uniform < (gains + loss) / right), ~before & (uniform > 1 - gains / (1 - right))
        now = (before & ~losing) | gaining
        was_yes, is_yes = (rng.random(n) < np.where(of, sensitivity, 1 - specificity) for of in (before, now))
        is_other = losing | gaining | (rng.random(n) < 0.3)
        decided, decided_now = was_yes.astype(float), np.where(is_other, is_yes, was_yes).astype(float)
        if min(before.sum(), (~before).sum()) < LEAST_OF_KIND:
            continue
        units = np.arange(n) if groups is None else groups
        part = followed_part(before.astype(float), decided, np.ones(n), units)
        low, high = corrected_change_interval(decided_now - decided, part, 0.95, groups) or (None, None)
        verdict = judge(0.0, float((decided_now - decided).mean()) / part.value, low, high, margin)
        passed += verdict in (Verdict.better, Verdict.no_worse)
        worse += verdict is Verdict.worse
    return passed / REPEATS, worse / REPEATS


def level_rows_by_rate() -> Iterator[tuple[float, float, float, str, int, float, float]]:
    """Yield share right, sensitivity, specificity, groups, items, and the highest shares that pass and are worse."""
    for right, sensitivity, specificity in ((0.6, 0.95, 0.95), (0.6, 0.9, 0.7), (0.85, 0.9, 0.7)):
        for sizes in ("none", "of 5"):
            for n in SIZES:
                shares = [
                    verdicts_by_rate(n, sizes, loss, loss, 0.02, right, sensitivity, specificity)
                    for loss in (0.02, 0.05, 0.1)
                ]
                passed, worse = (max(kind) for kind in zip(*shares, strict=True))
                yield right, sensitivity, specificity, sizes, n, passed, worse


def level_rows() -> Iterator[tuple[str, str, int, float, float, float, float]]:
    """Yield values, groups, items, loss, gains, and the shares that pass and are worse if that is the margin."""
    plans = [(yes_no, "none", gains) for gains in (0.0, 0.02, 0.1)]
    plans += [(yes_no, "of 5", 0.02), (yes_no, "of 5", 0.1), (yes_no, "1 to 15", 0.1), (votes, "none", 0.05)]
    plans += [(votes, "of 5", 0.05), (grades, "none", 0.1), (grades, "of 5", 0.1)]
    for draw, sizes, gains in plans:
        for n in SIZES:
            for loss in (0.02, 0.05, 0.1):
                passed, worse = verdicts(draw, n, sizes, loss, loss, gains)
                yield draw.__name__, sizes, n, loss, gains, passed, worse


if __name__ == "__main__":
    print("| values | groups | gains | " + " | ".join(f"{n} items" for n in SIZES) + " |")
    print("|---|---|---:|" + "---:|" * len(SIZES))
    rows = list(level_rows())
    for name, sizes, gains in dict.fromkeys((row[0], row[1], row[4]) for row in rows):
        cells = []
        for n in SIZES:
            of_cell = [row for row in rows if (row[0], row[1], row[4], row[2]) == (name, sizes, gains, n)]
            highest = [100 * max(row[column] for row in of_cell) for column in (5, 6)]
            cells.append(f"{highest[0]:.1f} / {highest[1]:.1f}")
        print(f"| {name.replace('_', '/')} | {sizes} | {gains:.0%} | {' | '.join(cells)} |")
    print()
    print("| items | groups | margin | passes `--strict`, nothing lost | worse, much lost |")
    print("|---:|---|---:|---:|---:|")
    for n in SIZES:
        for sizes in ("none", "of 5"):
            for margin, loss in ((0.02, 0.1), (0.05, 0.15)):
                passed, _ = verdicts(yes_no, n, sizes, 0.0, margin, 0.05)
                _, worse = verdicts(yes_no, n, sizes, loss, margin, 0.05)
                print(f"| {n} | {sizes} | {margin:g} | {passed:.0%} | {worse:.0%} of losses of {loss:g} |", flush=True)
    print()
    print("| share right | finds right | finds wrong | groups | " + " | ".join(f"{n} items" for n in SIZES) + " |")
    print("|---:|---:|---:|---|" + "---:|" * len(SIZES))
    by_rate = list(level_rows_by_rate())
    for case in dict.fromkeys(row[:4] for row in by_rate):
        shown = [f"{100 * row[5]:.1f} / {100 * row[6]:.1f}" for row in by_rate if row[:4] == case]
        right, sensitivity, specificity, sizes = case
        cells_of_case = " | ".join(shown)
        print(f"| {right:g} | {sensitivity:.0%} | {specificity:.0%} | {sizes} | {cells_of_case} |", flush=True)
    print()
    print("| finds right | finds wrong | items | margin | passes `--strict`, nothing lost | worse, much lost |")
    print("|---:|---:|---:|---:|---:|---:|")
    for sensitivity, specificity in ((0.95, 0.95), (0.9, 0.7)):
        for n in SIZES[1:]:
            passed, _ = verdicts_by_rate(n, "none", 0.0, 0.05, 0.05, 0.6, sensitivity, specificity)
            _, worse = verdicts_by_rate(n, "none", 0.15, 0.05, 0.05, 0.6, sensitivity, specificity)
            print(
                f"| {sensitivity:.0%} | {specificity:.0%} | {n} | 0.05 | {passed:.0%} | {worse:.0%} of losses of 0.15 |"
            )
