"""Models whose files lack weights, or name them otherwise: refused, since what is missing would be drawn at random."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoTokenizer, BertConfig, BertForMaskedLM

from assay.exceptions import InputError, UnavailableError
from assay.metrics import load_metric
from assay.training.models import load_bi_encoder, load_cross_encoder
from tests.metrics.models.tiny import make_bert
from tests.metrics.neural.texts import pairs

Weights = dict[str, torch.Tensor]


def changed(model: Path, folder: Path, change: Callable[[Weights], Weights]) -> Path:
    """Return a copy of a model folder with other weights in it."""
    shutil.copytree(model, folder)
    path = folder / "model.safetensors"
    save_file(change(load_file(path)), path, metadata={"format": "pt"})
    return folder


def without(pattern: str) -> Callable[[Weights], Weights]:
    return lambda weights: {name: value for name, value in weights.items() if not re.search(pattern, name)}


def renamed(weights: Weights) -> Weights:
    return {f"model.{name}": value for name, value in weights.items()}


def deeper(weights: Weights) -> Weights:
    """Return weights of a model with one more layer than its configuration says."""
    extra = {re.sub(r"layer\.1\.", "layer.7.", name): value.clone() for name, value in weights.items()}
    return weights | extra


BROKEN = {"a layer": without(r"layer\.1\."), "embeddings": without("word_emb"), "names": renamed, "deeper": deeper}


@pytest.mark.parametrize("change", BROKEN)
@pytest.mark.parametrize("name", ["bi-encoder", "pooled", "bertscore", "bertscore-library"])
def test_encoders_without_all_weights_are_refused(encoder: Path, tmp_path: Path, name: str, change: str) -> None:
    folder = changed(encoder, tmp_path / "broken", BROKEN[change])
    options = ",engine=bert-score,layer=2" if name == "bertscore-library" else ""
    with pytest.raises(UnavailableError, match=r"weights.*layer|embeddings") as caught:
        load_metric(f"{name.removesuffix('-library')}:{folder}{options}").score(pairs(3))
    assert "\n" not in str(caught.value) and str(folder) in str(caught.value)


@pytest.mark.parametrize("change", [*BROKEN, "head", "pooler"])
def test_cross_encoders_without_all_weights_are_refused(scorer: Path, tmp_path: Path, change: str) -> None:
    broken = BROKEN | {"head": without("classifier"), "pooler": without("pooler")}
    folder = changed(scorer, tmp_path / "broken", broken[change])
    with pytest.raises(UnavailableError, match="weights"):
        load_metric(f"cross-encoder:{folder}").score(pairs(3))


@pytest.mark.parametrize("backend", ["onnxruntime", "openvino"])
def test_other_backends_refuse_them_too(encoder: Path, scorer: Path, tmp_path: Path, backend: str) -> None:
    pytest.importorskip(backend)
    for name, model in (("bi-encoder", encoder), ("cross-encoder", scorer)):
        folder = changed(model, tmp_path / name, without(r"layer\.1\."))
        with pytest.raises(UnavailableError, match="weights"):
            load_metric(f"{name}:{folder},backend={backend}").score(pairs(3))


def test_a_head_or_a_pooler_that_an_encoder_never_uses_is_fine(encoder: Path, scorer: Path, tmp_path: Path) -> None:
    batch = pairs(20)
    expected = load_metric(f"bi-encoder:{encoder}").score(batch)
    body = changed(encoder, tmp_path / "body", without("pooler"))
    assert (load_metric(f"bi-encoder:{body}").score(batch) == expected).all()
    assert load_metric(f"pooled:{scorer}").score(batch).shape == (20,), "the classifier stays aside"
    masked = tmp_path / "masked"
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        config = BertConfig.from_pretrained(encoder)
        BertForMaskedLM(config).save_pretrained(masked)
    AutoTokenizer.from_pretrained(encoder).save_pretrained(masked)
    positions = torch.arange(config.max_position_embeddings).reshape(1, -1)
    old = changed(masked, tmp_path / "old", lambda weights: weights | {"bert.embeddings.position_ids": positions})
    first, again = (load_metric(f"pooled:{folder}").score(batch) for folder in (masked, old))
    assert (first == again).all()


def test_bases_of_trainings_are_whole_but_for_a_new_head(encoder: Path, scorer: Path, tmp_path: Path) -> None:
    fresh = {"outputs": 1, "activation": torch.nn.Sigmoid(), "seed": 0}
    for number, model in enumerate((encoder, changed(encoder, tmp_path / "body", without("pooler")))):
        assert load_cross_encoder(model, "cpu", **fresh).num_labels == 1, number
    assert load_cross_encoder(scorer, "cpu", **fresh | {"outputs": 3}).num_labels == 3
    broken = changed(encoder, tmp_path / "broken", without(r"layer\.1\."))
    with pytest.raises(UnavailableError, match="weights"):
        load_bi_encoder(broken, "cpu")
    with pytest.raises(UnavailableError, match="weights"):
        load_cross_encoder(broken, "cpu", **fresh)
    with pytest.raises(UnavailableError, match="weights"):
        load_cross_encoder(changed(scorer, tmp_path / "headless", without("classifier")), "cpu", **fresh)


def test_a_folder_without_a_tokenizer_is_refused(tmp_path: Path) -> None:
    folder = make_bert(tmp_path / "m")
    whole = load_metric(f"pooled:{folder}").score(pairs(3))
    vocabulary = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
    # without a class in this file, transformers makes BERT's own tokenizer; with no vocabulary, it gives [UNK] alone
    (folder / "tokenizer_config.json").unlink()
    (folder / "tokenizer.json").unlink()
    with pytest.raises(InputError, match=r"no tokenizer.*tokenizer\.json") as caught:
        load_metric(f"pooled:{folder}").score(pairs(3))
    assert "\n" not in str(caught.value)
    (folder / "vocab.txt").write_text("\n".join(sorted(vocabulary, key=vocabulary.__getitem__)), encoding="utf-8")
    assert load_metric(f"pooled:{folder}").score(pairs(3)).shape == whole.shape


def test_a_package_that_a_model_needs_beside_the_extra_is_named():
    from assay.exceptions import MissingExtraError, UnavailableError
    from assay.metrics.neural.loading import _one_line_errors

    line = r"m needs the package peft, which is not installed: pip install peft$"
    with pytest.raises(UnavailableError, match=line), _one_line_errors(Path("m")):
        raise ModuleNotFoundError("No module named 'peft'", name="peft")
    with pytest.raises(UnavailableError, match=r"requires installing the `peft` package"), _one_line_errors(Path("m")):
        raise ImportError("Loading a PEFT model requires installing the `peft` package")
    with pytest.raises(MissingExtraError, match="sentence_transformers"), _one_line_errors(Path("m")):
        raise ModuleNotFoundError("No module named", name="sentence_transformers")
