"""A card names a registered reader: a built-in one or an entry point, and never code."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from assay.datasets import load_dataset
from assay.datasets.card_file import card_from_fields
from assay.datasets.readers.base import ReaderResult, built_in_readers, load_reader, pairs_of
from assay.exceptions import InputError, UnavailableError

MakeCard = Callable[..., dict[str, Any]]


def read_shouted(files: Mapping[str, Path], options: Mapping[str, Any]) -> ReaderResult:
    return ReaderResult(pairs_of({"reference": ["A"], "candidate": ["B"], "label": [1.0]}), ("shouted",))


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [
        EntryPoint("shouted", f"{__name__}:read_shouted", "assay.readers"),
        EntryPoint("broken", "no_such_module:read", "assay.readers"),
    ]
    monkeypatch.setattr("assay.datasets.readers.base.entry_points", lambda group: points)


@pytest.mark.parametrize("name", ["logging.config:fileConfig", f"{__name__}:read_shouted", "os:system", ""])
def test_a_dotted_path_is_no_reader(card_of: MakeCard, tmp_path: Path, name: str) -> None:
    content = card_of(reader=name, sources=[{"kind": "path", "path": str(tmp_path / "{name}")}])
    (tmp_path / "d.csv").write_bytes(b"reference,candidate,label\nNone,007,1\n,x,2\n")
    with pytest.raises(InputError, match="there is no reader") as caught:
        load_dataset(card_from_fields(content, "test"))
    assert "\n" not in str(caught.value)


def test_a_reader_of_an_installed_package(card_of: MakeCard, tmp_path: Path, registered: None) -> None:
    content = card_of(
        reader="shouted",
        splits={"test": {"files": ["d.csv"]}},
        sources=[{"kind": "path", "path": str(tmp_path / "{name}")}],
    )
    (tmp_path / "d.csv").write_bytes(b"reference,candidate,label\nNone,007,1\n,x,2\n")
    pairs = load_dataset(card_from_fields(content, "test"))
    assert pairs.texts()[:2] == (["A"], ["B"]) and "shouted" in pairs.notes
    with pytest.raises(InputError, match="Did you mean 'shouted'"):
        load_reader("shoutet")
    with pytest.raises(UnavailableError, match=r"'broken' \(no_such_module:read\) cannot be loaded"):
        load_reader("broken")


@pytest.mark.parametrize("name", built_in_readers())
def test_every_built_in_reader_is_there(name: str) -> None:
    assert callable(load_reader(name))


@pytest.mark.parametrize(
    ("reader", "options", "words"),
    [
        ("table", {"delimeter": ";"}, "its reader has no option 'delimeter'. Did you mean 'delimiter'"),
        ("table", {"delimiter": ";;"}, "the option delimiter is ';;'; expected one character"),
        ("table", {"delimiter": 7}, "the option delimiter is 7; expected one character"),
        ("table", {"quoted": "no"}, "the option quoted is 'no'; expected true or false"),
        ("table", {"where": {"split": 1}}, "the option where is"),
        ("table", {"where": "split"}, "the option where is"),
        ("table", {"columns": 3}, "the option columns is 3; expected a table of columns"),
        (
            "table",
            {"join": {"file": "x.csv", "by": ["a"], "take": "b"}},
            "the option join.file is 'x.csv'; expected",
        ),
        ("table", {"join": {"file": "d.csv", "by": ["a"]}}, "the option join has no take; expected a name, or a list"),
        ("table", {"join": {"by": {"a": 1}, "take": "b"}}, "the option join.by is"),
        ("table", {"join": []}, r"the option join is \[\]; expected a table with file"),
        ("table", {"beside": {"gold": {"fiel": "d.csv"}}}, "beside has no option 'fiel'. Did you mean .*'file'"),
        ("table", {"beside": [{"file": "d.csv"}]}, r"the option beside is \[.*\]; expected a table .* for each name"),
        ("table", {"rescale": {"columns": ["label"], "from": [5, 0], "to": [0, 1]}}, "the option rescale.from is"),
        ("table", {"file": "x/{item}.csv"}, "the option file is"),
        ("table", {"format": "doc"}, "there is no format 'doc'"),
        ("table", {"keep": ["lable"]}, "has no further column 'lable'"),
        ("table", {"skip": [1]}, "the option skip is"),
        ("table", {"skip": [1, 1]}, "has 2 rows, and skip = .* leaves none"),
        ("table", {"replace": {"label": "1"}}, "the option replace is"),
        ("bamboo-role", {}, "has no option reference"),
        ("bamboo-role", {"reference": "../../etc/passwd", "candidate": "d.csv"}, "the option reference is"),
        ("nq301", {"anything": 1}, "its reader has no option 'anything'"),
        ("nq301", {}, "its reader 'nq301' cannot read it"),
        ("nq-relabelled", {"texts": "d.csv", "labels": "d.csv", "questions": "d.csv"}, "has no column"),
    ],
)
def test_what_a_card_says_of_its_reader_is_checked(
    card_of: MakeCard, tmp_path: Path, reader: str, options: dict[str, Any], words: str
) -> None:
    content = card_of(
        reader=reader,
        splits={"test": {"files": ["d.csv"], "options": options}},
        sources=[{"kind": "path", "path": str(tmp_path / "{name}")}],
    )
    (tmp_path / "d.csv").write_bytes(b"reference,candidate,label\nNone,007,1\n,x,2\n")
    with pytest.raises(InputError, match=words) as caught:
        load_dataset(card_from_fields(content, "test"))
    assert len(str(caught.value).splitlines()) == 1
    assert not reader.startswith("table") or re.match(r"dataset small@1, split test|.*d.csv", str(caught.value))


def test_a_card_says_what_the_command_line_says(card_of: MakeCard, tmp_path: Path) -> None:
    """Annotations of several people in an archive, in another encoding, with words for no label."""
    rows = ["gold;answer;who;grade"]
    rows += [f"Straße {i};{i} straße;{who};{'?' if (i, who) == (1, 'b') else i % 3}" for i in range(4) for who in "ab"]
    with zipfile.ZipFile(tmp_path / "d.zip", "w") as archive:
        archive.writestr("data/grades.csv", "\n".join(rows).encode("latin-1"))
        archive.writestr("README", "no table")
    settings = {
        "columns": "reference=gold,candidate=answer,label=grade",
        "member": "data/grades.csv",
        "encoding": "latin-1",
        "annotator": "who",
        "missing": "?",
    }
    content = card_of(
        reader="table",
        splits={"test": {"files": ["d.zip"], "rows": 4, "options": settings}},
        files=[{"name": "d.zip"}],
        sources=[{"kind": "path", "path": str(tmp_path / "{name}")}],
    )
    pairs, own = load_dataset(card_from_fields(content, "test")), load_dataset(tmp_path / "d.zip", **settings)
    assert pairs.texts()[0] == ["Straße 0", "Straße 1", "Straße 2", "Straße 3"]
    assert pairs.table.column("annotations").to_pylist() == [[0, 0], [1, None], [2, 2], [0, 0]]
    for name in ("reference", "candidate", "label", "annotations"):
        assert pairs.table.column(name).to_pylist() == own.table.column(name).to_pylist()
