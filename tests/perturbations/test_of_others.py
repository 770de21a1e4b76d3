"""Perturbations of other packages: found by their entry point, used, and reported by name where they are broken."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from assay.exceptions import InputError, UnavailableError
from assay.perturbations import TextPair, list_perturbations, load_perturbation
from assay.perturbations.registry import _PERTURBATION
from tests.cli.calling import call

THEIRS = """
from assay.perturbations import Perturbation


def doubled(pair, draw):
    return pair.answered(f"{pair.candidate} {pair.candidate}")


def broken(pair, draw):
    raise RuntimeError("no such thing")


DOUBLED = Perturbation(name="doubled", summary="the answer twice", expected="lower", change=doubled)
BROKEN = Perturbation(name="broken", summary="an error", expected="same", change=broken)
NOTHING = 3
"""
ROWS = "reference,candidate,label\n" + "".join(f"a{i},a{i},1\nb{i},c{i},0\n" for i in range(20))


@pytest.fixture
def theirs(tmp_path, monkeypatch):
    """A package with a perturbation that works, three that do not, and one whose name is taken."""
    info = tmp_path / "theirs-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1\n")
    (tmp_path / "their_perturbations.py").write_text(THEIRS)
    module = "their_perturbations"
    lines = [f"doubled = {module}:DOUBLED", f"broken = {module}:BROKEN", f"nothing = {module}:NOTHING"]
    lines += [f"absent = {module}:ABSENT", f"denied-gold = {module}:DOUBLED"]
    (info / "entry_points.txt").write_text("\n".join(["[assay.perturbations]", *lines]))
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "pairs.csv").write_text(ROWS)
    monkeypatch.chdir(tmp_path)


def test_by_name(theirs):
    assert load_perturbation("doubled").summary == "the answer twice"
    assert load_perturbation("denied-gold").expected == "negative", "assay's own name stays assay's"
    with pytest.raises(
        UnavailableError, match=r"'nothing' \(their_perturbations:NOTHING\) is not a Perturbation of assay"
    ):
        load_perturbation("nothing")
    with pytest.raises(UnavailableError, match=r"'absent' \(their_perturbations:ABSENT\) cannot be loaded \(Attribute"):
        load_perturbation("absent")
    with pytest.raises(InputError, match=r"there is no perturbation 'dubled'\. Did you mean 'doubled'"):
        load_perturbation("dubled")
    loaded, failures = list_perturbations()
    assert {"doubled", "broken", "denied-gold"} <= {perturbation.name for perturbation in loaded}
    assert len(failures) == 2


@pytest.mark.slow
def test_beside_the_others(theirs):
    done = call("stress", "pairs.csv", "-m", "f1", "--threshold", ".5", "--resamples", "0", "-f", "json", "-q")
    assert done.code == 1
    assert "the perturbation 'broken' failed (RuntimeError: no such thing)" in done.err
    assert "'absent' (their_perturbations:ABSENT) cannot be loaded" in done.err
    rows = {row["perturbation"]: row for row in json.loads(done.out)}
    # a right answer twice has an F1 of 2/3; a wrong one, of 0, cannot fall
    assert rows["doubled"]["n"] == 40 and rows["doubled"]["fooled"] == 0.5
    assert rows["doubled"]["shift"] == pytest.approx(-1 / 6)
    assert "lower-case" not in rows, "nothing to lower"
    assert rows["upper-case"]["fooled"] == 0


def test_the_example_of_the_documentation():
    """The block of docs/extending.md is a perturbation that does what it says."""
    page = (Path(__file__).parents[2] / "docs" / "extending.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(\"\"\"An answer that was cut off.*?)```", page, re.DOTALL)
    names: dict[str, object] = {}
    exec(code, names)
    truncated = names["TRUNCATED"]
    assert truncated.apply(TextPair(("a",), "Paris, of course"), 0).candidate == "Paris,"
    assert truncated.apply(TextPair(("a",), "Paris"), 0) is None
    assert re.search(_PERTURBATION, code)["name"] == "truncated"
