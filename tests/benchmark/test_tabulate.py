"""The agreement table: signs, notes, and what each bucket holds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import assay
from assay.exceptions import InputError
from assay.manifest import AnnotatorReliability
from assay.statistics.reliability import split_half_reliability
from tests.benchmark.six_pairs import ROWS, value


def test_ter_is_turned_and_says_so():
    labels = [2, 0, 0, 1, 1, 0]
    rows = [dict(row, label=label) for row, label in zip(ROWS, labels, strict=True)]
    result = assay.run([rows], ["ter", "f1"], resamples=0)
    scores = result.scores["score"][result.scores["metric"] == "ter"]
    expected = -stats.spearmanr(scores, labels).statistic
    assert expected > 0.5, "a sign that is not turned would show"
    assert value(result, "ter")["value"] == pytest.approx(expected)
    assert value(result, "ter")["note"] == "sign turned: lower is better"
    assert value(result, "f1")["value"] > 0.5 and value(result, "f1")["note"] == ""
    result = assay.run([rows], ["ter"], resamples=100)
    notes = value(result, "ter")["note"].split("; ")
    assert (notes[0], notes[-1]) == ("no interval below 10 pairs", "sign turned: lower is better")


@pytest.mark.slow
def test_annotators_give_the_mean_label_and_its_reliability():
    rng = np.random.default_rng(0)
    rows = [
        {"reference": "a b", "candidate": "a" * (i % 9), "x": i % 3 + rng.normal(), "y": i % 3 + rng.normal()}
        for i in range(90)
    ]
    result = assay.run([rows], ["levenshtein"], columns="label=x+y", resamples=0)
    held = result.outcome.buckets[0].reliability
    assert held.annotators == 2
    labels = np.array([[row["x"], row["y"]] for row in rows])
    # two annotators have one way to be halved
    shared = np.cov(labels.T)[0, 1] / labels.mean(axis=1).var(ddof=1)
    assert held.pearson == pytest.approx(shared, abs=1e-12)
    assert held.bound_pearson == pytest.approx(held.pearson**0.5, abs=1e-12)
    written = AnnotatorReliability.model_validate_json(held.model_dump_json())
    assert written == held and written.lengths == [1, 1, 2]


@pytest.mark.slow
def test_pairs_with_unequally_many_annotations():
    rng = np.random.default_rng(1)
    given = [list(i % 4 + rng.normal(size=2 + i % 3)) for i in range(60)]
    pairs = assay.load_dataset([{"reference": "a", "candidate": "b", "label": i % 4} for i in range(60)])
    table = pairs.table.append_column("annotations", pa.array(given, pa.list_(pa.float64())))
    held = assay.run([replace(pairs, table=table)], ["f1"], resamples=0).outcome.buckets[0].reliability
    padded = np.array([[*one, np.nan, np.nan][:4] for one in given])
    expected = split_half_reliability(padded)
    assert (held.pearson, held.spearman) == (expected.pearson, expected.spearman)
    assert (held.n, held.annotators) == (60, expected.annotators)
    # lists of different lengths do not say who gave which label; empty cells of columns do
    assert held.annotators_spearman == []
    columns = [[*one, None, None][:4] for one in given]
    table = pairs.table.append_column("annotations", pa.array(columns, pa.list_(pa.float64())))
    held = assay.run([replace(pairs, table=table)], ["f1"], resamples=0).outcome.buckets[0].reliability
    assert len(held.annotators_spearman) == 4


def test_a_summary_lists_few_labels_one_by_one_and_many_by_their_quantiles():
    rows = [{"reference": "a", "candidate": "b", "label": i % 3} for i in range(30)]
    (summary,) = assay.run([rows], ["f1"], buckets="none", resamples=0).outcome.buckets
    assert summary.labels == {"0": 10, "1": 10, "2": 10}
    rows = [{"reference": "a", "candidate": "b", "label": i / 4} for i in range(41)]
    (summary,) = assay.run([rows], ["f1"], buckets="none", resamples=0).outcome.buckets
    assert summary.labels == {"0%": 0, "25%": 2.5, "50%": 5, "75%": 7.5, "100%": 10}


def test_groups_of_a_bucket_are_those_that_have_a_pair_in_it():
    rows = [dict(row, group=group) for row, group in zip(ROWS, "aabbcc", strict=True)]
    result = assay.run([rows], ["f1"], buckets=["number", "length"], resamples=100)
    found = {bucket.bucket: (bucket.n, bucket.groups) for bucket in result.outcome.buckets}
    assert found["all"] == (6, 3) and found["number=yes"] == (1, 1) and found["number=no"] == (5, 3)
    assert found["length>=16"] == (0, 0)


def test_empty_group_cells_are_groups_of_their_own():
    rows = [dict(row, topic=topic) for row, topic in zip(ROWS, ["x", "x", "", "", "y", ""], strict=True)]
    assert assay.run([rows], ["f1"], group_by="topic", resamples=100).outcome.buckets[0].groups == 5
    with pytest.raises(InputError, match="holds lists"):
        assay.run([[dict(row, tags=["a"]) for row in ROWS]], ["f1"], group_by="tags")


def test_a_label_that_is_not_the_mean_of_its_annotations_has_an_unknown_reliability():
    rng = np.random.default_rng(4)
    given = rng.integers(0, 3, size=(60, 1)) + rng.normal(size=(60, 3))
    medians, means = np.median(given, axis=1), given.mean(axis=1)

    def annotated(labels):
        rows = [{"reference": "a", "candidate": "b" * i, "label": label} for i, label in enumerate(labels)]
        pairs = assay.load_dataset(rows)
        table = pairs.table.append_column("annotations", pa.array(given.tolist(), pa.list_(pa.float64())))
        return assay.run([replace(pairs, table=table)], ["levenshtein"], resamples=0, buckets=["none"])

    # on another scale it is still the mean
    result = annotated(5 - means / 2)
    assert result.outcome.buckets[0].reliability.is_of_label
    assert "upper bound for a metric" in result.to_markdown() and "disattenuated" in result.to_markdown()
    result = annotated(medians)
    assert not result.outcome.buckets[0].reliability.is_of_label
    assert "which is not the label" in result.to_markdown()
    assert "upper bound" not in result.to_markdown() and "disattenuated" not in result.to_markdown()
