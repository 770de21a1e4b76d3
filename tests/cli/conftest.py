"""What the tests of the command line start from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.calling import OWN, Done, call


@pytest.fixture
def assay() -> Callable[..., Done]:
    """Call the command line in this process."""
    return call


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder with one file of pairs, ``own.csv``."""
    folder = tmp_path / "workplace"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "110")
    (folder / "own.csv").write_text(OWN, encoding="utf-8")
    return folder
