"""What ``assay datasets show`` and ``check`` say of the annotation graph."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

CARD = """name = "own"
version = "1"
title = "own"
language = "en"
licence = "CC0-1.0"
citation = "nobody"
reader = "table"
default_split = "test"
scale = { low = 0, high = 1, meaning = "0 or 1" }
splits = { test = { files = ["own.csv"] } }
files = [{ name = "own.csv" }]
sources = [{ kind = "data", folder = "own" }]
"""


def write_card(rows, monkeypatch):
    """Write a card of pairs that are here."""
    Path("data/own").mkdir(parents=True)
    Path("data/own/own.csv").write_text(f"reference,candidate,label\n{rows}\n", encoding="utf-8")
    monkeypatch.setenv("ASSAY_DATA", "data")
    Path("own.toml").write_text(CARD, encoding="utf-8")


def test_check_of_a_file_of_ones_own(assay):
    # a-b, a-c, a-d: degrees 3, 1, 1, 1, their mean 1.5 and deviation 1.
    Path("pairs.csv").write_text("reference,candidate,label\na,b,1\na,c,0\nd,a,1\n", encoding="utf-8")
    done = assay("datasets", "check", "pairs.csv")
    assert done.code == 0 and done.err == "0 findings, 0 errors\n"
    assert done.out == "3 pairs\nannotation graph: 4 texts, each paired with 1.5 ± 1.0 others (mean ± SD, CV 0.67)\n"
    (note,) = json.loads(assay("datasets", "check", "pairs.csv", "--json").out)
    assert note == {
        "name": "annotation-graph",
        "severity": "note",
        "split": "data",
        "count": 4,
        "message": "annotation graph: 4 texts, each paired with 1.5 ± 1.0 others (mean ± SD, CV 0.67)",
        "examples": [],
    }


def test_check_tells_of_each_split_and_of_all(assay):
    rows = "reference,candidate,label,split\na,b,1,train\na,c,0,train\nb,c,1,test\n"
    Path("pairs.csv").write_text(rows, encoding="utf-8")
    lines = [line for line in assay("datasets", "check", "pairs.csv").out.splitlines() if "graph" in line]
    assert lines == [
        "train: annotation graph: 3 texts, each paired with 1.3 ± 0.6 others (mean ± SD, CV 0.43)",
        "test: annotation graph: 2 texts, each paired with 1.0 ± 0.0 others (mean ± SD, CV 0.00)",
        "train+test: annotation graph: 3 texts, each paired with 2.0 ± 0.0 others (mean ± SD, CV 0.00)",
    ]


def test_several_gold_answers_have_no_graph(assay):
    rows = (
        '{"reference": ["a", "b"], "candidate": "a", "label": 1}\n{"reference": ["c"], "candidate": "b", "label": 0}\n'
    )
    Path("pairs.jsonl").write_text(rows, encoding="utf-8")
    done = assay("datasets", "check", "pairs.jsonl")
    assert done.code == 0 and done.out == "2 pairs\n"


def test_show_of_data_that_is_here(assay):
    assert (
        assay("datasets", "show", "probe")
        .out.splitlines()[-1]
        .startswith("annotation graph: 922 texts, each paired with ")
    )
    graph = json.loads(assay("datasets", "show", "probe", "--json").out)["annotation_graph"]
    assert (graph["texts"], graph["edges"]) == (922, 628)
    assert graph["degree"]["mean"] == pytest.approx(2 * 628 / 922)
    assert graph["degree"]["variation"] == pytest.approx(graph["degree"]["deviation"] / graph["degree"]["mean"])


def test_show_of_data_that_is_not_here(assay):
    done = assay("datasets", "show", "sick")
    assert done.code == 0 and "annotation graph" not in done.out
    assert "annotation_graph" not in json.loads(assay("datasets", "show", "sick", "--json").out)


def test_show_of_data_that_cannot_be_read_says_why(assay, monkeypatch):
    write_card("a,b,much", monkeypatch)
    done = assay("datasets", "show", "own.toml")
    assert done.code == 0 and "here: True" in done.out
    assert "annotation graph: not measured: " in done.out and "much" in done.out
    assert "much" in json.loads(assay("datasets", "show", "own.toml", "--json").out)["annotation_graph"]["error"]


def test_sick_as_published(assay, shared_data, monkeypatch):
    monkeypatch.setenv("ASSAY_DATA", str(shared_data))
    for name in ("sick@1", "sick@2"):
        assert "texts, each paired with 3.2 ± 2.1 others (mean ± SD, CV 0.66)" in assay("datasets", "show", name).out
    assert (
        "all: annotation graph: 2,010 texts, each paired with 3.5 ± 3.0 others (mean ± SD, CV 0.86)"
        in assay("datasets", "check", "ukp-aspect").out
    )


def test_the_directed_graph(assay):
    # a-b in both orders and a-c: undirected degrees 2, 1, 1; directed 3, 2, 1 with mean 2 and deviation 1
    Path("pairs.csv").write_text("reference,candidate,label\na,b,1\nb,a,0\na,c,0\n", encoding="utf-8")
    assert (
        "annotation graph: 3 texts, each paired with 1.3 ± 0.6 others (mean ± SD, CV 0.43)\n"
        in assay("datasets", "check", "pairs.csv").out
    )
    done = assay("datasets", "check", "pairs.csv", "--directed")
    assert "directed annotation graph: 3 texts, each in 2.0 ± 1.0 ordered pairs (mean ± SD, CV 0.50)\n" in done.out


def test_show_of_the_directed_graph(assay, monkeypatch):
    write_card("a,b,1\nb,a,0\na,c,0", monkeypatch)
    plain, directed = (
        json.loads(assay("datasets", "show", "own.toml", "--json", *more).out)["annotation_graph"]
        for more in ((), ("--directed",))
    )
    assert (plain["edges"], plain["degree"]["mean"], "directed" in plain) == (2, pytest.approx(4 / 3), False)
    assert (directed["edges"], directed["degree"]["mean"], directed["directed"]) == (3, 2.0, True)
    assert "directed annotation graph: 3 texts" in assay("datasets", "show", "own.toml", "--directed").out
