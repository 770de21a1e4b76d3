"""The page on the architecture says where the parts of a verb are, and options of several verbs are declared once."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from assay.cli import verbs
from tests.cli.test_settings import COMMANDS

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src/assay"
PAGE = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")


def places_of_verbs():
    """Return the places of settings and layouts, by verb, that the table of the page lists."""
    lines = PAGE.split("| verb | settings | shown by |\n|---|---|---|\n")[1].split("\n\n")[0].splitlines()
    places = {}
    for line in lines:
        names, settings, shown = (cell.strip() for cell in line.strip("|").split("|"))
        for name in names.split(", "):
            places[name] = re.findall("`(.+?)`", settings), re.findall("`(.+?)`", shown)
    return places


PLACES = places_of_verbs()


def find(place):
    """Return the file or the package of a place in the source, such as ``analysis/check``."""
    return next((path for path in (SOURCE / place, SOURCE / f"{place}.py") if path.exists()), None)


@pytest.mark.parametrize("verb", verbs())
def test_the_parts_of_a_verb_are_where_the_page_says(verb):
    settings_places, layouts = PLACES.get(verb, ([f"analysis/{verb}"], [f"reports/{verb}"]))
    found = {place: find(place) for place in (*settings_places, *layouts)}
    assert all(found.values()), f"{found}: mend docs/architecture.md"
    for path, command in COMMANDS.items():
        kind = getattr(command.callback, "settings_class", None)
        if path[0] == verb and settings_places:
            assert kind is not None
            file = SOURCE.joinpath(*kind.__module__.split(".")[1:]).with_suffix(".py")
            assert any(file.is_relative_to(found[place]) for place in settings_places), f"{kind}: mend the page"


def test_the_files_of_the_command_line_are_those_that_the_page_lists():
    (sentence,) = re.findall(r"have a file in `cli/`: ([^.]+)\.", PAGE)
    listed = set(re.split(r",\s+|\s+and\s+", sentence.strip()))
    assert listed == {verb for verb in verbs() if (SOURCE / "cli" / f"{verb}.py").is_file()}
    assert set(PLACES) <= set(verbs())


#: Options that several verbs have, whose words and checks must not differ between them.
SHARED = ("columns", "separator", "labels", "offline")


def declarations(tree, names):
    """Yield the settings, and the parameters with an option of typer, of these names in a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            name, words = node.target.id, ast.unparse(node.value) if node.value else ""
        elif isinstance(node, ast.arg) and node.annotation is not None:
            name, words = node.arg, ast.unparse(node.annotation)
        else:
            continue
        if name in names and re.search(r"\bsetting\(|\bOption\(", words):
            yield name


def test_options_that_several_verbs_have_are_declared_once():
    places = {name: [] for name in SHARED}
    for path in sorted(SOURCE.rglob("*.py")):
        for name in declarations(ast.parse(path.read_text(encoding="utf-8")), SHARED):
            places[name].append(str(path.relative_to(SOURCE)))
    # files of a training have no separator and no labels, so that their columns have words of their own
    expected = {name: ["settings.py"] for name in SHARED} | {"columns": ["settings.py", "training/settings.py"]}
    assert places == expected
