"""What a training on labelled pairs refuses, in one line."""

from __future__ import annotations

import shutil

import pytest

from assay.exceptions import InputError, UnavailableError
from tests.training.pair_run import rewritten, train_on


def test_a_training_that_diverges_says_so(tiny_base, files, tmp_path):
    with pytest.raises(InputError, match=r"the training diverged: .* ask for a lower `learning_rate`"):
        train_on("bi-encoder", tiny_base, tmp_path / "out", *files, learning_rate=1e30)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("change", "settings", "told"),
    [
        (
            {"label": 1.5},
            {},
            r"its label 1.5 is not between 0 and 1; say what the scale is with `scale=\"LOW,HIGH\"`",
        ),
        ({"label": 7.0}, {"scale": "0,5"}, r"pair 1: its label 7 is not between 0 and 5"),
        ({"label": None}, {}, r"pair 1: has no label"),
        ({"label": 0.5}, {}, r"the train set has one label alone, 0.5"),
        ({}, {"classes": "nothing"}, r"no column 'nothing'"),
        ({}, {"scale": "5,0"}, r"scale=5,0: the first number must be below"),
        ({}, {"loss": "cosent", "batches": "node"}, r"loss=cosent: compares all pairs of a batch"),
        ({}, {"loss": "mse"}, r"loss=mse: must be one of cosine, "),
        ({}, {"subset": "half"}, r"subset=half: must be degree:N or random:N"),
        ({}, {"warmup": 1.0}, r"warmup=1.0: is a share of the steps"),
        ({}, {"layers": 9}, r"layers=9: the model has 4 layers"),
    ],
)
def test_bad_input_is_one_line(tiny_base, files, tmp_path, change, settings, told):
    train = rewritten(files[0], lambda row: change)
    with pytest.raises(InputError, match=told) as caught:
        train_on("bi-encoder", tiny_base, tmp_path / "out", train, *files[1:], **settings)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_a_class_that_was_not_trained_on(tiny_base, files, tmp_path):
    kinds = [
        rewritten(path, lambda row, k=k: {"kind": f"{k}{len(row['label'].hex()) % 2}"}) for k, path in enumerate(files)
    ]
    with pytest.raises(InputError, match=r"pair 1: its class '1\d' is not in the training pairs"):
        train_on("bi-encoder", tiny_base, tmp_path / "out", *kinds, classes="kind")


def test_a_model_with_pickled_weights_alone(tiny_base, files, tmp_path):
    import torch

    base = tmp_path / "pickled"
    shutil.copytree(tiny_base, base)
    torch.save({}, base / "pytorch_model.bin")
    (base / "model.safetensors").unlink()
    with pytest.raises((InputError, UnavailableError), match="has only pickled weights") as caught:
        train_on("bi-encoder", base, tmp_path / "out", *files)
    assert "\n" not in str(caught.value)
