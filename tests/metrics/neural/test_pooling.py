"""One vector a text: pooled as sentence-transformers pools, compared by the cosine."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from assay.metrics.neural.embeddings import TextEmbeddings, cosine, pool_tokens
from assay.metrics.neural.views import Kind

HIDDEN = torch.tensor([[[1.0, -8.0], [3.0, -4.0], [5.0, -6.0]], [[-1.0, 2.0], [100.0, 100.0], [-100.0, 100.0]]])
MASK = torch.tensor([[1, 1, 1], [1, 0, 0]])


def test_padding_is_left_out() -> None:
    # first text: means (1 + 3 + 5) / 3 and (-8 - 4 - 6) / 3; second: its one token
    assert pool_tokens(HIDDEN, MASK, "mean").tolist() == [[3.0, -6.0], [-1.0, 2.0]]
    assert pool_tokens(HIDDEN, MASK, "max").tolist() == [[5.0, -4.0], [-1.0, 2.0]]
    assert pool_tokens(HIDDEN, MASK, "cls").tolist() == [[1.0, -8.0], [-1.0, 2.0]]


def test_a_text_without_tokens_has_the_mean_zero() -> None:
    assert pool_tokens(HIDDEN, torch.tensor([[0, 0, 0], [1, 1, 0]]), "mean").tolist() == [[0.0, 0.0], [49.5, 51.0]]


@pytest.mark.parametrize("kind", ["mean", "max", "cls"])
def test_it_is_sentence_transformers_pooling(kind: Kind) -> None:
    from sentence_transformers.sentence_transformer.modules import Pooling

    generator = torch.Generator().manual_seed(0)
    hidden = torch.randn(7, 5, 4, generator=generator)
    mask = (torch.arange(5) < torch.tensor([5, 1, 2, 3, 4, 5, 1])[:, None]).long()
    features = {"token_embeddings": hidden.clone(), "attention_mask": mask}
    expected = Pooling(4, pooling_mode=kind)(features)["sentence_embedding"]
    assert torch.allclose(pool_tokens(hidden, mask, kind), expected, atol=1e-6)


@pytest.mark.parametrize("kind", ["mean", "max", "cls"])
def test_half_precision_is_pooled_in_single(kind: Kind) -> None:
    # 256 + 1 is 256 in bfloat16, so a sum in it would lose the ones
    hidden = torch.tensor([[[256.0], [1.0], [1.0], [1.0]]], dtype=torch.bfloat16)
    found = pool_tokens(hidden, torch.ones(1, 4, dtype=torch.long), kind)
    assert found.dtype == torch.float32
    assert found.item() == {"mean": 259 / 4, "max": 256.0, "cls": 256.0}[kind]


def found(vectors: list[list[float]], left: list[int], right: list[int]) -> np.ndarray:
    return cosine(TextEmbeddings(torch.tensor(vectors)), np.array(left, dtype=np.intp), np.array(right, dtype=np.intp))


def test_cosines_by_hand() -> None:
    vectors = [[3.0, 4.0], [4.0, 3.0], [-6.0, -8.0], [-4.0, 3.0], [0.0, 0.0]]
    # 24 / 25; the other way; a right angle; zero vectors
    values = found(vectors, [0, 0, 0, 0, 4, 1], [1, 2, 3, 4, 4, 0])
    assert values.tolist() == pytest.approx([0.96, -1.0, 0.0, 0.0, 0.0, 0.96], abs=1e-15)
    assert values.dtype == np.float64


def test_a_vector_s_length_does_not_matter() -> None:
    # squares of 1e-30 and 1e30 are beyond single precision
    values = found([[3e-30, 4e-30], [4e30, 3e30]], [0], [1])
    assert values.tolist() == pytest.approx([0.96], abs=1e-7)


def test_cosines_are_computed_in_double_precision() -> None:
    generator = np.random.default_rng(0)
    vectors = generator.normal(size=(20, 50)).astype(np.float32)
    left, right = generator.integers(20, size=60), generator.integers(20, size=60)
    expected = [
        math.fsum(float(a) * float(b) for a, b in zip(vectors[i], vectors[j], strict=True))
        / math.sqrt(math.fsum(float(a) ** 2 for a in vectors[i]) * math.fsum(float(b) ** 2 for b in vectors[j]))
        for i, j in zip(left, right, strict=True)
    ]
    values = cosine(TextEmbeddings(torch.from_numpy(vectors)), left, right)
    assert values.tolist() == pytest.approx(expected, abs=1e-14)


def test_rounding_never_leads_beyond_one() -> None:
    vectors = torch.from_numpy(np.random.default_rng(1).normal(size=(3000, 7)).astype(np.float32))
    unit = vectors.double() / vectors.double().norm(dim=1, keepdim=True)
    assert float((unit * unit).sum(1).max()) > 1.0, "without a limit some would be larger"
    rows, all_of_them = TextEmbeddings(torch.cat([vectors, -vectors])), np.arange(3000)
    assert cosine(rows, all_of_them, all_of_them).max() == 1.0
    assert cosine(rows, all_of_them, all_of_them + 3000).min() == -1.0


def test_no_pairs_have_no_cosines() -> None:
    assert found([[1.0, 0.0]], [], []).tolist() == []
