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
from assay.errors import AssayError
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
