"""``assay significance``."""

from __future__ import annotations

import json

import pytest

from tests.cli.calling import call


@pytest.fixture
def results(tmp_path):
    file = tmp_path / "results.csv"
    lines = [
        f"{system},<script>|x,spearman,{seed},{level + (seed * 7 % 10) / 1000:.3f}"
        for system, level in (("base", 0.80), ("node", 0.82), ("edge", 0.801))
        for seed in range(10)
    ]
    file.write_text("system,dataset,statistic,seed,value\n" + "\n".join(lines) + "\n")
    return file


def test_a_table_of_systems_tests_and_counts(results):
    done = call("significance", results, "-q", "--explain")
    assert done.code == 0, done.err
    assert "Spearman ρ: mean ± standard deviation (seeds)" in done.out
    assert "Spearman ρ: improvements / deteriorations" in done.out
    assert "node     1/0   1/0         1/0   1/0   1/0             1" in done.out
    assert "confidence:0.99|tau:0.2|alpha:0.05|correction:holm" in done.out


def test_every_format(results):
    common = ("significance", results, "-q", "--baseline", "edge", "-f")
    held = json.loads(call(*common, "json").out)
    assert [(row["first"], row["second"]) for row in held["comparisons"]] == [("base", "edge"), ("node", "edge")]
    rows = call(*common, "csv").rows
    assert [row["epsilon_better"] for row in rows] == [repr(row["epsilon_better"]) for row in held["comparisons"]]
    assert r"\<script\>\|x" in call(*common, "md").out
    latex = call(*common, "latex").out
    assert r"\toprule" in latex
    # what LaTeX prints without further packages
    assert {letter for letter in latex if not letter.isascii()} <= {"±"}
    html = call(*common, "html").out
    assert "&lt;script&gt;" in html
    assert "<script>" not in html


def test_the_same_seed_gives_the_same_numbers(results):
    line = ("significance", results, "-q", "-f", "csv")
    assert call(*line).out == call(*line).out
    assert call(*line).out != call(*line, "--seed", 1).out


def test_options_reach_the_tests(results):
    few = call("significance", results, "-q", "--all-pairs", "--correction", "none", "--tau", ".5", "-f", "csv").rows
    assert [(row["first"], row["second"]) for row in few] == [("base", "node"), ("base", "edge"), ("node", "edge")]
    assert all(row["p_welch_better"] == row["adjusted_p_welch_better"] for row in few)
    strict = call("significance", results, "-q", "--alpha", "1e-12", "-f", "json").out
    assert [row["better_by"] for row in json.loads(strict)["comparisons"]] == [["ASO"], []]


def test_bad_input_is_one_line(results, tmp_path):
    assert "there is no such file or folder" in call("significance", tmp_path / "nowhere", "-q").complaint
    assert "the results have no system 'bas'" in call("significance", results, "--baseline", "bas", "-q").complaint
    results.write_text(results.read_text() + "base,<script>|x,spearman,10,high\n")
    assert "row 32: value is 'high', no finite number" in call("significance", results, "-q").complaint
    assert "benjamini" in call("significance", results, "--correction", "benjamini-hochberg").complaint
