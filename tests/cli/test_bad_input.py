"""Bad input: one line that names the place and the remedy, exit code 2, nothing half-written."""

from __future__ import annotations

import errno
import json
import os
import pty
import shutil
import subprocess
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.calling import COLUMNS, command, process

TEXTS = "reference,candidate,label\n"
FULL = Path("/dev/full")
OWN = ("-d", "own.csv", *COLUMNS, "-m", "f1")


@pytest.fixture
def refused(assay, workplace):
    """Run with these arguments, expect a refusal, and return its line."""

    def run(*args: object, verb: str = "run") -> str:
        before = sorted(path.name for path in workplace.iterdir())
        complaint = assay(verb, *args, "--out", "OUT").complaint
        assert sorted(path.name for path in workplace.iterdir()) == before
        return complaint

    return run


def file(content: str | bytes, name: str = "bad.csv") -> str:
    Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
    return name


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (["reference=gold,candidate=answr,label=human"], ["own.csv", "'answr'", "Did you mean 'answer'?"]),
        (["refrence=gold,candidate=answer,label=human"], ["'refrence'", "Did you mean 'reference'"]),
        (["reference=gold,candidate=answer,label=gold"], ["own.csv, row 2, column gold", "'Berlin' is not a number"]),
        (["reference"], ["reference=answer1,candidate=answer2"]),
    ],
)
def test_columns(refused, columns, expected):
    complaint = refused("-d", "own.csv", "-m", "f1", *[part for one in columns for part in ("--columns", one)])
    assert all(part in complaint for part in expected), complaint


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", ["bad.csv", "the file is empty"]),
        (TEXTS, ["bad.csv", "no rows"]),
        (TEXTS + 'a,"b,2\nc,d,1\n', ["bad.csv, row 2", "never closed"]),
        (TEXTS + "a,b,2\na,b,nan\n", ["bad.csv, column label: 1 of 2 rows have no label (row 3)"]),
        (TEXTS + "a,b,2\na,b,two\n", ["bad.csv, row 3, column label", "'two' is not a number"]),
        (TEXTS + 'a,b,2.5\na,b,"1,5"\n', ["bad.csv, row 3, column label", "1.5"]),
        (TEXTS + "a,b,\na,b,2\n", ["bad.csv, column label", "1 of 2 rows have no label (row 2)"]),
        (TEXTS + "a,b,1,2\n", ["bad.csv, row 2", "4 cells", "quotes"]),
    ],
)
def test_files(refused, content, expected):
    complaint = refused("-d", file(content), "-m", "f1")
    assert all(part in complaint for part in expected), complaint


