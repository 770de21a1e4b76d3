"""The reader of tables: what a card can say about files of any layout."""

from __future__ import annotations

import io
import itertools
import json
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.datasets import load_dataset
from assay.datasets.readers.base import check_options
from assay.datasets.readers.records import read_records
from assay.datasets.readers.table import read_table
from assay.datasets.templates import Template, matching_names
from assay.exceptions import InputError

TEXTS = {"1.1": ["a b", "a c"], "1.2": ["x y", "x", "y"], "11.1": ["p"]}
SCORES = {"1.1": ["5", "2.5"], "1.2": ["4", "", "1"], "11.1": ["8"]}


def write(folder: Path, files: dict[str, str]) -> dict[str, Path]:
    paths = {}
    for name, text in files.items():
        paths[name] = folder / name
        paths[name].parent.mkdir(parents=True, exist_ok=True)
        paths[name].write_text(text, encoding="utf-8")
    return paths


def many_files() -> dict[str, str]:
    files = {f"raw/{item}": "".join(f"{item} {text}\n" for text in texts) for item, texts in TEXTS.items()}
    files |= {f"scores/{item}/me": "\n".join(scores) + "\n" for item, scores in SCORES.items()}
    return files | {"gold": "1.1 a b.\n1.2 x y\n11.1 p q\n"}


MANY = {
    "file": "raw/{assignment}.{number}",
    "format": "lines",
    "parse": {"line": "{item} {candidate}"},
    "beside": {"label": {"file": "scores/{assignment}.{number}/me", "format": "lines"}},
    "join": {
        "file": "gold",
        "format": "lines",
        "parse": {"line": "{item} {reference}"},
        "by": ["item"],
        "take": "reference",
    },
    "rescale": {"columns": ["label"], "from": [0, 10], "to": [0, 5], "where": {"assignment": ["11"]}},
    "drop_unlabelled": True,
    "keep": ["item"],
}
WANTED = [
    ("a b.", "a b", 5.0, "1.1"),
    ("a b.", "a c", 2.5, "1.1"),
    ("x y", "x y", 4.0, "1.2"),
    ("x y", "y", 1.0, "1.2"),
    ("p q", "p", 4.0, "11.1"),
]


def rows(table: pa.Table, *names: str) -> list[tuple[Any, ...]]:
    return list(zip(*(table.column(name).to_pylist() for name in names), strict=True))


def test_many_files_with_scores_beside_and_gold_answers_elsewhere(tmp_path: Path) -> None:
    read = read_table(write(tmp_path, many_files()), MANY)
    assert rows(read.table, "reference", "candidate", "label", "item") == WANTED
    assert read.table.column("pair_id").to_pylist() == ["1-1-1", "1-1-2", "1-2-1", "1-2-3", "11-1-1"]
    assert read.table.column_names == ["pair_id", "reference", "candidate", "label", "item"]


