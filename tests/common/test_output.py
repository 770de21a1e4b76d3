"""Files written whole or not at all, and values as JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from assay.common.output import atomic_write, is_unfinished, json_text, put_folder, restore_folder, unfinished_folder

WRITING = """
import sys, time
from pathlib import Path
from assay.common.output import atomic_write

with atomic_write(Path(sys.argv[1])) as scratch:
    scratch.write_text("ne")
    print("begun", flush=True)
    time.sleep(60)
"""


def test_a_file_takes_its_place_when_it_is_written_and_not_before(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("old")
    with atomic_write(path) as scratch:
        scratch.write_text("new")
        assert path.read_text() == "old"

    assert path.read_text() == "new" and list(tmp_path.iterdir()) == [path]


def test_a_name_may_be_as_long_as_a_name_can_be(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 251 + ".csv")
    with atomic_write(path) as scratch:
        scratch.write_text("new")

    assert path.read_text() == "new" and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("begun", [True, False])
def test_where_writing_fails_the_old_file_stays_and_nothing_else(tmp_path: Path, begun: bool) -> None:
    path = tmp_path / "table.csv"
    path.write_text("old")
    with pytest.raises(OSError, match="disk"), atomic_write(path) as scratch:
        if begun:
            scratch.write_text("ne")
        raise OSError("disk")

    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


def test_a_block_that_wrote_nothing_is_an_error_and_not_an_empty_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), atomic_write(tmp_path / "table.csv"):
        pass

    assert not list(tmp_path.iterdir())


def test_a_file_may_be_read_by_those_whom_the_umask_lets(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    before = os.umask(0o027)
    try:
        with atomic_write(path) as scratch:
            scratch.write_text("new")
    finally:
        os.umask(before)

    assert path.stat().st_mode & 0o777 == 0o640


def test_json_keeps_scripts_and_refuses_what_it_has_no_word_for() -> None:
    assert json_text({"größe": [1, None]}) == '{\n "größe": [\n  1,\n  null\n ]\n}\n'
    assert json.loads(json_text("日本")) == "日本"
    with pytest.raises(ValueError, match="not JSON compliant"):
        json_text(float("nan"))


def test_what_a_killed_process_left_is_removed_by_the_next_and_what_a_live_one_writes_is_not(tmp_path: Path) -> None:
    pytest.importorskip("fcntl", reason="this system has no locks of files")
    command = [sys.executable, "-c", WRITING, str(tmp_path / "other.csv")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout and process.stdout.readline() == b"begun\n"
        with atomic_write(tmp_path / "table.csv") as scratch:
            scratch.write_text("new")
        (left,) = (path for path in tmp_path.iterdir() if is_unfinished(path))
        assert (left / "file").read_text() == "ne"
        process.kill()
    with atomic_write(tmp_path / "table.csv") as scratch:
        scratch.write_text("newer")

    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]


def test_an_unfinished_folder_has_the_permissions_of_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        with unfinished_folder(tmp_path / "run") as scratch:
            put_folder(scratch, tmp_path / "run")
    finally:
        os.umask(before)

    assert (tmp_path / "run").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("swaps", [True, False])
def test_a_folder_takes_the_place_of_an_older_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, swaps: bool) -> None:
    if not swaps:
        monkeypatch.setattr("assay.common.output._swap_folders", lambda *_: False)
    for text in ("old", "new"):
        with unfinished_folder(tmp_path / "run") as scratch:
            (scratch / "table.md").write_text(text)
            put_folder(scratch, tmp_path / "run")

    assert [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")] == ["run", "run/table.md"]
    assert (tmp_path / "run/table.md").read_text() == "new"


def test_a_reader_that_moves_the_older_folder_back_meanwhile_does_not_stop_the_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.common.output._swap_folders", lambda *_: False)
    (tmp_path / "run").mkdir()
    (tmp_path / "run/table.md").write_text("old")
    replace, moves = Path.replace, []

    def replace_with_reader(path: Path, target: Path) -> Path:
        moved = replace(path, target)
        moves.append((path.name, target.name))
        if len(moves) == 1:
            restore_folder(tmp_path / "run")
        return moved

    monkeypatch.setattr(Path, "replace", replace_with_reader)
    with unfinished_folder(tmp_path / "run") as scratch:
        (scratch / "table.md").write_text("new")
        put_folder(scratch, tmp_path / "run")

    assert [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")] == ["run", "run/table.md"]
    assert (tmp_path / "run/table.md").read_text() == "new"
    assert [target for _, target in moves].count("run") == 2


def test_an_older_folder_that_a_kill_left_aside_is_put_back_but_not_over_a_new_one(tmp_path: Path) -> None:
    command = """
import os, sys
from pathlib import Path
import assay.common.output
assay.common.output._swap_folders = lambda one, other: False
replace = Path.replace
Path.replace = lambda self, target: os._exit(9) if self.name == "new" else replace(self, target)
assay.common.output.put_folder(Path("new"), Path("run"))
"""
    for name in ("run", "new"):
        (tmp_path / name).mkdir()
    (tmp_path / "run/table.md").write_text("old")
    assert subprocess.run([sys.executable, "-c", command], cwd=tmp_path, check=False).returncode == 9
    assert not (tmp_path / "run").exists()

    restore_folder(tmp_path / "run")
    assert (tmp_path / "run/table.md").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "run"]
