"""A conversion is held to torch before it is used: what is refused, with its figure, and what is not."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

import assay
from assay.exceptions import UnavailableError
from assay.metrics import load_metric
from assay.metrics.neural.backends import acceptance, converted
from assay.metrics.neural.backends.acceptance import check_set_pairs
from assay.metrics.work import open_session
from tests.metrics.models.tiny import make_bert
from tests.metrics.neural.backends.converted_models import figure_of, folders, need
from tests.metrics.neural.texts import pairs


def test_int8_is_refused_with_the_figure(
    encoder: Path, scorer: Path, onnxruntime: str, writes: list[Path], checks: list[object], own_cache: Path
) -> None:
    for number, name in enumerate((f"bi-encoder:{encoder}", f"cross-encoder:{scorer}"), start=1):
        metric = load_metric(f"{name},backend=onnxruntime,precision=int8")
        messages = []
        for _ in range(2):
            with pytest.raises(UnavailableError) as caught:
                metric.score(pairs(10))
            messages.append(str(caught.value))
            assert caught.value.remedy == "take precision=fp32"
        assert messages[0] == messages[1] and "\n" not in messages[0]
        (shown,) = re.findall(r"onnxruntime int8 keeps a Spearman of (\.\d{4}) with fp32, below \.999", messages[0])
        assert any(0 <= figure_of(folder) - float(shown) < 1e-4 for folder in folders(own_cache))
        assert 0.5 < float(shown) < 0.999
        assert (len(writes), len(checks)) == (number, 2 * number), "what was found is kept"


def test_int8_is_accepted_where_it_says_the_same(
    encoder: Path, onnxruntime: str, own_cache: Path, tmp_path: Path
) -> None:
    """A model whose layers add little to what the embeddings say, which are not reduced."""
    from safetensors.torch import load_file, save_file

    folder = make_bert(tmp_path / "gentle", layers=1, pooling="mean")
    weights = load_file(folder / "model.safetensors")
    gentle = {name: one * 0.03 if ".output.dense." in name else one for name, one in weights.items()}
    assert any((gentle[name] != one).any() for name, one in weights.items())
    save_file(gentle, folder / "model.safetensors", metadata={"format": "pt"})
    metric = load_metric(f"bi-encoder:{folder},backend=onnxruntime,precision=int8")
    batch = pairs(100)
    got, exact = metric.score(batch), load_metric(f"bi-encoder:{folder}").score(batch)
    (kept,) = folders(own_cache)
    assert 0.999 <= figure_of(kept) < 1.0
    assert 1e-5 < np.abs(got - exact).max() < 0.05, "it is another model, and close"
    assert metric.signature()["precision"] == "int8"
    kept_file = next(kept.glob("accepted-*.json"))
    assert {"cpu", "precision", "check", "tokens", "spearman"} <= set(json.loads(kept_file.read_text()))


def test_each_layer_is_held_to_the_limit_by_itself(encoder: Path, onnxruntime: str) -> None:
    """The embeddings are not reduced: they may be used where the last layer may not."""
    metric = load_metric(f"pooled:{encoder},layer=0,backend=onnxruntime,precision=int8")
    assert metric.score(pairs(20)) == pytest.approx(load_metric(f"pooled:{encoder},layer=0").score(pairs(20)), abs=1e-4)
    last = load_metric(f"pooled:{encoder},layer=3,backend=onnxruntime,precision=int8")
    with pytest.raises(UnavailableError, match="keeps a Spearman"):
        open_session(metric.needs()).score([metric, last], pairs(20))


def test_bf16_is_another_number_and_held_to_the_limit(encoder: Path) -> None:
    need("openvino")
    gentle = load_metric(f"pooled:{encoder},layer=1,backend=openvino,precision=bf16")
    try:
        got = gentle.score(pairs(50))
    except UnavailableError as error:
        if "which has no bf16" not in str(error):
            raise
        assert error.remedy == "take precision=fp32"
        pytest.skip("this CPU has no bf16")
    exact = load_metric(f"pooled:{encoder},layer=1").score(pairs(50))
    assert 1e-5 < np.abs(got - exact).max() < 0.05
    with pytest.raises(UnavailableError, match=r"openvino bf16 keeps a Spearman of \.99\d\d with fp32, below \.999"):
        load_metric(f"bi-encoder:{encoder},backend=openvino,precision=bf16").score(pairs(5))


def test_a_conversion_that_says_something_else_is_refused(
    encoder: Path, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = type(converted.converter_of(backend, "fp32"))
    real = kind.open
    metric = load_metric(f"bi-encoder:{encoder},backend={backend}")

    def broken(arrays: list[np.ndarray]) -> list[np.ndarray]:
        raise RuntimeError("\nException from src/core.cpp:1:\nshapes do not fit\nmore")

    wrongs: dict[str, Callable[[list[np.ndarray]], list[np.ndarray]]] = {
        r"fp32 keeps a Spearman of -?\.\d{4} with fp32, below \.999": lambda arrays: [
            one + np.arange(one.shape[1], dtype=np.float32)[:, None] for one in arrays
        ],
        "gives all pairs of the check set the same score or none": lambda arrays: [np.ones_like(one) for one in arrays],
        "gives all pairs .*or none": lambda arrays: [one * np.nan for one in arrays],
        r"does not run \(RuntimeError: shapes do not fit\)": broken,
    }
    for message, wrong in wrongs.items():
        monkeypatch.setattr(
            kind,
            "open",
            lambda self, *given, wrong=wrong: (lambda run: lambda inputs: wrong(run(inputs)))(real(self, *given)),
        )
        with pytest.raises(UnavailableError, match=message) as caught:
            metric.score(pairs(5))
        assert caught.value.remedy == "take backend=torch" and "\n" not in str(caught.value)
        for path in (Path(os.environ["ASSAY_CACHE"]) / "converted").rglob("accepted-*.json"):
            path.unlink()


def test_the_figure_is_the_least_spearman_of_any_kind_and_output() -> None:
    sizes = [len(kind) for kind in check_set_pairs().values()]
    generator = np.random.default_rng(0)
    one = generator.random((2, sum(sizes)))
    other = one + generator.normal(0, 0.05, one.shape)
    ends = np.cumsum(sizes)[:-1]
    expected = [
        float(spearmanr(left, right).statistic)
        for row in range(2)
        for left, right in zip(np.split(one[row], ends), np.split(other[row], ends), strict=True)
    ]
    assert acceptance.agreement(one, other) == pytest.approx(min(expected), abs=1e-9)
    assert max(expected) - min(expected) > 0.001
    assert acceptance.agreement(one, one) == pytest.approx(1.0)
    assert acceptance.agreement(one, one * 0) is None
    other[1, 0] = np.nan
    assert acceptance.agreement(one, other) is None
    assert len({pair for kind in check_set_pairs().values() for pair in kind}) == sum(sizes) > 250


def test_a_run_goes_on_without_what_is_refused(encoder: Path, onnxruntime: str) -> None:
    batch = pairs(30)
    rows = [{"reference": r, "candidate": c, "label": i % 3} for i, (r, c) in enumerate(batch.pairs())]
    refused = f"bi-encoder:{encoder},backend=onnxruntime,precision=int8"
    good = f"bi-encoder:{encoder},backend=onnxruntime"
    result = assay.run([rows], [refused, good, "f1"], resamples=0, device="cpu", threads=1)
    by_name = {status.metric: status for status in result.outcome.metrics}
    status = by_name.pop(str(load_metric(refused)))
    assert status.status == "unavailable" and status.remedy == "take precision=fp32"
    assert re.search(r"keeps a Spearman of \.9\d{3} with fp32, below \.999", status.reason)
    assert {one.status for one in by_name.values()} == {"done"} and len(by_name) == 2
    one = by_name[str(load_metric(good))]
    assert one.signature["backend"] == "onnxruntime" and one.cost.details["load_seconds"] > 0
    assert one.cost.details["parameters"] > 10_000
    scores = result.scores[result.scores.metric == one.metric].score.to_numpy()
    assert scores == pytest.approx(load_metric(f"bi-encoder:{encoder}").score(batch), abs=1e-4)
    assert "keeps a Spearman" in result.to_markdown()


@pytest.mark.slow
def test_int8_of_a_real_model(real_models: Any, onnxruntime: str, own_cache: Path, capfd) -> None:
    batch = pairs(100)
    got = load_metric(f"bi-encoder:{real_models / 'minilm'},backend=onnxruntime,precision=int8").score(batch)
    exact = load_metric(f"bi-encoder:{real_models / 'minilm'}").score(batch)
    assert 1e-4 < np.abs(got - exact).max() < 0.03
    (kept,) = folders(own_cache)
    assert 0.999 <= figure_of(kept) < 1.0
    assert capfd.readouterr().err == ""
