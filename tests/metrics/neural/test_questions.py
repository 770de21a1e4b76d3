"""The option ``question``: the question stands before both texts, in a run and by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import assay
from assay.metrics import Batch, check_metric, load_metric

ROWS = [
    {"question": "who saw it", "reference": "the man", "candidate": "a man", "label": 1},
    {"question": "where is it", "reference": "the house", "candidate": "", "label": 0},
    {"question": "", "reference": "the dog", "candidate": "a cat", "label": 0},
    {"question": "what is it", "reference": "the man", "candidate": "a man", "label": 0},
]


@pytest.mark.parametrize("name", ["bi-encoder:{encoder}", "bertscore:{encoder},layer=1", "cross-encoder:{scorer}"])
def test_it_is_read_before_both_texts(name: str, encoder: Path, scorer: Path, tmp_path: Path) -> None:
    plain = name.format(encoder=encoder, scorer=scorer)
    columns: dict[str, list[Any]] = {key: [row[key] for row in ROWS] for key in ROWS[0]}
    asked = [f"{row['question']} {row['reference']}".strip() for row in ROWS]
    answered = [f"{row['question']} {row['candidate']}".lstrip() for row in ROWS]
    expected = load_metric(plain).score(Batch(asked, answered))
    metric = load_metric(f"{plain},question=true")
    assert metric.score(Batch(columns["reference"], columns["candidate"], columns["question"])) == pytest.approx(
        expected, abs=1e-6
    )
    result = assay.run(ROWS, [plain, str(metric)], resamples=0, store=tmp_path / "scores.sqlite")
    found = result.scores[result.scores.metric == str(metric)].score.to_numpy()
    assert found == pytest.approx(expected, abs=1e-6)
    # the same texts under two questions
    assert found[0] != found[3]
    without = result.scores[result.scores.metric == plain].score.to_numpy()
    assert without[0] == without[3] and without[2] == pytest.approx(found[2], abs=1e-6)
    # a blank answer is counted as one, whatever is asked
    assert all(record.flags for record in result.outcome.metrics)


@pytest.mark.parametrize("name", ["bertscore:{encoder},layer=1", "cross-encoder:{scorer}"])
def test_an_explanation_reads_it_as_well(name: str, encoder: Path, scorer: Path) -> None:
    metric = load_metric(f"{name.format(encoder=encoder, scorer=scorer)},question=true")
    batch = Batch(*([row[key] for row in ROWS[:2]] for key in ("reference", "candidate", "question")))
    explained = [explanation.score for explanation in metric.explain(batch)]
    assert explained == pytest.approx(metric.score(batch).tolist(), abs=1e-6)


def test_without_questions_it_changes_nothing(encoder: Path) -> None:
    batch = Batch(["the man"], ["a man"])
    plain, asked = load_metric(f"bi-encoder:{encoder}"), load_metric(f"bi-encoder:{encoder},question=true")
    assert np.array_equal(plain.score(batch), asked.score(batch))
    # runs from before there was the option have the signature of a metric without it
    assert "question" not in plain.signature() and asked.signature()["question"] == "true"
    assert [item for item in check_metric(str(asked)) if not item.passed] == []
