"""Neural metrics against the libraries that others call: same weights, same values, one thread, CPU time in turns."""

from __future__ import annotations

import contextlib
import io
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from assay.datasets import load_dataset
from assay.exceptions import UnavailableError
from assay.metrics import Batch, Metric, load_metric
from tests.performance.ratio import medians

torch = pytest.importorskip("torch", reason="torch is absent: pip install assay[neural]")
pytest.importorskip("sentence_transformers", reason="sentence-transformers is absent: pip install assay[neural]")

from assay.metrics.neural.runtime import Runtime, use_runtime  # noqa: E402
from assay.metrics.work import open_session, release_sessions  # noqa: E402


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)
    with use_runtime(Runtime(device="cpu", threads=1)):
        yield
    release_sessions()


def batch_of(name: str, shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> Batch:
    """Return every row of a dataset, duplicates and all."""
    monkeypatch.setenv("ASSAY_DATA", str(shared_data))
    table = load_dataset(name).table
    references = [cell[0] if isinstance(cell, list) else cell for cell in table.column("reference").to_pylist()]
    return Batch(references, table.column("candidate").to_pylist())


def scored(metric: Metric, batch: Batch) -> Callable[[], np.ndarray]:
    """Return what scores with the model in memory, as the library has it; in units, as a run does."""
    session = open_session(metric.needs(), keep=True)
    size = metric.needs().pairs

    def score() -> np.ndarray:
        parts = [range(start, min(start + size, len(batch))) for start in range(0, len(batch), size)]
        done = []
        for number, part in enumerate(parts):
            later = {
                text
                for rows in parts[number + 1 :]
                for row in rows
                for text in (batch.references[row], batch.candidates[row])
            }
            done.append(session.score([metric], batch.take(part), again=later).values[:, 0])
        return np.concatenate(done)

    return score


def test_bi_encoder(real_models, shared_data, monkeypatch, capsys):
    from sentence_transformers import SentenceTransformer

    batch = batch_of("nq-open-sas", shared_data, monkeypatch)
    model = SentenceTransformer(str(real_models / "minilm"), device="cpu")

    def library() -> np.ndarray:
        left, right = (model.encode(list(texts)).astype(float) for texts in (batch.references, batch.candidates))
        return (left * right).sum(1)

    ways = {"sentence-transformers": library}
    for backend, precision in (
        ("torch", "fp32"),
        ("onnxruntime", "fp32"),
        ("onnxruntime", "int8"),
        ("openvino", "fp32"),
        ("openvino", "bf16"),
    ):
        metric = load_metric(f"bi-encoder:{real_models / 'minilm'},backend={backend},precision={precision}")
        try:
            metric.check_available()
            ways[f"{backend} {precision}"] = scored(metric, batch)
        except UnavailableError as error:
            print(f"\n{backend} {precision}: {error.reason}")
    expected = library()
    apart = {name: float(np.abs(way() - expected).max()) for name, way in ways.items()}
    times = medians(ways, rounds=3)
    with capsys.disabled():
        print(
            f"\nNQ-open, bi-encoder MiniLM, {len(batch)} pairs: "
            f"sentence-transformers {times['sentence-transformers']:.1f} s"
        )
        for name, taken in times.items():
            print(f"  {name}: {times['sentence-transformers'] / taken:.2f} x, {apart[name]:.1e} apart")
    assert apart["torch fp32"] < 1e-5
    assert times["sentence-transformers"] / times["torch fp32"] >= 2.5
    others = [taken for name, taken in times.items() if name not in ("torch fp32", "sentence-transformers")]
    if others:
        assert times["sentence-transformers"] / min(others) >= 4


def test_bertscore(real_models, shared_data, monkeypatch, capsys):
    bert_score = pytest.importorskip("bert_score", reason="bert-score is absent: pip install assay[neural]")
    batch = batch_of("nq-open-sas", shared_data, monkeypatch)
    folder = str(real_models / "minilm")
    library = bert_score.BERTScorer(model_type=folder, num_layers=6, device="cpu", nthreads=0)
    own = scored(load_metric(f"bertscore:{folder},layer=6"), batch)

    def batches() -> np.ndarray:
        with contextlib.redirect_stderr(io.StringIO()):
            return library.score(list(batch.candidates), list(batch.references))[2].numpy()

    # the way the paper's script calls it: one call of the function a pair, which loads the model each time
    sample = np.random.default_rng(0).choice(len(batch), 40, replace=False).tolist()
    calls, values = [], []
    for row in sample:
        begun = time.process_time()
        with contextlib.redirect_stderr(io.StringIO()):
            found = bert_score.score(
                [batch.candidates[row]],
                [batch.references[row]],
                model_type=folder,
                num_layers=6,
                device="cpu",
                nthreads=0,
            )
        calls.append(time.process_time() - begun)
        values.append(found[2].item())
    got = own()
    assert got[sample] == pytest.approx(values, abs=1e-5)
    times = medians({"batches": batches, "own": own}, rounds=3)
    alone = statistics.median(calls) * len(batch)
    with capsys.disabled():
        print(f"\nNQ-open, BERTScore MiniLM, {len(batch)} pairs: own {times['own']:.1f} s")
        print(f"  BERTScorer in batches: {times['batches'] / times['own']:.2f} x")
        print(f"  one bert_score.score call a pair ({len(sample)} sampled): {alone / times['own']:.0f} x")
    assert times["batches"] / times["own"] >= 2
    assert alone / times["own"] >= 30


@pytest.mark.parametrize("name", ["germanquad-sas", "nq-open-sas"])
def test_cross_encoder(name, real_models, shared_data, monkeypatch, capsys):
    from sentence_transformers import CrossEncoder

    batch = batch_of(name, shared_data, monkeypatch)
    folder = str(real_models / "cross-encoder")
    model = CrossEncoder(folder, device="cpu")
    pairs = list(batch.pairs())
    own = scored(load_metric(f"cross-encoder:{folder}"), batch)
    expected = model.predict(pairs)
    # of the range of these logits, some 20: fp32 itself is no closer, the library alone and in batches is 2e-4 apart
    apart = float(np.abs(own() - expected).max() / np.ptp(expected))
    times = medians({"library": lambda: model.predict(pairs), "own": own}, rounds=3)
    with capsys.disabled():
        print(
            f"\n{name}, cross-encoder, {len(batch)} pairs: {times['library'] / times['own']:.2f} x, "
            f"{apart:.1e} of the range of scores apart"
        )
    assert apart < 1e-4
    assert times["library"] / times["own"] >= 1.5