def test_files_of_other_kinds(refused):
    assert "bad.jsonl, line 2" in refused("-d", file('{"reference": "a"}\n{oops\n', "bad.jsonl"), "-m", "f1")
    assert "is not a readable Parquet file" in refused("-d", file("PAR", "bad.parquet"), "-m", "f1")
    pq.write_table(pa.table({"reference": ["a"], "candidate": ["b"], "label": [float("nan")]}), "nan.parquet")
    assert "nan.parquet, column label: 1 of 1 rows have no label (row 1)" in refused("-d", "nan.parquet", "-m", "f1")
    assert "there is no such file" in refused("-d", "nofile.csv", "-m", "f1")


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("blue", ["'blue'", "Did you mean 'bleu'"]),
        ("bleu,smoothin=exp", ["no option 'smoothin'", "Did you mean 'smoothing'"]),
        ("bleu,smoothing=expo", ["'expo' is not valid", "exp, floor, add-k, none"]),
        ("bleu:papr", ["no option set 'papr'", "Did you mean 'paper'?"]),
        ("recorded:secnd", ["'secnd'", "Did you mean 'second'?"]),
        ("recorded:nofile.csv#x", ["nofile.csv", "no such file"]),
        ("f1", ["the metric f1 is asked for twice"]),
    ],
)
def test_metrics(refused, metric, expected):
    given = OWN if metric == "f1" else OWN[:-2]
    complaint = refused(*given, "-m", metric)
    assert all(part in complaint for part in expected), complaint


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["-d", "stsbb", "-m", "f1"], ["'stsbb'", "Did you mean 'stsb'"]),
        (["-d", "stsb:tst", "-m", "f1"], ["no split 'tst'", "Did you mean 'test'?"]),
        (["-d", "stsb@2018", "-m", "f1"], ["no version '2018'", "2017"]),
        (["quikstart"], ["'quikstart'", "Did you mean 'quickstart'?"]),
        (["none.toml"], ["none.toml: there is no such file"]),
        (["-m", "f1"], ["no dataset", "assay run quickstart"]),
        (["-d", "probe"], ["no metric", "assay metrics list"]),
        (["-d", "own.csv", *OWN], ["the dataset own is asked for twice"]),
    ],
)
def test_datasets_and_suites(refused, args, expected):
    complaint = refused(*args)
    assert all(part in complaint for part in expected), complaint


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        (["--statistic", "sperman"], ["'sperman'", "Did you mean 'spearman'"]),
        (["--bucket", "lenght"], ["'lenght'", "Did you mean 'length'?"]),
        (["--bucket", "zzz"], ["no column 'zzz'", "f1, label, length, number"]),
        (["--bucket", "f1:x"], ["'x' is not a number"]),
        (["--bucket", "f1:1,0"], ["rising edges"]),
        (["--bucket", "gold>b"], ["'gold' holds text"]),
        (["--group-by", "secnd"], ["--group-by secnd", "Did you mean 'second'"]),
        (["--limit", "0"], ["--limit 0", "at least 1"]),
        (["--resamples", "3"], ["--resamples 3", "at least 100"]),
        (["--confidence", "95"], ["--confidence 95", "such as 0.95"]),
        (["--references", "worst"], ["--references", "'best', 'mean'"]),
        (["--seed", "-1"], ["--seed -1", "not be negative"]),
        (["--seed", "one"], ["--seed", "integer"]),
        (["--format", "xml"], ["--format", "'table', 'json', 'csv', 'spreadsheet', 'md', 'latex'", "assay run --help"]),
        (["--metrik", "f1"], ["--metrik", "--metric"]),
    ],
)
def test_options(refused, option, expected):
    complaint = refused(*OWN, *option)
    assert all(part in complaint for part in expected), complaint


def test_bad_buckets_are_refused_before_anything_is_scored(refused, monkeypatch):
    from assay.benchmark.scoring import Scorer

    def scored(*_: object) -> None:
        raise AssertionError("scored first")

    monkeypatch.setattr(Scorer, "score", scored)
    assert "'subst'" in refused(*OWN, "--bucket", "subst")


def test_suites_that_describe_none(refused):
    Path("s.toml").write_text('name = "s"\ndescription = ""\ndatasets = ["probe"]\nmetric = ["f1"]\n')
    assert "s.toml: metric" in refused("s.toml")
    Path("s.toml").write_text("name = \n")
    assert "s.toml: is not valid TOML" in refused("s.toml")


def test_a_folder_that_holds_something_else(assay):
    given = ("run", *OWN, "--resamples", 0)
    assert assay(*given, "--out", "OUT").code == 0
    kept = Path("OUT/run.json").read_bytes()
    assert "OUT: holds another run" in assay(*given, "--limit", 3, "--out", "OUT").complaint
    assert Path("OUT/run.json").read_bytes() == kept
    assert assay(*given, "--out", "OUT").code == 0  # the same request may be run again
    newer = Path("OUT/run.json").read_text().replace('"schema": 1', '"schema": 2')
    Path("OUT/run.json").write_text(newer)
    assert "OUT: holds a run of a newer assay" in assay(*given, "--out", "OUT").complaint
    assert Path("OUT/run.json").read_text() == newer
    Path("papers").mkdir()
    Path("papers/a.txt").write_text("mine")
    assert "papers: is not empty and holds no run" in assay(*given, "--out", "papers").complaint
    assert "own.csv: is a file" in assay(*given, "--out", "own.csv").complaint
    assert "own.csv is a file" in assay(*given, "--out", "own.csv/OUT").complaint


