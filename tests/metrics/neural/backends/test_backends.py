"""Converted models: the numbers of torch, on the memory of one model, with what a backend has and lacks."""

from __future__ import annotations

import gc
import re
import sys
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import assay
from assay.exceptions import AssayError, InputError, UnavailableError, install_command
from assay.metrics import Batch, check_metric, load_metric
from assay.metrics.neural.backends import converted
from assay.metrics.neural.runtime import Runtime, use_runtime
from assay.metrics.scores import Flag
from assay.metrics.work import open_session, release_sessions
from tests.metrics.neural.backends.converted_models import folders, need
from tests.metrics.neural.texts import pairs

LONG = "water " * 100
#: Tokens of a batch: few texts, each batch padded to a length of its own; all texts in one.
BUDGETS = (20, 10**6)


def mixed() -> Batch:
    """Return pairs of many lengths: padded batches, texts that are cut, texts without a word."""
    found = pairs(40)
    return Batch([*found.references, "water", LONG, "", ""], [*found.candidates, LONG, LONG, "fire", " "])


ENCODERS = [
    "bi-encoder:{}",
    "pooled:{},layer=1",
    "pooled:{},layer=2,pooling=max",
]


@pytest.mark.parametrize("name", ENCODERS)
def test_an_encoder_is_that_of_torch(encoder: Path, backend: str, name: str) -> None:
    batch = mixed()
    metric = load_metric(name.format(encoder))
    expected = open_session(metric.needs()).score([metric], batch)
    assert len(set(np.round(expected.values[:, 0], 4))) > 20
    other = load_metric(f"{metric},backend={backend}")
    for tokens in BUDGETS:
        with use_runtime(Runtime(device="cpu", threads=1, tokens=tokens)):
            found = open_session(other.needs()).score([other], batch)
        assert found.values == pytest.approx(expected.values, abs=1e-4)
        assert (found.flags == expected.flags).all() and found.flags[-3, 0] & Flag.CANDIDATE_CUT


def test_bertscore_in_every_layer_is_one_conversion(encoder: Path, backend: str, writes: list[Path]) -> None:
    batch = mixed()
    metrics = [load_metric(f"bertscore:{encoder},layer={layer}") for layer in range(4)]
    expected = open_session(metrics[0].needs()).score(metrics, batch).values
    others = [load_metric(f"{metric},backend={backend}") for metric in metrics]
    session = open_session(others[0].needs())
    assert session.score(others, batch).values == pytest.approx(expected, abs=1e-4)
    assert len({tuple(column) for column in np.round(expected.T, 4)}) == 4, "layers differ"
    for layer, metric in enumerate(others):
        assert session.score([metric], batch).values[:, 0] == pytest.approx(expected[:, layer], abs=1e-4)
    assert len(writes) == 1


def test_each_layer_by_itself_is_that_of_torch(encoder: Path, backend: str, own_cache: Path) -> None:
    """What lies above the layer is not computed, and is not in the files."""
    sizes = [0]
    for layer in (0, 1, 3):
        release_sessions()
        metric = load_metric(f"bertscore:{encoder},layer={layer}")
        got = load_metric(f"{metric},backend={backend}").score(mixed())
        assert got == pytest.approx(metric.score(mixed()), abs=1e-4)
        sizes.append(sum(path.stat().st_size for path in own_cache.rglob("model.*")))
    embeddings, first, third = np.diff(sizes)
    assert len(folders(own_cache)) == 3
    assert first > embeddings + 10_000 and third > first + 20_000


@pytest.mark.parametrize("options", ["", ",order=mean,activation=identity,max_length=20"])
def test_a_cross_encoder_is_that_of_torch(scorer: Path, backend: str, options: str) -> None:
    batch = mixed()
    metric = load_metric(f"cross-encoder:{scorer}{options}")
    expected = metric.score(batch)
    assert len(set(np.round(expected, 4))) > 20
    other = load_metric(f"{metric},backend={backend}")
    for tokens in BUDGETS:
        with use_runtime(Runtime(device="cpu", threads=1, tokens=tokens)):
            assert other.score(batch) == pytest.approx(expected, abs=1e-4)


def test_promises(encoder: Path, scorer: Path, backend: str) -> None:
    for name in (f"bertscore:{encoder}", f"cross-encoder:{scorer}"):
        assert [one for one in check_metric(f"{name},backend={backend}") if not one.passed] == []


