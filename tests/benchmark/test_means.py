"""The mean over the values of a column."""

from __future__ import annotations

import numpy as np
import pytest

import assay


def test_the_mean_over_the_values_of_a_column_has_its_own_name(shared_data, monkeypatch):
    """STS 2012 was ranked by a mean over its sources; over all pairs the number is another one."""
    from scipy.stats import spearmanr

    monkeypatch.setenv("ASSAY_DATA", str(shared_data))
    result = assay.run(["sts12"], ["f1"], buckets=["subset"], statistics=["spearman"], resamples=0)
    pairs = result.outcome.datasets[0].pairs
    sources = np.array(pairs.column("subset").to_pylist())
    scores = result.scores["score"].to_numpy()
    expected = [spearmanr(scores[sources == one], pairs.labels[sources == one])[0] for one in np.unique(sources)]
    found = result.agreement.set_index("bucket")
    assert len(expected) == 5
    assert found.loc["mean over subset", "value"] == pytest.approx(np.mean(expected))
    assert found.loc["mean over subset", "n"] == found.loc["all", "n"] == 3108
    assert found.loc["all", "value"] == pytest.approx(spearmanr(scores, pairs.labels)[0])
    assert abs(found.loc["all", "value"] - found.loc["mean over subset", "value"]) > 0.01
    assert "mean over subset" in result.to_markdown()


def test_a_mean_with_an_undefined_part_is_undefined():
    rows = [
        {"reference": "a", "candidate": c, "label": i, "kind": k} for i, (c, k) in enumerate(["ax", "ax", "by", "ay"])
    ]
    result = assay.run([rows], ["f1"], buckets=["kind", "f1"], statistics=["spearman"], resamples=0)
    found = result.agreement.set_index("bucket").loc["mean over kind"]
    assert np.isnan(found["value"]) and found["note"] == "undefined in kind=x"
    assert "mean over f1" not in set(result.agreement["bucket"])


def kinds(labels_of):
    """Return a run whose mean is over the kinds of pairs with these labels."""
    rows = [
        {"reference": "a b", "candidate": "a" if i % 2 else "b c", "label": label, "kind": kind}
        for kind, labels in labels_of.items()
        for i, label in enumerate(labels)
    ]
    result = assay.run([rows], ["f1"], buckets=["kind"], statistics=["pearson", "spearman"], resamples=0)
    return result, {one.bucket: one for one in result.outcome.buckets}


def test_the_ceiling_is_the_mean_of_the_ceilings():
    _, found = kinds({"x": [0, 0, 1], "y": [0, 1, 2, 2]})
    x, y, whole = (found[name] for name in ("kind=x", "kind=y", "mean over kind"))
    # ranks 1 to n against mid-ranks: sqrt(1 - sum of t^3 - t over n^3 - n), two pairs tied of 3 and of 4
    assert (x.ceiling["spearman"], y.ceiling["spearman"]) == pytest.approx(((1 - 6 / 24) ** 0.5, (1 - 6 / 60) ** 0.5))
    assert whole.ceiling["spearman"] == pytest.approx((x.ceiling["spearman"] + y.ceiling["spearman"]) / 2)
    assert whole.ceiling["pearson"] == 1
    assert (whole.n, whole.labels, whole.ties, whole.groups) == (7, {}, None, None)
    _, found = kinds({"x": [0, 0, 1], "y": [1, 1, 1]})
    assert found["kind=y"].ceiling["spearman"] is None and found["mean over kind"].ceiling["spearman"] is None


def test_over_one_value_there_is_no_mean():
    result, found = kinds({"x": [0, 0, 1]})
    assert list(found) == ["all", "kind=x"]
    assert set(result.agreement["bucket"]) == {"all", "kind=x"}
