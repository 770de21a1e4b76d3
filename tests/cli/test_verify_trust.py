"""``assay verify`` on somebody else's run: nothing that it names runs code, unless the user says so for that name."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.exceptions import InputError
from assay.metrics import load_metric

#: Where the package tests lies. The process below gets no other path of this one: evaluate adds its folder of copies to
#: ``sys.path``, and Python looks for a new copy only in the first such folder.
ROOT = Path(__file__).parents[2]
MODULE = """
from pathlib import Path

import datasets
import evaluate


class Module(evaluate.Metric):
    def _info(self):
        text = datasets.Value("string")
        return evaluate.MetricInfo(
            description="", citation="", inputs_description="",
            features=datasets.Features({"predictions": text, "references": text}),
        )

    def _compute(self, predictions, references):
        Path("ran").touch()
        return {"length": len(predictions[0])}
"""
CARD = """
name = "mine"
version = "1"
title = "Mine"
licence = "none"
citation = "none"
reader = "table"
default_split = "test"
scale = { low = 0, high = 2, meaning = "similarity" }
files = [{ name = "pairs.csv" }]
sources = [{ kind = "path" }]
[splits.test]
files = ["pairs.csv"]
"""
NAME = "evaluate:module"
#: A run with the module, its verification without trust, and with it; one JSON line each, with whether the module ran.
COMMANDS = f"""
import dataclasses, json
from pathlib import Path
from tests.cli.calling import call

commands = [
    ["run", "-d", "pairs.csv", "-m", "f1", "-m", "{NAME}", "--resamples", 0, "--quiet", "--out", "RUN"],
    ["verify", "RUN", "--quiet", "--format", "json"],
    ["verify", "RUN", "--quiet", "--format", "json", "--trust", "{NAME}"],
]
for command in commands:
    Path("ran").unlink(missing_ok=True)
    done = call(*command)
    print(json.dumps(dataclasses.asdict(done) | {{"ran": Path("ran").exists()}}))
