"""What is built: the same bytes every time, and the first command of the README with the wheel."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.wheel import REPOSITORY, build_twice, quickstart


@pytest.mark.slow
def test_two_builds_have_equal_bytes(tmp_path):
    pytest.importorskip("hatchling", reason="hatchling is absent: pip install assay[dev]")
    assert build_twice(tmp_path).name.endswith(".whl")


def test_the_command_of_the_readme_with_the_wheel():
    command = quickstart(Path("/w/assay.whl"), "neural")
    assert "'/w/assay.whl[neural]'" in command and command.endswith("assay run quickstart")
    assert quickstart(Path("/w/assay.whl"), "").endswith("assay run quickstart -m f1 -m chrf")


def test_the_lock_has_the_versions_that_were_tested():
    """Each package has hashes, and no version differs from that of constraints.txt."""
    lock = (REPOSITORY / "requirements.lock").read_text(encoding="utf-8")
    locked = re.findall(r"^([a-z0-9-]+)==([^ ;]+).*\\\n    --hash=sha256:[0-9a-f]{64}", lock, re.MULTILINE)
    assert len(locked) == len(re.findall(r"^[a-z]", lock, re.MULTILINE)) > 50
    tested = re.findall(r"^([\w.-]+)==(\S+)", (REPOSITORY / "constraints.txt").read_text(), re.MULTILINE)
    versions = {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in tested}
    known = {name for name, _ in locked} & versions.keys()
    assert {"numpy", "pyarrow", "pytest"} <= known
    # where Python decides, a package has several lines
    assert known <= {name for name, version in locked if versions.get(name) == version}
