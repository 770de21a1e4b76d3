"""How often ``assay check`` lets a known loss pass, strict or not, and losses that add up over a chain of baselines.

python -m tests.simulations.gate
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import norm

from assay.analysis.check.cells import Verdict, detectable_loss, judge
from assay.analysis.check.settings import CheckSettings
from assay.statistics.comparison import compare
from assay.statistics.paired_change import PairedChange, paired_changes

REPEATS, RESAMPLES = 300, 200
#: Samples of the table of levels, and its settings: the statistic; pairs, and those that are yes (None: normal labels);
#: the AUC before, or ρ; the loss, which is the margin; and the correlation of the noise of both scores.
LEVEL_REPEATS = 400
LEVELS = (
    ("auc", 60, 3, 0.85, 0.05, 0.9),
    ("auc", 200, 10, 0.85, 0.05, 0.9),
    ("auc", 200, 10, 0.95, 0.02, 0.9),
    ("auc", 400, 20, 0.95, 0.02, 0.8),
    ("auc", 600, 30, 0.97, 0.01, 0.8),
    ("auc", 100, 50, 0.9, 0.03, 0.8),
    ("spearman", 60, 3, 0.85, 0.05, 0.9),
    ("spearman", 200, 10, 0.85, 0.05, 0.9),
    ("spearman", 400, 20, 0.95, 0.02, 0.8),
    ("spearman", 100, None, 0.6, 0.05, 0.9),
    ("spearman", 300, None, 0.6, 0.03, 0.9),
)
#: Spearman's correlation of the score with the labels before any loss.
BEFORE = 0.6
#: Checks one after the other, each after a loss that the margin allows, and pairs, margin and loss of each.
RELEASES, CHAIN_PAIRS, CHAIN_MARGIN, CHAIN_LOSS = 6, 2000, 0.02, 0.015
CHAIN_REPEATS = 50


def pearson_of(spearman: float) -> float:
    """Return the correlation of two normal variables by their rank correlation."""
    return float(2 * np.sin(np.pi * spearman / 6))


def scores_with(labels: np.ndarray, spearman: Sequence[float], rng: np.random.Generator) -> list[np.ndarray]:
    """Return scores with falling rank correlations with normal labels: each is the one before it, with more noise."""
    noise = np.zeros(len(labels))
    variance = 0.0
    scores = []
    for value in spearman:
        wanted = 1 / pearson_of(value) ** 2 - 1
        noise = noise + np.sqrt(wanted - variance) * rng.normal(size=len(labels))
        variance = wanted
        scores.append(labels + noise)
    return scores


def equal_scores(labels: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
    """Return two scores with the same rank correlation, whose noise has nine tenths of its variance in common."""
    variance = 1 / pearson_of(BEFORE) ** 2 - 1
    shared = labels + np.sqrt(0.9 * variance) * rng.normal(size=len(labels))
    return [shared + np.sqrt(0.1 * variance) * rng.normal(size=len(labels)) for _ in range(2)]


def checked(now: np.ndarray, before: np.ndarray, labels: np.ndarray, settings: CheckSettings) -> tuple[Verdict, float]:
    """Return what the check says of two scores, and the loss that it calls detectable."""
    (change,) = paired_changes(now, before, labels, statistics=settings.statistics, confidence=settings.confidence)
    low, high = change.difference.low, change.difference.high
    verdict = judge(change.before, change.now, low, high, settings.margin, change.has_few_rare_units)
    return verdict, detectable_loss(low, high, settings.confidence, settings.margin) or np.nan


def losses(pairs: int, loss: float, margin: float) -> tuple[float, float, float]:
    """Return the shares of checks that pass, and that pass if strict, and the mean of the detectable loss."""
    passed, strict, detectable = [], [], []
    settings = CheckSettings(margin=margin, statistics=("spearman",))
    for repeat in range(REPEATS):
        rng = np.random.default_rng((pairs, round(1000 * loss), repeat))
        labels = rng.normal(size=pairs)
        before, now = scores_with(labels, [BEFORE, BEFORE - loss], rng)
        if not loss:
            before, now = equal_scores(labels, rng)
        verdict, found = checked(now, before, labels, settings)
        passed.append(not verdict.fails)
        strict.append(not (verdict.fails or verdict.is_inconclusive))
        detectable.append(found)
    return float(np.mean(passed)), float(np.mean(strict)), float(np.mean(detectable))


def level(statistic: str, pairs: int, yes: int | None, value: float, loss: float, shared: float) -> tuple[float, float]:
    """Return how often a loss of exactly the margin passes strictly: by the check, and by intervals of resamples."""
    passed, resampled = 0, 0
    for repeat in range(LEVEL_REPEATS):
        rng = np.random.default_rng((pairs, yes or 0, repeat))
        noise = rng.normal(size=(2, pairs))
        noise[1] = shared * noise[0] + np.sqrt(1 - shared**2) * noise[1]
        margin = loss
        if yes is None:
            labels = rng.normal(size=pairs)
            before, now = (
                labels * r + np.sqrt(1 - r**2) * own
                for r, own in zip(map(pearson_of, (value, value - loss)), noise, strict=True)
            )
        else:
            labels = np.repeat([1.0, 0.0], [yes, pairs - yes])
            before, now = (
                np.sqrt(2) * norm.ppf(area) * labels + own
                for area, own in zip((value, value - loss), noise, strict=True)
            )
            if statistic == "spearman":
                # of a score without ties: ρ is (2 AUC - 1) times its ceiling
                margin = 2 * loss * np.sqrt(3 * yes / pairs * (1 - yes / pairs))
        (change,) = paired_changes(now, before, labels, statistics=(statistic,), confidence=0.95)
        passed += passes(change, margin)
        (plain,) = compare(
            now,
            before,
            labels,
            statistics=(statistic,),
            permutations=0,
            resamples=RESAMPLES,
            confidence=0.95,
            seed=(repeat,),
        )
        resampled += plain.low is not None and plain.low >= -margin
    return passed / LEVEL_REPEATS, resampled / LEVEL_REPEATS


def passes(change: PairedChange, margin: float) -> bool:
    """Tell whether a change passes a strict check."""
    low, high = change.difference.low, change.difference.high
    verdict = judge(change.before, change.now, low, high, margin, change.has_few_rare_units)
    return not (verdict.fails or verdict.is_inconclusive)


def chain() -> tuple[list[float], list[float]]:
    """Return by release the share of chains that failed by then: against the last baseline, and the first as well."""
    settings = CheckSettings(margin=CHAIN_MARGIN, statistics=("spearman",))
    last_failed = np.zeros((CHAIN_REPEATS, RELEASES), dtype=bool)
    first_failed = np.zeros((CHAIN_REPEATS, RELEASES), dtype=bool)
    for repeat in range(CHAIN_REPEATS):
        rng = np.random.default_rng((1, repeat))
        labels = rng.normal(size=CHAIN_PAIRS)
        scores = scores_with(labels, [BEFORE - number * CHAIN_LOSS for number in range(RELEASES + 1)], rng)
        for release in range(RELEASES):
            last_failed[repeat, release] = checked(scores[release + 1], scores[release], labels, settings)[0].fails
            first_failed[repeat, release] = checked(scores[release + 1], scores[0], labels, settings)[0].fails
    by_last = np.logical_or.accumulate(last_failed, axis=1).mean(axis=0)
    by_both = np.logical_or.accumulate(last_failed | first_failed, axis=1).mean(axis=0)
    return by_last.tolist(), by_both.tolist()


if __name__ == "__main__":
    print("| number | pairs | yes | before | loss = margin | passes `--strict` | by resamples |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for setting in LEVELS:
        statistic, pairs, yes, value, loss, _ = setting
        check, resampled = level(*setting)
        of = "ρ" if statistic == "spearman" else "AUC"
        before = f"AUC {value:g}" if yes else f"ρ {value:g}"
        print(f"| {of} | {pairs} | {yes or '–'} | {before} | {loss:g} | {check:.1%} | {resampled:.1%} |", flush=True)
    print()
    print("| pairs | margin | true loss | passes | passes `--strict` | detectable loss, mean |")
    print("|---:|---:|---:|---:|---:|---:|")
    for pairs, margin in ((100, 0.01), (300, 0.01), (1000, 0.01), (1000, 0.05)):
        for loss in (0.0, 0.02, 0.08):
            passed, strict, detectable = losses(pairs, loss, margin)
            print(f"| {pairs:,} | {margin:g} | {loss:g} | {passed:.0%} | {strict:.0%} | {detectable:.3f} |")
    print()
    by_last, by_both = chain()
    print("| release | " + " | ".join(map(str, range(1, RELEASES + 1))) + " |")
    print("|---|" + "---:|" * RELEASES)
    print("| lost since the first | " + " | ".join(f"{CHAIN_LOSS * n:.3f}" for n in range(1, RELEASES + 1)) + " |")
    print("| failed, last baseline only | " + " | ".join(f"{share:.0%}" for share in by_last) + " |")
    print("| failed, with `--baseline-of` | " + " | ".join(f"{share:.0%}" for share in by_both) + " |")
