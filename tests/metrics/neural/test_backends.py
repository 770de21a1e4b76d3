"""Converted models: the numbers of torch, converted once, refused where they say something else."""

from __future__ import annotations

import errno
import gc
import importlib.util
import json
import os
import re
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr
from texts import pairs
from tiny import make_bert

import assay
from assay.errors import AssayError, InputError, UnavailableError
from assay.metrics import Batch, check_metric, load_metric
from assay.metrics.neural.backends import acceptance, convert, converted
from assay.metrics.neural.backends.checkset import check_pairs
from assay.metrics.neural.runtime import Runtime, use_runtime
from assay.metrics.work import Flag, open_session, release_sessions

PACKAGES = {"onnxruntime": ("onnx", "onnxruntime"), "openvino": ("openvino",)}
LONG = "water " * 100
#: Tokens of a batch: few texts, each batch padded to a length of its own; all texts in one.
BUDGETS = (20, 10**6)


@pytest.fixture(autouse=True)
def old_objects_are_not_searched() -> Iterator[None]:
    """To look for circles among all that torch and transformers hold takes longer than most of these tests."""
    gc.freeze()
    yield
    gc.unfreeze()


def need(backend: str) -> str:
    """Skip where the packages of a backend are absent; to import openvino here would report it to a server."""
    for package in PACKAGES[backend]:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is absent: pip install {' '.join(PACKAGES[backend])}")
    return backend


@pytest.fixture(params=list(PACKAGES))
def backend(request: pytest.FixtureRequest) -> str:
    return need(request.param)


@pytest.fixture
def onnxruntime() -> str:
    return need("onnxruntime")


