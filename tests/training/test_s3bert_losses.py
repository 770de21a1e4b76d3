"""The loss against values worked out by hand in numpy: equations 3 to 6 of Opitz and Frank 2022."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from assay.training.s3bert.trainer import S3BertLoss, consistency_loss, decomposition_loss, sub_closeness, sub_cosines

FIRST = np.array([[3.0, 4.0, 1.0, 0.0, 2.0], [1.0, 0.0, 0.0, 2.0, 1.0]])
SECOND = np.array([[4.0, 3.0, 0.0, 5.0, 1.0], [1.0, 1.0, 0.0, -3.0, 0.5]])
#: Two aspects of two dimensions, one dimension of residual.
#: (3,4)·(4,3) / 25 = 24/25;  (1,0)·(0,5) = 0;  (1,0)·(1,1)/sqrt(2) = 1/sqrt(2);  (0,2)·(0,-3)/6 = -1
COSINES = np.array([[0.96, 0.0], [np.sqrt(0.5), -1.0]])
TARGETS = np.array([[0.9, 0.2], [0.4, 0.1]])
SCALES = np.array([1.0, 0.5])


def tensors(*arrays):
    return [torch.tensor(array, dtype=torch.float32) for array in arrays]


def test_sub_cosines_by_hand():
    assert sub_cosines(*tensors(FIRST, SECOND), aspects=2, width=2).numpy() == pytest.approx(COSINES, abs=1e-6)


def test_decomposition_is_equation_3():
    # (0.9 - 0.96)^2 + (0.2 - 0)^2 + (0.4 - 0.7071)^2 + (0.1 + 0.5)^2, a quarter of it
    by_hand = ((TARGETS - SCALES * COSINES) ** 2).mean()
    assert by_hand == pytest.approx((0.0036 + 0.04 + (0.4 - 2**-0.5) ** 2 + 0.36) / 4)
    found = decomposition_loss(*tensors(FIRST, SECOND, TARGETS, SCALES), width=2)
    assert float(found) == pytest.approx(by_hand, rel=1e-5)


def test_consistency_is_over_all_pairs_of_the_batch():
    base_first, base_second = FIRST[::-1] + 1, SECOND * 2 - 1

    def cosine(one, other):
        return one @ other / np.linalg.norm(one) / np.linalg.norm(other)

    by_hand = np.mean(
        [(cosine(base_first[i], base_second[j]) - cosine(FIRST[i], SECOND[j])) ** 2 for i in range(2) for j in range(2)]
    )
    found = consistency_loss(*tensors(FIRST, SECOND, base_first.copy(), base_second))
    assert float(found) == pytest.approx(by_hand, rel=1e-5)
    assert by_hand > 0.01


@pytest.mark.parametrize("parts", [("decomposition", "consistency"), ("decomposition",), ("consistency",)])
def test_the_whole_loss_is_equation_6(parts):
    table = torch.nn.Embedding.from_pretrained(tensors(np.concatenate([FIRST, SECOND]))[0], freeze=False)
    teacher = tensors(np.concatenate([FIRST, SECOND])[::-1].copy())[0]
    loss = S3BertLoss(table, table, teacher, aspects=2, width=2, alpha=3.0, parts=parts)
    first, second, targets = torch.tensor([0, 1]), torch.tensor([2, 3]), tensors(TARGETS)[0]
    found = loss([first, second], targets)
    expected = {
        "decomposition": 3 * float(decomposition_loss(*tensors(FIRST, SECOND, TARGETS, np.ones(2)), width=2)),
        "consistency": float(consistency_loss(*tensors(FIRST, SECOND), teacher[first], teacher[second])),
    }
    shown = {name: value.item() for name, value in found.items()}
    assert shown == pytest.approx({name: expected[name] for name in parts})
    sum(found.values()).backward()
    assert (loss.scales.grad is not None) == ("decomposition" in parts)


def test_a_text_that_comes_twice_is_embedded_once():
    asked = []

    def embed(numbers):
        asked.append(numbers.tolist())
        return torch.tensor(np.concatenate([FIRST, SECOND])[numbers], dtype=torch.float32)

    loss = S3BertLoss(torch.nn.Identity(), embed, torch.zeros(4, 5) + 1, aspects=2, width=2)
    loss([torch.tensor([0, 1, 0]), torch.tensor([2, 2, 1])], torch.zeros(3, 2))
    assert asked == [[0, 1, 2]]


def test_the_loss_of_the_authors_program():
    """Aspects by 1 - L1 distance of unscaled sub-embeddings, and consistency of cosines times five."""
    # 1 - (|3-4| + |4-3|) = -1;  1 - (1 + 5) = -5;  1 - (0 + 1) = 0;  1 - (0 + 5) = -4
    closeness = np.array([[-1.0, -5.0], [0.0, -4.0]])
    assert sub_closeness(*tensors(FIRST, SECOND), 2, 2).numpy() == pytest.approx(closeness)
    table = torch.nn.Embedding.from_pretrained(tensors(np.concatenate([FIRST, SECOND]))[0], freeze=False)
    teacher = tensors(np.concatenate([FIRST, SECOND])[::-1].copy())[0]
    loss = S3BertLoss(table, table, teacher, aspects=2, width=2, is_program=True)
    first, second = torch.tensor([0, 1]), torch.tensor([2, 3])
    found = loss([first, second], tensors(TARGETS)[0])
    assert float(found["decomposition"]) == pytest.approx(((TARGETS - closeness) ** 2).mean(), rel=1e-5)
    plain = float(consistency_loss(*tensors(FIRST, SECOND), teacher[first], teacher[second]))
    assert float(found["consistency"]) == pytest.approx(25 * plain, rel=1e-5)
