"""What the reader of tables reads: XML, nested records, archives, and options of cards that nobody would write."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

from assay.datasets.readers.base import check_options
from assay.datasets.readers.table import read_table
from assay.datasets.templates import Template
from tests.fuzz import making
from tests.fuzz.target import Target, as_file, as_text, damaged, text_for

XML = """<?xml version="1.0" encoding="utf-8"?>
<question id="1"><questionText>Why <b>dark</b>?</questionText><referenceAnswers><referenceAnswer>a gap</referenceAnswer>
<referenceAnswer>no bulb</referenceAnswer></referenceAnswers><studentAnswers>
<studentAnswer accuracy="correct">a &amp; gap</studentAnswer><studentAnswer accuracy="incorrect"/></studentAnswers>
</question>"""
XML_WORDS = ("<", ">", "&x;", "&#0;", "<!DOCTYPE q [<!ENTITY x 'y'>]>", "<studentAnswer>", "]]>", "<![CDATA[")
ANSWERS = {
    "records": "studentAnswers.studentAnswer.{place}",
    "labels": "correct=1,incorrect=0",
    "fields": {
        "candidate": ".",
        "label": ".@accuracy",
        "question": "questionText",
        "reference": "referenceAnswers.referenceAnswer",
    },
}
NESTED = json.dumps([{"gold": ["a"], "x": "a", "y": "b", "grade-x": {"p": 1, "q": 0}, "grade-y": {"p": 1}}])
GRADES = {
    "records": "{item}.grade-{system}.{who}",
    "annotator": "who",
    "add": {"pair_id": "{item}-{system}"},
    "fields": {"candidate": "{item}.{system}", "reference": "{item}.gold", "label": "."},
}
FILES = {
    "raw/1.csv": "reference,candidate,label,id\na,b,1,x\nc,d,0,y\n",
    "raw/2.csv": "reference,candidate,label,id\ne,f,,z\n",
    "gold/1": "0.5\n2\n",
    "gold/2": "3\n",
    "more.csv": "id,question,split\nx,q,train\nz,r,test\n",
}
OPTIONS = {
    "file": "raw/{item}.csv",
    "beside": {"gold": {"file": "gold/{item}", "format": "lines", "same": {"line": "label"}}},
    "join": [{"file": "more.csv", "by": ["id"], "take": ["question", "split"]}],
    "where": {"id": ["x", "z"]},
    "unless": {"item": "2"},
    "rescale": {"columns": ["gold"], "from": [0, 10], "to": [0, 1], "where": {"item": "1"}},
    "parse": {"candidate": "{a}b{c}"},
    "replace": {"label": {"1": "0"}},
    "add": {"group": "{id}-{row}-{index}"},
    "columns": {"label": "gold"},
    "skip": [0, 1],
    "header": ["reference", "candidate", "label", "id"],
    "keep": ["question"],
    "labels": "0=1,1=0",
    "strip": True,
    "drop_unlabelled": True,
    "delimiter": ",",
    "format": "csv",
}
WORDS = ("{item}", "raw/", "gold/1", ".csv", "label", "id", "line", "{", "}", "csv", "lines", "json", "0", "=")


def read_as(options: Mapping[str, Any]) -> Any:
    """Return a function that reads a file with these options of a card."""

    def read(path: Path) -> None:
        table = read_table({path.name: path}, options).table
        assert table.num_rows and None not in table.column("candidate").to_pylist()

    return read


def archives() -> list[bytes]:
    """Return the files of a card in a zip and in a tar archive."""
    box, tape = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(box, "w") as zipped, tarfile.open(fileobj=tape, mode="w:gz") as taped:
        for name, text in FILES.items():
            zipped.writestr(zipfile.ZipInfo(name), text)
            info = tarfile.TarInfo(name)
            info.size = len(text)
            taped.addfile(info, io.BytesIO(text.encode()))
    return [box.getvalue(), tape.getvalue()]


def make_options(random: Random) -> bytes:
    """Return options as JSON: some of those above, each with another value now and then."""

    def other(value: Any) -> Any:
        if random.random() < 0.85:
            if isinstance(value, dict):
                return {(text_for(random, WORDS) if random.random() < 0.05 else k): other(v) for k, v in value.items()}
            return [other(item) for item in value] if isinstance(value, list) else value
        return random.choice([text_for(random, WORDS), 0, -1, True, None, [], {}, ["label"], {"label": "gold"}, [1, 2]])

    chosen = {name: other(value) for name, value in OPTIONS.items() if random.random() < 0.5}
    return json.dumps(chosen).encode()


def read_layout(content: bytes, folder: Path) -> None:
    """Check options as a card's are checked, and read with them."""
    try:
        options = json.loads(content)
    except ValueError:
        return
    if not isinstance(options, dict):
        return
    files = {}
    for name, text in FILES.items():
        files[name] = folder / name.replace("/", "-")
        files[name].write_text(text)
    check_options(read_table, options, files, "dataset x@1, split test")
    table = read_table(files, options).table
    assert table.num_rows == len(set(table.column("pair_id").to_pylist()))


def fill_and_match(text: str) -> None:
    """Fill a template with what it found in a text: the text comes out."""
    template, _, text = text.partition("\0")
    found = Template(template).match(text)
    assert found is None or Template(template).fill(found) == text


def make_template(random: Random) -> bytes:
    words = ("{a}", "{b}", "a", "b", "/", ".", "-")
    return f"{text_for(random, words)}\0{text_for(random, words[2:])}".encode()


TARGETS = {
    "xml": Target(damaged(XML, words=XML_WORDS), as_file("a.xml", read_as(ANSWERS))),
    "records": Target(damaged(NESTED, words=making.TEXTS), as_file("a.json", read_as(GRADES))),
    "members": Target(damaged(*archives()), as_file("a.zip", read_as({"member": "raw/{item}.csv"}))),
    "layout": Target(make_options, read_layout),
    "template": Target(make_template, as_text(fill_and_match)),
}
