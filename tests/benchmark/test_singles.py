"""Several gold answers for one candidate: their scores reduced to one of the pair."""

from __future__ import annotations

import pyarrow as pa
import pytest

import assay
from assay.benchmark.singles import Singles
from assay.datasets import Pairs
from assay.errors import InputError


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
        Singles(Pairs(table, "d"))


def test_lower_is_better_takes_the_lowest_of_several_gold_answers():
    rows = [
        {"reference": ["a b c d", "x y"], "candidate": "x y", "label": 2},
        {"reference": ["q"], "candidate": "z", "label": 0},
    ]
    assert assay.run([rows], ["ter"], resamples=0).scores["score"].tolist()[0] == 0
