"""The scores of a GPU are those of the processor, and a lack of its memory costs no score; skipped without a GPU.

With real models and the STS Benchmark where they are at hand, and with tiny models otherwise.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats

import assay
from assay.exceptions import InputError
from assay.language.amr import ASPECTS
from assay.metrics import Batch, load_metric
from assay.metrics.aspects.layout import even_layout, write_layout
from assay.metrics.neural.runtime import Runtime, use_runtime
from assay.metrics.work import open_session, release_sessions
from tests.conftest import RealModels

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no CUDA device"),
]

SENTENCES = ("a plane takes off", "an air plane is taking off now", "a man plays a large flute", "nobody plays", "")


def s3bert(folder: Path) -> Path:
    """Declare aspects in a copy of a bi-encoder's folder, which need no training to be computed."""
    write_layout(even_layout(ASPECTS, 16, 384), folder)
    return folder


#: By name: the model's folder among the real ones, what is scored, and whether a folder is changed first.
METRICS = {
    "bi-encoder": ("minilm", "bi-encoder:{}", None),
    "pooled": ("minilm", "pooled:{},pooling=max,layer=3", None),
    "bertscore": ("minilm", "bertscore:{}", None),
    "s3bert": ("minilm", "s3bert:{}", s3bert),
    "cross-encoder": ("cross-encoder", "cross-encoder:{}", None),
}


@pytest.fixture(params=METRICS, scope="module")
def named(request: pytest.FixtureRequest, real_models: RealModels, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The name of a metric with a real model, to which options can be added."""
    model, name, change = METRICS[request.param]
    folder = real_models / model
    if change is not None:
        folder = change(Path(shutil.copytree(folder, tmp_path_factory.mktemp("changed") / model)))
    return name.format(folder)


@pytest.fixture(scope="module")
def benchmark_pairs(shared_data: Path) -> tuple[Batch, np.ndarray]:
    """The pairs of the STS Benchmark's test part, and their labels."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASSAY_DATA", str(shared_data))
        rows = assay.load_dataset("stsb:test").table.to_pylist()
    batch = Batch([row["reference"] for row in rows], [row["candidate"] for row in rows])
    return batch, np.array([row["label"] for row in rows])


@pytest.fixture(scope="module")
def expected(named: str, benchmark_pairs: tuple[Batch, np.ndarray]) -> np.ndarray:
    """The scores of the processor in single precision, shape (n, parts of the metric)."""
    return scored(f"{named},precision=fp32", benchmark_pairs[0], "cpu")[0]


def spread_of(scores: np.ndarray) -> float:
    """Return the range of scores, at least that of a cosine: a cross-encoder's are logits."""
    return max(1.0, float(np.ptp(scores)))


def few_pairs(n: int = 200) -> Batch:
    """Pairs of sentences of several lengths, of which many recur, and an empty one."""
    texts = [f"{SENTENCES[i % 5]} {' and again' * (i % 7)} {i % 40}".strip() for i in range(n + 1)]
    return Batch(texts[:-1], texts[1:])


def scored(name: str, batch: Batch, device: str, tokens: int | None = None) -> tuple[np.ndarray, dict[str, Any]]:
    """Return the scores of n pairs, shape (n, parts of the metric), and the cost of the session."""
    metrics = list(load_metric(name).expand())
    with use_runtime(Runtime(device, tokens=tokens)):
        session = open_session(metrics[0].needs())
        scores = session.score(metrics, batch).values
    cost = session.cost()
    release_sessions()
    return scores, cost


def test_single_precision_gives_the_processor_s_scores(
    named: str, benchmark_pairs: tuple[Batch, np.ndarray], expected: np.ndarray
) -> None:
    scores, cost = scored(f"{named},precision=fp32", benchmark_pairs[0], "cuda:0")
    assert cost["devices"] == ["cuda:0"] and cost["peak_gpu_memory_mb"] > 0
    apart = np.abs(scores - expected) / spread_of(expected)
    print(f"\n{named}: fp32 differs by {apart.max():.1e} of the range at most")
    assert apart.max() <= 1e-5


def test_half_precision_keeps_scores_and_agreement(
    named: str, benchmark_pairs: tuple[Batch, np.ndarray], expected: np.ndarray
) -> None:
    batch, labels = benchmark_pairs
    found, _ = scored(f"{named},precision=bf16", batch, "cuda:0")
    apart = np.abs(found - expected) / spread_of(expected)
    coefficients: list[Callable[..., Any]] = [stats.pearsonr, stats.spearmanr, stats.kendalltau]
    shifts = [
        abs(statistic(labels, found[:, part])[0] - statistic(labels, expected[:, part])[0])
        for statistic in coefficients
        for part in range(found.shape[1])
    ]
    differs = f"{apart.mean():.1e} of the range on average, {apart.max():.1e} at most"
    print(f"\n{named}: bf16 differs by {differs}; coefficients by {max(shifts):.1e}")
    assert apart.mean() <= 0.003
    assert max(shifts) <= 1e-3


@pytest.mark.parametrize("kind", ["bi-encoder", "bertscore", "cross-encoder"])
@pytest.mark.parametrize("device", ["auto", "cuda", "all"])
def test_every_name_of_the_device(kind: str, device: str, encoder: Path, scorer: Path) -> None:
    folder = scorer if kind == "cross-encoder" else encoder
    expected, _ = scored(f"{kind}:{folder},precision=fp32", few_pairs(), "cpu")
    found, _ = scored(f"{kind}:{folder},precision=fp32", few_pairs(), device)
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("kind", ["bi-encoder", "bertscore", "cross-encoder"])
def test_two_copies_share_the_batches(kind: str, encoder: Path, scorer: Path) -> None:
    """As ``all`` does on a machine with two GPUs; here both copies are on one."""
    metric = load_metric(f"{kind}:{scorer if kind == 'cross-encoder' else encoder},precision=fp32")
    with use_runtime(Runtime("cuda:0", threads=1, tokens=64)):
        engine: Any = metric.needs()
        session = replace(engine, devices=("cuda:0", "cuda:0")).open()
        found = session.score([metric], few_pairs()).values[:, 0]
        assert session.cost()["devices"] == ["cuda:0", "cuda:0"]
        session.close()
    np.testing.assert_allclose(found, metric.score(few_pairs()), atol=1e-5)


@pytest.mark.parametrize("kind", ["bi-encoder", "bertscore", "cross-encoder"])
def test_a_batch_too_large_for_the_memory_is_halved(kind: str, real_models: RealModels) -> None:
    folder = real_models / ("cross-encoder" if kind == "cross-encoder" else "minilm")
    name = f"{kind}:{folder},precision=fp32"
    batch = Batch([f"{number} {'word ' * 200}" for number in range(600)], few_pairs(600).candidates)
    expected, _ = scored(name, batch, "cuda:0")
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction(0.8 * 2**30 / total)
    try:
        found, cost = scored(name, batch, "cuda:0", tokens=2**19)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    assert cost["batches_halved"] > 0
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_a_device_that_is_not_there(encoder: Path) -> None:
    missing = f"cuda:{torch.cuda.device_count()}"
    with pytest.raises(InputError, match=rf"device={missing}: this machine has none; torch sees cpu, cuda:0"):
        rows = [{"reference": "a", "candidate": f"b {label}", "label": label} for label in range(3)]
        assay.run([rows], [f"bi-encoder:{encoder}"], resamples=0, device=missing)
