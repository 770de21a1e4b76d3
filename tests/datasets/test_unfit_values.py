"""Values that no table of pairs can hold: refused with their place, never written as something else."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import assay
from assay.datasets import load_dataset, read_table_file
from assay.exceptions import InputError

# the parser recurses deeply
pytestmark = pytest.mark.usefixtures("nothing_is_finalised")

GOOD = '{"reference": "a", "candidate": "b", "label": 1}\n'


def refused(data: object, **options: object) -> str:
    with pytest.raises(InputError) as caught:
        load_dataset(data, **options)  # type: ignore[arg-type]
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 300
    return message


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"reference": "a", "candidate": "b", "label": 1, "reference": "c"}', "the key 'reference' appears twice"),
        ('{"reference": "a", "candidate": "b", "label": 1, "m": {"x": 1, "x": 2}}', "the key 'x' appears twice"),
        ('{"reference": {"text": "a"}, "candidate": "b", "label": 1}', "column reference: holds an object"),
        ('{"reference": "a", "candidate": [1, 2], "label": 1}', "column candidate: holds a list of other things"),
        (
            '{"reference": [["a", "b"], ["c"]], "candidate": "a", "label": 1}',
            'column reference: holds a list of lists; expected a text or one list of texts, as in ["a", "b"]',
        ),
        ('{"reference": "a", "candidate": 1.50, "label": 1}', "column candidate: holds the number 1.5"),
        ('{"reference": "a", "candidate": "b", "label": 1, "group": {"x": 1}}', "column group: holds an object"),
        ('{"reference": "\\ud800", "candidate": "b", "label": 1}', r"holds \ud800, half of a surrogate pair"),
        ('{"reference": "a", "candidate": "b", "label": 1, "\\uDC00": 1}', r"holds \udc00, half of a surrogate pair"),
        ("[" * 100_000, "nested too deeply"),
        ('{"reference": "a", "candidate": "b", "label": ' + "9" * 5000 + "}", "thousands of digits; write it as text"),
        (
            '{"reference": "a", "candidate": "b", "label": ' + "9" * 400 + "}",
            f"the label '{'9' * 40}…' is not a number",
        ),
    ],
)
def test_lines_of_jsonl(tmp_path: Path, line: str, words: str) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text(GOOD + "\n" + GOOD + line + "\n", encoding="utf-8")
    message = refused(path)
    assert message.startswith(f"{path}, line 4")
    assert words in message


@pytest.mark.slow
def test_the_line_is_right_beyond_a_block_of_rows(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text(GOOD * 20_500 + '{"reference": {}, "candidate": "b", "label": 1}\n', encoding="utf-8")
    assert "line 20501, column reference: holds an object" in refused(path)
    path.write_text(path.read_text(encoding="utf-8").replace('"a"', '["a"]'), encoding="utf-8")
    assert "line 20501, column reference: holds an object" in refused(path)


def test_what_does_stand_for_a_text_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text(
        '{"reference": 7, "candidate": "\\ud83d\\ude00", "label": 1, "extra": {"x": [1]}}\n'
        '{"reference": "seven", "candidate": true, "label": 0}\n',
        encoding="utf-8",
    )
    references, candidates, _ = load_dataset(path).texts()
    assert (references, candidates) == (["7", "seven"], ["😀", "true"])
    assert load_dataset([(np.int64(7), "b", 1), ("a", "b", 1)]).texts()[0] == ["7", "a"]


@pytest.mark.parametrize("cell", ["[" * 100_000, "[" + "1" * 5000 + "]"])
def test_a_cell_that_only_begins_like_a_list_stays_text(tmp_path: Path, cell: str) -> None:
    path = tmp_path / "d.csv"
    path.write_text(f"reference,candidate,label\n{cell},b,1\n", encoding="utf-8")
    assert load_dataset(path).texts()[0] == [cell]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([{"reference": b"a", "candidate": "b", "label": 1}], "row 0, column reference: holds a value of type bytes"),
        ([("a", "b", 1), ("a", b"b", 1)], "row 1, column candidate: holds a value of type bytes"),
        ({"reference": ["a", {"x": 1}], "candidate": ["b", "b"], "label": [1, 2]}, "row 1, column reference: holds"),
        (
            pd.DataFrame({"reference": ["a", {"x": 1}], "candidate": ["b", "b"], "label": [1, 2]}),
            "row 1, column reference: holds an object",
        ),
        ([{"reference": "a\ud800", "candidate": "b", "label": 1}], "half of a surrogate pair"),
        (pd.DataFrame([["a", "b", "c"]], columns=["reference", "candidate", "candidate"]), "two columns are called"),
        (pa.table([["a"], ["b"], ["c"]], names=["reference", "candidate", "candidate"]), "two columns are called"),
        ("a\0b.csv", "no path can be this (holds NUL)"),
        ("", "the name of a dataset is empty"),
    ],
)
def test_data_in_memory(data: object, words: str) -> None:
    assert words in refused(data)


def test_arguments_of_another_kind() -> None:
    rows = [("a", "b", 1)]
    assert "columns: 5" in refused(rows, columns=5)
    assert "language: 5 is not a language code" in refused(rows, language=5)
    assert "takes the column 'x' twice" in refused([{"reference": "a", "candidate": "b", "x": 1}], columns="label=x+x")


def test_a_column_of_parquet_stands_twice(tmp_path: Path) -> None:
    path = tmp_path / "d.parquet"
    pq.write_table(pa.table([["a"], ["b"], ["c"]], names=["reference", "candidate", "candidate"]), path)
    assert refused(path) == f"{path}: the column 'candidate' appears twice; rename one"


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    (tmp_path / "a.csv").symlink_to(tmp_path / "b.csv")
    (tmp_path / "b.csv").symlink_to(tmp_path / "a.csv")
    assert "a.csv: cannot be read (" in refused(tmp_path / "a.csv")
    with pytest.raises(InputError, match="the name of a file is empty"):
        read_table_file("")


def test_other_columns_may_hold_anything(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text(GOOD.replace("}", ', "meta": {"x": [1, null]}}') + GOOD, encoding="utf-8")
    meta = load_dataset(path).column("meta").to_pylist()
    assert [value if value is None else json.loads(value) for value in meta] == [{"x": [1, None]}, None]


def test_columns_of_pandas_whose_rows_are_in_another_order_are_refused() -> None:
    frame = pd.DataFrame({"reference": ["a", "b"], "candidate": ["a", "c"], "label": [1, 0]})
    columns: dict[str, object] = {name: frame[name] for name in frame}
    assert load_dataset(columns).labels.tolist() == [1, 0]
    for other in (frame["candidate"][::-1], frame["candidate"].set_axis([5, 6])):
        with pytest.raises(InputError, match="'reference' and 'candidate' have rows of another index or order"):
            load_dataset(columns | {"candidate": other})
        assert load_dataset(columns | {"candidate": other.to_numpy()}).labels.tolist() == [1, 0]


@pytest.mark.parametrize("is_whole", [True, False])
def test_the_questions_of_squad_are_recognised(tmp_path: Path, is_whole: bool) -> None:
    question = {"id": "1", "question": "who?", "answers": [{"text": "a", "answer_start": 0}], "is_impossible": False}
    articles = [{"title": "t", "paragraphs": [{"context": "a b", "qas": [question]}]}] * 2
    path = tmp_path / "dev.json"
    path.write_text(json.dumps({"version": "v2.0", "data": articles} if is_whole else articles), encoding="utf-8")
    message = refused(path)
    assert message.startswith(f"{path}: is in the form of SQuAD: questions with gold answers, and no answers to judge")
    assert '"candidate"' in message


@pytest.mark.parametrize("settings", [{}, {"sample": 2}])
def test_lists_are_no_groups(settings: dict[str, int], tmp_path: Path) -> None:
    rows = [{"reference": f"a {i}", "candidate": "a", "label": i % 2, "topics": ["x", str(i)]} for i in range(6)]
    said = "group_by=topics: data holds lists there, not names of groups"
    with pytest.raises(InputError, match=said):
        assay.run([rows], ["f1"], group_by="topics", page=False, **settings)
    with pytest.raises(InputError, match=said):
        assay.stress([rows], ["f1"], group_by="topics")


def test_a_text_that_looks_like_a_dictionary_of_lists_stays_a_text() -> None:
    pairs = load_dataset([{"reference": "{[1]: 2}", "candidate": "c", "label": 1}])
    assert pairs.column("reference").to_pylist() == ["{[1]: 2}"]
