"""The criterion of divergence where nobody has chosen one, and what is said if it finds next to nothing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import assay

#: Enough pairs for ten of them to be less than 1 %.
N = 1200


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Runs of labels that are means from 1 to 5, of which *ends* pairs have the highest one, in a shuffled order."""
    rng = np.random.default_rng(0)
    folder = tmp_path_factory.mktemp("runs")

    def make(ends, column=False):
        path = folder / f"{ends}-{column}"
        if not path.exists():
            shared = rng.integers(0, 5, size=N)
            labels = np.round(2 + rng.random(N) * 2.5, 1)
            # the first ones have the highest label and no common word; the last one has the lowest
            labels[:ends], shared[:ends], labels[-1] = 5, 0, 1
            words = [f"w{word}" for word in range(5)]
            rows = {
                "reference": [" ".join([*words, f"id{row}"]) for row in range(N)],
                "candidate": [" ".join([*words[:count], "x", "y"]) for count in shared],
                "label": labels,
                "s": shared / 5,
            }
            metric = "recorded:s" if column else "f1"
            assay.run([pd.DataFrame(rows)], [metric], resamples=0, buckets=["none"], out=path)
        return path

    return make


def found(report):
    return len(report.records), report.to_markdown()


@pytest.mark.parametrize("ends", [1, 5, 8])
def test_ranks_are_used_where_thresholds_find_next_to_nothing(runs, ends):
    run = runs(ends)
    by_default, text = found(assay.errors(run, resamples=0))
    by_rank, _ = found(assay.errors(run, resamples=0, by="rank"))
    by_threshold, text_of_threshold = found(assay.errors(run, resamples=0, by="threshold"))
    assert by_default == by_rank > 10 > by_threshold
    assert f"by rank, since only {by_threshold} diverge by threshold" in text and "ranks of score and label" in text
    assert "--by rank looks for ranks that differ" in text_of_threshold


def test_thresholds_that_find_something_are_kept(runs):
    by_default, text = found(assay.errors(runs(40), resamples=0))
    assert by_default == len(assay.errors(runs(40), resamples=0, by="threshold").records) >= 40
    assert "by rank" not in text


def test_a_criterion_that_was_chosen_is_kept(runs):
    for chosen in ({"by": "threshold"}, {"low": 0.2}, {"high": 0.6}, {"scale": (1.0, 5.0)}):
        _, text = found(assay.errors(runs(1), resamples=0, **chosen))
        assert "by rank, since" not in text and "and label = 5, or score" in text, chosen


def test_ranks_that_find_next_to_nothing_name_thresholds(runs):
    _, text = found(assay.errors(runs(1, column=True), resamples=0, residual=0.9))
    assert "--by threshold looks for scores at the wrong end" in text
