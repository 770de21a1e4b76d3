"""Only the rows of the embeddings that texts read are trained: the same model, all of it in every checkpoint."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from assay.training.models import freeze_except_last_layers, load_bi_encoder, table_of_texts
from assay.training.pairwise import trainer
from assay.training.pairwise.read_rows import ReadRows, restore_whole_table, train_only_read_rows
from tests.training.pair_run import train_on

TABLE = "embeddings.word_embeddings.weight"
TEXTS = ["the green house", "a cold river", "haus und garten"]


@pytest.fixture
def files(pairs_file):
    """Training, development and test pairs."""
    return pairs_file(40, 1), pairs_file(20, 2), pairs_file(20, 3)


@pytest.fixture
def whole(tiny_base):
    return load_bi_encoder(tiny_base, "cpu").eval()


def test_the_model_is_the_one_that_all_rows_give(tiny_base, files, tmp_path, monkeypatch):
    decay = 0.01
    train_on("bi-encoder", tiny_base, tmp_path / "read", *files)
    monkeypatch.setattr(trainer, "train_only_read_rows", lambda *_: contextlib.nullcontext())
    train_on("bi-encoder", tiny_base, tmp_path / "all", *files)
    base, read, every = (
        load_file(path / "model.safetensors") for path in (tiny_base, tmp_path / "read", tmp_path / "all")
    )
    assert set(read) == set(every)
    for name in set(read) - {TABLE}:
        assert read[name] == pytest.approx(every[name], abs=2e-6), name
    unread = (read[TABLE] == base[TABLE]).all(axis=1)
    assert 0.2 < unread.mean() < 0.99
    assert read[TABLE][~unread] == pytest.approx(every[TABLE][~unread], abs=2e-6)
    # a row that no text reads differs by its weight decay alone, of a learning rate of 1e-3 at most in 15 steps
    moved = unread & base[TABLE].all(axis=1)  # the row of the padding is zero
    shrunk = every[TABLE][moved] / base[TABLE][moved]
    assert (shrunk > 1 - 15 * 1e-3 * decay).all() and (shrunk < 1).all()


def test_checkpoints_have_the_whole_table(tiny_base, files, tmp_path, monkeypatch):
    seen = []
    load = trainer.BiTrainer._load_from_checkpoint

    def look(self, path):
        seen.append(load_file(f"{path}/model.safetensors")[TABLE].shape)
        load(self, path)
        assert isinstance(self.model[0].model.get_input_embeddings(), ReadRows)

    monkeypatch.setattr(trainer.BiTrainer, "_load_from_checkpoint", look)
    train_on("bi-encoder", tiny_base, tmp_path / "out", *files, epochs=2)
    shape = load_file(tiny_base / "model.safetensors")[TABLE].shape
    assert seen == [shape]
    assert load_file(tmp_path / "out" / "model.safetensors")[TABLE].shape == shape


def test_what_is_read_is_what_it_was(whole):
    table = table_of_texts(whole, TEXTS)
    batch = table.padded_batch(torch.arange(3), "cpu")
    before, inner = whole(dict(batch))["sentence_embedding"], whole[0].model.get_input_embeddings()
    start = inner.weight.detach().clone()
    read = torch.unique(torch.cat([table.ids.long(), torch.tensor([table.pad])]))
    with train_only_read_rows(whole, table):
        rows = whole[0].model.get_input_embeddings()
        assert len(rows.weight) == len(read)
        assert not any(value is inner.weight for value in whole.parameters())
        assert torch.equal(whole(dict(batch))["sentence_embedding"], before)
        with torch.no_grad():
            rows.weight += 1
        with restore_whole_table(whole):
            assert whole[0].model.get_input_embeddings() is inner
            with torch.no_grad():
                inner.weight += 2  # as a checkpoint that is loaded
        assert whole[0].model.get_input_embeddings() is rows
    assert whole[0].model.get_input_embeddings() is inner
    raised = (inner.weight.detach() - start).round()
    assert (raised[read] == 3).all() and int((raised == 3).all(dim=1).sum()) == len(read)


def test_padding_has_no_gradient_and_a_frozen_table_stays(whole):
    table = table_of_texts(whole, TEXTS)
    with train_only_read_rows(whole, table):
        rows = whole[0].model.get_input_embeddings()
        whole.train()(table.padded_batch(torch.arange(3), "cpu"))["sentence_embedding"].sum().backward()
        pad = int(rows.new_indices[table.pad])
        assert rows.weight.grad[pad].abs().sum() == 0 and rows.weight.grad.abs().sum() > 0
    freeze_except_last_layers(whole, 1, "tiny")
    inner = whole[0].model.get_input_embeddings()
    with train_only_read_rows(whole, table):
        assert whole[0].model.get_input_embeddings() is inner


def test_rows_are_written_where_they_belong():
    inner = torch.nn.Embedding(5, 2)
    start = inner.weight.detach().clone()
    rows = ReadRows(inner, torch.tensor([1, 4]))
    assert torch.equal(rows(torch.tensor([4, 1, 4])), start[[4, 1, 4]])
    with torch.no_grad():
        rows.weight += torch.tensor([[1.0], [2.0]])
    rows.copy_to_table()
    assert np.array_equal((inner.weight.detach() - start).round().numpy()[:, 0], [0, 1, 0, 0, 2])
    with torch.no_grad():
        inner.weight.copy_(start)
    rows.copy_from_table()
    assert torch.equal(rows.weight.detach(), start[[1, 4]])