def test_a_place_that_cannot_be_written(refused, assay, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    assert "OUT: cannot be written (no permission in " in refused(*OWN)


def test_a_full_disk(refused, monkeypatch):
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("assay.benchmark.folder.write_scores", full)
    assert "OUT: the disk is full; free some space" in refused(*OWN, "--resamples", 0)


def test_a_store_that_is_none(assay, own_cache):
    own_cache.mkdir()
    (own_cache / "scores-2.sqlite").write_text("this is not a database, and long enough to be looked at" * 40)
    assert "cannot be used as score store" in assay("run", *OWN, "--out", "OUT").complaint
    assert not Path("OUT").exists()


@pytest.mark.slow
def test_a_cache_that_is_a_file(assay, own_cache, tmp_path, monkeypatch):
    own_cache.write_text("mine")
    findings = {found["name"]: found for found in json.loads(assay("doctor", "--format", "json").out)}
    assert not findings["cache"]["here"] and findings["cache"]["remedy"] == "set ASSAY_CACHE"
    assert findings["stsb@2017"]["remedy"] == "assay datasets fetch stsb@2017"
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("berlin 1 0\nmunich 0 1\n")
    complaint = assay("score", "own.csv", *COLUMNS, "-m", f"static:{vectors}", "--out", "scored.csv").complaint
    assert complaint.startswith(f"assay: {own_cache}") and "(File exists); set ASSAY_CACHE to a folder" in complaint


@pytest.mark.slow
@pytest.mark.skipif(not FULL.exists(), reason="this system has no device that is always full")
@pytest.mark.parametrize("arguments", [("metrics", "list"), ("--help",)])
def test_a_stdout_that_takes_nothing(arguments):
    with FULL.open("w") as full:
        done = subprocess.run(command(*arguments), stdout=full, stderr=subprocess.PIPE, text=True, timeout=120)
    assert done.returncode == 2
    assert done.stderr.splitlines() == ["assay: the output: No space left on device; fix this, or give another path"]


@pytest.mark.slow
def test_a_terminal_without_greek_letters():
    leader, follower = pty.openpty()
    try:
        given = command("run", *OWN, "--resamples", 0, "--out", "OUT", "--quiet")
        environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
        subprocess.run(given, stdout=follower, env=environment, check=True, timeout=120)
        shown = os.read(leader, 1 << 16).decode("latin-1")
    finally:
        os.close(follower)
        os.close(leader)
    assert "Spearman \\u03c1" in shown


@pytest.mark.slow
def test_what_a_program_reads_is_utf_8():
    done = process("run", *OWN, "--resamples", 0, "--out", "OUT", "--format", "md", PYTHONIOENCODING="latin-1")
    assert done.code == 0, done.err
    assert "Spearman ρ" in done.out


def test_a_changed_file_is_not_the_one_of_the_card(shared_data, tmp_path, refused, monkeypatch):
    folder = tmp_path / "data" / "stsbenchmark"
    folder.mkdir(parents=True)
    shutil.copy(shared_data / "stsbenchmark" / "sts-test.csv", folder)
    changed = (folder / "sts-test.csv").read_text(encoding="utf-8").replace("2.500", "4.500", 1)
    (folder / "sts-test.csv").write_text(changed, encoding="utf-8")
    monkeypatch.setenv("ASSAY_DATA", str(tmp_path / "data"))
    complaint = refused("-d", "stsb:test", "-m", "f1", "--offline")
    assert "sts-test.csv has the SHA-256" in complaint and "expected affe4592" in complaint


@pytest.mark.slow
def test_the_line_stands_on_stderr_of_a_process():
    done = process("run", "-d", "own.csv", "--columns", "reference=gld", "-m", "f1", "--out", "OUT")
    assert "Did you mean 'gold'?" in done.complaint
    assert "assay: Missing argument" in process("score").complaint
