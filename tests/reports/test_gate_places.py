"""What may stand where the gate writes: an earlier file of the same kind, and nothing else."""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path
from xml.etree import ElementTree

import pytest

from assay.common.output import check_replaceable
from assay.exceptions import InputError
from assay.reports.check_files import BASELINE, JUNIT, SUMMARY, write_file, write_summary

# the parser recurses deeply
pytestmark = pytest.mark.usefixtures("nothing_is_finalised")

HELD = {
    BASELINE: '{"schema": 1, "assay": "1", "run": "", "confidence": 0.95, "datasets": {}}',
    JUNIT: '<?xml version="1.0"?>\n<testsuites name="assay check"><testsuite/></testsuites>\n',
    SUMMARY: "### Gate passed: 1 unchanged\n\n- judged: ρ\n",
}
KINDS = pytest.mark.parametrize("kind", HELD, ids=lambda kind: kind.setting)
OTHERS = {
    "manifest": '{"schema": 2, "created": "", "request": {}, "signature": "", "datasets": [], "metrics": []}',
    "list": "[1, 2]",
    "nested": "[" * 100_000,
    "text": "# Notes\n\n### Gate passed: by hand\n",
    "page": "<html><testsuites/></html>",
    "encoding": '<?xml version="1.0" encoding="none"?><testsuites/>',
    "bytes": b"\xff\xfe\x00testsuites",
}


@pytest.fixture(autouse=True)
def outside_of_github(monkeypatch):
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)


@KINDS
def test_the_same_kind_and_what_holds_nothing_may_be_replaced(tmp_path, kind):
    place = tmp_path / "file"
    check_replaceable(place, kind)
    place.touch()
    check_replaceable(place, kind)
    place.write_text(HELD[kind], encoding="utf-8")
    check_replaceable(place, kind)
    check_replaceable(Path(os.devnull), kind)


@KINDS
@pytest.mark.parametrize("name", OTHERS)
def test_anything_else_may_not(tmp_path, kind, name):
    place, content = tmp_path / "file", OTHERS[name]
    place.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError) as refused:
        check_replaceable(place, kind)
    said = f"{place}: holds something else than {kind.name}; give `{kind.setting}` another name or remove it"
    assert str(refused.value) == said


@KINDS
@pytest.mark.parametrize("other", HELD, ids=lambda kind: kind.setting)
def test_no_kind_replaces_another(tmp_path, kind, other):
    place = tmp_path / "file"
    place.write_text(HELD[other], encoding="utf-8")
    if kind is other:
        check_replaceable(place, kind)
        return
    with pytest.raises(InputError, match="holds something else"):
        check_replaceable(place, kind)


def test_the_report_of_another_program_is_junit_too(tmp_path):
    place = tmp_path / "file"
    # one that was cut off is told by its root
    for text in ("<testsuite tests='1'></testsuite>", "<!-- x -->\n<testsuites><testsuite><testc"):
        place.write_text(text)
        check_replaceable(place, JUNIT)


@pytest.mark.parametrize("text", [HELD[JUNIT], "<html></html>", "no XML"])
def test_a_report_that_was_looked_at_is_closed(tmp_path, monkeypatch, text):
    # one that is left open cannot be replaced on Windows
    place, read = tmp_path / "file", []
    parse = ElementTree.iterparse
    monkeypatch.setattr(ElementTree, "iterparse", lambda file, **how: read.append(file) or parse(file, **how))
    place.write_text(text)
    with nullcontext() if text == HELD[JUNIT] else pytest.raises(InputError):
        check_replaceable(place, JUNIT)
    assert [file.closed for file in read] == [True]


@KINDS
def test_a_folder_and_a_link_to_itself(tmp_path, kind):
    with pytest.raises(InputError, match=f"is a folder; give `{kind.setting}` another name"):
        check_replaceable(tmp_path, kind)
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    with pytest.raises(InputError, match="loop: cannot be opened"):
        check_replaceable(loop, kind)


def test_a_file_is_written_whole_through_a_link(tmp_path, monkeypatch):
    place, link = tmp_path / "file", tmp_path / "link"
    place.write_text("before")
    link.symlink_to(place)
    write_file(link, "after")
    assert link.is_symlink() and place.read_text() == "after"

    def full(self, content):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(InputError, match="the disk is full"):
        write_file(place, "later")
    assert place.read_text() == "after" and {path.name for path in tmp_path.iterdir()} == {"file", "link"}


def test_the_summary_of_a_job_is_added_to(tmp_path, monkeypatch):
    place, other = tmp_path / "summary", tmp_path / "other.md"
    place.write_text("# Of another command\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(place))
    check_replaceable(place, SUMMARY)
    write_summary(place, "### Gate passed: one\n")
    write_summary(place, "### Gate passed: two\n")
    assert place.read_text() == "# Of another command\n### Gate passed: one\n### Gate passed: two\n"
    with pytest.raises(InputError, match="holds something else than a baseline"):
        check_replaceable(place, BASELINE)
    for text in ("### Gate passed: one\n", "### Gate passed: two\n"):
        write_summary(other, text)
    assert other.read_text() == "### Gate passed: two\n"


def test_the_summary_of_a_job_may_be_named_by_another_path(tmp_path, monkeypatch):
    place = tmp_path / "runner" / "summary"
    place.parent.mkdir()
    place.write_text("# Of another command\n")
    (tmp_path / "linked").symlink_to(place.parent)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(place))
    check_replaceable(tmp_path / "linked" / "summary", SUMMARY)
    write_summary(tmp_path / "linked" / "summary", "### Gate passed: one\n")
    assert place.read_text() == "# Of another command\n### Gate passed: one\n"
