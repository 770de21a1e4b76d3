"""Tiny models for the neural metrics; torch at one thread."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is absent: pip install assay[neural]")
pytest.importorskip("sentence_transformers", reason="sentence-transformers is absent: pip install assay[neural]")

from assay.metrics.neural.runtime import Runtime, use_runtime  # noqa: E402
from assay.metrics.work import release_sessions  # noqa: E402
from tests.metrics.models.tiny import make_bert  # noqa: E402


@pytest.fixture(autouse=True)
def one_thread(old_objects_are_not_searched: None) -> Iterator[None]:
    """One thread on the CPU, and no model left open."""
    torch.set_num_threads(1)
    with use_runtime(Runtime(device="cpu", threads=1)):
        yield
    release_sessions()


@pytest.fixture(scope="session")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sentence encoder with three layers."""
    return make_bert(tmp_path_factory.mktemp("models") / "encoder", layers=3, pooling="mean")


@pytest.fixture(scope="session")
def scorer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cross-encoder."""
    return make_bert(tmp_path_factory.mktemp("models") / "scorer", labels=1)
