"""Embeddings are computed once per model and text, and a damaged store is refused."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is absent: pip install assay[neural]")

from assay.benchmark.embeddings import EmbeddingStore, check_encoder, embed_texts
from assay.common.database import DamagedStoreError
from assay.exceptions import InputError
from assay.metrics import load_metric
from tests.metrics.models.tiny import make_bert

TEXTS = ["a b", "c", "a b c d e", "b", "a b"]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return make_bert(tmp_path / "encoder", pooling="mean")


def test_each_text_is_embedded_once(model: Path, tmp_path: Path) -> None:
    metric = load_metric(f"bi-encoder:{model}")
    done: list[int] = []
    with EmbeddingStore(tmp_path / "e.sqlite") as store:
        first = embed_texts(metric, TEXTS, store, fresh=False, advance=done.append)
        again = embed_texts(metric, [*TEXTS, "d"], store, fresh=False, advance=done.append)
        other = embed_texts(load_metric(f"pooled:{model},pooling=cls"), TEXTS, store, fresh=False, advance=done.append)
        fresh = embed_texts(metric, TEXTS, store, fresh=True, advance=done.append)
    assert [one.computed for one in (first, again, other, fresh)] == [4, 1, 4, 4]
    assert sum(done) == 4 + 5 + 4 + 4
    assert np.array_equal(first.of(TEXTS), again.of(TEXTS)) and first.of(TEXTS).shape[0] == 5
    assert np.allclose(first.of(TEXTS), fresh.of(TEXTS), atol=1e-6)
    assert not np.allclose(first.of(TEXTS), other.of(TEXTS), atol=1e-3)


def test_embeddings_are_those_of_the_library(model: Path, tmp_path: Path) -> None:
    library = pytest.importorskip("sentence_transformers", reason="sentence-transformers is absent")
    with EmbeddingStore(tmp_path / "e.sqlite") as store:
        found = embed_texts(load_metric(f"bi-encoder:{model}"), TEXTS, store, fresh=False, advance=lambda _: None)
    expected = library.SentenceTransformer(str(model), device="cpu").encode(TEXTS)
    assert np.allclose(found.of(TEXTS), expected, atol=1e-5)


def test_a_changed_embedding_is_refused(model: Path, tmp_path: Path) -> None:
    metric = load_metric(f"bi-encoder:{model}")
    path = tmp_path / "e.sqlite"
    with EmbeddingStore(path) as store:
        embed_texts(metric, TEXTS, store, fresh=False, advance=lambda _: None)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE vectors SET vector = zeroblob(length(vector)) WHERE rowid = 1")
    with EmbeddingStore(path) as store, pytest.raises(DamagedStoreError, match="cache prune embeddings"):
        embed_texts(metric, TEXTS, store, fresh=False, advance=lambda _: None)


def test_what_gives_no_vector_is_refused(model: Path) -> None:
    for name in ("f1", f"bertscore:{model}"):
        with pytest.raises(InputError, match="gives no vector of a text; use bi-encoder:MODEL"):
            check_encoder(load_metric(name))
