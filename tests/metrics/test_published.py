"""The recorded columns of the published answer-similarity data, row by row."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from assay.metrics import Batch, load_metric

ROWS = {"squad": 942, "nq_open_relabelled": 3559}


@pytest.mark.parametrize("file", ROWS)
@pytest.mark.parametrize(
    ("metric", "column"),
    [
        ("f1", "f1"),
        ("f1:paper", "f1"),
        ("bleu:paper", "bleu"),
        ("rouge-l:paper", "rouge_L"),
        ("meteor:paper", "meteor"),
    ],
)
def test_paper_scores_equal_the_recorded_ones(request, shared_data, file, metric, column):
    if metric.startswith("meteor"):
        request.getfixturevalue("wordnet")
    loaded = load_metric(metric)
    with (shared_data / "sas" / "recorded" / f"{file}.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == ROWS[file]
    scores = loaded.score(Batch([row["answer1"] for row in rows], [row["answer2"] for row in rows]))
    recorded = np.array([float(row[column]) for row in rows])
    assert np.unique(recorded).size >= 4
    np.testing.assert_allclose(scores, recorded, rtol=0, atol=1e-6)


def test_a_blank_answer_is_the_text_nan():
    batch = Batch(["", "nan nan nan nan"], ["nan", ""])
    assert load_metric("f1:paper").score(batch).tolist() == [1.0, 0.4]
    assert load_metric("f1").score(batch).tolist() == [0.0, 0.0]
    assert load_metric("rouge-l:paper").score(batch).tolist() == [1.0, 0.4]
    assert load_metric("bleu:paper").score(batch).tolist() == [0.0, 0.0]


def test_the_gold_answer_is_the_hypothesis():
    long, short = "one two three four five six seven eight", "one two three four"
    as_published, as_usual = load_metric("bleu:paper"), load_metric("bleu:paper,swap=false")
    # Four tokens all found, brevity penalty exp(1 - 8/4).
    assert as_usual.score(Batch([long], [short]))[0] == pytest.approx(np.exp(-1))
    assert as_published.score(Batch([short], [long]))[0] == pytest.approx(np.exp(-1))
    assert as_published.score(Batch([long], [short]))[0] == pytest.approx((4 / 8 * 3 / 7 * 2 / 6 * 1 / 5) ** 0.25)
