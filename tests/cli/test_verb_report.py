"""``assay report``."""

from __future__ import annotations

import json
import re

import pytest

from tests.cli.calling import COLUMNS, OWN, call, process


@pytest.fixture
def folder(tmp_path):
    data = tmp_path / "own.csv"
    data.write_text(OWN, encoding="utf-8")
    done = call(
        "run", "-d", data, *COLUMNS, "-m", "f1", "-m", "em", "--out", tmp_path / "run", "--resamples", 100, "-q"
    )
    assert done.code == 0, done.err
    return tmp_path / "run"


@pytest.mark.slow
def test_it_writes_a_page_and_says_so(folder, tmp_path):
    done = call("report", folder, "--out", tmp_path / "page")
    assert (done.code, done.out) == (0, "")
    file = tmp_path / "page" / "index.html"
    assert done.err == f"wrote {file} ({file.stat().st_size / 1e3:.0f} kB)\n"
    page = file.read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert 'id="leaderboard"' in page
    assert call("report", folder, "--out", tmp_path / "page", "--no-leaderboard", "-q").err == ""
    assert 'id="leaderboard"' not in (tmp_path / "page" / "index.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_page_for_a_decision(folder, tmp_path):
    page = tmp_path / "decision.html"
    done = call("report", folder, "--for", "decision", "--title", "For us", "--out", page)
    assert (done.code, done.out) == (0, "")
    assert re.fullmatch(rf"wrote {re.escape(str(page))} \(\d+ kB\)\n", done.err)
    text = page.read_text(encoding="utf-8")
    assert "<h1>For us</h1>" in text and "No metric can be recommended" in text, "six pairs are too few"
    assert "add --for decision" in call("report", folder, "--title", "x", "--out", tmp_path / "page").complaint


@pytest.mark.slow
def test_as_a_process(folder, tmp_path):
    done = process("report", folder, "--out", tmp_path / "page", "--no-leaderboard")
    assert done.code == 0
    assert done.err.startswith("wrote ")


@pytest.mark.parametrize("name", ["run.json", "agreement.json", "pairs.parquet", "scores.parquet"])
def test_a_run_that_lacks_a_file(folder, tmp_path, name):
    (folder / name).unlink()
    assert name in call("report", folder, "--out", tmp_path / "page").complaint
    assert not (tmp_path / "page").exists()


def test_what_is_no_run(tmp_path):
    assert "there is no such run folder" in call("report", tmp_path / "absent", "--out", tmp_path / "page").complaint


def test_a_newer_schema(folder, tmp_path):
    manifest = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**manifest, "schema": 99}))
    assert "written by a newer assay (schema 99" in call("report", folder, "--out", tmp_path / "page").complaint


def test_a_run_given_twice(folder, tmp_path):
    assert "is given twice" in call("report", folder, folder, "--out", tmp_path / "page").complaint


def test_a_folder_that_holds_something_else(folder):
    assert (
        "run: holds agreement.csv; give --out a folder of its own" in call("report", folder, "--out", folder).complaint
    )


def test_a_place_that_cannot_be_written(folder, tmp_path):
    (tmp_path / "file").write_text("mine")
    said = call("report", folder, "--out", tmp_path / "file" / "page").complaint
    assert "cannot be written" in said


@pytest.mark.slow
def test_without_a_place(folder):
    done = process("report", folder)
    assert done.code == 2
    assert len(done.err.splitlines()) == 1
    assert "--out" in done.err


def test_a_run_writes_a_page_and_names_it(tmp_path):
    data = tmp_path / "own.csv"
    data.write_text(OWN, encoding="utf-8")
    done = call("run", "-d", data, *COLUMNS, "-m", "f1", "-m", "em", "--out", tmp_path / "run", "--resamples", 0)
    assert f"look at {tmp_path / 'run' / 'report.html'}" in done.err
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert 'id="agreement"' in page
    assert 'id="leaderboard"' not in page
    assert "No categories were suggested by rules; assay report RUN --out DIR suggests them" in page


def test_a_very_large_run_says_how_to_get_a_page(tmp_path, monkeypatch):
    monkeypatch.setattr("assay.api.result.MAX_PAIRS_FOR_PAGE", 5)
    data = tmp_path / "own.csv"
    data.write_text(OWN, encoding="utf-8")
    done = call("run", "-d", data, *COLUMNS, "-m", "f1", "--out", tmp_path / "run", "--resamples", 0)
    assert f"a page to look at: assay report {tmp_path / 'run'} --out page" in done.err
    assert not (tmp_path / "run" / "report.html").exists()
