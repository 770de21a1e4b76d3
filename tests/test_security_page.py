"""Every promise of docs/security.md names tests, and these exist."""

from __future__ import annotations

import ast

from tests.promises import REPOSITORY, Promise, read_promises


def names_in(path: str) -> set[str]:
    """Return the names of the tests in a file; those in a class begin with ``CLASS::``."""
    names = set()
    for node in ast.parse((REPOSITORY / path).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            names.update(f"{node.name}::{item.name}" for item in node.body if isinstance(item, ast.FunctionDef))
    return {name for name in names if name.rpartition("::")[2].startswith("test_")}


def test_every_promise_names_tests_that_exist():
    promises = list(read_promises())
    assert len({promise.matter for promise in promises}) >= 6 and len(promises) >= 20
    for promise in promises:
        assert promise.text and promise.tests, promise
        for test in promise.tests:
            path, _, name = test.partition("::")
            assert name in names_in(path), test


def test_a_row_without_a_test_is_seen(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("## Models\n\n| promise | test |\n|---|---|\n| Safe | none |\n| Sound | `tests/a.py::test_b` |\n")
    assert list(read_promises(page)) == [
        Promise("Models", "Safe", ()),
        Promise("Models", "Sound", ("tests/a.py::test_b",)),
    ]
