"""Cutting an encoder and caching its frozen part changes no number."""

from __future__ import annotations

import errno
import os
import tempfile

import numpy as np
import pytest
import torch

from assay.exceptions import InputError, UnavailableError
from assay.training.models import load_bi_encoder
from assay.training.s3bert import frozen as frozen_module
from assay.training.s3bert.frozen import freeze_texts, split_encoder, upper_embeddings
from assay.training.s3bert.trainer import S3BertLoss
from tests.metrics.models.tiny import make_bert
from tests.training.training_run import LetterScorer, made_pairs

TEXTS = sorted({row[side] for row in made_pairs(40, 3) for side in ("reference", "candidate")} | {"", "one"})


def nothing(number):
    pass


@pytest.mark.parametrize("pooling", ["mean", "cls"])
@pytest.mark.parametrize("trained", [1, 2, 4])
def test_cached_embeddings_are_those_of_the_whole_model(tmp_path, pooling, trained):
    folder = make_bert(tmp_path / "base", layers=4, pooling=pooling)
    expected = load_bi_encoder(folder, "cpu").encode(TEXTS)
    halves = split_encoder(load_bi_encoder(folder, "cpu"), trained, "base")
    frozen = freeze_texts(halves, TEXTS, "cpu", advance=nothing)
    assert frozen.teacher.numpy() == pytest.approx(expected, abs=1e-5)
    numbers = torch.tensor([5, 0, 17, 17, 3])
    assert upper_embeddings(halves, frozen, numbers).detach().numpy() == pytest.approx(expected[numbers], abs=1e-5)


@pytest.mark.parametrize("kind", ["roberta", "mpnet", "distilbert"])
def test_other_families(tmp_path, tiny_base, kind):
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling
    from transformers import AutoConfig, AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(tiny_base)
    names = ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size")
    if kind == "distilbert":
        names = ("dim", "n_layers", "n_heads", "hidden_dim")
    sizes = dict(zip(names, (32, 3, 4, 64), strict=True))
    torch.manual_seed(0)
    config = AutoConfig.for_model(kind, vocab_size=len(tokenizer), initializer_range=0.5, pad_token_id=0, **sizes)
    AutoModel.from_config(config).save_pretrained(tmp_path / "plain")
    tokenizer.save_pretrained(tmp_path / "plain")
    body = Transformer(str(tmp_path / "plain"))
    SentenceTransformer(modules=[body, Pooling(32)]).save_pretrained(str(tmp_path / "base"), create_model_card=False)
    expected = load_bi_encoder(tmp_path / "base", "cpu").encode(TEXTS)
    assert np.abs(expected[0] - expected[-1]).max() > 0.01
    halves = split_encoder(load_bi_encoder(tmp_path / "base", "cpu"), 2, "base")
    frozen = freeze_texts(halves, TEXTS, "cpu", advance=nothing)
    assert upper_embeddings(halves, frozen, torch.arange(len(TEXTS))).detach().numpy() == pytest.approx(
        expected, abs=1e-5
    )


def test_hidden_states_beyond_memory_go_to_a_file(tiny_base, monkeypatch):
    halves = split_encoder(load_bi_encoder(tiny_base, "cpu"), 2, "base")
    expected = freeze_texts(halves, TEXTS, "cpu", advance=nothing)
    monkeypatch.setattr(frozen_module, "MAX_BYTES_IN_MEMORY", 1000)
    mapped = freeze_texts(halves, TEXTS, "cpu", advance=nothing)
    assert torch.equal(mapped.states, expected.states)
    numbers = torch.arange(len(TEXTS))
    assert torch.equal(upper_embeddings(halves, mapped, numbers), upper_embeddings(halves, expected, numbers))


