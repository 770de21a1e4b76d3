"""Several gold answers for one candidate: their scores reduced to one of the pair."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import assay
from assay.benchmark.singles import Singles
from assay.datasets import Pairs, load_dataset
from assay.exceptions import InputError
from assay.metrics import Metric, load_metric
from assay.metrics.base import Declaration


@pytest.mark.parametrize(("choice", "expected"), [("best", 1.0), ("mean", 0.5)])
def test_several_gold_answers(choice, expected):
    rows = [
        {"reference": ["NFL", "National Football League"], "candidate": "national football league", "label": 2},
        {"reference": ["Rome"], "candidate": "Paris", "label": 0},
    ]
    result = assay.run([rows], ["f1"], references=choice, resamples=0)
    assert result.scores["score"].tolist() == [expected, 0.0]
    assert f"references:{choice}" in result.report.manifest.signature


def test_a_pair_without_a_gold_answer_is_refused():
    rows = [
        {"reference": ["NFL", "league"], "candidate": "x", "label": 2},
        {"reference": [], "candidate": "y", "label": 0},
    ]
    with pytest.raises(InputError, match="gold answer"):
        assay.run([rows], ["f1"], resamples=0)
    # as a table that was read past the checks of loading
    table = pa.table({"pair_id": ["0", "1"], "reference": [["a", "b"], []], "candidate": ["x", "y"], "label": [1.0, 0]})
    with pytest.raises(InputError, match=r"d: a pair has no gold answer \(an empty list\)"):
        Singles(Pairs(table, "d"), load_metric("f1").declaration)


def test_lower_is_better_takes_the_lowest_of_several_gold_answers():
    rows = [
        {"reference": ["a b c d", "x y"], "candidate": "x y", "label": 2},
        {"reference": ["q"], "candidate": "z", "label": 0},
    ]
    assert assay.run([rows], ["ter"], resamples=0).scores["score"].tolist()[0] == 0


class AllAnswers(Metric):
    """The number of gold answers that are the candidate; -1 stands for a pair that was asked with one of them alone."""

    declaration = Declaration("all-answers", "a test", low=0, high=9, reads_all_references=True)
    is_stored = False

    def score(self, batch):
        assert [answers[0] for answers in batch.gold_answers] == list(batch.references)
        pairs = zip(batch.gold_answers, batch.candidates, strict=True)
        return np.array([float(answers.count(candidate)) for answers, candidate in pairs])


def test_a_metric_may_read_all_gold_answers_at_once():
    rows = [
        {"reference": ["NFL", "league", "NFL"], "candidate": "NFL", "label": 2},
        {"reference": ["NFL"], "candidate": "NFL", "label": 1},
        {"reference": ["Rome"], "candidate": "Paris", "label": 0},
        {"reference": ["NFL", "league", "NFL"], "candidate": "NFL", "label": 2},
    ]
    result = assay.run([rows], [AllAnswers], resamples=0, buckets=("none",))
    assert result.scores["score"].tolist() == [2, 1, 0, 2]
    # the first and the last pair are one
    (record,) = result.outcome.metrics
    assert record.scored == 3
    singles = Singles(load_dataset(rows), AllAnswers.declaration)
    assert len(singles.digests) == 3
    assert singles.batch(np.array([1, 0])).take([1]).gold_answers == [["NFL", "league", "NFL"]]


def test_where_every_pair_has_one_answer_there_is_no_list_of_them():
    rows = [{"reference": "a", "candidate": "a", "label": 1}, {"reference": "b", "candidate": "a", "label": 0}]
    assert Singles(load_dataset(rows), AllAnswers.declaration).batch(np.array([0])).gold_answers is None
