"""Texts without a token that counts: a number as documented, whatever the tokenizer adds."""

from __future__ import annotations

import json

import numpy as np
import pytest

from assay.metrics import Batch, load_metric
from tests.metrics.models.tiny import make_bert

BATCH = Batch(["", "a", "", "water is", "water"], ["a", "", "", "a cat", "water"])
EMPTY = [True, True, True, False, False]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return make_bert(tmp_path_factory.mktemp("with"), pooling="mean")


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """A model whose tokenizer adds no special token, as that of GPT-2: an empty text has none at all."""
    folder = make_bert(tmp_path_factory.mktemp("without"), pooling="mean")
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer | {"post_processor": None}))
    return folder


@pytest.mark.parametrize("output", ["precision", "recall", "f"])
def test_bertscore_is_0_where_either_text_is_empty_as_in_the_package(model, output):
    found = load_metric(f"bertscore:{model},output={output}").score(BATCH)
    theirs = load_metric(f"bertscore:{model},output={output},engine=bert-score").score(BATCH)
    assert found[:3].tolist() == theirs[:3].tolist() == [0, 0, 0]
    assert found == pytest.approx(theirs, abs=1e-6)
    assert found[4] == pytest.approx(1)


@pytest.mark.parametrize(
    "name",
    ["bi-encoder:{}", "pooled:{},pooling=mean", "pooled:{},pooling=max", "pooled:{},pooling=cls", "bertscore:{}"],
)
def test_without_special_tokens_an_empty_text_scores_0(bare, name):
    metric = load_metric(name.format(bare))
    found = metric.score(BATCH)
    assert np.isfinite(found).all()
    assert [score == 0 for score in found] == EMPTY
    assert found[4] == pytest.approx(1, abs=1e-6)
    # alone, in another order, and where nothing in the batch has a token
    assert metric.score(Batch(BATCH.references[::-1], BATCH.candidates[::-1])) == pytest.approx(found[::-1], abs=1e-6)
    assert metric.score(Batch(["", ""], ["", ""])).tolist() == [0, 0]


def test_a_cross_encoder_of_nothing_but_empty_texts(tmp_path):
    folder = make_bert(tmp_path, labels=1)
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer | {"post_processor": None}))
    metric = load_metric(f"cross-encoder:{folder},activation=identity")
    assert metric.score(Batch(["", "a"], ["", "b"]))[0] == 0
