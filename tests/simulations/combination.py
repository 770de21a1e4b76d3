"""How often ``assay combine`` claims that a combination is better than the best metric, where none is.

``python -m tests.simulations.combination --sets 1000``: of two labels, one metric knows something and the others
nothing, or only what the first one knows, with more noise. No combination agrees better than it on new pairs.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import numpy as np

from assay.statistics.combination import Inputs, Options, agreement_of, learn_and_test
from assay.statistics.comparison import compare_all
from assay.statistics.learners import NAMES
from assay.statistics.significance import adjust_p_values

COMBINED = "combined"
KINDS = ("noise", "copies")


def drawn(kind: str, n: int, metrics: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return scores of shape (n, metrics) and labels of shape (n,); the first metric alone says all that is known."""
    labels = (rng.random(n) < 0.6).astype(float)
    first = labels + rng.normal(size=n)
    others = [rng.normal(size=n) if kind == "noise" else first + rng.normal(size=n) for _ in range(metrics - 1)]
    return np.stack([first, *others], axis=1), labels


def claims(scores: np.ndarray, labels: np.ndarray, learners: tuple[str, ...], level: float) -> tuple[bool, float]:
    """Return whether an improvement over the best metric is claimed, and the improvement in AUC."""
    names = tuple(f"m{number}" for number in range(scores.shape[1]))
    inputs = Inputs(names, scores, (True,) * len(names), labels, np.arange(len(labels)))
    found = learn_and_test(inputs, Options("auc", learners=learners), curve=False)
    by_name = {COMBINED: found.scores} | {name: scores[:, number] for number, name in enumerate(names)}
    best = max(names, key=lambda name: agreement_of(by_name[name], labels, "auc"))
    pairs = [(COMBINED, name) for name in names]
    settings: dict[str, Any] = {"permutations": 0, "resamples": 0, "confidence": 0.95, "seed": (0,)}
    tests = compare_all(by_name, labels, statistics=("auc",), metric_pairs=pairs, **settings)
    values = np.array([tests[pair][0].p_jackknife for pair in pairs], dtype=float)
    adjusted = dict(zip(names, adjust_p_values(values, "holm"), strict=True))
    difference = tests[COMBINED, best][0].value or 0.0
    return bool(difference > 0 and adjusted[best] <= level), difference


def main() -> None:
    """Print a line for each kind of data and each size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=1000, help="label sets")
    parser.add_argument("--pairs", type=int, nargs="+", default=[100, 400])
    parser.add_argument("--metrics", type=int, default=5)
    parser.add_argument("--learner", action="append", choices=NAMES, help="default: all")
    parser.add_argument("--seed", type=int, default=0)
    settings = parser.parse_args()
    learners = tuple(settings.learner or NAMES)
    print(f"{settings.sets:,} label sets each, {settings.metrics} metrics, learners: {', '.join(learners)}, level .05")
    for kind in KINDS:
        for n in settings.pairs:
            begun, found = time.process_time(), []
            for number in range(settings.sets):
                rng = np.random.default_rng([settings.seed, KINDS.index(kind), n, number])
                found.append(claims(*drawn(kind, n, settings.metrics, rng), learners, 0.05))
                if sys.stderr.isatty():
                    print(f"\r{kind} {n}: {number + 1}", end="", file=sys.stderr)
            share = np.mean([claimed for claimed, _ in found])
            mean = np.mean([difference for _, difference in found])
            seconds = time.process_time() - begun
            print(
                f"{kind:8} {n:6,} pairs: claims {share:.3f}, AUC {mean:+.4f} on average, {seconds:.0f} s of CPU",
                flush=True,
            )


if __name__ == "__main__":
    main()
