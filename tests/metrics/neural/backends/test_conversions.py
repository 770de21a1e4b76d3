"""Conversions on the disk: written once, found again, and whole or not there."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.common.output import is_unfinished
from assay.exceptions import InputError, UnavailableError
from assay.metrics import load_metric
from assay.metrics.neural.backends import acceptance
from assay.metrics.neural.backends import cache as convert
from assay.metrics.work import release_sessions
from tests.metrics.models.tiny import make_bert
from tests.metrics.neural.backends.converted_models import figure_of, folders
from tests.metrics.neural.texts import pairs


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
    assert (len(writes), len(checks)) == (1, 2), "the prefix is not part of the model"
    assert capfd.readouterr() == ("", "")


def test_what_decides_the_files_is_in_their_name(
    encoder: Path, onnxruntime: str, writes: list[Path], own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from assay.common.packages import version_of
    from assay.metrics.neural.backends import onnx

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
    shutil.rmtree(folder)
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
    assert is_unfinished(left) and (left / "model/model.onnx").stat().st_size > 0
    got = load_metric(name).score(pairs(10))
    assert got == pytest.approx(load_metric(f"pooled:{encoder},layer=1").score(pairs(10)), abs=1e-4)
    assert len(writes) == 1
    assert left not in folders(own_cache) and len(folders(own_cache)) == 1


def fill(text: str) -> Callable[[Path], None]:
    return lambda part: (part / "model").write_text(text) and None


def test_of_two_processes_at_once_the_first_to_end_is_kept(own_cache: Path) -> None:
    key = {"backend": "onnxruntime", "model": "m"}

    def slower(part: Path) -> None:
        convert.keep_conversion("m", key, fill("first"))
        fill("second")(part)

    folder = convert.keep_conversion("m", key, slower)
    assert (folder / "model").read_text() == "first" and folders(own_cache) == [folder]
    assert folder.stat().st_mode & 0o777 == 0o700
    assert convert.keep_conversion("m", key, fill("third")) == folder and (folder / "model").read_text() == "first"


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
        convert.keep_conversion("m", {"backend": "x"}, write)
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
