"""``assay reproduce``: word vectors, rows left out, tolerances in a table of a test's own; and BAMBOO on real data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.analysis import reproduce as published
from assay.datasets import load_card
from assay.exceptions import InputError

TABLE = """
name = "own"
title = "A table"
source = "nowhere"
scale = 100

[[columns]]
title = "r"
dataset = "probe"
bucket = "all"
statistic = "pearson"

[[rows]]
title = "Words in common"
metric = "f1"
printed = ["{printed}"]
within = 0.5
note = "a reason"

[[rows]]
title = "Vectors"
metric = "static:{{vectors}}"
printed = ["12.3"]
"""
WORDS = "the 1 1\nof 2 1\nin 3 1\na 4 1\nto 5 1\nand 6 1\nriver 7 1\ncity 8 1\n"


@pytest.fixture
def own(monkeypatch, assay):
    """Put a table in place of those that ship, printed so that F1 is off by what is given; return that function."""
    folder = Path("published")
    folder.mkdir()
    monkeypatch.setattr(published, "_table_files", lambda: {path.stem: path for path in folder.iterdir()})
    done = assay("run", "-d", "probe", "-m", "f1", "-b", "none", "--statistic", "pearson", "--format", "json", "-q")
    value = 100 * json.loads(done.out)[0]["value"]

    def write(off):
        (folder / "own.toml").write_text(TABLE.format(printed=f"{value - off:.2f}"), encoding="utf-8")

    return write


def test_rows_without_word_vectors_are_left_out_with_the_line_that_adds_them(own, assay):
    own(0.0)
    done = assay("reproduce", "own", "--quiet")
    assert done.code == 0
    assert "1 of 2 cells equal as printed; 1 left out" in done.out
    assert "Words in common: a reason" in done.out
    assert done.err == "assay: Vectors left out, since they read word vectors: assay reproduce own --vectors FILE\n"


def test_word_vectors_are_put_into_the_names_of_metrics(own, assay):
    own(0.3)
    Path("words.txt").write_text(WORDS, encoding="utf-8")
    done = assay("reproduce", "own", "--vectors", "words.txt", "--format", "json", "--quiet")
    first, second = json.loads(done.out)
    assert (first["verdict"], first["difference"]) == ("within .5", pytest.approx(0.3, abs=0.006))
    assert second["verdict"] in ("differs", "missing")
    assert done.code == 1
    assert "left out" not in done.err


def test_what_lies_beyond_the_tolerance_fails(own, assay):
    own(0.6)
    assert assay("reproduce", "own", "--quiet").code == 1


def test_what_is_not_equal_for_a_known_reason_is_explained(own, assay):
    own(0.6)
    path = Path("published/own.toml")
    text = path.read_text(encoding="utf-8").replace('note = "a reason"', 'note = "a reason"\nexplained = "other data"')
    path.write_text(
        text + '\n[[rows]]\ntitle = "BERT"\nprinted = ["1.2"]\nexplained = "other model"\n', encoding="utf-8"
    )
    done = assay("reproduce", "own", "--quiet")
    assert done.code == 0
    assert "0 of 3 cells equal as printed; 2 explained; 1 left out" in done.out
    assert "Words in common: other data" in done.out and "BERT: other model" in done.out
    first, _, bert = json.loads(assay("reproduce", "own", "--format", "json", "--quiet").out)
    assert first["value"] is not None and bert["value"] is None
    assert first["verdict"] == bert["verdict"] == "explained"


@pytest.mark.parametrize("row", ['title = "BERT"', 'title = "BERT"\nmetric = "f1"\nwithin = 1'])
def test_a_row_without_metric_or_with_a_tolerance_needs_its_reason(own, row):
    own(0.0)
    path = Path("published/own.toml")
    path.write_text(f"{path.read_text(encoding='utf-8')}\n[[rows]]\n{row}\n", encoding="utf-8")
    with pytest.raises(ValueError, match="reason"):
        published.load_table("own")


def test_word_vectors_for_a_table_that_reads_none(assay):
    assert "no row of sas-table-2 reads word vectors" in assay("reproduce", "sas-table-2", "--vectors", "f").complaint


@pytest.mark.slow
def test_smatch_and_role_confusion_on_bamboo(shared_data, monkeypatch, assay):
    """The structural rows within half a point of the published ones; what is further off is known and named here."""
    pytest.importorskip("penman", reason="the extra amr is not installed")
    monkeypatch.setenv("ASSAY_DATA", str(shared_data))
    done = assay("reproduce", "bamboo", "--format", "json", "--quiet")
    cells = {(cell["row"], cell["column"]): cell for cell in json.loads(done.out)}
    smatch = [cell for (row, _), cell in cells.items() if row in ("Smatch", "SmatchPP")]
    assert len(smatch) == 12
    assert {cell["verdict"] for cell in smatch} <= {"equal", "within .5"}
    assert cells["SmatchPP", "PARA, role confusion"]["verdict"] == "equal"
    assert cells["WLK-k2", "SICK"]["verdict"] == "equal"
    assert {cell["verdict"] for (row, _), cell in cells.items() if row in ("S2match", "WWLK-k2")} == {"left out"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "said"),
    [
        ("md", "| row | column | printed | here | difference | verdict |"),
        ("latex", r"Words in common & r & "),
        ("csv", "row,column,printed,value,difference,verdict\nWords in common,r,"),
    ],
)
def test_every_format_has_the_cells(own, assay, form, said):
    own(0.0)
    assert said in assay("reproduce", "own", "--format", form, "--quiet").out


def test_a_mean_over_the_buckets_of_a_column_is_a_column_of_a_table(own, assay):
    own(0.0)
    text = Path("published/own.toml").read_text(encoding="utf-8")
    done = assay("run", "-d", "probe", "-m", "f1", "-b", "subset", "--statistic", "pearson", "--format", "json", "-q")
    (mean,) = [row["value"] for row in json.loads(done.out) if row["bucket"] == "mean over subset"]
    start = text.index('printed = ["') + len('printed = ["')
    text = text[:start] + f"{100 * mean:.2f}" + text[text.index('"]', start) :]
    text = text.replace('bucket = "all"', 'bucket = "mean over subset"')
    Path("published/own.toml").write_text(text, encoding="utf-8")
    done = assay("reproduce", "own", "--quiet")
    assert done.code == 0 and "1 of 2 cells equal as printed; 1 left out" in done.out


def test_the_mean_of_several_references_counts_where_a_table_says_so(own, assay, monkeypatch):
    own(0.0)
    path = Path("published/own.toml")
    text = path.read_text(encoding="utf-8")
    asked = []

    def run(*_, references, **__):
        asked.append(references)
        raise InputError("enough")

    monkeypatch.setattr("assay.api.reproduce.run", run)
    for references in ("best", "mean"):
        path.write_text(text.replace("scale = 100", f'scale = 100\nreferences = "{references}"'), encoding="utf-8")
        assert assay("reproduce", "own", "--quiet").code == 2
    assert asked == ["best", "mean"]


def test_the_tables_that_ship_name_splits_and_buckets_that_exist():
    for table in published.list_tables():
        for column in table.columns:
            name, _, split = column.dataset.partition(":")
            assert split in ("", *load_card(name).splits), (table.name, column.title)
