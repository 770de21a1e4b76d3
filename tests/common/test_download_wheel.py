"""Wheels through pip: one made on the fly, none at all, and no pip."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import pytest

from assay.common import transfer as module
from assay.common.transfer import WheelError, download_wheel


def make_wheel(folder: Path) -> Path:
    """Write the smallest valid wheel with one file into a folder, and return its path."""
    path = folder / "carried-1.0-py3-none-any.whl"
    info = "carried-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("carried/data.txt", "inside")
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: carried\nVersion: 1.0\n")
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    return path


@pytest.fixture
def index(tmp_path, monkeypatch):
    """Return an empty folder of wheels that pip takes for its only index."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.mark.slow
def test_a_wheel_comes_as_it_is(index, tmp_path):
    wheel = make_wheel(index)
    (tmp_path / "here").mkdir()
    downloaded = download_wheel("carried==1.0", tmp_path / "here")
    assert downloaded.read_bytes() == wheel.read_bytes()


@pytest.mark.slow
def test_what_pip_says_is_passed_on(index, tmp_path):
    with pytest.raises(WheelError, match=r"pip says: .*absent==3"):
        download_wheel("absent==3", tmp_path)


def test_a_python_without_pip_is_told_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setattr(module.sys, "executable", str(tmp_path / "python"))
    script = tmp_path / "python"
    script.write_text(f"#!/bin/sh\necho '{sys.executable}: No module named pip' >&2\nexit 1\n")
    script.chmod(0o755)
    with pytest.raises(WheelError, match="python -m ensurepip"):
        download_wheel("carried==1.0", tmp_path)
