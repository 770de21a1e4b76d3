"""The verbs that show what there is, and help."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest
from calling import command, process

from assay.amr.aspects import ASPECTS

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
        assert f" {name} " in listed
    shown = assay("metrics", "show", "bleu:paper").out
    assert "option set bleu:paper" in shown and "signature: bleu|swap:true" in shown
    checked = assay("metrics", "check", "f1")
    assert checked.code == 0
    assert "symmetry" in checked.out and checked.err == "10 passed, 0 failed\n"
    aspects = assay("metrics", "show", "amr").out
    assert "write: amr:ASPECT" in aspects and all(name in aspects for name in (*ASPECTS, "s2match", "bag-of-nodes"))
    assert "option cutoff" in aspects
    shown = assay("metrics", "show", "amr:smatch").out
    assert "option solver" in shown and "option cutoff" not in shown and "option iterations" not in shown
    assert "Did you mean 'bleu'?" in assay("metrics", "show", "bleuu").complaint


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
    assert "Did you mean 'stsb'" in assay("datasets", "show", "stbs").complaint


def test_a_file_of_ones_own_can_be_checked(assay):
    Path("pairs.csv").write_text("reference,candidate,label\na,b,1\na,b,0\nb,a,1\n", encoding="utf-8")
    done = assay("datasets", "check", "pairs.csv")
    assert "different labels" in done.out and "other order" in done.out


def test_datasets_of_a_folder_are_fetched_and_checked(assay, shared_data, monkeypatch):
    monkeypatch.setenv("ASSAY_DATA", str(shared_data))
    done = assay("datasets", "fetch", "stsb:test", "--offline")
    assert done.code == 0, done.err
    assert "sts-test.csv ($ASSAY_DATA, folder stsbenchmark)" in done.out
    assert assay("datasets", "check", "squad-sas", "--offline").code == 0


def test_doctor(assay):
    findings = json.loads(assay("doctor", "--format", "json").out)
    assert {finding["kind"] for finding in findings} == {"machine", "package", "metric", "dataset"}
    remedies = {finding["name"]: finding["remedy"] for finding in findings if not finding["here"]}
    assert remedies["stsb@2017"] == "assay datasets fetch stsb@2017"
    assert remedies["str-2022@1"] == "assay datasets show str-2022"
    (cache,) = [finding for finding in findings if finding["name"] == "cache"]
    assert cache["detail"].startswith(os.environ["ASSAY_CACHE"])
    assert "score store" in assay("doctor").out
    assert "prints table or json" in assay("doctor", "--format", "csv").complaint


def test_a_reader_that_goes_away_is_no_error():
    line = f"{shlex.join(command('datasets', 'list'))} | head -1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", line], capture_output=True, text=True, timeout=60)
    assert "Traceback" not in done.stderr and "BrokenPipe" not in done.stderr


def test_as_a_process():
    assert process("--version").out.startswith("assay ")