def test_a_full_disk_is_one_line(tiny_base, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(frozen_module, "MAX_BYTES_IN_MEMORY", 1000)
    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(InputError, match=rf"{tempfile.gettempdir()}: no room for .* GiB .*No space left.*`limit`"):
        freeze_texts(split_encoder(load_bi_encoder(tiny_base, "cpu"), 2, "base"), TEXTS, "cpu", advance=nothing)


def test_a_tokenizer_that_pads_on_the_left(tiny_base):
    whole = load_bi_encoder(tiny_base, "cpu")
    expected = whole.encode(TEXTS)
    whole.tokenizer.padding_side = "left"
    halves = split_encoder(whole, 2, "base")
    frozen = freeze_texts(halves, TEXTS, "cpu", advance=nothing)
    found = upper_embeddings(halves, frozen, torch.arange(len(TEXTS))).detach().numpy()
    assert found == pytest.approx(expected, abs=1e-5)


def test_halves_that_give_other_embeddings_are_refused(tiny_base):
    halves = split_encoder(load_bi_encoder(tiny_base, "cpu"), 2, "base")
    with torch.no_grad():
        halves.lower.encoder.layer = halves.lower.encoder.layer[:1]
    with pytest.raises(UnavailableError, match="cut in two, the base gives other sentence embeddings"):
        freeze_texts(halves, TEXTS, "cpu", advance=nothing)


def test_the_loss_curve_is_that_of_the_loop_that_runs_all_layers(tiny_base):
    """Same batches, same losses: every layer and the frozen base run anew each step, as one would write it."""
    rows = made_pairs(48, 5)
    scorer = LetterScorer()
    from assay.metrics.base import Batch

    texts = [[row[side] for row in rows] for side in ("reference", "candidate")]
    targets = torch.tensor(scorer.score(Batch(*texts, None, *texts)), dtype=torch.float32)
    numbers = {text: number for number, text in enumerate(sorted({*texts[0], *texts[1]}))}
    sides = [torch.tensor([numbers[text] for text in side]) for side in texts]
    halves = split_encoder(load_bi_encoder(tiny_base, "cpu"), 2, "base")
    frozen = freeze_texts(halves, list(numbers), "cpu", advance=nothing)
    ours = S3BertLoss(
        halves.whole, lambda one: upper_embeddings(halves, frozen, one), frozen.teacher, aspects=15, width=2
    )
    plain = split_encoder(load_bi_encoder(tiny_base, "cpu"), 2, "base").whole
    base = load_bi_encoder(tiny_base, "cpu").eval()

    def embed(model, batch):
        return model(model.preprocess([list(numbers)[number] for number in batch]))["sentence_embedding"]

    def run_plain(batch):
        with torch.no_grad():
            teacher = embed(base, range(len(numbers)))
        loss._teacher = teacher
        return loss([side[batch] for side in sides], targets[batch])

    loss = S3BertLoss(plain, lambda one: embed(plain, one.tolist()), frozen.teacher, aspects=15, width=2)
    curves = []
    for one, run in ((ours, lambda batch: ours([side[batch] for side in sides], targets[batch])), (loss, run_plain)):
        optimizer = torch.optim.AdamW([value for value in one.parameters() if value.requires_grad], lr=1e-3)
        curve = []
        for step in range(15):
            total = sum(run(slice(16 * (step % 3), 16 * (step % 3) + 16)).values())
            total.backward()
            optimizer.step()
            optimizer.zero_grad()
            curve.append(total.item())
        curves.append(curve)
    assert curves[0] == pytest.approx(curves[1], abs=1e-5)
    assert curves[0][-1] < 0.9 * curves[0][0]


def test_only_the_last_layers_want_gradients(tiny_base):
    halves = split_encoder(load_bi_encoder(tiny_base, "cpu"), 2, "base")
    wanted = {name for name, value in halves.whole.named_parameters() if value.requires_grad}
    assert wanted
    assert all(".encoder.layer.2." in name or ".encoder.layer.3." in name for name in wanted)


def test_bad_requests(tiny_base, tmp_path):
    with pytest.raises(InputError, match="layers=5: the model has 4 layers; valid: 1 to 4"):
        split_encoder(load_bi_encoder(tiny_base, "cpu"), 5, "base")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UnavailableError, match="cannot be loaded"):
        load_bi_encoder(tmp_path / "empty", "cpu")
