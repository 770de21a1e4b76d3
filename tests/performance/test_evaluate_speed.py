"""Hugging Face's evaluate against assay on NQ-open: same values, one thread, CPU time in turns.

evaluate downloads the code of its metrics. The folder ``metrics`` of its repository stands in ``ASSAY_TEST_EVALUATE``
instead. Its ROUGE and BERTScore give a score for each pair; the others give one for all pairs, and are called once per
pair, each call with a table of its own. Its METEOR needs files of NLTK that no package has.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.datasets import load_dataset
from assay.metrics import Batch, load_metric
from tests.performance.ratio import medians

evaluate = pytest.importorskip("evaluate")

#: Metrics that are called once per pair are timed on so many.
CALLS = 200


@pytest.fixture(scope="module")
def metrics_folder() -> Path:
    folder = os.environ.get("ASSAY_TEST_EVALUATE")
    if not folder:
        pytest.skip("the code of evaluate's metrics is absent ($ASSAY_TEST_EVALUATE)")
    return Path(folder)


@pytest.fixture
def batch(shared_data, monkeypatch) -> Batch:
    """Every pair of NQ-open with the first of its gold answers."""
    monkeypatch.setenv("ASSAY_DATA", str(shared_data))
    table = load_dataset("nq-open-sas").table
    references = [cell[0] if isinstance(cell, list) else cell for cell in table.column("reference").to_pylist()]
    return Batch(references, table.column("candidate").to_pylist())


def compare_times(name: str, theirs: Callable[[], object], ours: Callable[[], object], pairs: int, benchmark) -> None:
    """Print how many times as fast as evaluate assay is."""
    times = medians({"evaluate": theirs, "ours": ours}, rounds=3)
    ratio = times["evaluate"] / times["ours"]
    benchmark.extra_info["ratio"] = ratio
    benchmark.pedantic(ours, rounds=1)
    print(f"\n{name}, {pairs:,} pairs: {ratio:.1f} times as fast as evaluate")
    assert ratio >= 1


def test_rouge(metrics_folder, batch, benchmark):
    library = evaluate.load(str(metrics_folder / "rouge"))
    metric = load_metric("rouge-l,tokenizer=rouge")

    def theirs():
        return library.compute(
            predictions=batch.candidates, references=batch.references, rouge_types=["rougeL"], use_aggregator=False
        )["rougeL"]

    def ours():
        return metric.score(batch).tolist()

    assert ours() == theirs()
    compare_times("ROUGE-L", theirs, ours, len(batch), benchmark)


def one_call_per_pair(name: str, library, candidate: str, reference: str) -> float:
    """Return evaluate's score of one pair, from 0 to 1."""
    if name == "f1":
        prediction = {"id": "0", "prediction_text": candidate}
        answers = {"id": "0", "answers": {"text": [reference], "answer_start": [0]}}
        return library.compute(predictions=[prediction], references=[answers])["f1"] / 100
    options = {"use_effective_order": True} if name == "bleu" else {}
    return library.compute(predictions=[candidate], references=[[reference]], **options)["score"] / 100


@pytest.mark.parametrize(("name", "folder"), [("f1", "squad"), ("bleu", "sacrebleu"), ("chrf", "chrf")])
def test_a_call_per_pair(name, folder, metrics_folder, batch, benchmark):
    library = evaluate.load(str(metrics_folder / folder))
    metric = load_metric(name)
    part = batch.take(range(CALLS))

    def theirs():
        return [
            one_call_per_pair(name, library, candidate, reference)
            for candidate, reference in zip(part.candidates, part.references, strict=True)
        ]

    def ours():
        return metric.score(part).tolist()

    assert ours() == pytest.approx(theirs(), abs=1e-12)
    compare_times(name, theirs, ours, CALLS, benchmark)


def test_bertscore(metrics_folder, batch, real_models, benchmark):
    torch = pytest.importorskip("torch", reason="torch is absent: pip install assay[neural]")
    from assay.metrics.neural.runtime import Runtime, use_runtime
    from assay.metrics.work import open_session, release_sessions

    torch.set_num_threads(1)
    library = evaluate.load(str(metrics_folder / "bertscore"))
    model = str(real_models / "minilm")
    metric = load_metric(f"bertscore:{model},layer=6")

    def theirs(part: Batch = batch, **options: int) -> list[float]:
        return library.compute(
            predictions=part.candidates,
            references=part.references,
            model_type=model,
            num_layers=6,
            device="cpu",
            **options,
        )["f1"]

    with use_runtime(Runtime(device="cpu", threads=1)):
        session = open_session(metric.needs(), keep=True)

        def ours(part: Batch = batch) -> list[float]:
            return session.score([metric], part).values[:, 0].tolist()

        # in a batch, bert-score takes the zeros of padding for similarities, where all others are below zero
        part = batch.take(range(CALLS))
        assert ours(part) == pytest.approx(theirs(part, batch_size=1), abs=1e-5)
        compare_times("BERTScore, all-MiniLM-L6-v2", theirs, ours, len(batch), benchmark)
    release_sessions()
