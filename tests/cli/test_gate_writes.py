"""``assay baseline`` and ``assay check`` lose no file by what they write."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.calling import COLUMNS


@pytest.fixture(autouse=True)
def made(assay, workplace, monkeypatch):
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    assert assay("run", "-d", "own.csv", *COLUMNS, "-m", "f1", "-q", "--resamples", 0, "--out", "run").code == 0
    assert assay("baseline", "run", "--out", "baseline.json", "-q").code == 0


@pytest.mark.parametrize("name", ["run/run.json", "run/agreement.json", "run/scores.parquet", "own.csv"])
def test_a_baseline_replaces_no_other_file(assay, name):
    before = Path(name).read_bytes()
    complaint = assay("baseline", "run", "--out", name).complaint
    assert complaint == (f"assay: {name}: holds something else than a baseline; give --out another name or remove it")
    assert Path(name).read_bytes() == before


def test_a_baseline_replaces_a_baseline(assay):
    kept = Path("baseline.json").read_bytes()
    # one changed by hand is refused by the check, and written again by this line
    Path("baseline.json").write_bytes(kept.replace(b'"n": 6', b'"n": 7'))
    assert assay("check", "run", "--against", "baseline.json").code == 2
    assert assay("baseline", "run", "--out", "baseline.json", "-q").code == 0
    assert Path("baseline.json").read_bytes() == kept


@pytest.mark.parametrize("option", ["--junit", "--summary"])
@pytest.mark.parametrize("name", ["run/run.json", "own.csv", "baseline.json"])
def test_a_check_replaces_no_other_file(assay, option, name):
    before = Path(name).read_bytes()
    complaint = assay("check", "run", "--against", "baseline.json", option, name).complaint
    assert complaint.startswith(f"assay: {name}: holds something else than ")
    assert complaint.endswith(f"; give {option} another name or remove it")
    assert Path(name).read_bytes() == before


def test_a_check_replaces_what_it_wrote(assay):
    check = ("check", "run", "--against", "baseline.json", "-q")
    kept = []
    for _ in range(2):
        assert assay(*check, "--junit", "out/check.xml", "--summary", "out/check.md").code == 0
        kept.append([Path("out", name).read_bytes() for name in ("check.xml", "check.md")])
    assert kept[0] == kept[1]
    # each its own file
    complaint = assay(*check, "--junit", "one", "--summary", "one").complaint
    assert "one: is the file of --junit; give --summary another name" in complaint
    assert not Path("one").exists()
    swapped = assay(*check, "--junit", "out/check.md", "--summary", "out/check.xml").complaint
    assert "out/check.md: holds something else than JUnit XML" in swapped


def test_the_summary_of_a_job_keeps_what_others_wrote(assay, monkeypatch):
    Path("summary").write_text("# Tests\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(Path("summary").absolute()))
    assert assay("check", "run", "--against", "baseline.json", "-q", "--summary", "summary").code == 0
    assert Path("summary").read_text().startswith("# Tests\n### Gate passed: 1 unchanged")
