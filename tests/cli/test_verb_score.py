"""``assay score``: a column per metric beside what was there."""

from __future__ import annotations

import csv
import datetime
import errno
import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.calling import COLUMNS

UNLABELLED = (
    'id;x,gold,answer,n\r\n"1;,2",Berlin,"ber,lin",007\r\n'
    '2,"say ""hi""",hi,1.50\r\n3,"line\nbreak",line,\r\n4,None,,NaN\r\n'
)
TEXTS = ("--columns", "reference=gold,candidate=answer")


@pytest.fixture(autouse=True)
def file(workplace):
    Path("pairs.csv").write_bytes(UNLABELLED.encode())


def cells(text: str, delimiter: str = ",") -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))


def test_columns_are_headed_as_typed_and_the_rest_stays(assay):
    done = assay("score", "pairs.csv", *TEXTS, "-m", "f1", "-m", "bleu,smoothing=none", "-o", "out.csv")
    # a busy machine may show a line of progress before
    assert (done.code, done.out, done.err.splitlines()[-1]) == (0, "", "wrote out.csv")
    before, after = cells(UNLABELLED), cells(Path("out.csv").read_text(encoding="utf-8"))
    assert after[0] == [*before[0], "f1", "bleu,smoothing=none"]
    assert [row[:4] for row in after] == before
    assert [float(row[4]) for row in after[1:]] == pytest.approx([1, 2 / 3, 2 / 3, 0])
    assert oct(Path("out.csv").stat().st_mode & 0o777) == "0o644"
    assert sorted(path.name for path in Path().iterdir()) == ["out.csv", "own.csv", "pairs.csv"]


def test_every_ending(assay):
    for ending in ("tsv", "jsonl", "parquet"):
        done = assay("score", "pairs.csv", *TEXTS, "-m", "em", "-o", f"new/out.{ending}", "--quiet")
        assert (done.code, done.err) == (0, ""), done.err
    assert cells(Path("new/out.tsv").read_text(encoding="utf-8"), "\t")[1] == [
        "1;,2",
        "Berlin",
        "ber,lin",
        "007",
        "1.0",
    ]
    row = json.loads(Path("new/out.jsonl").read_text(encoding="utf-8").splitlines()[3])
    assert row == {"id;x": "4", "gold": "None", "answer": "", "n": "NaN", "em": 0.0}
    table = pq.read_table("new/out.parquet")
    assert table.column("gold").to_pylist() == ["Berlin", 'say "hi"', "line\nbreak", "None"]
    assert table.schema.field("em").type == pa.float64()