@pytest.fixture
def writes(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The conversions, as they happen."""
    done: list[Path] = []
    keep = convert.keep

    def counted(model: str, key: Any, write: Callable[[Path], None]) -> Path:
        return keep(model, key, lambda part: (done.append(part), write(part))[1])

    monkeypatch.setattr(converted, "keep", counted)
    return done


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The passes over the check set, as they happen: one in torch and one in the backend for each acceptance."""
    done: list[object] = []
    scores = acceptance.check_scores
    monkeypatch.setattr(acceptance, "check_scores", lambda *given: (done.append(given), scores(*given))[1])
    return done


def mixed() -> Batch:
    """Return pairs of many lengths: padded batches, texts that are cut, texts without a word."""
    found = pairs(40)
    return Batch([*found.references, "water", LONG, "", ""], [*found.candidates, LONG, LONG, "fire", " "])


def folders(cache: Path) -> list[Path]:
    return sorted((cache / "converted").iterdir())


def figure_of(folder: Path) -> float:
    (path,) = folder.glob("accepted-*.json")
    return float(json.loads(path.read_text())["spearman"])


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


def test_a_model_is_converted_and_checked_once(
    encoder: Path, backend: str, writes: list[Path], checks: list[object], capfd: pytest.CaptureFixture[str]
) -> None:
    metric, batch = load_metric(f"bi-encoder:{encoder},backend={backend}"), pairs(20)
    first = metric.score(batch)
    assert (len(writes), len(checks)) == (1, 2)
    release_sessions()
    assert (metric.score(batch) == first).all()
    assert (len(writes), len(checks)) == (1, 2)
    load_metric(f"bi-encoder:{encoder},prefix=x,backend={backend}").score(batch)
    assert (len(writes), len(checks)) == (1, 2), "the prefix is no part of the model"
    assert capfd.readouterr() == ("", "")


def test_what_decides_the_files_is_in_their_name(
    encoder: Path, onnxruntime: str, writes: list[Path], own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from assay.metrics.neural.backends import onnx
    from assay.metrics.provenance import version_of

    batch = pairs(10)
    metric = load_metric(f"pooled:{encoder},layer=1,backend=onnxruntime")
    metric.score(batch)
    other = make_bert(own_cache / "other", layers=3, pooling="mean", seed=1)
    different = load_metric(f"pooled:{other},layer=1,backend=onnxruntime").score(batch)
    assert different == pytest.approx(load_metric(f"pooled:{other},layer=1").score(batch), abs=1e-4)
    assert len(writes) == 2
    for package in ("torch", "transformers", "onnxruntime"):
        release_sessions()
        with monkeypatch.context() as patch:
            patch.setattr(onnx, "version_of", lambda name, p=package: "0" if name == p else version_of(name))
            metric.score(batch)
    assert len(writes) == 5 and len(folders(own_cache)) == 5
    keys = [json.loads((folder / "key.json").read_text()) for folder in folders(own_cache)]
    assert {key["outputs"] for key in keys} == {"layers 1"} and len({key["model"] for key in keys}) == 2


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
    sizes = [len(kind) for kind in check_pairs().values()]
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
    assert len({pair for kind in check_pairs().values() for pair in kind}) == sum(sizes) > 250


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
    assert one.signature["backend"] == "onnxruntime" and one.cost["load_seconds"] > 0
    assert one.cost["parameters"] > 10_000
    scores = result.scores[result.scores.metric == one.metric].score.to_numpy()
    assert scores == pytest.approx(load_metric(f"bi-encoder:{encoder}").score(batch), abs=1e-4)
    assert "keeps a Spearman" in result.to_markdown()


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(bytes(content))


@pytest.mark.parametrize("damage", [cut, flip, Path.unlink], ids=["cut", "flipped", "gone"])
def test_a_damaged_model_is_one_clear_line(
    encoder: Path, backend: str, damage: Callable[[Path], None], own_cache: Path, writes: list[Path]
) -> None:
    metric, batch = load_metric(f"pooled:{encoder},layer=1,backend={backend}"), pairs(5)
    expected = metric.score(batch)
    release_sessions()
    (folder,) = folders(own_cache)
    damage(max(folder.glob("model.*"), key=lambda path: path.stat().st_size))
    with pytest.raises(UnavailableError, match=r"the converted model .* is damaged \(.*model\.") as caught:
        metric.score(batch)
    assert "\n" not in str(caught.value) and caught.value.remedy == f"delete the folder {folder} and run again"
    convert.shutil.rmtree(folder)
    assert (metric.score(batch) == expected).all() and len(writes) == 2


def test_files_that_a_runtime_cannot_read_are_one_clear_line(encoder: Path, backend: str, own_cache: Path) -> None:
    metric = load_metric(f"pooled:{encoder},layer=1,backend={backend}")
    metric.score(pairs(5))
    release_sessions()
    (folder,) = folders(own_cache)
    for path in folder.glob("model.*"):
        cut(path)
    known = {path.name: convert.file_digest(path) for path in folder.glob("model.*")}
    (folder / "files.json").write_text(json.dumps(known))
    with pytest.raises(UnavailableError, match=f"cannot be opened by {backend}") as caught:
        metric.score(pairs(5))
    assert "\n" not in str(caught.value) and "delete the folder" in caught.value.remedy
    assert "Exception from" not in str(caught.value)
    (folder / "files.json").write_text("[")
    with pytest.raises(UnavailableError, match="is damaged"):
        metric.score(pairs(5))


def test_a_damaged_figure_is_found_anew(encoder: Path, onnxruntime: str, own_cache: Path, checks: list[object]) -> None:
    metric = load_metric(f"pooled:{encoder},layer=1,backend=onnxruntime")
    for content in ("", "{}", '{"spearman": null}', "[1]"):
        metric.score(pairs(5))
        release_sessions()
        checks.clear()
        (folder,) = folders(own_cache)
        next(folder.glob("accepted-*.json")).write_text(content)
        metric.score(pairs(5))
        assert len(checks) == 2 and figure_of(folder) > 0.9999
        release_sessions()


KILLED = """
import sys, time
from assay.metrics import Batch, load_metric
from assay.metrics.neural.backends import onnx
from assay.metrics.neural.runtime import Runtime, use_runtime

write = onnx.OnnxRuntime.write
def slow(self, module, names, precision, folder):
    write(self, module, names, precision, folder)
    print("written", flush=True)
    time.sleep(60)
onnx.OnnxRuntime.write = slow
with use_runtime(Runtime(device="cpu", threads=1)):
    load_metric(sys.argv[1]).score(Batch(["a"], ["b"]))
"""


def test_a_killed_conversion_is_not_taken_as_whole(
    encoder: Path, onnxruntime: str, own_cache: Path, writes: list[Path]
) -> None:
    name = f"pooled:{encoder},layer=1,backend=onnxruntime"
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, name], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "written\n"
        process.kill()
    (left,) = folders(own_cache)
    assert left.suffix == ".part" and (left / "model.onnx").stat().st_size > 0
    got = load_metric(name).score(pairs(10))
    assert got == pytest.approx(load_metric(f"pooled:{encoder},layer=1").score(pairs(10)), abs=1e-4)
    assert len(writes) == 1
    assert left in folders(own_cache), "it may be the work of a process that runs"
    release_sessions()
    os.utime(left, (0, 0))
    load_metric(f"pooled:{encoder},layer=2,backend=onnxruntime").score(pairs(10))
    assert left not in folders(own_cache) and len(folders(own_cache)) == 2


def fill(text: str) -> Callable[[Path], None]:
    return lambda part: (part / "model").write_text(text) and None


def test_of_two_processes_at_once_the_first_to_end_is_kept(own_cache: Path) -> None:
    key = {"backend": "onnxruntime", "model": "m"}

    def slower(part: Path) -> None:
        convert.keep("m", key, fill("first"))
        fill("second")(part)

    folder = convert.keep("m", key, slower)
    assert (folder / "model").read_text() == "first" and folders(own_cache) == [folder]
    assert convert.keep("m", key, fill("third")) == folder and (folder / "model").read_text() == "first"


@pytest.mark.parametrize(
    ("raised", "error", "message"),
    [
        (OSError(errno.ENOSPC, "no space"), InputError, "the disk is full"),
        (OSError(errno.EROFS, "read-only"), InputError, "may not be written .*set ASSAY_CACHE"),
        (OSError(errno.EIO, "broken"), InputError, r"cannot be written \(broken\); set ASSAY_CACHE"),
        (RuntimeError("no such\noperator"), UnavailableError, r"cannot be converted for x \(RuntimeError: no such\)"),
        (KeyboardInterrupt("stopped"), KeyboardInterrupt, "stopped"),
    ],
)
def test_what_stops_a_conversion_leaves_nothing(
    own_cache: Path, raised: BaseException, error: type[BaseException], message: str
) -> None:
    def write(part: Path) -> None:
        fill("half")(part)
        raise raised

    with pytest.raises(error, match=message) as caught:
        convert.keep("m", {"backend": "x"}, write)
    assert folders(own_cache) == [] and "\n" not in str(caught.value)


def test_a_cache_that_cannot_be_written_is_one_line(
    encoder: Path, onnxruntime: str, own_cache: Path, monkeypatch: pytest.MonkeyPatch, checks: list[object]
) -> None:
    metric = load_metric(f"pooled:{encoder},layer=1,backend=onnxruntime")
    own_cache.parent.mkdir(exist_ok=True)
    own_cache.write_text("a file")
    with pytest.raises(InputError, match=r"cannot be written .*set ASSAY_CACHE") as caught:
        metric.score(pairs(5))
    assert "\n" not in str(caught.value)
    own_cache.unlink()
    real = acceptance.write_json

    def refuse(path: Path, value: object) -> None:
        raise PermissionError(errno.EACCES, "denied")

    monkeypatch.setattr(acceptance, "write_json", refuse)
    for _ in range(2):
        metric.score(pairs(5))
        release_sessions()
    assert len(checks) == 4, "a figure that cannot be kept is found again"
    monkeypatch.setattr(acceptance, "write_json", real)


def test_signature(encoder: Path, backend: str) -> None:
    from assay.metrics.provenance import version_of

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
        with pytest.raises(UnavailableError, match=rf"{absent} is not installed: pip install .assay\[{extra}\]"):
            metric.score(pairs(2))
    assert not own_cache.exists() or not list((own_cache / "converted").iterdir())
    monkeypatch.setattr("assay.metrics.neural.metric.version_of", lambda package: "absent")
    with pytest.raises(AssayError, match=rf"{backend_name} is not installed: pip install .assay\[{extra}\]"):
        metric.check_available()


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


@pytest.mark.slow
def test_int8_of_a_real_model(real_models: Any, onnxruntime: str, own_cache: Path, capfd) -> None:
    batch = pairs(100)
    got = load_metric(f"bi-encoder:{real_models / 'minilm'},backend=onnxruntime,precision=int8").score(batch)
    exact = load_metric(f"bi-encoder:{real_models / 'minilm'}").score(batch)
    assert 1e-4 < np.abs(got - exact).max() < 0.03
    (kept,) = folders(own_cache)
    assert 0.999 <= figure_of(kept) < 1.0
    assert capfd.readouterr().err == ""


@pytest.mark.slow
def test_a_conversion_says_nothing_on_stderr(encoder: Path, onnxruntime: str, tmp_path: Path) -> None:
    """In a process of its own: pytest has set up logging, which keeps the libraries from doing so."""
    code = (
        "import sys; from assay.metrics import Batch, load_metric\n"
        f"metric = load_metric('pooled:{encoder},layer=0,backend=onnxruntime,precision=int8')\n"
        "metric.score(Batch(['one two'], ['two']))"
    )
    environment = {**os.environ, "ASSAY_CACHE": str(tmp_path / "other")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=120)
    assert (done.returncode, done.stdout) == (0, "")
    assert "[INFO]" not in done.stderr and "quantiz" not in done.stderr
