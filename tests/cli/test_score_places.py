"""``assay score``: lines of JSONL stay as they are, and no file is lost by what is written."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path

import pytest

TYPES = (
    '{"reference":"x b","candidate":"x c","n":1.0,"big":12345678901234567890123,"f":0.1000,"lst":[1,{"x":"é"}],'
    '"s":"\\u00e9"}'
)
SHORT = '{ "candidate": 7, "reference": ["7", "b"], "extra": -0.0 }'


@pytest.fixture(autouse=True)
def file(workplace: Path) -> None:
    Path("pairs.jsonl").write_bytes(b"\xef\xbb\xbf" + f"{TYPES}\r\n\n{SHORT}  \n".encode())
    Path("pairs.csv").write_text("reference,candidate,label\na,a,1\nb,c,0\n", encoding="utf-8")


def test_jsonl_to_jsonl_adds_keys_and_changes_nothing(assay):
    done = assay("score", "pairs.jsonl", "-m", "em", "-m", "f1", "-o", "out.jsonl")
    assert done.code == 0, done.err
    lines = Path("out.jsonl").read_text(encoding="utf-8").splitlines()
    assert lines == [f'{TYPES[:-1]}, "em": 0.0, "f1": 0.5}}', f'{SHORT[:-2]}, "em": 1.0, "f1": 1.0}}']
    assert assay("score", "pairs.jsonl", "-m", "em", "--limit", 1, "-o", "one.jsonl").code == 0
    assert len(Path("one.jsonl").read_text(encoding="utf-8").splitlines()) == 1


def test_a_file_that_changes_meanwhile_is_told(assay, monkeypatch):
    from assay.api import score

    changed = iter(["another digest"])
    monkeypatch.setattr(score, "sha256_of", lambda _: next(changed))
    complaint = assay("score", "pairs.jsonl", "-m", "em", "-o", "out.jsonl").complaint
    assert "pairs.jsonl: was changed while it was scored" in complaint
    assert not Path("out.jsonl").exists()


@pytest.mark.parametrize(("ending", "delimiter"), [("csv", ","), ("tsv", "\t")])
def test_a_bare_carriage_return_tears_no_row(assay, ending, delimiter):
    Path("cr.jsonl").write_text(
        json.dumps({"reference": "a\rb", "candidate": "a b", "label": 1.0, "note": "x\ry"}) + "\n", encoding="utf-8"
    )
    assert assay("score", "cr.jsonl", "-m", "f1", "-o", f"out.{ending}").code == 0
    with Path(f"out.{ending}").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.reader(stream, delimiter=delimiter, strict=True))
    assert rows == [["reference", "candidate", "label", "note", "f1"], ["a\rb", "a b", "1.0", "x\ry", "1.0"]]
    # and assay reads its own file
    assert assay("agree", f"out.{ending}", "--resamples", 0, "--score", "f1").code == 0


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_scores_of_the_same_pairs_are_replaced(assay, ending):
    place = f"out.{ending}"
    for metrics in (("f1",), ("f1", "em"), ("em",)):
        given = [part for metric in metrics for part in ("-m", metric)]
        done = assay("score", "pairs.csv", *given, "-o", place)
        assert done.code == 0, done.err
    assert assay("score", "pairs.csv", "-m", "em", "--limit", 1, "-o", place).code == 0
    assert assay("score", "pairs.csv", "-m", "em", "-o", place).code == 0


@pytest.mark.parametrize(
    "content",
    [
        "something of mine\n",
        "reference,candidate,label\na,a,1\nb,c,0\n",
        "reference,candidate,label,f1\na,a,1,1\nb,OTHER,0,0\n",
        "reference,candidate,label,f1\na,a,1,1\nb,c,2,0\n",
        "reference,candidate,label,f1,remark\na,a,1,1,x\nb,c,0,0,y\n",
    ],
)
def test_anything_else_is_kept(assay, content):
    Path("mine.csv").write_text(content, encoding="utf-8")
    complaint = assay("score", "pairs.csv", "-m", "f1", "-o", "mine.csv").complaint
    assert "mine.csv: holds something else than scores of these pairs" in complaint
    assert Path("mine.csv").read_text(encoding="utf-8") == content


def test_the_file_that_is_read_is_never_replaced(assay):
    before = Path("pairs.csv").read_bytes()
    os.link("pairs.csv", "hard.csv")
    Path("soft.csv").symlink_to("pairs.csv")
    for name in ("pairs.csv", "hard.csv", "soft.csv", "./pairs.csv"):
        assert "is the file that is read" in assay("score", "pairs.csv", "-m", "f1", "-o", name).complaint
    assert "is the file that is read" in assay("score", "soft.csv", "-m", "f1", "-o", "pairs.csv").complaint
    assert Path("pairs.csv").read_bytes() == before
    assert Path("soft.csv").is_symlink()


def test_places_that_are_none(assay):
    Path("a.csv").symlink_to("b.csv")
    Path("b.csv").symlink_to("a.csv")
    Path("folder.csv").mkdir()
    assert "a.csv: cannot be opened (" in assay("score", "pairs.csv", "-m", "f1", "-o", "a.csv").complaint
    assert "a.csv: cannot be read (" in assay("score", "a.csv", "-m", "f1", "-o", "out.csv").complaint
    assert "folder.csv: is a folder" in assay("score", "pairs.csv", "-m", "f1", "-o", "folder.csv").complaint
    assert "the name of a file is empty" in assay("score", "", "-m", "f1", "-o", "out.csv").complaint