def test_columns_of_any_kind_can_be_written_as_text(assay):
    table = pa.table(
        {
            "reference": [["a", "b"], ["c"]],
            "candidate": ["b", "d"],
            "day": [datetime.date(2020, 2, 29), None],
            "whole": [1, 2],
        }
    )
    pq.write_table(table, "kinds.parquet")
    for ending in ("jsonl", "csv"):
        done = assay("score", "kinds.parquet", "-m", "em", "-o", f"out.{ending}")
        assert done.code == 0, done.err
    first = json.loads(Path("out.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert first == {"reference": ["a", "b"], "candidate": "b", "day": "2020-02-29", "whole": 1, "em": 1.0}
    assert cells(Path("out.csv").read_text(encoding="utf-8"))[1] == ['["a", "b"]', "b", "2020-02-29", "1", "1.0"]


def test_rows_without_a_label_are_scored_and_limit_keeps_the_first(assay):
    Path("some.csv").write_text("reference,candidate,label\na,a,\nb,c,1\nd,d,x\n", encoding="utf-8")
    done = assay("score", "some.csv", "-m", "em", "--limit", 2, "-o", "out.csv", "--columns", "reference=reference")
    assert done.code == 2 and "row 4, column label" in done.err
    Path("some.csv").write_text("reference,candidate,label\na,a,\nb,c,1\nd,d,2\n", encoding="utf-8")
    assert assay("score", "some.csv", "-m", "em", "--limit", 2, "-o", "out.csv").code == 0
    assert Path("out.csv").read_text() == "reference,candidate,label,em\na,a,,1.0\nb,c,1,0.0\n"


def test_a_metric_that_cannot_score_leaves_its_column_out(assay):
    done = assay("score", "pairs.csv", *TEXTS, "-m", "em", "-m", "meteor", "--language", "de", "-o", "out.csv")
    assert done.code == 1
    assert "metric meteor: not available for de (made for en)" in done.err
    assert cells(Path("out.csv").read_text(encoding="utf-8"))[0][-1] == "em"


def test_nothing_is_written_where_no_metric_gave_scores(assay):
    done = assay("score", "pairs.csv", *TEXTS, "-m", "meteor", "--language", "de", "-o", "out.csv")
    assert done.code == 1
    assert done.err.startswith("assay: out.csv: not written, since no metric gave scores: metric meteor: not available")
    assert "wrote" not in done.err and not Path("out.csv").exists()


def test_refused(assay, monkeypatch):
    def refused(*args: object) -> str:
        return assay("score", *args).complaint

    assert "is the file that is read" in refused("pairs.csv", *TEXTS, "-m", "f1", "-o", "pairs.csv")
    Path("taken.csv").write_text("reference,candidate,f1\na,b,1\n", encoding="utf-8")
    assert "has a column 'f1' already" in refused("taken.csv", "-m", "f1", "-o", "out.csv")
    assert "must end in .csv, .tsv, .jsonl, .parquet" in refused("pairs.csv", *TEXTS, "-m", "f1", "-o", "out.xlsx")
    assert "no metric: give --metric NAME" in refused("pairs.csv", *TEXTS, "-o", "out.csv")
    assert "no output: give --out FILE" in refused("pairs.csv", *TEXTS, "-m", "f1")
    Path("two.csv").write_text("gold,target,answer\na,b,c\n", encoding="utf-8")
    assert "--columns reference=gold,candidate=answer" in refused("two.csv", "-m", "f1", "-o", "out.csv")
    assert "pairs.csv is a file" in refused("pairs.csv", *TEXTS, "-m", "f1", "-o", "pairs.csv/out.csv")
    none = refused("pairs.csv", *TEXTS, "-m", "f1", "--limit", 0, "-o", "out.csv")
    assert "--limit 0: must be a whole number, at least 1" in none

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pq, "write_table", full)
    assert "the disk is full" in refused("pairs.csv", *TEXTS, "-m", "f1", "-o", "out.parquet")
    assert sorted(path.name for path in Path().iterdir()) == ["own.csv", "pairs.csv", "taken.csv", "two.csv"]


def test_scores_outside_of_the_declared_range_are_told(assay):
    from assay import metric

    @metric(name="wide-of-range", low=0, high=1)
    def wide(reference: str, candidate: str) -> float:
        return float(len(candidate))

    done = assay("score", "own.csv", *COLUMNS, "-m", "wide-of-range", "--out", "scored.csv")
    assert done.code == 0
    assert "wide-of-range: 5 of 6 pairs: score outside of the declared range, 0 to 1" in done.err.splitlines()


def test_formulas_are_data_unless_it_is_for_a_spreadsheet(assay):
    Path("sly.csv").write_text("reference,candidate,n\n=1+1,@x,-2\na,-b,3\n", encoding="utf-8")
    assert assay("score", "sly.csv", "-m", "f1", "--out", "plain.csv").code == 0
    assert Path("plain.csv").read_text().splitlines()[1:] == ["=1+1,@x,-2,0.0", "a,-b,3,0.0"]
    line = ("score", "sly.csv", "-m", "f1", "--spreadsheet", "--out")
    assert assay(*line, "safe.tsv").code == 0
    assert Path("safe.tsv").read_text().splitlines()[1:] == ["'=1+1\t'@x\t-2\t0.0", "a\t'-b\t3\t0.0"]
    # what it wrote, it may write again
    assert assay(*line, "safe.tsv", "-m", "em").code == 0
    assert "--out" in assay("score", "sly.csv", "-m", "f1", "--out", "safe.tsv").complaint
    Path("several.csv").write_text("reference,candidate\n=a|b,b\nc,c\n", encoding="utf-8")
    line = ("score", "several.csv", "-m", "f1", "--separator", "|", "--spreadsheet", "--out", "several-scored.csv")
    assert assay(*line).code == assay(*line).code == 0
