"""Files of a card that are damaged or changed, for each kind of file: one line that names the place; exit code 2."""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.cli.calling import call

ROWS = [("p1", "a b", "a", 1), ("p2", "c d", "c d", 2), ("p3", "e", "f", 0)]
NAMES = ("pair_id", "reference", "candidate", "label")
CARD = """
name = "x"
version = "1"
title = "x"
licence = "x"
citation = "x"
reader = "table"
default_split = "a"
scale = {{ low = 0, high = 2, meaning = "x" }}
options = {{ {options} }}
[splits.a]
files = ["{name}"]
rows = 3
[[files]]
name = "{name}"
{digest}
[[sources]]
kind = "path"
path = "{name}"
"""


def text_of(suffix: str, rows: list[tuple[Any, ...]] = ROWS, names: tuple[str, ...] = NAMES) -> str:
    if suffix == "jsonl":
        return "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows)
    delimiter = "," if suffix == "csv" else "\t"
    return "".join(delimiter.join(map(str, row)) + "\n" for row in (names, *rows))


def run(name: str, content: bytes, options: str = "", described: bytes | None = None) -> Any:
    """Return the result of a run of a card whose file has that content; with a digest, that of another content."""
    Path(name).write_bytes(content)
    digest = "" if described is None else f'sha256 = "{hashlib.sha256(described).hexdigest()}"'
    Path("x.toml").write_text(CARD.format(name=name, digest=digest, options=options), encoding="utf-8")
    return call("run", "-d", "x.toml", "-m", "f1", "-q", "--resamples", "0", "--no-page", "--out", "o")


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl"])
@pytest.mark.parametrize("change", ["none", "windows", "bom", "empty text"])
def test_what_is_no_fault(suffix: str, change: str) -> None:
    text = text_of(suffix)
    if change == "windows":
        text = text.replace("\n", "\r\n")
    elif change == "bom":
        text = "\ufeff" + text
    elif change == "empty text":
        text = text_of(suffix, [("p1", "a b", "", 1), *ROWS[1:]])
    done = run(f"a.{suffix}", text.encode())
    assert (done.code, done.err) == (0, "")


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl"])
@pytest.mark.parametrize("fault", ["digest", "column", "row less", "repeated id"])
def test_faults_of_every_kind_of_file(suffix: str, fault: str) -> None:
    good, name = text_of(suffix).encode(), f"a.{suffix}"
    if fault == "digest":
        done, words = run(name, good[:-9], described=good), "is another file than its card describes"
    elif fault == "column":
        names = (*NAMES[:3], "lable")
        done, words = run(name, text_of(suffix, names=names).encode()), "has no column label"
    elif fault == "row less":
        done = run(name, text_of(suffix, ROWS[:2]).encode())
        words = f"split a: 2 pairs were read; its card says 3: get {name} again, or correct rows in x.toml"
    else:
        done, words = run(name, text_of(suffix, [*ROWS[:2], ("p1", "e", "f", 0)]).encode()), "already appears in"
    assert done.code == 2
    (line,) = done.err.splitlines()
    assert words in line and name in line


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.csv", text_of("csv").replace("c d,2", "c d,2,9"), "a.csv, row 3: has 5 cells; the header has 4"),
        ("a.csv", text_of("csv").replace("c d,2", "c d"), "a.csv, column label: 1 of 3 rows have no label (row 3)"),
        (
            "a.jsonl",
            text_of("jsonl").replace('"p2"', "p2"),
            "a.jsonl, line 2: is not JSON (Expecting value, character 13); correct it, or get the file again",
        ),
        ("a.jsonl", text_of("jsonl")[:-9], "a.jsonl, line 3: is not JSON"),
    ],
)
def test_faults_of_a_row(name: str, text: str, words: str) -> None:
    done = run(name, text.encode())
    assert done.code == 2 and words in done.err and len(done.err.splitlines()) == 1


def test_labels_outside_the_scale_are_told() -> None:
    outside = [("p1", "a b", "a", 1), ("p2", "c d", "c d", 3), ("p3", "e", "f", -0.5)]
    done = run("a.csv", text_of("csv", outside).encode())
    told = "x@1 (a): 2 labels are outside its scale of 0 to 2, such as 3 of the pair p2: correct them, or the scale in "
    assert done.code == 0 and f"{told}x.toml" in " ".join(done.out.split())
    assert "outside its scale" not in run("a.csv", text_of("csv").encode()).out


def test_an_archive_without_the_file_or_cut() -> None:
    with zipfile.ZipFile("a.zip", "w") as archive:
        archive.writestr("b.csv", text_of("csv"))
    content = Path("a.zip").read_bytes()
    done = run("a.zip", content, options='member = "a.csv"')
    assert done.code == 2 and "a.zip: has no file 'a.csv'. Did you mean 'b.csv'?" in done.err
    done = run("a.zip", content[:-30], options='member = "b.csv"')
    assert done.code == 2 and "a.zip: cannot be unpacked" in done.err and len(done.err.splitlines()) == 1
    assert done.err.endswith("); get the file again\n")


QUESTION = {"question": "q", "golden_answer": "a/b", "improper": False, "answer_fid": "a", "judge_fid": True}
PENMAN = "(w / want-01 :ARG0 (b / boy))\n\n(w / want-01 :ARG0 (g / girl))\n"
XML = '<set><ref>a b</ref><ans grade="2">a</ans><ans grade="0">c</ans></set>'
FIELDS = 'records = "ans.{place}", fields = { reference = "ref", candidate = ".", label = ".@grade" }'


