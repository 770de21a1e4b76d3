"""Agreement with people by bucket during a training of sentence-transformers."""

from __future__ import annotations

import csv
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import assay
from assay.exceptions import InputError
from assay.metrics import load_metric

ROWS = [
    ("7 km", "seven kilometres", 2), ("a red car", "the red car", 2), ("in Paris", "Berlin", 0), ("two", "2 cats", 2),
    ("the king", "a queen", 1), ("blue", "azure", 1), ("a dog runs", "a dog sleeps", 0), ("noon", "12 o'clock", 2),
    ("iron", "gold", 0), ("the sea", "an ocean", 1), ("ten", "eleven", 0), ("quick", "fast", 2),
] * 2  # fmt: skip


@pytest.mark.slow
def test_a_training_logs_agreement_by_bucket_and_keeps_it(real_models: Any, tmp_path: Path) -> None:
    models = pytest.importorskip("sentence_transformers")
    datasets = pytest.importorskip("datasets")
    from sentence_transformers.sentence_transformer.losses import CosineSimilarityLoss

    model = models.SentenceTransformer(str(real_models / "minilm"), device="cpu")
    evaluator = assay.AssayEvaluator(ROWS, primary="f1=0_spearman", name="answers")
    before = evaluator(model)
    result = assay.run(ROWS, [f"bi-encoder:{real_models / 'minilm'}"], resamples=0, statistics=["spearman"])
    expected = {row.bucket: row.value for row in result.outcome.agreement}
    assert before["answers_f1=0_spearman"] == pytest.approx(expected["f1=0"], abs=1e-6)
    assert before["answers_all_spearman"] == pytest.approx(expected["all"], abs=1e-6)
    gold, texts, labels = zip(*ROWS, strict=True)
    columns = {"sentence1": gold, "sentence2": texts, "score": [label / 2 for label in labels]}
    arguments = models.SentenceTransformerTrainingArguments(
        str(tmp_path), max_steps=4, per_device_train_batch_size=8, eval_strategy="steps", eval_steps=2,
        save_strategy="no", report_to=[], use_cpu=True, disable_tqdm=True, learning_rate=1e-3,
    )  # fmt: skip
    trainer = models.SentenceTransformerTrainer(
        model,
        arguments,
        train_dataset=datasets.Dataset.from_dict(columns),
        loss=CosineSimilarityLoss(model),
        evaluator=evaluator,
    )
    trainer.train()
    logged = [entry["eval_answers_f1=0_spearman"] for entry in trainer.state.log_history if "eval_runtime" in entry]
    (file,) = tmp_path.rglob("assay_evaluation.csv")
    with file.open(newline="") as rows:
        kept = list(csv.DictReader(rows))
    assert [row["steps"] for row in kept] == ["2", "4"]
    assert [float(row["f1=0_spearman"]) for row in kept] == logged
    # the texts that are trained on are those that are evaluated
    assert logged[-1] > before["answers_f1=0_spearman"]


@pytest.mark.slow
def test_a_primary_number_that_the_data_lacks(real_models: Any) -> None:
    models = pytest.importorskip("sentence_transformers")
    model = models.SentenceTransformer(str(real_models / "minilm"), device="cpu")
    with pytest.raises(InputError, match="no value of f1=1_spearman; the data has all_spearman"):
        assay.AssayEvaluator(ROWS, primary="f1=1_spearman")(model)


def test_a_number_without_a_value_is_an_empty_cell_and_moves_no_other(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("sentence_transformers")

    def one_word_scores(reference: str, candidate: str) -> float:
        """Score pairs without a common word alike, and others by their lengths."""
        return 0.0 if not {*reference.split()} & {*candidate.split()} else len(reference) + len(candidate) / 10

    def length_scores(reference: str, candidate: str) -> float:
        return len(reference) - len(candidate) / 10

    card = SimpleNamespace(set_evaluation_metrics=lambda *_: None)
    monkeypatch.setattr("assay.api.evaluator.load_metric", lambda model: load_metric(model.score))
    evaluator = assay.AssayEvaluator(ROWS, buckets=["f1"], statistics=["pearson", "spearman"])
    returned = []
    for step, score in enumerate((length_scores, one_word_scores, length_scores), start=1):
        model = SimpleNamespace(score=score, model_card_data=card)
        returned.append(evaluator(model, str(tmp_path), steps=step))
    with (tmp_path / "assay_evaluation.csv").open(newline="") as rows:
        first, second, third = csv.DictReader(rows)
    assert [row["steps"] for row in (first, second, third)] == ["1", "2", "3"]
    assert second["f1=0_pearson"] == second["f1=0_spearman"] == ""
    for row, values in zip((first, second, third), returned, strict=True):
        assert {name: float(row[name]) for name in values} == values
        assert {name for name in row if row[name]} == {*values, "epoch", "steps"}
    assert len(returned[1]) < len(returned[0])
