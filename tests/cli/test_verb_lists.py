"""The verbs that show what there is, and help."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from assay.common.packages import ABSENT
from assay.exceptions import install_command
from assay.language.amr import ASPECTS
from assay.metrics import declaration
from tests.cli.calling import command, process

VERBS = [
    (),
    ("run",),
    ("score",),
    ("agree",),
    ("reproduce",),
    ("doctor",),
    *[("metrics", *verb) for verb in ((), ("list",), ("show",), ("check",))],
    ("sweep",),
    *[("models", *verb) for verb in ((), ("list",), ("show",), ("fetch",))],
    *[("datasets", *verb) for verb in ((), ("list",), ("show",), ("fetch",), ("check",))],
]


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_help(assay, verb):
    done = assay(*verb, "--help")
    assert (done.code, done.err) == (0, "")
    assert assay(*verb, "-h") == done
    assert done.out.startswith(f"Usage: {' '.join(('assay', *verb))} ")


def test_version_and_no_arguments(assay):
    from assay import __version__

    assert assay("--version").out == f"assay {__version__}\n"
    bare = assay()
    assert bare.code == 2
    assert "First step: assay run quickstart" in bare.out + bare.err


def test_metrics(assay):
    listed = assay("metrics", "list").out
    for name in [
        "bleu",
        "chrf",
        "dice",
        "em",
        "f1",
        "jaccard",
        "jaro-winkler",
        "levenshtein",
        "meteor",
        "rouge-l",
        "ter",
    ]:
        assert f"\n{name} " in listed
    shown = assay("metrics", "show", "bleu:paper").out
    assert "(a text; default an empty one)" in shown
    assert "option set bleu:paper" in shown and "signature: bleu|swap:true" in shown
    checked = assay("metrics", "check", "f1")
    assert checked.code == 0
    assert "symmetry" in checked.out and checked.err == "11 passed, 0 failed\n"
    aspects = assay("metrics", "show", "amr").out
    assert "write: amr:ASPECT" in aspects and all(name in aspects for name in (*ASPECTS, "s2match", "bag-of-nodes"))
    assert "option cutoff" in aspects
    shown = assay("metrics", "show", "amr:smatch").out
    assert "option solver" in shown and "option cutoff" not in shown and "option iterations" not in shown
    assert "Did you mean 'bleu'" in assay("metrics", "show", "bleuu").complaint


def test_datasets(assay):
    listed = assay("datasets", "list").out
    for name in ("probe@1", "stsb@2017", "squad-sas@1", "str-2022@1"):
        assert name in listed
    assert "sha256 affe4592" in assay("datasets", "show", "stsb").out
    card = json.loads(assay("datasets", "show", "probe", "--json").out)
    assert card["kind"] == "probe"
    checked = assay("datasets", "check", "probe")
    assert checked.code == 0
    assert checked.err == "1 finding, 0 errors\n"
    found = json.loads(assay("datasets", "check", "probe", "--json").out)
    assert found[0]["severity"] == "warning"
    fetched = assay("datasets", "fetch", "probe", "--offline")
    assert fetched.code == 0 and "probe.tsv" in fetched.out
    assert "Did you mean 'stsb'" in assay("datasets", "show", "stsbb").complaint


def test_what_a_file_of_ones_own_has_is_shown(assay):
    rows = "reference,candidate,label,split,group\na,b,1,train,q\nc,d,,train,q\ne,f,0.5,dev,r\n"
    Path("pairs.csv").write_text(rows, encoding="utf-8")
    done = assay("datasets", "show", "pairs.csv")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == [
        "file: pairs.csv",
        "rows: 3",
        *[f"column: {name}" for name in ("reference", "candidate", "label", "split", "group")],
        "pairs: 3",
        "labels: lowest 0.5, highest 1, distinct 2, missing 1",
        "splits: train 2, dev 1",
        "groups: 2",
        "annotation graph: 6 texts, each paired with 1.0 ± 0.0 others (mean ± SD, CV 0.00)",
    ]
    shown = json.loads(assay("datasets", "show", "pairs.csv:train", "--json").out)
    assert (shown["rows"], shown["pairs"], shown["splits"]) == (3, 2, {"train": 2})
    assert "train: 2 pairs\n" in assay("datasets", "check", "pairs.csv:train").out
    assert "pairs.csv: is a file, and no card" in assay("datasets", "fetch", "pairs.csv").complaint
    assert "there is no such file" in assay("datasets", "show", "nothing.csv").complaint
    Path("texts").mkdir()
    assert "texts: is a folder, and no card" in assay("datasets", "show", "texts").complaint
    Path("sly.csv").write_text("reference,candidate,label,split\na,b,1,\x1b[2J\n", encoding="utf-8")
    assert "splits: \\x1b[2J 1" in assay("datasets", "show", "sly.csv").out


def test_the_folder_of_a_run_in_the_place_of_pairs_is_told(assay):
    Path("runs", "own").mkdir(parents=True)
    Path("runs", "own", "run.json").write_text("{}", encoding="utf-8")
    told = f"assay: runs/own: is the folder of a run; the pairs that it scored are {Path('runs/own/pairs.parquet')}"
    for words in (["recommend", "runs/own"], ["recommend", "-d", "runs/own"], ["run", "runs/own", "-m", "f1"]):
        done = assay(*words)
        assert (done.code, done.complaint) == (2, told), words
    # without a slash it could be the name of a dataset or suite
    Path("runs", "own").rename("own")
    for verb in ("recommend", "run"):
        assert assay(verb, "own", "-m", "f1").complaint == told.replace("runs/own", "own")


def test_a_file_of_other_columns_can_be_shown_and_checked(assay):
    # a second column with a usual name of references, so that none is taken without being told
    lines = Path("own.csv").read_text(encoding="utf-8").splitlines()
    Path("own.csv").write_text(
        "\n".join([f"{lines[0]},target", *(f"{line},-" for line in lines[1:]), ""]), encoding="utf-8"
    )
    done = assay("datasets", "show", "own.csv")
    assert done.code == 0 and "rows: 6\n" in done.out
    assert "problem: own.csv: has no column reference and no column candidate" in done.out
    told = assay("datasets", "check", "own.csv").complaint
    columns = told.partition("--columns ")[2]
    assert columns == "reference=gold,candidate=answer,label=human"
    assert assay("datasets", "check", "own.csv", "--columns", columns).out.startswith("6 pairs\n")
    shown = json.loads(assay("datasets", "show", "own.csv", "--columns", columns, "--json").out)
    assert shown["labels"] == {"lowest": 0.0, "highest": 2.0, "distinct": 3, "missing": 0}
    assert "'answr'" in assay("datasets", "show", "own.csv", "--columns", "candidate=answr").complaint
    for verb in ("show", "check"):
        assert "has its own reader" in assay("datasets", verb, "probe", "--columns", columns).complaint


def test_a_file_of_ones_own_can_be_checked(assay):
    Path("pairs.csv").write_text("reference,candidate,label\na,b,1\na,b,0\nb,a,1\n", encoding="utf-8")
    done = assay("datasets", "check", "pairs.csv")
    assert "different labels" in done.out and "other order" in done.out


def test_an_example_lists_the_first_of_many_gold_answers(assay):
    rows = [
        {"reference": [f"gold {i}" for i in range(30)], "candidate": "a", "a": 1, "b": i % 2, "c": 1} for i in (0, 1)
    ]
    Path("golds.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    done = assay("datasets", "check", "golds.jsonl", "--columns", "label=a+b+c")
    assert "reference=['gold 0', 'gold 1', 'gold 2', … 30 in all], candidate='a', label=0.666667\n" in done.out


def test_datasets_of_a_folder_are_fetched_and_checked(assay, shared_data, monkeypatch):
    monkeypatch.setenv("ASSAY_DATA", str(shared_data))
    done = assay("datasets", "fetch", "stsb:test", "--offline")
    assert done.code == 0, done.err
    assert "sts-test.csv ($ASSAY_DATA, folder stsbenchmark)" in done.out
    assert assay("datasets", "check", "squad-sas", "--offline").code == 0


def test_an_error_comes_with_its_lines_of_code_on_request(assay, monkeypatch):
    arguments = ("metrics", "show", "bleuu")
    assert "Traceback" not in assay(*arguments).err
    monkeypatch.setenv("ASSAY_TRACEBACK", "")  # the option sets it for the process
    done = assay("--traceback", *arguments)
    assert done.code == 2 and "Traceback (most recent call last)" in done.err and "registry.py" in done.err
    assert done.err.splitlines()[-1].startswith("assay: there is no metric 'bleuu'")


def test_doctor(assay):
    findings = json.loads(assay("doctor", "--format", "json").out)
    assert {finding["kind"] for finding in findings} == {"machine", "variable", "package", "metric", "dataset"}
    remedies = {finding["name"]: finding["remedy"] for finding in findings if not finding["here"]}
    assert remedies["stsb@2017"] == "assay datasets fetch stsb@2017"
    assert remedies["str-2022@1"] == "assay datasets show str-2022"
    (cache,) = [finding for finding in findings if finding["name"] == "cache"]
    assert cache["detail"].startswith(os.environ["ASSAY_CACHE"])
    assert "score store" in assay("doctor").out
    assert "'csv' is not one of 'table', 'json'" in assay("doctor", "--format", "csv").complaint
    assert "<table|json>" in assay("doctor", "--help").out


def test_doctor_ends_with_the_answer_and_shows_what_can_be_acted_on(assay):
    """Ninety datasets that are not here and variables that are not set are no rows."""
    lines = assay("doctor").out.splitlines()
    # without the extras, the metrics that need them are missing
    assert len(lines) < 120
    assert lines[-1].startswith("available: ") and lines[-1].endswith("assay doctor --format json")
    shown = "\n".join(lines)
    assert "datasets here: " in shown and re.search(r"others that can be had: \d+ \(assay datasets list\)", shown)
    assert re.search(r"^metrics here: .*\bf1\b", shown, re.MULTILINE)
    # a metric whose model is not here is a row with its remedy
    assert re.search(r"^bertscore-vanilla .*(assay models fetch|pip install)", shown, re.MULTILINE)


def test_a_metric_without_its_packages_is_not_here(assay, monkeypatch):
    """Nor is one that needs a model or a file to be named."""
    absent = {"torch", "penman", "evaluate"}
    known = declaration.version_of
    monkeypatch.setattr(declaration, "version_of", lambda package: ABSENT if package in absent else known(package))
    neural = ("bertscore", "bertscore-vanilla", "bi-encoder", "cross-encoder", "sas", "pooled", "s3bert")
    extras = dict.fromkeys(neural, "neural") | {"amr": "amr", "evaluate": "hf"}
    findings = json.loads(assay("doctor", "--format", "json").out)
    metrics = {finding["name"]: finding for finding in findings if finding["kind"] == "metric"}
    rows = json.loads(assay("metrics", "list", "--format", "json").out)
    listed = {row["name"].partition(":")[0]: row["here"] for row in rows}
    for name, extra in extras.items():
        line = install_command(extra)
        assert (metrics[name]["here"], metrics[name]["remedy"], listed[name]) == (False, line, line), name
    assert metrics["f1"]["here"] and metrics["static"]["here"] and listed["static"] == "yes"


def test_lists_as_json(assay):
    metrics = {one["name"]: one for one in json.loads(assay("metrics", "list", "--format", "json").out)}
    assert metrics["f1"]["here"] == "yes" and metrics["f1"]["origin"] == "assay"
    datasets = {(one["name"], one["version"]): one for one in json.loads(assay("datasets", "list", "-f", "json").out)}
    assert datasets["probe", "1"]["here"] is True and datasets["probe", "1"]["kind"] == "probe"
    assert datasets["stsb", "2017"]["splits"] == {"train": 5749, "dev": 1500, "test": 1379}
    (model,) = json.loads(assay("models", "list", "-f", "json").out)
    assert model["model"] == "all-MiniLM-L6-v2"


def test_a_reader_that_goes_away_is_no_error():
    line = f"{shlex.join(command('datasets', 'list'))} | head -1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", line], capture_output=True, text=True, timeout=300)
    assert "Traceback" not in done.stderr and "BrokenPipe" not in done.stderr


def test_as_a_process():
    assert process("--version").out.startswith("assay ")