"""


@pytest.fixture(autouse=True)
def pairs() -> None:
    lines = [f"a text of {'x' * i},text {i},{i % 3}" for i in range(12)]
    Path("pairs.csv").write_text("\n".join(["reference,candidate,label", *lines, ""]), encoding="utf-8")
    Path("card.toml").write_text(CARD, encoding="utf-8")


def verified(assay, *args, code):
    done = assay("verify", "RUN", "--quiet", "--format", "json", *args)
    assert done.code == code, (done.err, done.out)
    return json.loads(done.out)


def rename_dataset(old: str, new: str) -> None:
    """Give the dataset of a run another name in every file of its folder."""
    for path in (Path("RUN/run.json"), Path("RUN/agreement.json")):
        path.write_text(path.read_text(encoding="utf-8").replace(f'"{old}"', f'"{new}"'), encoding="utf-8")
    sheet = Path("RUN/agreement.csv")
    sheet.write_bytes(sheet.read_bytes().replace(f"\n{old},".encode(), f"\n{new},".encode()))
    for path in (Path("RUN/pairs.parquet"), Path("RUN/scores.parquet")):
        table = pq.read_table(path)
        names = pa.array([new] * table.num_rows, table.schema.field("dataset").type)
        pq.write_table(table.set_column(table.column_names.index("dataset"), "dataset", names), path)


@pytest.mark.slow
def test_a_module_that_the_run_names_is_not_run(tmp_path):
    pytest.importorskip("evaluate")

    Path("module").mkdir()
    Path("module/module.py").write_text(MODULE, encoding="utf-8")
    # a process of its own, since evaluate imports the copies that it makes, from one folder per process; one for all
    # three commands, since to import evaluate takes longer than they do
    environment = os.environ | {"HF_MODULES_CACHE": str(tmp_path / "modules"), "PYTHONPATH": str(ROOT)}
    ended = subprocess.run(
        [sys.executable, "-c", COMMANDS], env=environment, capture_output=True, text=True, timeout=120
    )
    assert ended.returncode == 0, ended.stderr
    run, distrusted, trusted = map(json.loads, ended.stdout.splitlines())
    assert run["code"] == 0 and run["ran"], run["err"]
    assert distrusted["code"] == 1, distrusted["err"]
    assert not distrusted["ran"]
    metrics = {one["metric"]: one for one in json.loads(distrusted["out"])["metrics"]}
    assert metrics["f1"]["outcome"] == "same"
    scores = metrics[NAME]["scores"]
    assert scores["outcome"] == "not recomputed" and "outside of the installed packages (module)" in scores["reason"]
    assert scores["remedy"] == f"if you trust it: --trust {NAME}"
    assert trusted["code"] == 0 and json.loads(trusted["out"])["same"] and trusted["ran"]


def test_a_card_that_the_run_names_is_not_read(assay):
    done = assay("run", "-d", "card.toml", "-m", "f1", "--resamples", 0, "--quiet", "--out", "RUN")
    assert done.code == 0, done.err
    rename_dataset("mine", "./card.toml")
    found = verified(assay, code=0)
    (data,) = found["data"]
    assert data["outcome"] == "unavailable" and data["says"].endswith("if you trust it: --trust ./card.toml")
    assert found["metrics"][0]["outcome"] == "same", "the folder has the texts"
    (data,) = verified(assay, "--trust", "./card.toml", code=0)["data"]
    assert data["outcome"] == "same"


def test_trust_in_what_the_run_has_not_is_refused(assay):
    assay("run", "-d", "pairs.csv", "-m", "f1", "--resamples", 0, "--quiet", "--out", "RUN")
    done = assay("verify", "RUN", "--trust", "f2")
    assert "has no metric or dataset 'f2'. Did you mean 'f1'?" in done.complaint


def test_parsers_are_code_too():
    assert load_metric("amr:smatch,parser=amrlib:somewhere").foreign_code() == "amrlib:somewhere"
    assert load_metric("amr:smatch").foreign_code() == load_metric("f1").foreign_code() == ""


def verified_source(assay, source, *args):
    """Give the run another source and return what its verification says of the data."""
    path = Path("RUN/run.json")
    manifest = json.loads(path.read_text(encoding="utf-8"))
    manifest["datasets"][0]["source"] = source
    path.write_text(json.dumps(manifest), encoding="utf-8")
    done = assay("verify", "RUN", "--quiet", "--format", "json", *args)
    (data,) = json.loads(done.out)["data"]
    return data


@pytest.fixture
def other(assay):
    """Beside the run lies another table, which the run was not made from."""
    assay("run", "-d", "pairs.csv", "-m", "f1", "--resamples", 0, "--quiet", "--out", "RUN")
    Path("secret").mkdir()
    rows = Path("pairs.csv").read_text(encoding="utf-8")
    Path("secret/other.csv").write_text(rows.replace("a text", "a secret"), encoding="utf-8")
    return Path("secret/other.csv")


@pytest.mark.parametrize("source", ["link.csv", "linked/other.csv", "./link.csv", "chain.csv"])
def test_a_link_that_the_run_names_is_not_followed(assay, other, source):
    Path("link.csv").symlink_to(other)
    Path("chain.csv").symlink_to("link.csv")
    Path("linked").symlink_to("secret")
    data = verified_source(assay, source)
    assert data["outcome"] == "unavailable" and "is a link to another file" in data["says"]
    assert data["says"].endswith("if you trust it: --trust pairs")
    assert verified_source(assay, source, "--trust", "pairs")["outcome"] == "changed"


@pytest.mark.parametrize("source", ["mine=secret/other.csv", "~/other.csv", "-.csv", "secret/other.csv:train"])
def test_no_other_file_than_the_one_that_the_run_names_is_read(assay, other, source, monkeypatch):
    """A file may have the name ``mine=x.csv``, which elsewhere means ``x.csv``."""
    monkeypatch.setenv("HOME", str(Path("secret").absolute()))
    opened = []

    def read(path, *settings):
        opened.append(path)
        raise InputError("it was read")

    monkeypatch.setattr("assay.datasets.files._read_local", read)
    named = Path(source)
    named.parent.mkdir(parents=True, exist_ok=True)
    named.write_bytes(other.read_bytes())
    data = verified_source(assay, source)
    assert data["outcome"] in ("changed", "unavailable")
    assert opened in ([], [named.absolute()])


@pytest.mark.parametrize("make", [lambda path: os.mkfifo(path), lambda path: path.symlink_to("/dev/zero")])
@pytest.mark.parametrize("trust", [(), ("--trust", "pairs")])
def test_a_pipe_or_a_device_is_not_opened(assay, other, make, trust):
    make(Path("endless.csv"))
    assert "is a pipe, a device or a socket" in verified_source(assay, "endless.csv", *trust)["says"]


def test_a_file_of_recorded_scores_is_no_link_either(assay, other):
    Path("scores.csv").write_text("x\n" + "1\n" * 12, encoding="utf-8")
    done = assay("run", "-d", "pairs.csv", "-m", "recorded:scores.csv#x", "--resamples", 0, "--quiet", "--out", "B")
    assert done.code == 0, done.err
    Path("scores.csv").rename("real.csv")
    Path("scores.csv").symlink_to("real.csv")
    (metric,) = json.loads(assay("verify", "B", "--quiet", "--format", "json").out)["metrics"]
    assert "scores.csv is a link to another file" in metric["scores"]["reason"]
