"""Pairwise accuracy with tie calibration: against a direct search over the differences of all pairs."""

from __future__ import annotations

import numpy as np

from assay.statistics.agreement import measure_all
from assay.statistics.cells import Labels
from assay.statistics.tie_calibration import FOLDS, Thresholds
from tests.performance.ratio import medians

N, METRICS = 3559, 10


def data():
    """Six continuous and four tied scores of every quality, and three labels, as NQ-open has them."""
    rng = np.random.default_rng(0)
    labels = rng.choice(3, size=N, p=[0.717, 0.166, 0.117]).astype(float)
    scores = {f"continuous {i}": 0.25 * i * labels + rng.normal(size=N) for i in range(6)}
    for i in range(METRICS - 6):
        # multiples of 1/64, whose differences have no rounding
        scores[f"tied {i}"] = np.round(64 * np.clip(rng.normal(size=N) + (0.3 + i) * labels / 4, 0, 1)) / 64
    return scores, labels


class Direct:
    """All n (n - 1) / 2 differences of one score, sorted once; every subset of the folds then reads that order."""

    def __init__(self, scores, labels, folds):
        self.first, self.second = np.triu_indices(len(scores), 1)
        by_score, self.by_label = scores[self.first] - scores[self.second], labels[self.first] - labels[self.second]
        self.sizes = np.abs(by_score)
        self.in_order = by_score * self.by_label > 0
        self.folds = folds
        order = np.argsort(self.sizes)
        self.sorted_sizes = self.sizes[order]
        self.gains = np.where(self.by_label == 0, 1, -self.in_order.astype(np.int64))[order]
        self.sorted_first, self.sorted_second = folds[self.first][order], folds[self.second][order]
        self.last_of_size = np.append(np.diff(self.sorted_sizes) > 0, True)

    def threshold(self, kept):
        """Return the best threshold of the pairs whose folds are kept, 1 or 0 a fold."""
        in_subset = kept[self.sorted_first] * kept[self.sorted_second]
        running = np.cumsum(self.gains * in_subset)
        running[~self.last_of_size] = -len(running)
        best = running.argmax()
        if not in_subset[best + 1 :].any():
            return np.inf  # everything is a tie
        return self.sorted_sizes[best] if running[best] > 0 else 0.0

    def value(self):
        """Return the threshold on all pairs and the share that agrees out of fold."""
        limits = np.empty((FOLDS, FOLDS))
        for one, other in zip(*np.triu_indices(FOLDS), strict=True):
            kept = np.ones(FOLDS, dtype=np.int64)
            kept[[one, other]] = 0
            limits[one, other] = limits[other, one] = self.threshold(kept)
        is_tie = self.sizes <= limits[self.folds[self.first], self.folds[self.second]]
        agrees = np.where(is_tie, self.by_label == 0, self.in_order)
        shown = min(self.threshold(np.ones(FOLDS, dtype=np.int64)), self.sorted_sizes[-1])
        return shown, agrees.mean()


def test_ten_metrics(capsys):
    scores, labels = data()
    sorted_labels = Labels.of(labels)
    folds = Thresholds.of(labels, sorted_labels).folds
    found, expected = {}, {}

    def own():
        found.update(measure_all(scores, labels, statistics=["acc-eq"], resamples=0, seed=(0,)))

    def direct():
        for name, values in scores.items():
            expected[name] = Direct(values, labels, folds).value()

    times = medians({"own": own, "direct": direct}, rounds=1)
    for name, (threshold, value) in expected.items():
        chosen = Thresholds.of(scores[name], sorted_labels)
        assert abs(chosen.shown - threshold) < 1e-9
        assert abs(found[name].values[0] - value) < 1e-9
    ratio = times["direct"] / times["own"]
    with capsys.disabled():
        print(
            f"\nacc-eq of {METRICS} metrics, n = {N:,}, out of fold, with thresholds: {times['own']:.2f} s, "
            f"{ratio:.0f} x a direct search"
        )
    assert ratio >= 20
