"""Files written whole or not at all, and values as JSON."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from assay.output import json_text, written_whole


def test_a_file_takes_its_place_when_it_is_written_and_not_before(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("old")
    with written_whole(path) as scratch:
        scratch.write_text("new")
        assert path.read_text() == "old" and scratch.parent == tmp_path

    assert path.read_text() == "new" and list(tmp_path.iterdir()) == [path]


def test_a_name_may_be_as_long_as_a_name_can_be(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 251 + ".csv")
    with written_whole(path) as scratch:
        scratch.write_text("new")

    assert path.read_text() == "new" and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("begun", [True, False])
def test_where_writing_fails_the_old_file_stays_and_nothing_else(tmp_path: Path, begun: bool) -> None:
    path = tmp_path / "table.csv"
    path.write_text("old")
    with pytest.raises(OSError, match="disk"), written_whole(path) as scratch:
        if begun:
            scratch.write_text("ne")
        raise OSError("disk")

    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


def test_a_block_that_wrote_nothing_is_an_error_and_not_an_empty_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), written_whole(tmp_path / "table.csv"):
        pass

    assert not list(tmp_path.iterdir())


def test_a_file_may_be_read_by_those_whom_the_umask_lets(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    before = os.umask(0o027)
    try:
        with written_whole(path) as scratch:
            scratch.write_text("new")
    finally:
        os.umask(before)

    assert path.stat().st_mode & 0o777 == 0o640


def test_json_keeps_scripts_and_refuses_what_it_has_no_word_for() -> None:
    assert json_text({"größe": [1, None]}) == '{\n "größe": [\n  1,\n  null\n ]\n}\n'
    assert json.loads(json_text("日本")) == "日本"
    with pytest.raises(ValueError, match="not JSON compliant"):
        json_text(float("nan"))
