"""Versions of installed distributions."""

from __future__ import annotations

from importlib import metadata

import pytest

from assay.common.packages import ABSENT, version_of


def test_the_versions_are_those_of_python():
    installed = {distribution.name for distribution in metadata.distributions()}
    assert {"assay", "numpy", "scipy"} <= installed
    assert {name: version_of(name) for name in installed} == {name: metadata.version(name) for name in installed}


@pytest.mark.parametrize(
    ("name", "file", "end"),
    [
        ("found-first", "found_first-1.2.dist-info/METADATA", "\n"),
        ("found-second", "found_second-1.2.dist-info/METADATA", "\r\n"),
        ("found-third", "found_third-1.2.egg-info/PKG-INFO", "\n"),
    ],
)
def test_a_package_that_is_installed_while_assay_runs_is_found(tmp_path, monkeypatch, name, file, end):
    monkeypatch.syspath_prepend(tmp_path)
    assert version_of(name) == ABSENT
    (tmp_path / file).parent.mkdir()
    lines = ["Metadata-Version: 2.1", f"Name: {name}", "Version: 1.2", "", "Version: of a package", ""]
    (tmp_path / file).write_bytes(end.join(lines).encode())
    assert version_of(name) == "1.2"