def test_torch_s_model_does_not_stay_in_memory(
    encoder: Path, scorer: Path, backend: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    from assay.metrics.neural import cross
    from assay.metrics.neural import encoder as encoders

    held: list[weakref.ref[Any]] = []
    opened: list[int] = []

    def watch(module: Any, name: str) -> None:
        load = getattr(module, name)

        def watched(*given: Any) -> Any:
            found = load(*given)
            held.append(weakref.ref(found.model))
            return found

        monkeypatch.setattr(module, name, watched)

    for module, name in (
        (encoders, "load_encoder"),
        (converted, "load_encoder"),
        (cross, "load_scorer"),
        (converted, "load_scorer"),
    ):
        watch(module, name)
    kind = type(converted.converter_of(backend, "fp32"))
    real = kind.open

    def counted(self: Any, *given: Any) -> Any:
        opened.append(sum(one() is not None for one in held))
        return real(self, *given)

    monkeypatch.setattr(kind, "open", counted)
    layers = [load_metric(f"pooled:{encoder},layer={layer},backend={backend}") for layer in (1, 2)]
    gc.collect()
    gc.disable()  # what is in a circle would be gone by chance
    request.addfinalizer(gc.enable)
    session = open_session(layers[0].needs())
    for metric in layers:
        session.score([metric], pairs(10))
        assert [one() for one in held if one() is not None] == []
    assert len(held) == 3, "once for the session, once for each layer"
    session = open_session(load_metric(f"cross-encoder:{scorer},backend={backend}").needs())
    assert [one() for one in held if one() is not None] == []
    release_sessions()
    opened.clear()
    for metric in (layers[0], load_metric(f"cross-encoder:{scorer},backend={backend}")):
        metric.score(pairs(10))
    assert opened == [0, 0], "of what is converted already, torch's is gone before the other is opened"


def test_signature(encoder: Path, backend: str) -> None:
    from assay.common.packages import version_of

    plain = load_metric(f"bi-encoder:{encoder}").signature()
    found = load_metric(f"bi-encoder:{encoder},backend={backend}").signature()
    assert found["backend"] == backend and found["precision"] == "fp32"
    assert found[backend] == version_of(backend) and re.match(r"\d", found[backend])
    assert backend not in plain and plain["backend"] == "torch"
    reduced = {"onnxruntime": "int8", "openvino": "bf16"}[backend]
    assert (
        load_metric(f"bi-encoder:{encoder},backend={backend},precision={reduced}").signature()["precision"] == reduced
    )


@pytest.mark.parametrize(
    ("backend_name", "precision", "message"),
    [
        ("onnxruntime", "bf16", "backend=onnxruntime: precision bf16 must be one of fp32, int8"),
        ("openvino", "int8", "backend=openvino: precision int8 must be one of fp32, bf16"),
        ("openvino", "fp16", "precision fp16 is for a GPU"),
    ],
)
def test_a_precision_that_a_backend_has_not(
    encoder: Path, scorer: Path, backend_name: str, precision: str, message: str
) -> None:
    for name in (f"bi-encoder:{encoder}", f"cross-encoder:{scorer}"):
        with pytest.raises(InputError, match=message) as caught:
            load_metric(f"{name},backend={backend_name},precision={precision}").score(pairs(2))
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("backend_name", "absent", "extra"),
    [
        ("onnxruntime", "onnxruntime", "onnxruntime"),
        ("onnxruntime", "onnx", "onnxruntime"),
        ("openvino", "openvino", "openvino"),
    ],
)
def test_a_package_that_is_absent(
    encoder: Path, backend_name: str, absent: str, extra: str, monkeypatch: pytest.MonkeyPatch, own_cache: Path
) -> None:
    if absent == "onnx":
        need("onnxruntime")
    metric = load_metric(f"bi-encoder:{encoder},backend={backend_name}")
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, absent, None)
        with pytest.raises(UnavailableError, match=f"{absent} is not installed: {re.escape(install_command(extra))}"):
            metric.score(pairs(2))
    assert not own_cache.exists() or not list((own_cache / "converted").iterdir())
    monkeypatch.setattr("assay.metrics.neural.metric.version_of", lambda package: "absent")
    with pytest.raises(AssayError, match=f"{backend_name} is not installed: {re.escape(install_command(extra))}"):
        metric.check_available()


def test_the_signature_is_that_of_the_cpu_whatever_the_device(encoder: Path, onnxruntime: str) -> None:
    metric = load_metric(f"bi-encoder:{encoder},backend={onnxruntime}")
    expected = metric.signature()
    # a GPU that no machine has
    with use_runtime(Runtime(device="cuda:999")):
        engine: Any = metric.needs()
        assert engine.devices == ("cpu",) and engine.precision == "fp32"
        assert metric.signature() == expected


def test_openvino_reports_to_no_server(encoder: Path) -> None:
    need("openvino")
    load_metric(f"pooled:{encoder},layer=1,backend=openvino").score(pairs(5))
    assert sys.modules.get("openvino_telemetry") is None


COLUMNS = "reference=answer1,candidate=answer2"


@pytest.mark.slow
def test_200_real_pairs_of_a_real_model(real_models: Any, shared_data: Path, backend: str) -> None:
    table = assay.load_dataset(str(shared_data / "sas" / "SQuAD_SAS.csv"), columns=COLUMNS).table.slice(0, 200)
    batch = Batch(table.column("reference").to_pylist(), table.column("candidate").to_pylist())
    minilm = real_models / "minilm"
    found = []
    for options in ("", f",backend={backend}"):
        metrics = [load_metric(f"{name}{options}") for name in (f"bi-encoder:{minilm}", f"bertscore:{minilm},layer=4")]
        found.append(open_session(metrics[0].needs()).score(metrics, batch).values)
    assert found[0].shape == (200, 2) and found[1] == pytest.approx(found[0], abs=1e-4)
