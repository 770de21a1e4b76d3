"""``assay table``."""

from __future__ import annotations

import pytest

SCORED = "label,mine,other\n1,.2,.9\n2,.1,.8\n3,.9,.1\n4,.8,.3\n5,.95,.2\n6,.97,.25\n"


@pytest.fixture
def scored(workplace):
    (workplace / "scored.csv").write_text(SCORED, encoding="utf-8")
    return "scored.csv"


def test_it_prints_latex_alone_unless_told_otherwise(assay, scored):
    done = assay("table", scored, "--by", "pearson", "--siunitx", "--label", "tab:mine", "-q")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("% needs \\usepackage{booktabs} and \\usepackage{siunitx}\n")
    assert r"\label{tab:mine}" in done.out
    assert "Pearson r" in done.out
    rows = assay("table", scored, "-f", "csv", "-m", "recorded:mine", "-q").rows
    assert [(row["metric"], row["statistic"]) for row in rows] == [("recorded:mine", "spearman")]
    assert "recorded:mine" in assay("table", scored, "-f", "table", "--across", "buckets", "--intervals", "-q").out


def test_complaints_name_flags(assay, scored):
    assert "'--label': must consist of letters" in assay("table", scored, "--label", "tab:a b", "-q").complaint
    assert "there is no such run folder" in assay("table", "nowhere", "-q").complaint
    assert "Missing argument" in assay("table").complaint
