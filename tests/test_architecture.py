"""What docs/architecture.md says about files, layers and torch is true; tests/cli has the same for verbs."""

from __future__ import annotations

import re
from pathlib import Path

import assay
from assay.benchmark.folder import FILES

PACKAGE = Path(assay.__file__).parent
TEXT = (Path(__file__).parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")


def part(start: str, end: str) -> str:
    return TEXT.partition(start)[2].partition(end)[0]


def test_every_file_that_it_names_exists():
    named = {name for name in re.findall(r"`([\w/]+\.py)`", TEXT) if "VERB" not in name}
    assert len(named) >= 8
    assert [name for name in named if not any(PACKAGE.rglob(name))] == []


def test_the_layers_are_the_packages():
    first_cells = re.findall(r"^\| (`.*?`) \|", part("## Import layers", "A package imports"), re.MULTILINE)
    layers = {name for cell in first_cells for name in re.findall(r"`(\w+)`", cell)}
    modules = {path.stem for path in PACKAGE.iterdir() if path.suffix in ("", ".py") and not path.stem.startswith("_")}
    assert layers == modules - {"pytest_plugin"}


def test_torch_is_imported_where_it_says():
    importing = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if re.search(r"^ *(import|from) torch\b", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    elsewhere = {name for name in importing if not name.startswith(("metrics/neural/", "training/"))}
    assert importing and elsewhere == {"cluster/slot.py"}


def test_the_run_folder_has_the_files_that_it_says():
    text = part("## Run folders", "## Analysis and reports")
    stems = {Path(name).stem for name in FILES}
    assert [name for name in stems if f"`{name}." not in text] == []


def test_the_places_to_look_have_what_is_looked_for():
    """Every place exists, and each name in brackets is defined in the file before it."""
    places = re.findall(r"`([\w/]+(?:\.py|/\w+))`(?: \(([^)]*)\))?", part("## Where to look", "\n## A run"))
    places = [(place, names) for place, names in places if "VERB" not in place]
    assert len(places) > 40
    assert [place for place, _ in places if not (PACKAGE / place).exists()] == []
    defined = [(place, name) for place, names in places for name in re.findall(r"`(\w+)`", names)]
    for place, name in defined:
        text = (PACKAGE / place).read_text(encoding="utf-8")
        assert re.search(rf"^\s*(?:def|class) {name}\b|^{name}\b", text, re.MULTILINE), f"{place}: {name}"
