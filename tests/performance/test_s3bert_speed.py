"""S3BERT's scores from one pass, against one cosine of the same model on the STS-B test pairs; CPU time in turns."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from assay.language.amr import ASPECTS
from assay.metrics import load_metric
from assay.metrics.aspects.layout import even_layout, write_layout
from tests.performance.ratio import medians
from tests.performance.test_neural import batch_of

torch = pytest.importorskip("torch", reason="torch is absent: pip install assay[neural]")
pytest.importorskip("sentence_transformers", reason="sentence-transformers is absent: pip install assay[neural]")

from assay.metrics.neural.runtime import Runtime, use_runtime  # noqa: E402
from assay.metrics.work import open_session, release_sessions  # noqa: E402


def test_seventeen_scores_cost_little_more_than_one(real_models, shared_data, tmp_path, monkeypatch, capsys):
    torch.set_num_threads(1)
    folder = tmp_path / "minilm"
    shutil.copytree(real_models / "minilm", folder)
    write_layout(even_layout(ASPECTS, 16, 384), folder)
    batch = batch_of("stsb:test", shared_data, monkeypatch)
    whole = load_metric(f"bi-encoder:{folder}")
    parts = list(load_metric(f"s3bert:{folder}").expand())
    assert len(parts) == 17
    with use_runtime(Runtime(device="cpu", threads=1)):
        session = open_session(whole.needs())
        assert {part.needs() for part in parts} == {whole.needs()}
        ways = {
            "one": lambda: session.score([whole], batch).values,
            "seventeen": lambda: session.score(parts, batch).values,
        }
        np.testing.assert_array_equal(ways["one"]()[:, 0], ways["seventeen"]()[:, 0])
        times = medians(ways, rounds=5)
        release_sessions()
    ratio = times["seventeen"] / times["one"]
    with capsys.disabled():
        print(f"\nSTS-B, {len(batch)} pairs: one cosine {times['one']:.2f} s, 17 scores {ratio:.3f} times that")
    assert ratio <= 1.1
