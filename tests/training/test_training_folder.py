"""One training at a time writes to a folder; an unfinished one is continued by the same request alone."""

from __future__ import annotations

import pytest

from assay.exceptions import InputError
from assay.training.folder import _finish_folder as finish
from assay.training.folder import open_work_folder
from assay.training.job import Job

REQUEST = {"settings": {"epochs": 3}}


def test_a_second_start_waits_for_the_first(tmp_path):
    pytest.importorskip("fcntl", reason="files cannot be locked here")
    out = tmp_path / "out"
    with open_work_folder(out, REQUEST) as work:
        work.result_folder.mkdir()
        with (
            pytest.raises(InputError, match=r"a training that writes to it is running; wait for it, or give `out`"),
            open_work_folder(out, REQUEST),
        ):
            pass
    assert list(tmp_path.iterdir()) == [out]


def test_what_ends_with_an_error_is_continued(tmp_path):
    out = tmp_path / "out"
    with pytest.raises(ZeroDivisionError), open_work_folder(out, REQUEST) as work:
        (work.folder / "half").write_text("done")
        _ = 1 / 0
    assert not out.exists()
    with pytest.raises(InputError, match="unfinished training with another request"), open_work_folder(out, {}):
        pass
    with open_work_folder(out, REQUEST) as work:
        assert (work.folder / "half").read_text() == "done"
        work.result_folder.mkdir()
    assert list(tmp_path.iterdir()) == [out]


def test_a_name_that_was_taken_meanwhile_costs_no_model(tmp_path):
    out = tmp_path / "out"
    with (
        pytest.raises(InputError, match=r"cannot be written .*the model is in"),
        open_work_folder(out, REQUEST) as work,
    ):
        work.result_folder.mkdir()
        (work.result_folder / "model").write_text("made")
        out.mkdir()
        (out / "mine").write_text("mine")
    assert (work.result_folder / "model").is_file()
    assert [path.name for path in out.iterdir()] == ["mine"]


def test_a_kill_while_the_rest_is_removed_leaves_nothing_for_long(tmp_path, monkeypatch):
    out = tmp_path / "out"

    def killed(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("assay.training.folder.shutil.rmtree", killed)
        with open_work_folder(out, REQUEST) as work:
            (work.folder / "checkpoint").write_text("of no use any more")
            work.result_folder.mkdir()
            (work.result_folder / "model").write_text("made")
    assert len(list(tmp_path.iterdir())) == 2
    with pytest.raises(InputError, match="is not an empty folder"), open_work_folder(out, REQUEST):
        pass
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize("content", ["[1]", "{", '{"seed": 1}'])
def test_a_request_that_is_damaged_differs_in_all_keys(tmp_path, content):
    folder = tmp_path / ".out.training"
    folder.mkdir()
    (folder / "request.json").write_text(content, encoding="utf-8")
    with (
        pytest.raises(InputError, match=r"\(it differs in seed\); continue it"),
        open_work_folder(tmp_path / "out", {"seed": 2}),
    ):
        raise AssertionError("the block must not run")


def test_a_kill_between_the_renaming_and_the_removal_leaves_nothing_for_long(tmp_path, monkeypatch):
    out = tmp_path / "out"
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("assay.training.folder._finish_folder", _finish_and_die)
        with open_work_folder(out, REQUEST) as work:
            work.result_folder.mkdir()
            (work.result_folder / "model").write_text("made")
    assert {path.name for path in tmp_path.iterdir()} == {"out", ".out.training"}
    with pytest.raises(InputError, match="is not an empty folder"), open_work_folder(out, REQUEST):
        pass
    assert list(tmp_path.iterdir()) == [out]


def _finish_and_die(work):
    finish(work)
    raise KeyboardInterrupt


def test_a_job_without_sources_cannot_be_made():
    with pytest.raises(TypeError, match=r"abstract.*sources"):
        Job(None, None, "cpu", 1, None)