def run_with(reader: str, name: str, content: bytes | None, options: str = "") -> Any:
    """Return the result of a run of a card with another reader; without content, the file is a folder."""
    if content is None:
        Path(name).mkdir()
    else:
        Path(name).write_bytes(content)
    card = CARD.format(name=name, digest="", options=options).replace('reader = "table"', f'reader = "{reader}"')
    Path("x.toml").write_text(card.replace("rows = 3\n", ""), encoding="utf-8")
    return call("run", "-d", "x.toml", "-m", "f1", "-q", "--resamples", "0", "--no-page", "--out", "o")


def questions(**changes: Any) -> bytes:
    changed = {key: value for key, value in (QUESTION | changes).items() if value != "absent"}
    return json.dumps([QUESTION, changed], ensure_ascii=False).encode()


@pytest.mark.parametrize(
    ("reader", "name", "content", "options", "words"),
    [
        ("evouna", "q.json", questions()[:-30], "", "q.json: is not JSON in UTF-8 (Unterminated string"),
        ("evouna", "q.json", questions().decode().encode("utf-16"), "", "q.json: is not JSON in UTF-8 ('utf-8' codec"),
        ("evouna", "q.json", b"", "", "q.json: is not JSON in UTF-8 (Expecting value"),
        ("evouna", "q.json", b"[]", "", "q.json: has no questions; get the file again"),
        ("evouna", "q.json", questions(golden_answer="absent"), "", "q.json, question 2: has no golden_answer"),
        ("evouna", "q.json", questions(judge_fid=3), "", "q.json, question 2: judge_fid is 3; expected true, false or"),
        ("evouna", "q.json", questions(question=None), "", "q.json, question 2: question is None; expected a text"),
        ("evouna", "q.json", questions(improper="no"), "", "question 2: improper is 'no'; expected true or false"),
        ("evouna", "q.json", questions(answer_fid="absent"), "", "question 2: has no answer_NAME of any system"),
        ("table", "a.xml", XML[:-20].encode(), FIELDS, "a.xml, line 1: is not well-formed XML"),
        (
            "table",
            "a.xml",
            XML.replace("a b", "\xe9").encode("latin-1"),
            FIELDS,
            "a.xml, line 1: is not well-formed XML",
        ),
        ("table", "a.xml", b"", FIELDS, "a.xml, line 1: is not well-formed XML (no element found)"),
        ("table", "a.xml", b"<html><body>404</body></html>", FIELDS, "a.xml: there is no record at"),
        (
            "table",
            "a.xml",
            b'<!DOCTYPE s [<!ENTITY a "xx"><!ENTITY b "&a;&a;&a;">]>' + XML.replace("a b", "&b;").encode(),
            FIELDS,
            "a.xml: has the entity 'a' of its own; write out what it stands for",
        ),
        ("table", "a.xml", XML.replace('"0"', '"good"').encode(), FIELDS, "the label 'good' is not a number"),
    ],
)
def test_faults_under_other_readers(reader: str, name: str, content: bytes, options: str, words: str) -> None:
    done = run_with(reader, name, content, options)
    assert done.code == 2 and words in done.err and len(done.err.splitlines()) == 1, done.err
    assert not Path("o").exists()


@pytest.mark.parametrize(
    ("reader", "name", "content", "options"),
    [("evouna", "q.json", questions(judge_fid=False), ""), ("table", "a.xml", XML.encode(), FIELDS)],
)
def test_what_is_no_fault_under_other_readers(reader: str, name: str, content: bytes, options: str) -> None:
    done = run_with(reader, name, content, options)
    assert (done.code, done.err) == (0, "")


def test_a_folder_in_the_place_of_a_file() -> None:
    done = run_with("table", "a.csv", None)
    assert done.code == 1 and "(local path a.csv: it is a folder)" in done.err


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (PENMAN[:-9].encode(), "b.txt, line 3: not a graph in Penman notation"),
        (f"{PENMAN}\n(a / b)\n".encode(), "a.txt: has 2 graphs for 3 of b.txt; expected the same even number"),
        (b"", "b.txt: has no graph"),
        (PENMAN.replace("girl", "\xe9").encode("latin-1"), "b.txt: cannot be read as a file of graphs ('utf-8' codec"),
    ],
)
def test_faults_of_graphs(content: bytes, words: str) -> None:
    pytest.importorskip("penman")
    Path("a.txt").write_text(PENMAN, encoding="utf-8")
    Path("b.txt").write_bytes(content)
    options = 'reference = "a.txt", candidate = "b.txt"'
    card = CARD.format(name="a.txt", digest="", options=options).replace('reader = "table"', 'reader = "bamboo-role"')
    card = card.replace('files = ["a.txt"]\nrows = 3', 'files = ["a.txt", "b.txt"]')
    card = card.replace("[[sources]]", '[[files]]\nname = "b.txt"\n[[sources]]').replace(
        'path = "a.txt"', 'path = "{name}"'
    )
    Path("x.toml").write_text(card, encoding="utf-8")
    done = call("run", "-d", "x.toml", "-m", "f1", "-q", "--resamples", "0", "--no-page", "--out", "o")
    assert done.code == 2 and words in done.err and len(done.err.splitlines()) == 1, done.err
