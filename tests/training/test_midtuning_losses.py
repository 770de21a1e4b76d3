"""The objectives against the equations, written down in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from tokenizers import Tokenizer
from tokenizers.models import WordLevel

from assay.exceptions import UnavailableError
from assay.training.midtuning.job import FORM_TOKENS, SENTENCE_TOKEN, make_loss, prepare_model
from assay.training.models import Inputs, load_bi_encoder, table_of_texts
from tests.metrics.models.tiny import make_bert

TEXTS = [
    "[_EN_] the boy wants to go", "[_SRLMR_] want-01 ARG0: boy", "[_SRLMR_] want-01 ARG0: girl",
    "[_EN_] a dog", "[_SRLMR_] dog-01", "[_SRLMR_] run-02 ARG0: a tall dog, time: now",
]  # fmt: skip


@pytest.fixture
def encoder(tiny_base):
    whole = load_bi_encoder(tiny_base, "cpu")
    prepare_model(whole, 0, "tiny", FORM_TOKENS["propbank"])
    return whole.eval()


def embedded(whole):
    with torch.inference_mode():
        return np.asarray(whole.encode(TEXTS), dtype=np.float64)


def triplets(whole):
    return Inputs(table_of_texts(whole, TEXTS), *torch.tensor([[0, 3], [1, 4], [1, 1]]), torch.tensor([2, 5]))


@pytest.mark.parametrize("margin", [0.5, 30.0])
def test_the_triplet_loss_is_equation_1(encoder, margin):
    inputs = triplets(encoder)
    loss = make_loss("triplet", encoder, inputs, None, margin)
    vectors = embedded(encoder)
    by_hand = []
    for s, right, wrong in ((0, 1, 2), (3, 4, 5)):
        near = np.linalg.norm(vectors[s] - vectors[right], 2) ** 2
        far = np.linalg.norm(vectors[s] - vectors[wrong], 2) ** 2
        by_hand.append(max(near - far + margin, 0))
    assert len(set(by_hand)) == 2
    rows = torch.tensor([0, 1])
    outputs = loss.outputs(rows)
    assert loss.row_losses(outputs, loss.labels(rows)).tolist() == pytest.approx(by_hand, rel=1e-4)
    whole_batch = loss([rows], torch.tensor([0.25, 0.75]))
    assert whole_batch.item() == pytest.approx(0.25 * by_hand[0] + 0.75 * by_hand[1], rel=1e-4)
    nearer = outputs[:, 0] < outputs[:, 1]
    assert loss.scores(outputs).double().tolist() == nearer.double().tolist()


def test_gradients_of_passes_add_up_to_that_of_the_batch(encoder):
    rows, weights = torch.tensor([0, 1]), torch.tensor([0.5, 0.5])
    gradients = []
    for tokens in (None, 1):
        encoder.zero_grad()
        loss = make_loss("triplet", encoder, triplets(encoder), tokens, 100.0)
        passes = loss.split_into_passes(rows)
        assert len(passes) == (1 if tokens is None else 2)
        for places in passes:
            loss([rows[places]], weights[places]).backward()
        gradients.append(encoder[0].model.get_input_embeddings().weight.grad.clone())
    assert gradients[0].abs().max() > 0
    assert torch.allclose(*gradients, atol=1e-4)  # of values up to 5.8


def test_classification_is_the_cross_entropy_of_both_and_their_difference(encoder):
    inputs = Inputs(table_of_texts(encoder, TEXTS), *torch.tensor([[0, 0], [1, 2], [1, 0]]))
    torch.manual_seed(0)
    loss = make_loss("classification", encoder, inputs, None, 1.0)
    vectors = embedded(encoder)
    weight, bias = (value.detach().numpy().astype(np.float64) for value in (loss.head.weight, loss.head.bias))
    by_hand = []
    for s, form, label in ((0, 1, 1), (0, 2, 0)):
        features = np.concatenate([vectors[s], vectors[form], np.abs(vectors[s] - vectors[form])])
        logits = weight @ features + bias
        by_hand.append(np.log(np.exp(logits - logits.max()).sum()) + logits.max() - logits[label])
    rows = torch.tensor([0, 1])
    assert loss.row_losses(loss.outputs(rows), loss.labels(rows)).tolist() == pytest.approx(by_hand, rel=1e-3)


def test_special_tokens_are_one_id_each_near_the_mean_and_drawn_by_the_seed(tiny_base):
    def made(seed):
        whole = load_bi_encoder(tiny_base, "cpu")
        prepare_model(whole, seed, "tiny", FORM_TOKENS["propbank"])
        return whole

    before = load_bi_encoder(tiny_base, "cpu")[0].model.get_input_embeddings().weight.detach()
    one, same, other = made(0), made(0), made(1)
    rows = [whole[0].model.get_input_embeddings().weight.detach() for whole in (one, same, other)]
    numbers = [one.tokenizer.convert_tokens_to_ids(token) for token in (SENTENCE_TOKEN, FORM_TOKENS["propbank"])]
    assert numbers == [len(before), len(before) + 1]
    for token, number in zip((SENTENCE_TOKEN, FORM_TOKENS["propbank"]), numbers, strict=True):
        assert one.tokenizer(token, add_special_tokens=False)["input_ids"] == [number]
    cls, *ids, sep = one.tokenizer(f"{SENTENCE_TOKEN} the dog")["input_ids"]
    assert [cls, *ids[1:], sep] == one.tokenizer("the dog")["input_ids"]
    assert ids[0] == numbers[0]
    assert torch.equal(rows[0][: len(before)], before)
    assert torch.equal(rows[0], rows[1])
    assert not torch.equal(rows[0][-2:], rows[2][-2:])
    assert not torch.equal(rows[0][-1], rows[0][-2])
    away = (rows[0][-2:] - before.mean(dim=0)) / before.std(dim=0)
    assert 0 < away.abs().max() < 0.5  # 64 draws with deviation 0.1
    prepare_model(one, 5, "tiny", FORM_TOKENS["propbank"])  # a model that has them keeps them
    assert torch.equal(one[0].model.get_input_embeddings().weight, rows[0])


def test_pooling_becomes_the_mean(tmp_path):
    whole = load_bi_encoder(make_bert(tmp_path / "cls", pooling="cls"), "cpu")
    prepare_model(whole, 0, "tiny", FORM_TOKENS["propbank"])
    table = table_of_texts(whole, TEXTS[:1])
    with torch.inference_mode():
        found = whole.eval()(table.padded_batch(torch.tensor([0]), "cpu"))
    assert torch.allclose(found["sentence_embedding"], found["token_embeddings"].mean(dim=1), atol=1e-6)


def test_a_model_of_words_alone_cannot_learn_the_tokens():
    whole = SentenceTransformer(modules=[StaticEmbedding(Tokenizer(WordLevel({"a": 0}, "a")), embedding_dim=4)])
    with pytest.raises(UnavailableError, match="model words: has no transformer"):
        prepare_model(whole, 0, "words", FORM_TOKENS["propbank"])
