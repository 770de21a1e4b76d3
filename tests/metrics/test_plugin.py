"""A metric of another distribution: installed, listed, checked, run."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PLUGIN = Path(__file__).resolve().parents[1] / "plugin"
PROGRAM = """
import json
from assay.exceptions import AssayError
from assay.metrics import Batch, MetricName, check_metric, list_metrics, load_metric

entries = [(e.name, e.origin, e.version, e.note) for e in list_metrics() if e.origin != "assay"]
try:
    load_metric("broken-import")
except AssayError as error:
    broken = str(error)
metric = load_metric("length-ratio:words")
print(json.dumps({
    "entries": entries,
    "failed": [f for f in check_metric("length-ratio") if not f.passed],
    "scores": load_metric("length-ratio").score(Batch(["ab", ""], ["abcd", ""])).tolist(),
    "words": metric.score(Batch(["a b c"], ["d"])).tolist(),
    "signature": metric.long_signature(),
    "f1": type(load_metric("f1")).__module__,
    "broken": broken,
}))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The folder into which the example package is installed, as pip does it."""
    if importlib.util.find_spec("hatchling") is None or importlib.util.find_spec("pip") is None:
        pytest.skip("installing the example package needs pip and hatchling")
    work = tmp_path_factory.mktemp("plugin")
    source = work / "source"
    shutil.copytree(PLUGIN, source)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    where = ["--no-index", "--no-deps", "--no-build-isolation", "--target", str(work / "site")]
    subprocess.run([*pip, *where, str(source)], check=True, capture_output=True, text=True)
    return work / "site"


@pytest.mark.slow
def test_a_third_party_metric(installed):
    paths = [str(installed), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-c", PROGRAM]
    run = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    seen = json.loads(run.stdout)
    assert seen["entries"] == [
        ["broken-import", "assay-length", "1.2.3", ""],
        ["f1", "assay-length", "1.2.3", "not usable: the name 'f1' belongs to assay"],
        ["length-ratio", "assay-length", "1.2.3", ""],
    ]
    assert seen["failed"] == []
    assert seen["scores"] == [0.5, 1.0]
    assert seen["words"] == [pytest.approx(1 / 3)]
    assert seen["signature"].startswith("length-ratio|unit:words|assay-length:1.2.3|code:")
    assert seen["f1"] == "assay.metrics.squad"
    assert "assay_length.missing:Nothing of assay-length cannot be imported" in seen["broken"]


@pytest.mark.slow
def test_a_third_party_metric_on_the_command_line(installed, tmp_path):
    environment = os.environ | {"PYTHONPATH": str(installed)}

    def assay(*arguments):
        command = [sys.executable, "-m", "assay", *arguments]
        return subprocess.run(command, env=environment, cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    assert "length-ratio" in assay("metrics", "list")
    assert "FAILED" not in assay("metrics", "check", "length-ratio")
    table = assay(
        "run", "-d", "probe", "-m", "length-ratio:words", "-m", "f1", "--resamples", "0", "-o", "out", "-f", "csv"
    )
    row = next(line for line in table.splitlines() if line.startswith("probe,test,all,length-ratio:words,spearman"))
    assert float(row.split(",")[5]) == pytest.approx(_spearman_by_hand(), abs=1e-12)
    manifest = json.loads((tmp_path / "out/run.json").read_text(encoding="utf-8"))
    assert manifest["metrics"][0]["signature"]["assay-length"] == "1.2.3"


def _spearman_by_hand():
    from scipy.stats import spearmanr

    from assay import load_dataset

    rows = load_dataset("probe").to_pandas()
    words = [
        sorted((len(r.split()), len(c.split()))) for r, c in zip(rows["reference"], rows["candidate"], strict=True)
    ]
    return spearmanr([low / high for low, high in words], rows["label"]).statistic


class Gone(BaseException):
    """What no `except Exception` catches."""


@pytest.fixture
def quitters(tmp_path, monkeypatch):
    """A package whose modules end the process, or try to, when they are imported."""
    from assay.metrics.registry import registry

    info = tmp_path / "quitters-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: quitters\nVersion: 1\n")
    names = {"quits": "import sys\nsys.exit(0)\n", "goes": "from tests.metrics.test_plugin import Gone\nraise Gone\n"}
    groups = []
    for group, kind in (("assay.metrics", "m"), ("assay.datasets", "d"), ("assay.readers", "r")):
        groups += [f"[{group}]", *(f"{name} = {kind}_{name}:it" for name in names)]
        for name, code in names.items():
            (tmp_path / f"{kind}_{name}.py").write_text(code)
    (info / "entry_points.txt").write_text("\n".join(groups))
    monkeypatch.syspath_prepend(str(tmp_path))
    registry.cache_clear()
    yield
    registry.cache_clear()


def test_a_plugin_that_ends_the_process_is_reported_by_name_and_others_go_on(quitters, tmp_path):
    from tests.cli.calling import call

    run = call("run", "-d", "probe", "-m", "quits", "-m", "goes", "-m", "f1", "--resamples", 0, "-o", tmp_path / "out")
    assert run.code == 1
    assert "m_quits:it of quitters cannot be imported (SystemExit: 0)" in run.err
    assert "m_goes:it of quitters cannot be imported (Gone: no reason given)" in run.err
    assert "f1" in run.out
    listed = call("metrics", "list", "--format", "json")
    assert {"quits", "goes", "f1"} <= {record["name"] for record in json.loads(listed.out)}
    datasets = {record["name"]: record for record in json.loads(call("datasets", "list", "--format", "json").out)}
    assert datasets["quits"]["error"] == "entry point d_quits:it cannot be loaded (SystemExit: 0)"
    assert "probe" in datasets


def test_a_reader_that_ends_the_process_is_reported_by_name(quitters):
    from assay.datasets.readers.base import load_reader
    from assay.exceptions import UnavailableError

    with pytest.raises(UnavailableError, match=r"the reader 'quits' \(r_quits:it\) cannot be loaded \(SystemExit: 0\)"):
        load_reader("quits")


def test_a_reader_with_a_name_that_is_taken_is_not_used_and_named(tmp_path, monkeypatch):
    from assay import doctor
    from assay.datasets.readers.base import load_reader
    from tests.cli.calling import call

    for package in ("first", "second"):
        info = tmp_path / f"{package}-1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1\n")
        (info / "entry_points.txt").write_text(f"[assay.readers]\nshared = {package}_code:read\n")
        (tmp_path / f"{package}_code.py").write_text("def read(files, options): ...\n")
    with (tmp_path / "second-1.dist-info/entry_points.txt").open("a") as stream:
        stream.write("table = second_code:read\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert load_reader("shared").__module__ == "first_code"
    assert load_reader("table").__module__ == "assay.datasets.readers.table"
    listed = call("datasets", "list").err
    assert "reader shared: the one of second is not used: the name 'shared' belongs to first" in listed
    assert "reader table: the one of second is not used: the name 'table' belongs to assay" in listed
    found = {(one.name, one.here) for one in doctor() if one.kind == "reader"}
    assert found == {("shared", True), ("shared", False), ("table", False)}
