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