@pytest.mark.parametrize("kind", ["zip", "tar", "tgz"])
def test_the_same_files_in_an_archive(tmp_path: Path, kind: str) -> None:
    """With the files that macOS adds, in text that no reader of lines could take."""
    path = tmp_path / f"all.{kind}"
    files = {f"set/{name}": text.encode() for name, text in many_files().items()}
    files |= {f"set/._{name}": b"\xff\x00" for name in ("gold",)}
    files |= {"set/raw/._1.1": b"\xff\x00", "set/.DS_Store": b"\xff", "__MACOSX/set/raw/1.1": b"\xff"}
    if kind == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in files.items():
                archive.writestr(name, content)
    else:
        with tarfile.open(path, "w:gz" if kind == "tgz" else "w") as tape:
            for name, content in files.items():
                info = tarfile.TarInfo(name)
                info.size = len(content)
                tape.addfile(info, io.BytesIO(content))
    in_archive = {
        **{key: value for key, value in MANY.items() if key != "file"},
        "member": "set/raw/{assignment}.{number}",
        "beside": {"label": {"member": "set/scores/{assignment}.{number}/me", "format": "lines"}},
        "join": {key: value for key, value in MANY["join"].items() if key != "file"}
        | {"file": path.name, "member": "set/gold"},
    }
    plain = read_table(write(tmp_path / "plain", many_files()), MANY).table
    assert read_table({path.name: path}, in_archive).table.equals(plain)
    with pytest.raises(InputError, match=rf"all.{kind}: has no file 'set/raw/x'"):
        read_table({path.name: path}, in_archive | {"member": "set/raw/x"})


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("scores/1.2/me", "4\n1\n", "scores/1.2/me: has 2 rows; expected 3, as .*raw/1.2 has"),
        ("scores/1.2/me", "4\nhigh\n1\n", "raw/1.2, line 2, column label: the label 'high' is not a number"),
        ("scores/11.1/me", "ten\n", "raw/11.1, line 1, column label: 'ten' is not a number"),
        ("raw/1.2", "1.2 x y\nx\n1.2 y\n", r"raw/1.2, line 2, column line: 'x' has not the form '\{item\} "),
        ("gold", "1.1 a b.\n11.1 p q\n", "raw/1.2, line 1, column reference: there is no text"),
    ],
)
def test_what_is_wrong_has_its_file_and_line(tmp_path: Path, file: str, text: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        read_table(write(tmp_path, many_files() | {file: text}), MANY)
    assert "\n" not in str(caught.value)


NESTED = [
    {
        "intent": f"task {item}",
        "snippet": [f"gold {item}"],
        "first": f"gold {item}",
        "other.one": "nothing",
        "grade-first": {"ann": 4, "bob": 3},
        "grade-other.one": {"bob": 0, "eve": 1, "ann": item},
        "grade-snippet": {"ann": 4},
    }
    for item in range(3)
]
GRADES = {
    "records": "{item}.grade-{system}.{annotator}",
    "fields": {
        "candidate": "{item}.{system}",
        "reference": "{item}.snippet.0",
        "question": "{item}.intent",
        "label": ".",
    },
    "unless": {"system": "snippet"},
    "add": {"pair_id": "{item}-{system}"},
    "annotator": "annotator",
}


def test_grades_of_annotators_within_records(tmp_path: Path) -> None:
    """Keys with dots, and the gold answer graded as if it were a system."""
    read = read_table(write(tmp_path, {"d.json": json.dumps(NESTED)}), GRADES).table
    assert read.column("pair_id").to_pylist() == [
        f"{item}-{name}" for item in range(3) for name in ("first", "other.one")
    ]
    assert read.column("annotations").to_pylist() == [
        [4, 3, None] if system == "first" else [item, 0, 1] for item in range(3) for system in ("first", "other.one")
    ]
    assert rows(read, "reference", "candidate", "question", "label")[-1] == ("gold 2", "nothing", "task 2", 1)


@pytest.mark.parametrize("gaps", [(), ("item",), ("item", "system")])
def test_of_unless_the_cells_of_one_column_are_enough(tmp_path: Path, gaps: tuple[str, ...]) -> None:
    """Whether they are in columns, in the gaps of a name, or one of both."""
    files: dict[str, str] = {}
    for item, system in itertools.product("123", "abc"):
        cells = {"item": item, "system": system, "reference": "r", "candidate": f"{item}{system}", "label": "1"}
        file = "-".join(["d", *(cells.pop(gap) for gap in gaps)]) + ".csv"
        files[file] = files.get(file, ",".join(cells) + "\n") + ",".join(cells.values()) + "\n"
    options = {"file": "-".join(["d", *(f"{{{gap}}}" for gap in gaps)]) + ".csv"}
    read = read_table(write(tmp_path, files), options | {"unless": {"item": "2", "system": ["a", "b"]}}).table
    assert read.column("candidate").to_pylist() == ["1c", "3c"]
    read = read_table(write(tmp_path, files), options | {"where": {"item": "2", "system": ["a", "b"]}}).table
    assert read.column("candidate").to_pylist() == ["2a", "2b"]


@pytest.mark.parametrize("end", ["csv", "jsonl", "parquet"])
def test_numbers_and_truth_values_are_replaced_as_texts_are(tmp_path: Path, end: str) -> None:
    texts = {"reference": ["a", "b", "c"], "candidate": ["x", "y", "z"]}
    table = pa.table(texts | {"label": [1, 99, None], "subset": [True, False, None]})
    files = {f"d.{end}": tmp_path / f"d.{end}"}
    if end == "parquet":
        pq.write_table(table, files["d.parquet"])
    elif end == "jsonl":
        write(tmp_path, {"d.jsonl": "\n".join(map(json.dumps, table.to_pylist()))})
    else:
        lines = [",".join("" if cell is None else str(cell) for cell in row.values()) for row in table.to_pylist()]
        write(tmp_path, {"d.csv": "\n".join([",".join(table.column_names), *lines])})
    options = {"replace": {"label": {"99": "5"}, "subset": {"True": "old"}}, "unlabelled": True}
    read = read_table(files, options).table
    assert read.column("label").to_pylist() == [1, 5, None]
    assert [cell or None for cell in read.column("subset").to_pylist()] == ["old", "False", None]


def test_lists_are_not_replaced(tmp_path: Path) -> None:
    files = write(tmp_path, {"d.jsonl": json.dumps({"reference": ["a"], "candidate": "b", "label": 1})})
    with pytest.raises(InputError, match=r"d\.jsonl, column reference: holds lists or objects; replace takes text"):
        read_table(files, {"replace": {"reference": {"a": "b"}}})


def test_rows_without_a_key_are_joined_with_none(tmp_path: Path) -> None:
    """Cells that are blank or missing are not the same item, nor is a missing one the word None."""
    files = {
        "d.jsonl": "\n".join(
            json.dumps({"id": key, "reference": "r", "candidate": f"c{row}"})
            for row, key in enumerate(["", None, "?", "x"])
        ),
        "other.jsonl": "\n".join(json.dumps({"id": key, "label": 1}) for key in ("", "!", "None", "X")),
    }
    options = {"file": "d.jsonl", "join": {"file": "other.jsonl", "by": ["id"], "take": "label"}, "unlabelled": True}
    read = read_table(write(tmp_path, files), options).table
    assert read.column("label").to_pylist() == [None, None, None, 1]


XML = """<?xml version="1.0"?>
<question id="Q1"><questionText> Why is <b>it</b> dark?
</questionText>
  <referenceAnswers>{references}</referenceAnswers>
  <studentAnswers>
    <studentAnswer accuracy="correct" id="s1">the bulb &amp; the <i>gap</i></studentAnswer>
    <studentAnswer accuracy="incorrect" id="s2"> no </studentAnswer>
  </studentAnswers>
</question>"""
ONE, TWO = "<referenceAnswer id='a'>a gap</referenceAnswer>", "<referenceAnswer>the bulb</referenceAnswer>"
ANSWERS = {
    "file": "{group}.xml",
    "records": "studentAnswers.studentAnswer.{place}",
    "fields": {
        "candidate": ".",
        "label": ".@accuracy",
        "pair_id": ".@id",
        "question": "questionText",
        "reference": "referenceAnswers.referenceAnswer",
    },
    "labels": "correct=1,incorrect=0",
    "keep": [],
}


def test_answers_in_xml(tmp_path: Path) -> None:
    files = {"one.xml": XML.format(references=ONE), "two.xml": XML.format(references=ONE + TWO).replace('"s', '"t')}
    read = read_table(write(tmp_path, files), ANSWERS).table
    assert rows(read, "pair_id", "candidate", "label", "group") == [
        ("s1", "the bulb & the gap", 1, "one"),
        ("s2", "no", 0, "one"),
        ("t1", "the bulb & the gap", 1, "two"),
        ("t2", "no", 0, "two"),
    ]
    assert read.column("reference").to_pylist() == [["a gap"]] * 2 + [["a gap", "the bulb"]] * 2
    assert set(read.column("question").to_pylist()) == {"Why is it dark?"}
    alone = read_table({"one.xml": tmp_path / "one.xml"}, ANSWERS).table
    assert alone.column("reference").to_pylist() == ["a gap"] * 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (XML.replace("</question>", ""), r"one.xml, line \d+: is not well-formed XML \(no element"),
        ('<!DOCTYPE q [<!ENTITY e "x">]><q>&e;</q>', "one.xml: has the entity 'e' of its own"),
        ('<!DOCTYPE q [<!ENTITY e SYSTEM "file:///etc/passwd">]><q>&e;</q>', "has the entity 'e' of its own"),
        ('<!DOCTYPE q SYSTEM "http://127.0.0.1:1/q.dtd"><q>&e;</q>', "has the entity 'e' of its own"),
        ("<q>" * 101 + "</q>" * 101, "has more than 100 elements within each other"),
        ("<q><a>x</a></q>", "there is no record at 'studentAnswers.studentAnswer.{place}'; there is a"),
        (XML.replace("@accuracy", "").replace("accuracy=", "grade="), "no record has a value of label at '.@accuracy'"),
    ],
)
def test_xml_that_is_refused(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        read_table(write(tmp_path, {"one.xml": text.replace("{references}", ONE)}), ANSWERS)
    assert "\n" not in str(caught.value)


def test_a_list_of_ratings_within_lines(tmp_path: Path) -> None:
    lines = [
        {"id": f"d{n}", "q": {str(k): {"x": {"text": "t", "r": [{"s": n}, {"s": k}]}} for k in range(2)}}
        for n in (1, 2)
    ]
    (tmp_path / "d.jsonl").write_text("\n\n".join(map(json.dumps, lines)))
    fields = {"label": ".r.s", "candidate": ".text", "group": "id"}
    source = read_records(tmp_path / "d.jsonl", "jsonl", "q.{question}.{system}", fields)
    assert source.table.column("label").to_pylist() == ["[1, 0]", "[1, 1]", "[2, 0]", "[2, 1]"]
    assert rows(source.table, "question", "system", "group")[2] == ("0", "x", "d2")
    assert source.location(2).endswith("line 3")
    options = {"records": "q.{question}.{system}", "fields": fields | {"reference": ".text"}}
    read = read_table({"d.jsonl": tmp_path / "d.jsonl"}, options).table
    assert read.column("annotations").to_pylist() == [[1, 0], [1, 1], [2, 0], [2, 1]]
    assert read.column("pair_id").to_pylist() == ["0-x-1", "1-x-1", "0-x-3", "1-x-3"]


@pytest.mark.parametrize(
    ("template", "text", "found"),
    [
        ("raw/{item}", "raw/1.1", {"item": "1.1"}),
        ("{a}.{b}", "1.2.3", {"a": "1", "b": "2.3"}),
        ("{a}{b}", "xy", {"a": "", "b": "xy"}),
        ("{x}/{x}.txt", "ar/ar.txt", {"x": "ar"}),
        ("{x}/{x}.txt", "ar/en.txt", None),
        ("a{x}a", "a", None),
        ("{x}ab", "aabab", {"x": "aab"}),
        ("plain", "plain", {}),
        ("plain", "plainer", None),
    ],
)
def test_templates(template: str, text: str, found: dict[str, str] | None) -> None:
    assert Template(template).match(text) == found
    if found is not None:
        assert Template(template).fill(found) == text


def test_a_gap_in_the_name_of_a_file_is_a_part_of_it() -> None:
    names = ["a/.txt", "a/b.txt", "a/b/c.txt", "a/c.csv"]
    assert matching_names("a/{x}.txt", names) == [("a/b.txt", {"x": "b"})]


def test_row_numbers_of_parts_with_systems_side_by_side(tmp_path: Path) -> None:
    """In messages they are counted within the part, not within the table of pairs."""
    (tmp_path / "parts").mkdir()
    for number, labels in enumerate((["1", "0"], ["1", "bad"])):
        columns = {"reference": ["a", "b"], "x_answer": ["a", "b"], "y_answer": ["c", "d"]}
        columns |= {"x_label": ["1", "0"], "y_label": labels}
        pq.write_table(pa.table(columns), tmp_path / "parts" / f"{number}.parquet")
    with pytest.raises(InputError, match=r"parts/1.parquet, row 2, column \{system\}_label: the label 'bad'"):
        load_dataset(f"{tmp_path}/parts/", columns="candidate={system}_answer,label={system}_label")


def test_rows_left_out_at_both_ends_and_words_replaced(tmp_path: Path) -> None:
    texts = {
        "a.txt": "x\tdummy\td\nold\ta b\ta c\nnew\td\te\nx\tdummy\td\n",
        "b.txt": "9\n1\n0\n9\n",
        "c.txt": "a b\nd\n",
    }
    files = write(tmp_path, texts)
    options = {
        "file": "a.txt",
        "header": ["subset", "reference", "candidate"],
        "skip": [1, 1],
        "replace": {"subset": {"old": "new"}},
        "add": {"pair_id": "{index} of {row}"},
        "beside": {
            "label": {"file": "b.txt", "format": "lines", "skip": [1, 1]},
            "copy": {"file": "c.txt", "format": "lines", "same": {"line": "reference"}},
        },
    }
    read = read_table(files, options).table
    assert rows(read, "pair_id", "subset", "reference", "label") == [
        ("1 of 2", "new", "a b", 1),
        ("2 of 3", "new", "d", 0),
    ]
    assert read.column("copy").to_pylist() == ["a b", "d"]
    (tmp_path / "c.txt").write_text("a b\nf\n")
    with pytest.raises(InputError, match=r"c.txt, line 2: belongs to 'f'; expected 'd'"):
        read_table(files, options)


def test_a_list_in_a_json_file_of_an_archive(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "d.zip", "w") as archive:
        archive.writestr("d.json", json.dumps([{"reference": "a", "candidate": "b", "label": [1, 0]}]))
        archive.writestr("other.json", "[]")
    read = read_table({"d.zip": tmp_path / "d.zip"}, {"member": "d.json"}).table
    assert read.column("annotations").to_pylist() == [[1, 0]] and read.column("label").to_pylist() == [0.5]


@pytest.mark.parametrize(
    "options", [{}, {"format": "lines"}, {"delimiter": ";"}, {"format": "jsonl", "fields": {"a": "a"}}]
)
def test_a_member_of_a_file_without_members(tmp_path: Path, options: dict[str, Any]) -> None:
    files = write(tmp_path, {"d.csv": "reference,candidate,label\na,b,1\n"})
    with pytest.raises(InputError, match=r"d\.csv: has no members"):
        read_table(files, options | {"member": "d"})


def test_the_example_of_the_documentation(shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[2] / "docs" / "extending.md").read_text(encoding="utf-8")
    example = page.partition("## The reader `table`")[2].partition("```toml\n")[2].partition("```")[0]
    split = tomllib.loads(example)["splits"]["train"]
    files = {name: shared_data / "atlas" / "sra-3way" / name for name in split["files"]}
    if not all(path.exists() for path in files.values()):
        pytest.skip("its file is not on this machine")
    check_options(read_table, split["options"], files, "the example")
    read = read_table(files, split["options"]).table
    monkeypatch.setenv("ASSAY_DATA", str(shared_data))
    card = load_dataset("beetle:train", offline=True).table
    for name in ("reference", "candidate", "label", "question", "group"):
        assert read.column(name).to_pylist() == card.column(name).to_pylist()


def test_a_file_that_is_joined_keeps_its_rows_where_the_files_of_rows_fit_it(tmp_path: Path) -> None:
    files = write(
        tmp_path,
        {"a1.csv": "id,reference,candidate,score\n1,a,b,4\n2,c,d,1\n", "a2.csv": "id,reference,candidate\n2,e,f\n"},
    )
    options = {"file": "a{who}.csv", "join": {"file": "a1.csv", "by": ["id"], "take": "score"}}
    options["columns"] = "reference=reference,candidate=candidate,label=score"
    read = read_table(files, options).table
    assert read.column("candidate").to_pylist() == ["b", "d", "f"]
    assert read.column("label").to_pylist() == [4, 1, 1]


def test_a_missing_cell_of_a_joined_column_stays_missing(tmp_path: Path) -> None:
    lines = [{"id": "1", "g": "x"}, {"id": "2", "g": None}]
    files = write(
        tmp_path,
        {"a.csv": "id,reference,candidate,label\n1,a,b,4\n2,c,d,1\n", "b.jsonl": "\n".join(map(json.dumps, lines))},
    )
    read = read_table(files, {"file": "a.csv", "join": {"file": "b.jsonl", "by": ["id"], "take": "g"}})
    assert read.table.column("g").to_pylist() == ["x", None]
    assert read.notes[0].startswith("g of 1 of 2 pairs joined from b.jsonl; 1 pairs without one")


def test_the_texts_of_a_list_fill_a_gap(tmp_path: Path) -> None:
    lines = [{"r": "a b", "c": ["a.", "b."], "s": 4}, {"r": "x", "c": ["x"], "s": 1}]
    files = write(tmp_path, {"d.jsonl": "\n".join(map(json.dumps, lines))})
    options = {"add": {"whole": "{c} ({s})"}, "columns": "reference=r,candidate=whole,label=s"}
    assert read_table(files, options).table.column("candidate").to_pylist() == ["a. b. (4)", "x (1)"]
    files = write(tmp_path, {"d.jsonl": json.dumps({"r": "a b", "c": [["a"], ["b"]], "s": 4})})
    with pytest.raises(
        InputError, match=r"line 1, column c: holds a list of lists; add takes text, numbers and lists of texts"
    ):
        read_table(files, options)
