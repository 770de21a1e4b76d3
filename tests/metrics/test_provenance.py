"""What identifies the code of a metric that no distribution brought."""

from __future__ import annotations

import functools
import importlib.util
import linecache
import sys
import types

import pytest

from assay.metrics.provenance import origin_of

HEAD = """
from assay.metrics import Declaration, Metric


def helper(text):
    return float(len(text))


class Own(Metric):
    declaration = Declaration("own", "lengths")

    def score(self, batch):
        return [helper(reference) for reference in batch.references]
"""
OTHER = HEAD.replace("float(len(text))", "float(len(text) ** 2)")


@pytest.fixture
def from_file(tmp_path, monkeypatch):
    def load(source, name="own_metric"):
        place = tmp_path / f"{name}.py"
        place.write_text(source, encoding="utf-8")
        spec = importlib.util.spec_from_file_location(name, place)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)
        # what was compiled a moment ago may have the same size and time
        exec(compile(source, str(place), "exec"), vars(module))
        return module.Own

    return load


@pytest.fixture
def from_cell(monkeypatch):
    """Run a cell as a notebook does: in a module without a file, with its text kept under a name of its own."""

    def run(source, number, *, kept=True):
        module = types.ModuleType("notebook")
        monkeypatch.setitem(sys.modules, "notebook", module)
        place = f"<cell {number}>"
        if kept:
            monkeypatch.setitem(linecache.cache, place, (len(source), None, source.splitlines(keepends=True), place))
        exec(compile(source, place, "exec"), vars(module))
        return module.Own

    return run


@pytest.mark.slow
def test_a_helper_in_the_same_file_counts(from_file):
    before, again, after = (origin_of(from_file(source)) for source in (HEAD, HEAD, OTHER))
    assert set(before) == {"code"}
    assert before == again != after


def test_the_signature_says_so(from_file):
    first, second = from_file(HEAD)().signature(), from_file(OTHER)().signature()
    assert {key for key in first if first[key] != second[key]} == {"code"}


@pytest.mark.slow
def test_the_cell_of_a_notebook_counts(from_cell):
    before, after = origin_of(from_cell(HEAD, 1)), origin_of(from_cell(OTHER, 2))
    assert before != after
    # the text counts, not how often it was run
    assert origin_of(from_cell(HEAD, 3)) == before


@pytest.mark.slow
@pytest.mark.parametrize(
    "above", ["@staticmethod\n    ", "@classmethod\n    ", "@functools.cache\n    ", "@plainly\n    "]
)
def test_a_cell_with_nothing_but_held_methods_counts(from_cell, monkeypatch, above):
    def plainly(function):
        @functools.wraps(function)
        def call(*given):
            return function(*given)

        return call

    monkeypatch.setattr("builtins.plainly", plainly, raising=False)
    sources = [f"import functools\n{source.replace('def score', f'{above}def score')}" for source in (HEAD, OTHER)]
    before, after, again = (origin_of(from_cell(sources[which], f"{above}{which}")) for which in (0, 1, 0))
    assert before == again != after


def test_of_a_class_typed_at_a_prompt_only_the_name_is_known(from_cell):
    assert origin_of(from_cell(HEAD, 4, kept=False)) == origin_of(from_cell(OTHER, 5, kept=False))


def test_what_assay_brings_has_no_code_of_its_own():
    from assay.metrics import load_metric

    assert origin_of(type(load_metric("f1"))) == {}
