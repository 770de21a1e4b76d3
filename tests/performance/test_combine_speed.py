"""What a combination adds to the time of its members, and what it takes to learn one, both in CPU time of one core."""

from __future__ import annotations

import json
import time

import numpy as np
import pytest

import assay
from assay.statistics.combination import Inputs, Options, learn_and_test
from assay.statistics.learners import NAMES
from tests.performance.ratio import medians

MEMBERS = ["f1", "rouge-l", "chrf", "bleu"]


@pytest.fixture(scope="module")
def answers(shared_data):
    """Judged answers of two systems to 2,000 questions."""
    rows = json.loads((shared_data / "evouna" / "TQ.json").read_text(encoding="utf-8"))
    return [
        {
            "question": row["question"],
            "reference": row["golden_answer"].split("/"),
            "candidate": row[f"answer_{system}"],
            "label": float(row[f"judge_{system}"]),
        }
        for row in rows
        for system in ("gpt35", "chatgpt")
        if isinstance(row[f"judge_{system}"], bool)
    ]


@pytest.mark.parametrize("learner", NAMES)
def test_a_combination_adds_little_to_its_members(answers, tmp_path, learner, capsys):
    pytest.importorskip("lightgbm")
    run = assay.run(answers[:600], MEMBERS, resamples=0, buckets=["none"], store=tmp_path / "s.sqlite")
    folder = tmp_path / learner
    assay.combine(run, learners=[learner], most=len(MEMBERS), out=folder, resamples=100)
    content = json.loads((folder / "combined.json").read_text(encoding="utf-8"))
    members = [member["metric"] for member in content["members"]]
    data = assay.load_dataset(answers[:1500])

    def score(metrics):
        return lambda: assay.run(data, metrics, buckets=["none"], resamples=0, fresh=True, workers=1)

    times = medians({"members": score(members), "combined": score([f"combined:{folder}"])})
    ratio = times["combined"] / times["members"]
    with capsys.disabled():
        said = f"{learner} of {', '.join(members)} and {len(content['properties'])} properties of the texts"
        print(f"\n{said}, {len(data):,} pairs: {ratio:.3f} times the members alone")
    assert ratio <= 1.05


def test_learning_from_ten_thousand_pairs(capsys):
    """Twelve metrics that say something each, with two labels; nested folds, three learners and the curve."""
    pytest.importorskip("lightgbm")
    n, metrics = 10_000, 12
    rng = np.random.default_rng(0)
    labels = (rng.random(n) < 0.6).astype(float)
    scores = labels[:, None] + rng.normal(size=(n, metrics)) * np.linspace(1, 3, metrics)
    names = tuple(f"m{number}" for number in range(metrics))
    inputs = Inputs(names, scores, (True,) * metrics, labels, np.arange(n))
    begun = time.process_time()
    learn_and_test(inputs, Options("auc", learners=NAMES))
    seconds = time.process_time() - begun
    with capsys.disabled():
        print(f"\nlearning from {n:,} pairs and {metrics} metrics: {seconds:.1f} s of CPU")
    assert seconds < 60


def test_the_shipped_judge_takes_a_tenth_of_the_time_of_bertscore(answers, real_models, tmp_path, monkeypatch, capsys):
    """Both in one process with one thread."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "all-MiniLM-L6-v2").symlink_to(real_models / "minilm")
    data = assay.load_dataset(answers[:400])

    def score(metric):
        return lambda: assay.run(data, [metric], buckets=["none"], resamples=0, fresh=True, workers=1, threads=1)

    times = medians({name: score(name) for name in ("bertscore:all-MiniLM-L6-v2", "combined:answer-judge")})
    ratio = times["bertscore:all-MiniLM-L6-v2"] / times["combined:answer-judge"]
    with capsys.disabled():
        speed = len(data) / times["combined:answer-judge"]
        print(f"\nanswer-judge: {ratio:.2f} times the pairs per second of BERTScore, {speed:,.0f} answers per second")
    assert ratio >= 10
