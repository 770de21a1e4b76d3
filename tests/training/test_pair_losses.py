"""Losses of pairs: held to sentence-transformers' own, however a batch is cut and weighed."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.cross_encoder.losses import BinaryCrossEntropyLoss
from sentence_transformers.sentence_transformer.losses import CoSENTLoss, CosineSimilarityLoss, SoftmaxLoss
from sentence_transformers.sentence_transformer.modules import Normalize

from assay.training.models import (
    bi_inputs,
    cross_inputs,
    freeze_except_last_layers,
    length_groups,
    load_bi_encoder,
    load_cross_encoder,
    table_of_texts,
)
from assay.training.pairwise.losses import make_loss
from assay.training.pairwise.trainer import plan_epochs
from tests.metrics.models.tiny import WORDS

FIRSTS = [" ".join(WORDS[k : k + 2 + k % 5]) for k in range(12)]
SECONDS = [FIRSTS[(k + 1) % 12] if k % 3 else " ".join(WORDS[20 - k : 24]) for k in range(12)]
LABELS = torch.linspace(0, 1, 12)
ROWS = torch.arange(12)


def gradient(model):
    return torch.cat([value.grad.flatten() for value in model.parameters() if value.grad is not None])


@pytest.fixture
def bi_model(tiny_base):
    return load_bi_encoder(tiny_base, "cpu").eval()  # without dropout, so that two ways can be equal


@pytest.fixture
def cross_model(tiny_base):
    return load_cross_encoder(tiny_base, "cpu", outputs=1, activation=torch.nn.Sigmoid(), seed=3).eval()


def test_cosine_is_the_librarys_mean_squared_error(bi_model):
    loss = make_loss("cosine", bi_model, bi_inputs(bi_model, FIRSTS, SECONDS, LABELS), None, 0)
    found = loss([ROWS], torch.full((12,), 1 / 12))
    found.backward()
    own = gradient(bi_model)
    bi_model.zero_grad()
    expected = CosineSimilarityLoss(bi_model)([bi_model.preprocess(side) for side in (FIRSTS, SECONDS)], LABELS)
    expected.backward()
    assert found.item() == pytest.approx(expected.item(), abs=1e-6)
    assert torch.allclose(own, gradient(bi_model), atol=1e-6)


def test_cosent_is_the_librarys(bi_model):
    loss = make_loss("cosent", bi_model, bi_inputs(bi_model, FIRSTS, SECONDS, LABELS), None, 0)
    expected = CoSENTLoss(bi_model)([bi_model.preprocess(side) for side in (FIRSTS, SECONDS)], LABELS)
    assert loss([ROWS], torch.full((12,), 1 / 12)).item() == pytest.approx(expected.item(), rel=1e-5)
    assert [part.tolist() for part in loss.split_into_passes(ROWS)] == [list(range(12))]


def test_bce_is_the_librarys(cross_model):
    loss = make_loss("bce", cross_model, cross_inputs(cross_model, FIRSTS, SECONDS, LABELS), None, 0)
    expected = BinaryCrossEntropyLoss(cross_model)([FIRSTS, SECONDS], LABELS)
    assert loss([ROWS], torch.full((12,), 1 / 12)).item() == pytest.approx(expected.item(), abs=1e-6)
    predicted = cross_model.predict(list(zip(FIRSTS, SECONDS, strict=True)))
    assert loss.scores(loss.outputs(ROWS)).detach().numpy() == pytest.approx(predicted, abs=1e-6)


def test_the_sigmoid_of_the_cosine_is_compared_with_the_label(bi_model):
    loss = make_loss("bce", bi_model, bi_inputs(bi_model, FIRSTS, SECONDS, LABELS), None, 0)
    one, other = (torch.tensor(bi_model.encode(side)) for side in (FIRSTS, SECONDS))
    cosines = torch.nn.functional.cosine_similarity(one, other)
    expected = torch.nn.functional.binary_cross_entropy(torch.sigmoid(cosines), LABELS)
    assert loss([ROWS], torch.full((12,), 1 / 12)).item() == pytest.approx(expected.item(), rel=1e-5)
    assert loss.scores(loss.outputs(ROWS)).detach().numpy() == pytest.approx(cosines.numpy(), abs=1e-6)


def test_softmax_is_the_librarys(bi_model):
    classes = ROWS % 3
    loss = make_loss("softmax", bi_model, bi_inputs(bi_model, FIRSTS, SECONDS, classes), None, 3)
    library = SoftmaxLoss(bi_model, bi_model.get_embedding_dimension(), num_labels=3)
    library.classifier.load_state_dict(loss.head.state_dict())
    expected = library([bi_model.preprocess(side) for side in (FIRSTS, SECONDS)], classes)
    assert loss([ROWS], torch.full((12,), 1 / 12)).item() == pytest.approx(expected.item(), rel=1e-5)


def test_softmax_reads_unit_embeddings_as_long_as_others(bi_model):
    unit = SentenceTransformer(modules=[*bi_model, Normalize()], device="cpu").eval()
    loss = make_loss("softmax", unit, bi_inputs(unit, FIRSTS, SECONDS, ROWS % 3), None, 3)
    one, other = (torch.tensor(unit.encode(side)) for side in (FIRSTS, SECONDS))
    assert torch.linalg.norm(one, dim=1).numpy() == pytest.approx(1, abs=1e-5)
    read = torch.cat([one, other, (one - other).abs()], dim=1) * one.shape[1] ** 0.5
    torch.testing.assert_close(loss.outputs(ROWS), loss.head(read), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["cosine", "bce", "mse", "softmax", "cross-entropy"])
def test_a_weighted_sum_is_that_of_single_rows(name, tiny_base):
    classes = torch.arange(12) % 3
    if name in ("bce", "mse", "cross-entropy"):
        outputs = 3 if name == "cross-entropy" else 1
        model = load_cross_encoder(tiny_base, "cpu", outputs=outputs, activation=torch.nn.Identity(), seed=0).eval()
        inputs = cross_inputs(model, FIRSTS, SECONDS, classes if name == "cross-entropy" else LABELS)
    else:
        model = load_bi_encoder(tiny_base, "cpu").eval()
        inputs = bi_inputs(model, FIRSTS, SECONDS, classes if name == "softmax" else LABELS)
    loss = make_loss(name, model, inputs, None, 3)
    weights = torch.rand(12, generator=torch.Generator().manual_seed(0))
    alone = sum(
        weight * loss([row[None]], torch.ones(1)).item() for row, weight in zip(ROWS, weights.tolist(), strict=True)
    )
    assert loss([ROWS], weights).item() == pytest.approx(alone, rel=1e-5)


@pytest.mark.parametrize("cross", [False, True])
def test_passes_add_up_to_the_gradient_of_the_batch(cross, bi_model, cross_model):
    model = cross_model if cross else bi_model
    weights = torch.rand(12, generator=torch.Generator().manual_seed(1))
    found = []
    for tokens in (None, 30):
        inputs = (cross_inputs if cross else bi_inputs)(model, FIRSTS, SECONDS, LABELS)
        loss = make_loss("bce" if cross else "cosine", model, inputs, tokens, 0)
        model.zero_grad()
        parts = loss.split_into_passes(ROWS)
        for places in parts:
            loss([ROWS[places]], weights[places]).backward()
        found.append((len(parts), gradient(model)))
        assert sorted(torch.cat(parts).tolist()) == list(range(12))
    assert found[0][0] == 1
    assert found[1][0] > 3
    assert (found[0][1] - found[1][1]).norm() <= 1e-4 * found[0][1].norm()


def test_a_text_is_embedded_once_a_batch(bi_model, monkeypatch):
    loss = make_loss("cosine", bi_model, bi_inputs(bi_model, FIRSTS, SECONDS, LABELS), None, 0)
    seen = []
    padded = loss.inputs.table.padded_batch
    monkeypatch.setattr(
        loss.inputs.table,
        "padded_batch",
        lambda numbers, device: seen.extend(numbers.tolist()) or padded(numbers, device),
    )
    loss.outputs(torch.tensor([0, 0, 3, 4, 5]))
    assert sorted(seen) == sorted(set(seen))


def test_groups_of_like_length_have_little_padding():
    lengths = torch.tensor([9, 3, 3, 30, 4, 31, 3, 10])
    groups = [sorted(lengths[part].tolist()) for part in length_groups(lengths, 1000, 4)]
    assert groups == [[3, 3, 3, 4], [9, 10], [30, 31]]
    assert [len(part) for part in length_groups(lengths, 31, 10**6)] == [4, 2, 1, 1]
    assert [len(part) for part in length_groups(lengths, 10**6, 10**6)] == [8]


def test_padding_changes_no_token(bi_model):
    table = table_of_texts(bi_model, FIRSTS)
    batch = table.padded_batch(torch.tensor([4, 0, 9]), "cpu")
    expected = bi_model.preprocess([FIRSTS[k] for k in (4, 0, 9)])
    for name in ("input_ids", "attention_mask", "token_type_ids"):
        assert torch.equal(batch[name], expected[name])
    assert table.truncated == 0
    assert table_of_texts(bi_model, [" ".join(WORDS * 3)]).truncated == 1


def test_epochs_are_decided_by_seed_and_epoch_alone():
    lengths = np.random.default_rng(0).integers(3, 40, 100)
    plans = [plan_epochs("length", None, lengths, 8, seed) for seed in (1, 1, 2)]

    def rows(plan, epoch):
        plan.set_epoch(epoch)
        return [plan[k].rows.tolist() for k in range(len(plan))]

    assert rows(plans[0], 1) == rows(plans[1], 1) != rows(plans[0], 0)
    assert rows(plans[0], 0) != rows(plans[2], 0)
    assert sorted(row for batch in rows(plans[0], 3) for row in batch) == list(range(100))
    spread = [np.ptp(lengths[part]) for part in rows(plans[0], 0)]
    assert np.mean(spread) < 0.3 * np.ptp(lengths)


def test_only_the_last_layers_and_the_head_are_trained(cross_model):
    freeze_except_last_layers(cross_model, 1, "tiny")
    trained = {name for name, value in cross_model.named_parameters() if value.requires_grad}
    assert all("layer.3." in name or "classifier" in name for name in trained)
    assert any("classifier" in name for name in trained) and any("layer.3." in name for name in trained)
