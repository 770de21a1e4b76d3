"""One table in every format that people have gives the same pairs; what is not plain is said, faults have a remedy."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import assay
from assay.datasets import load_dataset
from assay.datasets.content import check_content
from assay.exceptions import InputError

ROWS = [
    {"reference": "Straße; Ñandú, Çelik", "candidate": 'say "so"', "label": 2},
    {"reference": "007", "candidate": "NA", "label": 0},
    {"reference": "two\nlines", "candidate": "naïve – ß", "label": 1},
]


def delimited(delimiter: str = ",", rows: list[dict[str, Any]] = ROWS) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), delimiter=delimiter, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def zipped(**files: str) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name.replace("_", "."), text)
    return content.getvalue()


def workbook(*sheets: list[list[Any]]) -> bytes:
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed (the extra excel)")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for index, rows in enumerate(sheets):
        sheet = book.create_sheet(f"sheet {index}")
        for row in rows:
            sheet.append(row)
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


def zstd(data: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return sink.getvalue().to_pybytes()


CELLS = [list(ROWS[0]), *(list(row.values()) for row in ROWS)]
UTF8 = delimited().encode()
FILES: dict[str, Any] = {
    "a.csv": UTF8,
    "bom.csv": b"\xef\xbb\xbf" + UTF8,
    "a.tsv": delimited("\t").encode(),
    "semicolons.csv": delimited(";").encode(),
    "tabs.csv": delimited("\t").encode(),
    "commas.tsv": UTF8,
    "a.txt": delimited("\t").encode(),
    "bars.txt": delimited("|").encode(),
    "latin.csv": delimited().replace("–", "-").encode("latin-1"),
    "windows.csv": delimited().encode("cp1252"),
    "wide.csv": delimited().encode("utf-16"),
    "big.txt": delimited("\t").encode("utf-16-be"),
    "a.jsonl": "\n".join(map(json.dumps, ROWS)).encode(),
    "lines.json": "\n".join(map(json.dumps, ROWS)).encode(),
    "list.json": json.dumps(ROWS, indent=1).encode(),
    "named.json": json.dumps({"version": 1, "data": ROWS}).encode(),
    "columns.json": json.dumps({name: [row[name] for row in ROWS] for name in ROWS[0]}).encode(),
    # as pandas writes it, with orient columns, split and table, and as the server of Hugging Face's datasets sends it
    "pandas.json": json.dumps({name: {str(n): row[name] for n, row in enumerate(ROWS)} for name in ROWS[0]}).encode(),
    "split.json": json.dumps({"columns": CELLS[0], "index": [3, 4, 5], "data": CELLS[1:]}).encode(),
    "table.json": json.dumps({"schema": {"fields": [{"name": "index"}]}, "data": ROWS}).encode(),
    "server.json": json.dumps({"features": [{"name": "label"}], "rows": [{"row": row} for row in ROWS]}).encode(),
    "a.csv.gz": gzip.compress(UTF8, mtime=0),
    "a.tsv.bz2": bz2.compress(delimited("\t").encode()),
    "list.json.xz": lzma.compress(json.dumps(ROWS).encode()),
    "a.jsonl.zst": zstd("\n".join(map(json.dumps, ROWS)).encode()),
    "one.zip": zipped(a_csv=delimited()),
    "windows.csv.gz": gzip.compress(delimited().encode("cp1252"), mtime=0),
    "a.xlsx": lambda: workbook(CELLS),
    "blank-rows.xlsx": lambda: workbook([[], [], *CELLS, []], []),
}


@pytest.mark.parametrize("name", FILES)
def test_the_same_pairs_from_every_format(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    content = FILES[name]
    path.write_bytes(content() if callable(content) else content)
    pairs = load_dataset(path)
    references, candidates, _ = pairs.texts()
    expected = [row["candidate"] for row in ROWS]
    if name == "latin.csv":
        expected[2] = "naïve - ß"
    assert references == [row["reference"] for row in ROWS] and candidates == expected
    assert pairs.labels.tolist() == [2, 0, 1]
    assert pairs.source == str(path)


def test_columns_of_pandas_are_joined_by_the_numbers_of_their_rows(tmp_path: Path) -> None:
    columns = {name: {str(number): row[name] for number, row in enumerate(ROWS)} for name in ROWS[0]}
    columns["candidate"] = dict(reversed(columns["candidate"].items()))
    (tmp_path / "a.json").write_text(json.dumps(columns), encoding="utf-8")
    assert load_dataset(tmp_path / "a.json").texts()[1] == [row["candidate"] for row in ROWS]


def test_a_page_of_a_server_is_part_of_a_dataset_and_holds_whole_texts(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"row": row, "truncated_cells": []} for row in ROWS]
    page = {"features": [{"name": "label"}], "rows": rows, "num_rows_total": 5000}
    path = tmp_path / "page.json"
    path.write_text(json.dumps(page), encoding="utf-8")
    assert load_dataset(path).notes == ("3 of the 5,000 rows of the dataset",)
    rows[1]["truncated_cells"] = ["reference"]
    path.write_text(json.dumps(page), encoding="utf-8")
    with pytest.raises(InputError, match=r"page\.json, entry 2: the server has shortened reference; load the dataset"):
        load_dataset(path)


@pytest.mark.parametrize(
    ("name", "note"),
    [
        ("semicolons.csv", "cells are separated by semicolons"),
        ("bars.txt", "cells are separated by vertical bars"),
        ("windows.csv", "read as cp1252, since it is not UTF-8; --encoding NAME for another encoding"),
        ("windows.csv.gz", "read as cp1252"),
        ("wide.csv", "read as utf-16"),
    ],
)
def test_what_was_found_is_said(tmp_path: Path, name: str, note: str) -> None:
    (tmp_path / name).write_bytes(FILES[name])
    assert any(each.startswith(note) for each in load_dataset(tmp_path / name).notes)


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Blåbærsyltetøy,blåbær", "cp1252"),
        ("Smörgås på Öland,räksmörgås", "cp1252"),
        ("São Paulo é a maior,São Paulo não", "cp1252"),
        ("Il a été né à Paris où il est resté,été", "cp1252"),
        ("Jörg,Joerg", "cp1252"),
        ("Gdzie leży Łódź,w środku Polski", "cp1250"),
        ("Где Москва,В России на реке", "cp1251"),
        ("東京はどこですか,日本です", "cp932"),
    ],
)
def test_an_encoding_that_windows_writes_is_found(tmp_path: Path, text: str, encoding: str) -> None:
    path = tmp_path / "d.csv"
    rows = "".join(f"{text},{label}\n" for label in range(40))
    path.write_bytes(f"reference,candidate,label\n{rows}".encode(encoding))
    references, candidates = load_dataset(path).texts()[:2]
    assert [references[0], candidates[0]] == text.split(",")


def test_the_encoding_that_is_named(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_bytes("reference,candidate,label\nпривет,мир,1\nдом,дом,2\n".encode("koi8-r"))
    pairs = load_dataset(path, encoding="koi8-r")
    assert pairs.texts()[0] == ["привет", "дом"] and not pairs.notes and pairs.reading["encoding"] == "koi8-r"
    with pytest.raises(InputError, match="is no encoding"):
        load_dataset(path, encoding="koi9")
    with pytest.raises(InputError, match=r"d\.csv: is not ascii|d\.csv: is not utf-16|say what it is"):
        load_dataset(path, encoding="utf-16")


def test_rows_that_lack_their_last_cells(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("reference,candidate,label,Approve,Reject\na,b,1\nc,d,2,x\ne,f,3,x,y\n", encoding="utf-8")
    pairs = load_dataset(path)
    assert pairs.labels.tolist() == [1, 2, 3] and pairs.column("Approve").to_pylist() == [None, "x", "x"]
    assert pairs.notes == ("2 rows have fewer cells than the header (row 2, 3); the last ones are empty",)
    path.write_text("reference,candidate,label\na,b,1\nc\nd,e,2\n", encoding="utf-8")
    with pytest.raises(InputError, match="row 3: has 1 cells; the header has 3"):
        load_dataset(path)
    path.write_text("reference,candidate,label\na,b,1\nc,d\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"1 of 2 rows have no label \(row 3\)"):
        load_dataset(path)


@pytest.mark.parametrize("delimiter", [";", ",", "\t", "|", "^"])
@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.txt"])
@pytest.mark.parametrize("start", ["sep={}\n", '"sep={}"\r\n', "\ufeffSEP={}\r\n"])
def test_a_first_line_that_names_the_delimiter(tmp_path: Path, name: str, delimiter: str, start: str) -> None:
    """Spreadsheet programs read it so; it is neither header nor pair, and counts as a row of the file."""
    path = tmp_path / name
    first_line = start.format(delimiter)
    path.write_text(first_line + delimited(delimiter), encoding="utf-8", newline="")
    pairs = load_dataset(path)
    assert pairs.texts()[:2] == ([row["reference"] for row in ROWS], [row["candidate"] for row in ROWS])
    bodies = [delimiter.join(("a", "b", "1")), delimiter.join(("c", "d", "0"))]
    path.write_text(first_line + "\n".join(bodies), encoding="utf-8", newline="")
    assert load_dataset(path, columns="reference=1,candidate=2,label=3").texts()[0] == ["a", "c"]
    short = delimiter.join(("reference", "candidate", "label")) + "\na\n"
    path.write_text(first_line + short, encoding="utf-8", newline="")
    with pytest.raises(InputError, match="row 3: has 1 cells"):
        load_dataset(path)


def test_row_names_of_r(tmp_path: Path) -> None:
    path = tmp_path / "d.txt"
    path.write_text('"reference"\t"candidate"\t"label"\n"1"\t"a"\t"b"\t1\n"2"\t"c"\t"d"\t2\n', encoding="utf-8")
    pairs = load_dataset(path)
    assert pairs.texts()[0] == ["a", "c"] and pairs.column("row").to_pylist() == ["1", "2"]
    assert pairs.notes == ("the first cell of each row, which has no column name, is called row",)
    path.write_text("reference\tcandidate\tlabel\n1\ta\tb\t1\nc\td\t2\n", encoding="utf-8")
    with pytest.raises(InputError, match="row 2: has 4 cells; the header has 3"):
        load_dataset(path)


def test_delimiters_behind_the_last_cells(tmp_path: Path) -> None:
    """The rows look as those of R do, and their first cells are no names."""
    path = tmp_path / "d.csv"
    path.write_text("reference,candidate,label,votes\na,b,1,3,\nc,d,0,2,\n", encoding="utf-8")
    pairs = load_dataset(path)
    assert pairs.texts()[:2] == (["a", "c"], ["b", "d"]) and pairs.labels.tolist() == [1, 0]
    assert pairs.notes == ("each row ends with a delimiter, behind which there is no value",)
    path.write_text("reference,candidate,label,remark\n1,a,b,1,\n2,c,d,0,\n", encoding="utf-8")
    assert load_dataset(path).texts()[:2] == (["a", "c"], ["b", "d"])
    path.write_text("reference,candidate,label\n'a, x',b,1\n'c, y',d,0\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"row 2: has 4 cells; the header has 3 .* needs quotes around it"):
        load_dataset(path)


NESTED = [
    {"id": 1, "ref": {"answers": ["Paris", "City of Light"]}, "out": [{"text": "paris"}], "human": {"scores": [1, 2]}},
    {"id": 2, "ref": {"answers": ["Rome"]}, "out": [{"text": "Milan"}], "human": {"scores": [0, None]}},
]
PATHS = "reference=ref.answers,candidate=out.0.text,label=human.scores"


@pytest.mark.parametrize("name", ["n.json", "n.jsonl", "n.parquet", "memory"])
def test_paths_into_nested_records(tmp_path: Path, name: str) -> None:
    path: Any = tmp_path / name
    if name == "n.json":
        path.write_text(json.dumps({"rows": NESTED}), encoding="utf-8")
    elif name == "n.jsonl":
        path.write_text("\n".join(map(json.dumps, NESTED)), encoding="utf-8")
    elif name == "n.parquet":
        pq.write_table(pa.Table.from_pylist(NESTED), path)
    else:
        path = NESTED
    pairs = load_dataset(path, columns=PATHS)
    assert pairs.texts()[:2] == ([["Paris", "City of Light"], ["Rome"]], ["paris", "Milan"])
    assert pairs.labels.tolist() == [1.5, 0]
    assert pairs.table.column("annotations").to_pylist() == [[1, 2], [0, None]]
    with pytest.raises(InputError, match=r"no row has a value at ref\.answer; there is ref\.answers"):
        load_dataset(path, columns=PATHS.replace("ref.answers", "ref.answer"))


@pytest.mark.parametrize(
    ("name", "content", "options", "words"),
    [
        ("two.zip", zipped(a_csv="x", b_csv="y"), {}, ["has 2 files (a.csv, b.csv)", '`member="a.csv"`']),
        ("two.zip", zipped(a_csv="x", b_csv="y"), {"member": "c.csv"}, ["has no file 'c.csv'"]),
        ("none.zip", zipped(), {}, ["has no file"]),
        ("damaged.zip", b"PK nonsense", {}, ["damaged.zip: cannot be unpacked"]),
        ("damaged.csv.gz", b"nonsense", {}, ["damaged.csv.gz: cannot be unpacked"]),
        ("empty.csv.bz2", bz2.compress(UTF8) + bz2.compress(b"") + bz2.compress(UTF8), {}, ["cannot be unpacked"]),
        ("cut.csv.gz", gzip.compress(UTF8 * 100, mtime=0)[:-40], {}, ["cut.csv.gz: cannot be unpacked"]),
        ("damaged.xlsx", b"nonsense", {}, ["damaged.xlsx: is not a readable workbook"]),
        ("damaged.json", b'[{"reference": ]', {}, ["damaged.json: is not JSON"]),
        ("a.json", b'{"a": 1}', {}, ["expected a list of objects"]),
        ("a.json", b"[1, 2]", {}, ["expected a list of objects"]),
        ("a.json", json.dumps({"a": ROWS, "b": ROWS}).encode(), {}, ["has 2 lists of objects (a, b)", '`member="a"`']),
        ("a.json", json.dumps({"a": ROWS}).encode(), {"member": "c"}, ["has no list of objects 'c'; it has a"]),
        (
            "inner.csv.gz",
            gzip.compress(b"reference,candidate\na,b\n", mtime=0),
            {},
            ["inner.csv.gz: has no column label"],
        ),
        ("a.txt", b"reference candidate label\na b 1\n", {}, ["a.txt: has no column reference"]),
        ("a.csv", UTF8, {"member": "c"}, ["a.csv: has no members", "member"]),
        ("a.csv.gz", gzip.compress(UTF8, mtime=0), {"member": "a.csv"}, ["a.csv.gz: has no members"]),
        ("a.csv", "reference,candidate,label\nça,b,1\n".encode("cp1252"), {"member": "c"}, ["a.csv: has no members"]),
        ("a.jsonl", json.dumps(ROWS[0]).encode(), {"member": "c"}, ["a.jsonl: has no members"]),
        ("a.json", json.dumps(ROWS).encode(), {"member": "c"}, ["a.json: has no members"]),
        ("a.json", "\n".join(map(json.dumps, ROWS)).encode(), {"member": "c"}, ["a.json: has no members"]),
        (
            "a.json",
            json.dumps({"columns": ["reference"], "data": [["a"]]}).encode(),
            {"member": "data"},
            ["no members"],
        ),
        ("a.docx", b"x", {}, ["expected a file that ends in", ".zst"]),
    ],
)
def test_faults_name_file_and_remedy(
    tmp_path: Path, name: str, content: bytes, options: dict[str, Any], words: list[str]
) -> None:
    from assay.datasets.files import read_table_file

    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_table_file(path) if name == "a.docx" else load_dataset(path, **options)
    assert "/assay-" not in str(caught.value), "no temporary file is named"
    for word in words:
        assert word in str(caught.value)


PAGE = b"<!DOCTYPE html>\n<html><title>Sign in</title>\n<p>Please sign in, then go on</p></html>\n"
JSON, LINES = json.dumps(ROWS).encode(), "\n".join(map(json.dumps, ROWS)).encode()


def parquet_file() -> bytes:
    content = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(ROWS), content)
    return content.getvalue()


@pytest.mark.parametrize("end", ["csv", "tab", "txt", "jsonl", "json", "xlsx", "parquet", "eval", "csv.gz", "zip"])
@pytest.mark.parametrize(
    ("content", "words", "right"),
    [
        (UTF8, "is delimited text; name the file .csv", ("csv", "tab", "txt")),
        (JSON, "is JSON; name the file .json", ("json",)),
        (json.dumps({"rows": ROWS}, indent=1).encode(), "is JSON; name the file .json", ("json",)),
        (LINES, "is JSON, an object in each line; name the file .jsonl", ("json", "jsonl")),
        (parquet_file(), "is a Parquet file; name the file .parquet", ("parquet",)),
        (zipped(**{"xl/workbook_xml": "x"}), "is a workbook; name the file .xlsx", ("xlsx",)),
        (zipped(a_csv="x"), "is a zip archive; name the file .zip", ("zip", "eval", "xlsx")),
        (zstd(UTF8), "is compressed by Zstandard; name the file ", ("zip",)),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "save it as .xlsx without one, or as CSV", ()),
        (PAGE, "is a page of HTML or XML, such as that of an error or a login; get the file again", ()),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 9\n", "get the file itself", ()),
        (b'<?xml version="1.0"?>\n<Error><Code>AccessDenied</Code></Error>', "is a page of HTML or XML", ()),
    ],
)
def test_files_that_are_not_what_their_name_says(
    tmp_path: Path, end: str, content: bytes, words: str, right: tuple[str, ...]
) -> None:
    path = tmp_path / f"a.{end}"
    path.write_bytes(content)
    if end in right:
        check_content(path)
        return
    with pytest.raises(InputError) as caught:
        load_dataset(path)
    assert str(caught.value).startswith(f"{path}: ") and words in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.tsv", b'{"a": 1}\tb\t1\n{"c": 2}\td\t0\n'),
        ("b.csv", b"PAR1,b,1\nBZh9,d,0\n"),
        ("c.csv", b"[1],b,1\n[2],d,0\n"),
    ],
)
def test_texts_that_begin_like_another_format(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    assert len(load_dataset(tmp_path / name, columns="reference=1,candidate=2,label=3")) == 2


def test_data_without_members(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pd.DataFrame(ROWS).to_parquet(path)
    for data, name in ((path, "a.parquet"), (tmp_path, tmp_path.name), (ROWS, "data in memory")):
        assert len(load_dataset(data)) == len(ROWS)
        with pytest.raises(InputError, match=f"{name}: has no members"):
            load_dataset(data, member="c")


def test_a_member_of_an_archive_that_could_have_members(tmp_path: Path) -> None:
    for name, content in (("a.json", json.dumps({"rows": ROWS}).encode()), ("a.xlsx", workbook(CELLS))):
        with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
            archive.writestr(name, content)
            archive.writestr("b.csv", "")
        assert len(load_dataset(tmp_path / "a.zip", member=name)) == len(ROWS)


@pytest.mark.parametrize("end", ["csv", "jsonl", "csv.gz"])
def test_a_damaged_character_is_told_by_its_line(tmp_path: Path, end: str) -> None:
    """As text that a database cut at a number of bytes: read as cp1252, all other texts would be other characters."""
    rows = [{"reference": "Straße", "candidate": "naïve – ß", "label": row % 2} for row in range(10)]
    text = delimited(rows=rows) if "csv" in end else "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    lines = text.encode().splitlines(keepends=True)
    lines[7] = lines[7].replace("ß".encode(), "ß".encode()[:1], 1)
    content = b"".join(lines)
    path = tmp_path / f"d.{end}"
    path.write_bytes(gzip.compress(content) if end.endswith("gz") else content)
    with pytest.raises(InputError, match=rf"d\.{end}, line 8: holds the byte 0xc3, which is not UTF-8") as caught:
        load_dataset(path)
    assert "/assay-" not in str(caught.value)
    assert len(load_dataset(path, encoding="cp1252")) == len(rows)


@pytest.mark.parametrize("encoding", ["cp1252", "cp1251", "cp932", "gb18030", "euc-kr", "cp874", "koi8-r", "big5"])
def test_other_encodings_are_no_damaged_utf8(tmp_path: Path, encoding: str) -> None:
    words = {
        "cp1252": "Straße naïve Ã© Â£",
        "cp932": "東京は首都です",
        "euc-kr": "서울은 수도이다",
        "cp874": "กรุงเทพเป็นเมืองหลวง",
    }
    words |= dict.fromkeys(("cp1251", "koi8-r"), "Москва столица") | dict.fromkeys(("gb18030", "big5"), "北京是首都")
    path = tmp_path / "d.csv"
    path.write_bytes(f"reference,candidate,label\n{words[encoding]},b,1\nc,{words[encoding]},0\n".encode(encoding))
    assert len(load_dataset(path)) == 2
    assert load_dataset(path, encoding=encoding).texts()[0][0] == words[encoding]


def test_sheets_and_bombs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "two.xlsx"
    path.write_bytes(workbook(CELLS, CELLS[:2]))
    with pytest.raises(InputError, match=r"has 2 sheets \(sheet 0, sheet 1\); say which one"):
        load_dataset(path)
    assert len(load_dataset(path, member="sheet 1")) == 1
    with pytest.raises(InputError, match="has no sheet 'sheet 2'; it has sheet 0, sheet 1"):
        load_dataset(path, member="sheet 2")
    monkeypatch.setattr("assay.datasets.archives.MAX_UNPACKED_BYTES", 1 << 20)
    for name, data in (("b.csv.gz", gzip.compress(b"0" * (1 << 23))), ("b.zip", zipped(a_csv="0" * (1 << 23)))):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(InputError, match="unpacks to more than"):
            load_dataset(tmp_path / name)


def test_decimal_commas(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("reference;candidate;label\na;b;0,5\nc;d;1\ne;f;1,25\n", encoding="utf-8")
    pairs = load_dataset(path)
    assert pairs.labels.tolist() == [0.5, 1, 1.25] and "decimal commas" in " ".join(pairs.notes)
    path.write_text("reference;candidate;label\na;b;0,5\nc;d;1.5\n", encoding="utf-8")
    with pytest.raises(InputError, match="row 2, column label: the label '0,5' is not a number"):
        load_dataset(path)


@pytest.mark.parametrize(
    ("cells", "labels"),
    [("\u22121 1 0", [-1, 1, 0]), ("\u22120,5 1 0,25", [-0.5, 1, 0.25]), ("\uff0d\uff12 1 0", [-2, 1, 0])],
)
def test_minus_signs_of_other_scripts(tmp_path: Path, cells: str, labels: list[float]) -> None:
    path = tmp_path / "d.csv"
    rows = "".join(f"a;b;{cell}\n" for cell in cells.split())
    path.write_text(f"reference;candidate;label\n{rows}", encoding="utf-8")
    assert load_dataset(path).labels.tolist() == labels
    (missing,) = np.flatnonzero(np.array(labels) < 0)
    pairs = load_dataset(path, missing=str(labels[missing]), drop_unlabelled=True)
    assert pairs.labels.tolist() == labels[1:]


def test_a_file_of_another_kind_is_no_suite(tmp_path: Path) -> None:
    path = tmp_path / "d.docx"
    path.write_bytes(b"x")
    with pytest.raises(InputError, match="expected a file that ends in"):
        assay.run(suite=str(path), metrics=["f1"])
    with pytest.raises(InputError, match=r"nofile\.xlsx: there is no such file"):
        assay.run(suite=str(tmp_path / "nofile.xlsx"), metrics=["f1"])


@pytest.mark.parametrize("body", ['"a\tb\t1\nc"\td\t2\n', 'a "b" c\t"d" e\t1\n"f\tg\t2\n', '"a" b\tc\t1\nd\te\t2\n'])
def test_plain_quotes_in_a_file_with_tabs(tmp_path: Path, body: str) -> None:
    path = tmp_path / "d.tsv"
    path.write_text(f"reference\tcandidate\tlabel\n{body}", encoding="utf-8")
    pairs = load_dataset(path)
    assert [list(row) for row in zip(*pairs.texts()[:2], strict=True)] == [
        line.split("\t")[:2] for line in body.splitlines()
    ]
    assert pairs.notes == ("quotes are plain text",)
    path.write_text('reference\tcandidate\tlabel\n"a\nb"\tc\t1\n', encoding="utf-8")
    assert load_dataset(path).texts()[0] == ["a\nb"] and not load_dataset(path).notes


@pytest.mark.parametrize("cell", ["a line\nand another", "one\n\ntwo", "with\ta tab\nand a line"])
def test_a_cell_of_several_lines_in_a_long_file_with_tabs(tmp_path: Path, cell: str) -> None:
    rows = [
        {"reference": f"r{n}", "candidate": f'she said "{n}"' if n % 10 else str(n), "label": n} for n in range(900)
    ]
    rows[500]["candidate"] = cell
    path = tmp_path / "long.tsv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0], delimiter="\t")
        writer.writeheader()
        writer.writerows(rows)
    pairs = load_dataset(path)
    assert pairs.texts()[1] == [row["candidate"] for row in rows] and not pairs.notes
