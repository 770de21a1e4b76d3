"""Where a run is written: what stands there is never lost, and a name that no table holds is told at once."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import assay
from assay.analysis.folder import read_run
from assay.api.result import Result
from assay.benchmark.folder import FILES, write_run
from assay.benchmark.scoring import Scorer
from assay.exceptions import InputError

ROWS = [{"reference": f"a b{i}", "candidate": f"a c{i % 4}", "label": i % 3} for i in range(12)]
CSV = "reference,candidate,label\n" + "".join(f"a b{i},a c{i % 4},{i % 3}\n" for i in range(12))
#: What ends a process at once, in code of its own.
KILL = "import os, signal\nfrom pathlib import Path\ndie = lambda: os.kill(os.getpid(), signal.SIGKILL)\n"
#: How Python names a file whose bytes are Latin-1: no UTF-8.
LATIN = "caf\udce9"


@pytest.fixture
def written(tmp_path):
    result = assay.run(ROWS, ["f1"], buckets="none", resamples=0, out=tmp_path / "run")
    return result.outcome, tmp_path / "run"


@pytest.fixture
def no_swap(monkeypatch):
    """A file system that cannot swap two folders in one step."""
    monkeypatch.setattr("assay.common.output._swap_folders", lambda *_: False)


def unwritable(monkeypatch, *targets):
    """Let renaming to these places fail, but that of what stands there already."""
    rename = Path.replace

    def replace(self, target):
        if Path(target) in targets and (len(targets) > 1 or ".old." not in self.name):
            raise PermissionError(errno.EACCES, "Permission denied")
        return rename(self, target)

    monkeypatch.setattr(Path, "replace", replace)


def test_a_run_that_stood_there_stays_where_the_new_one_cannot_be_put(written, monkeypatch, no_swap):
    outcome, folder = written
    before = (folder / "run.json").read_bytes()
    unwritable(monkeypatch, folder)
    with pytest.raises(InputError, match=r"run: cannot be written \(Permission denied\); give `out` another place"):
        write_run(outcome, folder)
    assert (folder / "run.json").read_bytes() == before
    assert [path.name for path in folder.parent.iterdir() if "run" in path.name] == ["run"]


def test_a_run_that_cannot_be_moved_back_is_kept_and_told(written, monkeypatch, no_swap):
    outcome, folder = written
    before = (folder / "run.json").read_bytes()
    unwritable(monkeypatch, folder, folder / "never")
    with pytest.raises(InputError, match=r"the run that was there is now .*\.old\.") as told:
        write_run(outcome, folder)
    aside = str(told.value).rpartition("now ")[2].partition(")")[0]
    assert (Path(aside) / "run.json").read_bytes() == before


def test_an_interrupted_renaming_loses_nothing(written, monkeypatch, no_swap):
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


def killed(code, cwd):
    """Run this code in a process of its own, which kills itself with signal 9."""
    ended = subprocess.run([sys.executable, "-c", KILL + code], cwd=cwd, check=False, capture_output=True, text=True)
    assert ended.returncode == -9, ended.stderr


def test_a_run_killed_while_its_page_is_written_can_be_run_again(written, tmp_path):
    outcome, folder = written
    killed(
        "from assay.common.output import atomic_write\n"
        "with atomic_write(Path('run/report.html')) as scratch:\n"
        "    scratch.write_text('<html>')\n"
        "    die()",
        tmp_path,
    )
    assert [path for path in folder.iterdir() if path.suffix == ".part"]
    write_run(outcome, folder)
    assert {path.name for path in folder.iterdir()} <= set(FILES)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_run_killed_between_its_renames_is_read_and_run_again(written, tmp_path, no_swap):
    outcome, folder = written
    killed(
        "import assay.common.output\n"
        "assay.common.output._swap_folders = lambda *_: False\n"
        "replace = Path.replace\n"
        "Path.replace = lambda self, target: die() if target.name == 'run' else replace(self, target)\n"
        "Path('new').mkdir()\n"
        "assay.common.output.put_folder(Path('new'), Path('run'))",
        tmp_path,
    )
    assert not folder.exists()
    assert read_run(folder).manifest.request_digest == outcome.request.record().digest()
    write_run(outcome, folder)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize("swaps", [True, False])
def test_runs_that_write_one_folder_at_once_all_end_well(written, monkeypatch, swaps):
    if not swaps:
        monkeypatch.setattr("assay.common.output._swap_folders", lambda *_: False)
    outcome, folder = written

    def save(_):
        result = Result(outcome)
        result.save(folder)
        return read_run(folder).manifest.request_digest

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(save, range(8))) == {outcome.request.record().digest()}
    # other verbs add these
    added = {"stress.json", "evidence.json", "table.md", "table.tex"}
    added |= {"decision.json", "decision.html", "rates.json", "downstream.json"}
    assert {path.name for path in folder.iterdir()} == set(FILES) - added
    assert [path.name for path in folder.parent.iterdir() if path.name.startswith(".")] == []


def test_a_folder_of_the_user_with_the_name_of_a_file_of_the_run_is_kept(written):
    outcome, folder = written
    (folder / "table.md").mkdir()
    (folder / "table.md/notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"holds table\.md beside the run; move it away"):
        write_run(outcome, folder)
    assert (folder / "table.md/notes.txt").read_text() == "mine"


def test_a_run_folder_has_the_permissions_of_the_umask(written):
    outcome, folder = written
    before = os.umask(0o077)
    try:
        write_run(outcome, folder)
    finally:
        os.umask(before)
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_page_that_cannot_be_written_leaves_no_folder(written, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("assay.reports.page.render.put_page", full)
    with pytest.raises(InputError, match="No space left"):
        assay.report(written[1], out=tmp_path / "page")
    assert not (tmp_path / "page").exists()


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
    with pytest.raises(InputError, match=r"'caf\\udce9': this name is not UTF-8, .*; rename the file$"):
        assay.run(f"{LATIN}.csv", **asked, out="out")
    with pytest.raises(InputError, match=r"'recorded:caf\\udce9\.csv#label': this name is not UTF-8"):
        assay.run("ok.csv", **asked | {"metrics": [f"recorded:{LATIN}.csv#label"]})
    with pytest.raises(InputError, match=r"caf\\udce9': this name is not UTF-8; give `out` another place$"):
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
    with pytest.raises(InputError, match="this name is not UTF-8; rename the folder"):
        read_run(Path(LATIN, "out"))


def test_a_manifest_of_an_earlier_version_with_such_a_name_is_read(written):
    folder = written[1]
    text = (folder / "run.json").read_text(encoding="utf-8")
    manifest = json.loads(text)
    manifest["environment"]["argv"] = ["run", "-d", f"{LATIN}.csv"]
    (folder / "run.json").write_bytes(json.dumps(manifest, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    assert read_run(folder).manifest.environment.argv[2] == f"{LATIN}.csv"
    write_run(written[0], folder)  # and may be replaced
