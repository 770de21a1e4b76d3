"""Folders with a StaticEmbedding: ``static:`` and ``bi-encoder:`` give the number of sentence-transformers."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.exceptions import InputError, UnavailableError
from assay.metrics import Batch, check_metric, load_metric
from assay.metrics.scores import Flag
from tests.metrics.architectures import library_cosines
from tests.metrics.layouts import PROMPTS, change, saved, static_embedding
from tests.metrics.neural.texts import pairs

BATCH = Batch([*pairs(20).references, "water " * 900], [*pairs(20).candidates, "fire tree"])


def plain(folder: Path, **options: Any) -> Path:
    return saved(folder / "model", static_embedding(folder / "static"), **options)


def with_normalize(folder: Path) -> Path:
    from sentence_transformers.base.modules import Normalize

    return saved(folder / "model", static_embedding(folder / "static"), Normalize())


def model2vec(folder: Path, dtype: Any = np.float32, *, quantized: bool = False) -> Path:
    """Write what model2vec saves, with the list of modules for sentence-transformers."""
    from safetensors.numpy import load_file, save_file

    model = plain(folder)
    (inner,) = (path.parent for path in model.rglob("model.safetensors"))
    table = load_file(inner / "model.safetensors")["embedding.weight"]
    tensors = {"embeddings": table.astype(dtype)}
    if quantized:
        generator = np.random.default_rng(0)
        tensors |= {
            "mapping": generator.permutation(len(table)).astype(np.int64),
            "weights": generator.uniform(0.1, 2, len(table)).astype(np.float64),
        }
    shutil.copy(inner / "tokenizer.json", folder / "tokenizer.json")
    shutil.rmtree(model)
    model.mkdir()
    shutil.move(folder / "tokenizer.json", model / "tokenizer.json")
    save_file(tensors, model / "model.safetensors")
    (model / "config.json").write_text(json.dumps({"model_type": "model2vec", "architectures": ["StaticModel"]}))
    modules = [("", "StaticEmbedding"), ("1_Normalize", "Normalize")]
    (model / "modules.json").write_text(
        json.dumps(
            [
                {"idx": number, "name": str(number), "path": path, "type": f"sentence_transformers.models.{kind}"}
                for number, (path, kind) in enumerate(modules)
            ]
        )
    )
    return model


def in_half_precision(folder: Path) -> Path:
    return model2vec(folder, np.float16)


def with_mapping(folder: Path) -> Path:
    return model2vec(folder, quantized=True)


@pytest.mark.parametrize("name", ["static", "bi-encoder"])
@pytest.mark.parametrize("make", [plain, with_normalize, model2vec, in_half_precision, with_mapping])
def test_the_score_is_that_of_the_library(make: Callable[[Path], Path], name: str, tmp_path: Path) -> None:
    folder = make(tmp_path)
    expected = library_cosines(folder, BATCH)
    assert expected.std() > 0.01
    # the library adds numbers of half precision in half precision
    tolerance = 2e-3 if make is in_half_precision and name == "static" else 2e-5
    metric = load_metric(f"{name}:{folder}")
    metric.check_available()
    assert metric.score(BATCH) == pytest.approx(expected, abs=tolerance)


def test_a_folder_of_model2vec_without_modules(tmp_path: Path) -> None:
    folder = model2vec(tmp_path)
    expected = load_metric(f"static:{folder}").score(BATCH)
    (folder / "modules.json").unlink()
    assert load_metric(f"static:{folder}").score(BATCH).tolist() == expected.tolist()
    with pytest.raises(UnavailableError, match=r"model2vec without modules.json: use static:FOLDER"):
        load_metric(f"bi-encoder:{folder}").score(BATCH)


def test_promises(tmp_path: Path) -> None:
    folder = plain(tmp_path)
    assert [outcome for outcome in check_metric(f"static:{folder}") if not outcome.passed] == []
    metric = load_metric(f"static:{folder}")
    blank = Batch(["", "water", "\ud800"], ["water", " \n", "fire"])
    assert metric.score(blank)[:2].tolist() == [0, 0]
    assert metric.flags(blank).tolist() == [Flag.REFERENCE_EMPTY, Flag.CANDIDATE_EMPTY, 0]
    largest = load_metric(f"static:{folder},pooling=max").score(BATCH)
    assert np.abs(largest - metric.score(BATCH)).max() > 0.01


def test_the_signature_follows_the_files(tmp_path: Path) -> None:
    folder = model2vec(tmp_path)
    before = load_metric(f"static:{folder}").signature()["vectors"]
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    tokenizer["normalizer"]["lowercase"] = False
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    assert load_metric(f"static:{folder}").signature()["vectors"] != before


def test_what_needs_the_library_or_is_broken_is_refused(tmp_path: Path) -> None:
    for number, options in enumerate((PROMPTS, {"truncate_dim": 4})):
        folder = plain(tmp_path / str(number), **options)
        for ask in (lambda metric: metric.check_available(), lambda metric: metric.score(BATCH)):
            with pytest.raises(UnavailableError, match=r"cannot be read by static because of its .*: use bi-encoder"):
                ask(load_metric(f"static:{folder}"))
        assert load_metric(f"bi-encoder:{folder}").score(BATCH) == pytest.approx(
            library_cosines(folder, BATCH), abs=2e-5
        )
    folder = model2vec(tmp_path)
    with pytest.raises(InputError, match="case has no effect"):
        load_metric(f"static:{folder},case=lower").score(BATCH)
    weights = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(weights[:-50])
    with pytest.raises(InputError, match="token vectors cannot be read"):
        load_metric(f"static:{folder}").score(BATCH)
    (folder / "model.safetensors").unlink()
    with pytest.raises(InputError, match=r"there is no model\.safetensors"):
        load_metric(f"static:{folder}").check_available()
    (folder / "model.safetensors").write_bytes(weights)
    change(
        folder / "tokenizer.json",
        model=json.loads((folder / "tokenizer.json").read_text())["model"]
        | {"vocab": {f"word{number}": number for number in range(9000)} | {"[UNK]": 9000}},
    )
    with pytest.raises(InputError, match=r"finite vectors, one a token of tokenizer\.json"):
        load_metric(f"static:{folder}").score(BATCH)
