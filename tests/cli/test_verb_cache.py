"""``assay cache``: what it holds, and what of it is removed."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

import assay as package
from assay.paths import cache_dir


@pytest.fixture
def filled(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    folder = cache_dir()
    for name, size in (
        ("models/hub/owner%2Fname/blob", 3_000),
        ("models/pypi/wheel-1/model.safetensors", 2_000),
        ("datasets/stsb/2017/sts.csv", 500),
        ("converted/abc/model.onnx", 700),
        ("wheel-x1/part", 40),
        ("datasets/stsb/2017/other.csv.part", 60),
    ):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * size)
    package.run([("a b", "a", 1), ("c", "d", 0), ("e", "e", 2)], ["f1"], resamples=0)
    old = time.time() - 40 * 86_400
    os.utime(folder / "models/hub/owner%2Fname/blob", (old, old))
    return folder


def sizes(assay):
    listed = json.loads(assay("cache", "list", "--format", "json").out)
    return {kind["kind"]: kind["bytes"] for kind in listed["kinds"]}


def test_it_is_listed_by_kind(assay, filled):
    found = sizes(assay)
    assert found.pop("scores") > 1_000
    assert found == {
        "results": 0,
        "embeddings": 0,
        "replies": 0,
        "models": 5_000,
        "datasets": 500,
        "converted": 700,
        "vectors": 0,
        "corpora": 0,
        "crossval": 0,
        "sent": 0,
        "targets": 0,
        "unfinished": 100,
    }
    done = assay("cache", "list")
    assert "5.0 kB" in done.out and str(filled) in done.err


def test_a_database_and_its_log_are_kept_together(assay, filled):
    store = filled / "scores-2.sqlite"
    log = filled / "scores-2.sqlite-wal"
    log.write_bytes(b"")
    old = time.time() - 40 * 86_400
    for path in filled.glob("scores-2.sqlite*"):
        os.utime(path, (old, old))
    os.utime(log)
    assert assay("cache", "prune", "scores", "--older-than", 30).out.startswith("scores: removed 0 files")
    assert store.is_file() and log.is_file()
    os.utime(log, (old, old))
    assay("cache", "prune", "scores", "--older-than", 30)
    assert not store.exists() and not log.exists()


def test_kinds_are_removed_and_nothing_else(assay, filled):
    assert assay("cache", "prune", "models", "--dry-run").out == "models: would remove 2 files, 5.0 kB\n"
    assert assay("cache", "prune", "models", "--older-than", 30).out == "models: removed 1 files, 3.0 kB\n"
    assert sizes(assay)["models"] == 2_000
    done = assay("cache", "prune", "unfinished", "scores")
    assert done.code == 0 and "unfinished: removed 2 files, 100 B" in done.out
    assert not list(Path(filled).glob("scores-2.sqlite*"))
    found = sizes(assay)
    assert (found["datasets"], found["converted"], found["scores"], found["unfinished"]) == (500, 700, 0, 0)
    assay("cache", "prune", "all")
    assert set(sizes(assay).values()) == {0}


def test_links_are_removed_and_not_followed(assay, filled, tmp_path):
    outside = tmp_path / "mine"
    outside.mkdir()
    (outside / "file").write_text("mine", encoding="utf-8")
    (filled / "converted" / "link").symlink_to(outside)
    assert assay("cache", "prune", "converted").code == 0
    assert not (filled / "converted" / "link").exists() and (outside / "file").read_text(encoding="utf-8") == "mine"


def test_what_cannot_be_removed_is_told(assay, filled):
    assert "Did you mean 'models'?" in assay("cache", "prune", "model").complaint
    assert "--older-than -1: must be 0 days or more" in assay("cache", "prune", "all", "--older-than", -1).complaint


def test_an_empty_cache(assay, tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "none"))
    assert set(sizes(assay).values()) == {0}
    assert assay("cache", "prune", "all").code == 0


def test_doctor_lists_the_environment(assay, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.delenv("WNSEARCHDIR", raising=False)
    findings = json.loads(assay("doctor", "--format", "json").out)
    variables = {item["name"]: item for item in findings if item["kind"] == "variable"}
    endpoint, wordnet = variables["HF_ENDPOINT"], variables["WNSEARCHDIR"]
    assert (endpoint["here"], endpoint["value"], endpoint["detail"]) == (
        True,
        "http://127.0.0.1:9",
        "address of the hub",
    )
    assert (wordnet["here"], wordnet["value"]) == (False, "")
    # one statement a row: what is not set is not called available
    rows = [line for line in assay("doctor").out.splitlines() if "not set" in line]
    assert any("WNSEARCHDIR" in line for line in rows) and not any("yes" in line for line in rows)
    assert "ASSAY_CACHE" in variables and "ASSAY_DATA" in variables
