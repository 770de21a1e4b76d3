"""Where a run is written: what stands there is never lost, and a name that no table holds is told at once."""

from __future__ import annotations

import errno
import json
import sys
from pathlib import Path

import pytest

import assay
from assay.benchmark.folder import write_run
from assay.benchmark.scoring import Scorer
from assay.errors import InputError
from assay.reports.folder import read_run

ROWS = [{"reference": f"a b{i}", "candidate": f"a c{i % 4}", "label": i % 3} for i in range(12)]
CSV = "reference,candidate,label\n" + "".join(f"a b{i},a c{i % 4},{i % 3}\n" for i in range(12))
#: How Python names a file whose bytes are Latin-1: no UTF-8.
LATIN = "caf\udce9"


@pytest.fixture
def written(tmp_path):
    result = assay.run(ROWS, ["f1"], buckets="none", resamples=0, out=tmp_path / "run")
    return result.outcome, tmp_path / "run"


def unwritable(monkeypatch, *targets):
    """Let renaming to these places fail, but that of what stands there already."""
    rename = Path.replace

    def replace(self, target):
        if Path(target) in targets and (len(targets) > 1 or ".old." not in self.name):
            raise PermissionError(errno.EACCES, "Permission denied")
        return rename(self, target)

    monkeypatch.setattr(Path, "replace", replace)


def test_a_run_that_stood_there_stays_where_the_new_one_cannot_be_put(written, monkeypatch):
    outcome, folder = written
    before = (folder / "run.json").read_bytes()
    unwritable(monkeypatch, folder)
    with pytest.raises(InputError, match=r"run: cannot be written \(Permission denied\); give `out` another place"):
        write_run(outcome, folder)
    assert (folder / "run.json").read_bytes() == before
    assert [path.name for path in folder.parent.iterdir() if "run" in path.name] == ["run"]


def test_a_run_that_cannot_be_moved_back_is_kept_and_told(written, monkeypatch):
    outcome, folder = written
    before = (folder / "run.json").read_bytes()
    unwritable(monkeypatch, folder, folder / "never")
    with pytest.raises(InputError, match=r"the run that stood there is now .*\.run\.old\.") as told:
        write_run(outcome, folder)
    assert (Path(str(told.value).rpartition("now ")[2]) / "run.json").read_bytes() == before


def test_an_interrupted_renaming_loses_nothing(written, monkeypatch):
    outcome, folder = written
    rename = Path.replace

    def replace(self, target):
        if Path(target) == folder and ".old." not in self.name:
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(Path, "replace", replace)
    with pytest.raises(KeyboardInterrupt):
        write_run(outcome, folder)
    assert (folder / "run.json").is_file()


@pytest.fixture
def latin(tmp_path, monkeypatch):
    """A folder in which names that are no UTF-8 can be made; nothing may be scored in it."""
    monkeypatch.chdir(tmp_path)
    try:
        Path(f"{LATIN}.csv").write_text(CSV, encoding="utf-8")
    except OSError:
        pytest.skip("this file system takes UTF-8 names alone")
    Path("ok.csv").write_text(CSV, encoding="utf-8")
    return tmp_path


def test_a_name_that_is_no_utf8_is_told_before_anything_is_scored(latin, monkeypatch):
    def scored(*_):
        raise AssertionError("scored first")

    monkeypatch.setattr(Scorer, "score_jobs", scored)
    asked = {"metrics": ["f1"], "buckets": "none", "resamples": 0}
    with pytest.raises(InputError, match=r"'caf\\udce9': this name is no UTF-8, .*; rename the file$"):
        assay.run(f"{LATIN}.csv", **asked, out="out")
    with pytest.raises(InputError, match=r"'recorded:caf\\udce9\.csv#label': this name is no UTF-8"):
        assay.run("ok.csv", **asked | {"metrics": [f"recorded:{LATIN}.csv#label"]})
    with pytest.raises(InputError, match=r"caf\\udce9': this name is no UTF-8; give `out` another place$"):
        assay.run("ok.csv", **asked, out=LATIN)
    assert not [path.name for path in latin.iterdir() if path.name not in (f"{LATIN}.csv", "ok.csv", "cache")]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_file_below_a_folder_whose_name_is_no_utf8_is_run_and_read_back(latin, monkeypatch, ending):
    import pyarrow.csv
    import pyarrow.parquet

    place = Path(LATIN, f"own.{ending}")
    place.parent.mkdir()
    if ending == "csv":
        place.write_text(CSV, encoding="utf-8")
    else:
        with place.open("wb") as stream:
            pyarrow.parquet.write_table(pyarrow.csv.read_csv("ok.csv"), stream)
    monkeypatch.setattr(sys, "argv", ["assay", "run", "-d", str(place)])
    for _ in range(2):  # the same run may be written again
        result = assay.run(place, ["f1"], buckets="none", resamples=0, out="out")
    manifest = read_run(Path("out")).manifest
    assert manifest.environment.argv[-1] == manifest.datasets[0].source == str(place)
    assert json.loads(Path("out/run.json").read_bytes())  # UTF-8, as others read it
    assert len(result.agreement)
    Path("out").rename(Path(LATIN, "out"))
    with pytest.raises(InputError, match="this name is no UTF-8; rename the folder"):
        read_run(Path(LATIN, "out"))


def test_a_manifest_of_an_earlier_version_with_such_a_name_is_read(written):
    folder = written[1]
    text = (folder / "run.json").read_text(encoding="utf-8")
    manifest = json.loads(text)
    manifest["environment"]["argv"] = ["run", "-d", f"{LATIN}.csv"]
    (folder / "run.json").write_bytes(json.dumps(manifest, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    assert read_run(folder).manifest.environment.argv[2] == f"{LATIN}.csv"
    write_run(written[0], folder)  # and may be replaced
