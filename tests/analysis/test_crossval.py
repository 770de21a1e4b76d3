"""Decisions over folds: what becomes of a metric that has hardly any scores."""

from __future__ import annotations

import numpy as np
import pandas as pd

import assay


def test_a_fold_without_a_score_to_learn_a_threshold_from_has_no_decisions(tmp_path):
    """The one scored pair is tested by a fold whose training pairs have no score; the other metric is judged."""
    n = 40
    frame = pd.DataFrame(
        {
            "reference": [f"the answer is number {row}" for row in range(n)],
            "candidate": [f"it is {row}" for row in range(n)],
            "label": np.arange(n) % 2,
            "whole": np.arange(n) % 2 + np.linspace(0, 0.5, n),
            "sparse": [0.5] + [np.nan] * (n - 1),
        }
    )
    frame.to_csv(tmp_path / "scored.csv", index=False)
    report = assay.crossval([tmp_path / "scored.csv"], statistics=["accuracy"], progress=False)
    records = report.records
    pooled = records[records["on"] == "pooled"].set_index("metric")
    assert pooled.loc["recorded:whole", "value"] == 1.0
    assert pd.isna(pooled.loc["recorded:sparse", "value"])
    assert pooled.loc["recorded:sparse", "n"] == 0
