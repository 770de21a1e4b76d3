"""``assay table``."""

from __future__ import annotations

import pytest

import assay as library

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


def test_the_tables_of_a_run_are_written_into_its_folder_on_request(assay, tmp_path):
    result = library.run([[("a b", "a c", 1.0), ("d e", "d e", 2.0), ("f", "g", 0.0)]], ["f1", "chrf"], resamples=0)
    folder = result.save(tmp_path / "run", page=False)
    assert assay("table", folder, "-q").code == 0
    assert not list(folder.glob("table.*"))
    assert assay("table", folder, "--write", "-q").code == 0
    assert (folder / "table.md").read_text(encoding="utf-8") == result.to_markdown()
    assert (folder / "table.tex").read_text(encoding="utf-8") == result.to_latex()
    # they belong to the run: the next one of the same request removes them
    assert assay("verify", folder, "-q").code == 0
    result.save(folder, page=False)
    assert not list(folder.glob("table.*"))


def test_tables_are_written_into_run_folders_only(assay, tmp_path):
    file = tmp_path / "scores.csv"
    file.write_text("label,mine\n1,0.5\n2,0.7\n0,0.1\n", encoding="utf-8")
    done = assay("table", file, "--write", "-q")
    assert done.code == 2
    assert done.complaint == f"assay: --write: {file}: is no run folder, which tables could be written into"
