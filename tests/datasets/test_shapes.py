"""Tables whose rows are not pairs give the numbers of a table of pairs: several labels, systems, preferences, names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import assay
from assay.datasets import load_dataset
from assay.exceptions import InputError

DICE = np.random.default_rng(3)
ITEMS = [
    {
        "id": f"i{item}",
        "question": f"q {item}",
        "gold": f"gold {item} x",
        "answer_a": f"gold {item}",
        "answer_b-2": f"x {item % 3}",
        "judge_a": int(DICE.integers(3)),
        "judge_b-2": int(DICE.integers(3)),
        "topic": item % 2,
    }
    for item in range(20)
]
WIDE = "reference=gold,candidate=answer_{system},label=judge_{system},pair_id=id"


def rows_of_pairs() -> list[dict[str, Any]]:
    return [
        {
            "pair_id": f"{item['id']}-{system}",
            "reference": item["gold"],
            "candidate": item[f"answer_{system}"],
            "label": item[f"judge_{system}"],
            "question": item["question"],
            "system": system,
            "topic": item["topic"],
        }
        for item in ITEMS
        for system in ("a", "b-2")
    ]


def test_the_answers_of_systems_side_by_side() -> None:
    wide, long = load_dataset(ITEMS, columns=WIDE), load_dataset(rows_of_pairs())
    for name in ("pair_id", "reference", "candidate", "label", "question", "system", "topic"):
        assert wide.table.column(name).to_pylist() == long.table.column(name).to_pylist(), name
    assert wide.notes == ("20 rows with the answers of 2 systems (a, b-2) read as 40 pairs",)
    assert "answer_a" not in wide.table.column_names
    results = [assay.run([pairs], ["f1"], resamples=0).agreement["value"].tolist() for pairs in (wide, long)]
    np.testing.assert_equal(*results)


@pytest.mark.parametrize(
    ("columns", "change", "words"),
    [
        (WIDE, {"answer_c": "x"}, ["the system 'c' has no column 'judge_c'"]),
        (WIDE.replace("judge_", "jduge_"), {}, ["no column fits 'jduge_{system}'"]),
        (WIDE, {"system": "x"}, ["has a column 'system' already"]),
        (WIDE.replace("gold", "glod"), {}, ["has no column 'glod'", "Did you mean 'gold'"]),
    ],
)
def test_faults_of_systems_side_by_side(columns: str, change: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        load_dataset([item | change for item in ITEMS], columns=columns)
    for word in words:
        assert word in str(caught.value)


def test_a_run_of_systems_side_by_side_is_verified(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    lines = [",".join(ITEMS[0])] + [",".join(map(str, item.values())) for item in ITEMS]
    path.write_text("\n".join(lines), encoding="utf-8")
    assay.run(path, ["f1"], columns=WIDE, out=tmp_path / "run", resamples=0, page=False)
    assert assay.verify(tmp_path / "run").found.same
    lines[3] = lines[3].replace(f",{ITEMS[2]['judge_a']},", ",x,", 1)
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(InputError, match=r"row 4, column judge_\{system\}: the label 'x'"):
        load_dataset(path, columns=WIDE)


PREFERENCES = [
    {"q": "q1", "ref": "gold", "a": "gold", "b": "lead", "winner": "A"},
    {"q": "q2", "ref": "gold", "a": "lead", "b": "gold", "winner": "b"},
    {"q": "q3", "ref": "gold", "a": "gold", "b": "gold", "winner": "tie"},
    {"q": "q4", "ref": "gold", "a": "gold x", "b": "gold", "winner": "NA"},
]
PREFERRED = "reference=ref,question=q,candidate=a,other=b,preference=winner"


def test_preferences_are_two_rows_of_one_group() -> None:
    pairs = load_dataset(PREFERENCES, columns=PREFERRED, drop_unlabelled=True)
    assert pairs.texts()[1] == ["gold", "lead", "lead", "gold", "gold", "gold"]
    assert pairs.labels.tolist() == [1, 0, 0, 1, 0.5, 0.5]
    assert pairs.table.column("group").to_pylist() == ["0", "0", "1", "1", "2", "2"]
    assert pairs.column("position").to_pylist() == ["first", "second"] * 3
    assert pairs.table.column("pair_id").to_pylist()[:3] == ["0-first", "0-second", "1-first"]
    agreement = assay.run([pairs], ["f1"], resamples=0, statistics=["pair-accuracy"], buckets=["none"]).agreement
    assert agreement["value"].tolist() == [1.0]


@pytest.mark.parametrize(
    ("winners", "options", "labels"),
    [
        (["1", "2", "tie", "1"], {}, [1, 0, 0.5, 1]),
        (["model_a", "model_b", "both", "first"], {}, [1, 0, 0.5, 1]),
        (["better", "worse", "same", "worse"], {"labels": "better=1,worse=0,same=0.5"}, [1, 0, 0.5, 0]),
    ],
)
def test_words_of_preferences(winners: list[str], options: dict[str, Any], labels: list[float]) -> None:
    rows = [row | {"winner": winner} for row, winner in zip(PREFERENCES, winners, strict=True)]
    assert load_dataset(rows, columns=PREFERRED, **options).labels[::2].tolist() == labels


def test_the_remedy_for_an_unknown_preference_keeps_the_known_ones() -> None:
    rows = [row | {"winner": winner} for row, winner in zip(PREFERENCES, ["B", "C", "A", "tie"], strict=True)]
    with pytest.raises(InputError, match=r'`labels="C=NUMBER,B=0,A=1,tie=0.5"`'):
        load_dataset(rows, columns=PREFERRED)
    pairs = load_dataset(rows, columns=PREFERRED, labels="C=0.5,B=0,A=1,tie=0.5")
    assert pairs.labels[::2].tolist() == [0, 0.5, 1, 0.5]


def with_systems(*rows: tuple[str | None, str | None, str]) -> list[dict[str, Any]]:
    """Return preferences with the systems of both answers, and which of them is better."""
    return [
        row | {"model_a": first, "model_b": second, "winner": winner}
        for row, (first, second, winner) in zip(PREFERENCES, rows, strict=False)
    ]


@pytest.mark.parametrize("unknown", ["", None, "n/a"])
def test_a_system_without_a_name_is_never_preferred(unknown: str | None) -> None:
    rows = with_systems(
        ("gpt", "llama", "gpt"), (unknown, "llama", ""), ("gpt", unknown, "n/a"), (unknown, "gpt", "GPT")
    )
    pairs = load_dataset(rows, columns=PREFERRED, drop_unlabelled=True)
    assert pairs.labels.tolist() == [1, 0, 0, 1] and pairs.column("group").to_pylist() == ["0", "0", "3", "3"]


def test_a_system_that_gave_both_answers_is_no_preference() -> None:
    rows = with_systems(("gpt", "llama", "gpt"), ("gpt", "gpt", "tie"), ("gpt", "gpt", ""))
    assert load_dataset(rows, columns=PREFERRED, drop_unlabelled=True).labels.tolist() == [1, 0, 0.5, 0.5]
    message = "row 1, column winner: the preference 'GPT' is the system of both answers, .*; leave the cell empty"
    with pytest.raises(InputError, match=message):
        load_dataset(with_systems(("gpt", "llama", "gpt"), ("gpt", "gpt", "GPT")), columns=PREFERRED)


def test_ties_alone_name_no_system() -> None:
    notes = load_dataset(with_systems(("gpt", "llama", "tie"), ("llama", "gpt", "tie")), columns=PREFERRED).notes
    assert any(note.endswith("of the systems in model_a and model_b") for note in notes)
    notes = load_dataset(with_systems(("gpt", "llama", "tie"), ("llama", "gpt", "gpt")), columns=PREFERRED).notes
    assert any(note.endswith("of the systems in model_a and model_b, which winner names") for note in notes)


@pytest.mark.parametrize(
    ("columns", "change", "words"),
    [
        (PREFERRED, {"winner": "c"}, ["row 0, column winner: the preference 'c' is unknown", '`labels="c=NUMBER"`']),
        (
            PREFERRED.replace(",other=b", ""),
            {},
            ["needs two answers", '`columns="candidate=A,other=B,preference=WINNER"`'],
        ),
        (PREFERRED.replace("winner", "winer"), {}, ["for preference: has no column 'winer'"]),
        (PREFERRED + ",label=q", {}, ["preferences have no label of their own"]),
    ],
)
def test_faults_of_preferences(columns: str, change: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        load_dataset([row | change for row in PREFERENCES], columns=columns)
    for word in words:
        assert word in str(caught.value)


@pytest.fixture
def summaries(tmp_path: Path) -> Path:
    path = tmp_path / "summ.csv"
    lines = ["reference,candidate,coherence,relevance,r1"]
    lines += [f"w{i} x y,w{i % 5} x,{i % 4},{i % 3},{i / 40}" for i in range(40)]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_each_label_is_a_dataset(summaries: Path, tmp_path: Path) -> None:
    both = assay.run(summaries, ["f1"], columns="label=coherence,label=relevance", resamples=0, out=tmp_path / "run")
    assert list(dict.fromkeys(both.agreement["dataset"])) == ["summ#coherence", "summ#relevance"]
    for label in ("coherence", "relevance"):
        one = assay.run(summaries, ["f1"], columns=f"label={label}", resamples=0).agreement
        mine = both.agreement[both.agreement["dataset"] == f"summ#{label}"]
        np.testing.assert_equal(mine["value"].to_numpy(), one["value"].to_numpy())
    assert assay.verify(tmp_path / "run").found.same
    agreed = assay.agree(summaries, columns="label=coherence,label=relevance", resamples=0).agreement
    assert set(agreed["dataset"]) == {"summ#coherence", "summ#relevance"} and set(agreed["metric"]) == {"recorded:r1"}
    with pytest.raises(InputError, match="label is given twice; one label at a time here"):
        load_dataset(summaries, columns="label=coherence,label=relevance")


@pytest.mark.parametrize(
    ("names", "note"),
    [
        (("Gold", "Answer", "Human score"), "columns: reference is Gold, candidate is Answer, label is Human score"),
        (
            ("references", "predictions", "labels"),
            "columns: reference is references, candidate is predictions",
        ),
        (
            ("ground_truth", "response", "correct"),
            "columns: reference is ground_truth, candidate is response",
        ),
        (("reference", "candidate", "rating"), "columns: label is rating"),
    ],
)
def test_usual_names_are_recognised_and_said(names: tuple[str, str, str], note: str) -> None:
    rows = [dict(zip(names, ("a", "b", label), strict=True)) | {"Query": "q"} for label in (0, 1)]
    pairs = load_dataset(rows)
    assert pairs.notes[0].startswith(note) and pairs.notes[0].endswith("question is Query")
    assert pairs.texts() == (["a", "a"], ["b", "b"], ["q", "q"])


def test_two_usual_names_are_not_guessed_between() -> None:
    rows = [{"gold": "a", "answer": "b", "response": "c", "label": 1}]
    with pytest.raises(InputError, match=r"`columns=\"reference=gold,candidate=response\"`|has no column reference"):
        load_dataset(rows)


def test_gold_answers_in_several_columns() -> None:
    rows = [
        {"r1": "a", "r2": "b", "candidate": "x", "label": 1},
        {"r1": "c", "r2": "c", "candidate": "x", "label": 0},
        {"r1": None, "r2": "d", "candidate": "x", "label": 0},
    ]
    pairs = load_dataset(rows, columns="reference=r1+r2")
    assert pairs.texts()[0] == [["a", "b"], ["c"], ["d"]]
    assert load_dataset(rows, columns={"reference": ["r1", "r2"]}).digest == pairs.digest
    with pytest.raises(InputError, match="row 2: has no gold answer in r1, r2"):
        load_dataset([*rows[:2], rows[2] | {"r2": ""}], columns="reference=r1+r2")


@pytest.mark.parametrize(("separator", "second"), [(None, ["b"]), ("|", ["b", "c"]), ("json", ["b|c"])])
def test_a_missing_cell_at_the_top_of_one_of_several_columns(separator: str | None, second: list[str]) -> None:
    answer = "b|c" if separator else "b"
    rows = [
        {"r1": None, "r2": answer, "candidate": "x", "label": 1},
        {"r1": "a", "r2": None, "candidate": "x", "label": 0},
    ]
    pairs = load_dataset(rows, columns="reference=r1+r2", separator=separator)
    assert pairs.texts()[0] == [second, ["a"]]


@pytest.mark.parametrize("end", ["memory", "jsonl", "parquet", "csv", "python.csv"])
@pytest.mark.parametrize("missing", [None, []])
def test_a_cell_without_answers_among_lists_of_one_of_several_columns(tmp_path: Path, end: str, missing: Any) -> None:
    """Whatever the notation, and at the top of the column, too."""
    rows = [
        {"r1": missing, "r2": "b", "candidate": "x", "label": 1},
        {"r1": ["a", "c"], "r2": None, "candidate": "x", "label": 0},
        {"r1": ["a"], "r2": "b", "candidate": "x", "label": 0},
    ]
    path: Any = tmp_path / f"d.{end}"
    if end == "memory":
        path = rows
    elif end == "jsonl":
        path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    elif end == "parquet":
        pd.DataFrame(rows).to_parquet(path)
    else:
        dump = json.dumps if end == "csv" else str
        cells = [row | {"r1": None if row["r1"] is None else dump(row["r1"])} for row in rows]
        pd.DataFrame(cells).to_csv(path, index=False)
    for separator in (None, "json"):
        pairs = load_dataset(path, columns="reference=r1+r2", separator=separator)
        assert pairs.texts()[0] == [["b"], ["a", "c"], ["a", "b"]]
    rows[0]["r2"] = None
    if end == "memory":
        with pytest.raises(InputError, match="row 0: has no gold answer in r1, r2"):
            load_dataset(rows, columns="reference=r1+r2")


@pytest.mark.parametrize("paths", ["m.a+m.b", "m.a + m.b", ["m.a", "m.b"]])
def test_gold_answers_and_labels_at_several_paths(tmp_path: Path, paths: Any) -> None:
    rows = [
        {"m": {"a": ["x", "y"], "b": None, "c+d": "k"}, "who": {"one": 1, "two": 0}, "candidate": "x", "s": 1},
        {"m": {"a": None, "b": "z", "c+d": "l"}, "who": {"one": 0}, "candidate": "z", "s": 0},
    ]
    path = tmp_path / "d.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    pairs = load_dataset(path, columns={"reference": paths, "label": ["who.one+who.two"]})
    assert pairs.texts()[0] == [["x", "y"], ["z"]]
    assert pairs.table.column("annotations").to_pylist() == [[1, 0], [0, None]]
    assert load_dataset(path, columns="reference=candidate+m.b,label=s").texts()[0] == [["x"], ["z"]]
    # a key of its own
    assert load_dataset(path, columns="reference=m.c+d,label=s").texts()[0] == ["k", "l"]


def test_the_separator_is_that_of_the_columns_without_lists() -> None:
    rows = [
        {"r1": ["a|b"], "r2": "c|d", "candidate": "x", "label": 1},
        {"r1": ["a"], "r2": " ", "candidate": "x", "label": 0},
    ]
    pairs = load_dataset(rows, columns="reference=r1+r2", separator="|")
    assert pairs.texts()[0] == [["a|b", "c", "d"], ["a"]]
    with pytest.raises(InputError, match="column r1: holds lists of gold answers already"):
        load_dataset(rows, columns="reference=r1", separator="|")


def test_what_looks_like_several_answers_in_one_of_several_columns_is_said() -> None:
    rows = [{"r1": "a", "r2": cell, "candidate": "x", "label": 1} for cell in ("b|c", "d|e", None, "f|g")]
    (hint,) = load_dataset([*rows[:3], rows[3] | {"label": 0}], columns="reference=r1+r2").hints[:1]
    assert hint.startswith("3 of 3 references hold '|', read as one answer each")


def test_a_path_into_objects_that_python_printed(tmp_path: Path) -> None:
    answers = [{"value": "it's", "aliases": ["a", "b"], "score": -0.5, "none": None}, {"aliases": ("c",)}]
    path = tmp_path / "d.jsonl"
    rows = [{"answer": str(answer), "candidate": "x", "label": label} for label, answer in enumerate(answers)]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert load_dataset(path, columns="reference=answer.aliases").texts()[0] == [["a", "b"], ["c"]]
    path.write_text(path.read_text(encoding="utf-8").replace("None", "nan"), encoding="utf-8")
    assert load_dataset(path, columns="reference=answer.aliases").texts()[0] == [["a", "b"], ["c"]]


@pytest.mark.parametrize(
    ("cell", "candidate", "is_told"),
    [
        ('{"value": "a", "aliases": ["a", "b"]}', "a", True),
        ("{'value': 'a', 'aliases': ['a', 'b']}", "a", True),
        ('[{"text": "a"}, {"text": "b"}]', "a", True),
        ("['a', nan]", "a", True),
        ('{"value": "a", "aliases": ["a", "b"]}', '{"value": "a"}', False),
        ("[1, 2]", "a", False),
        ("{x}, [y]", "a", False),
    ],
)
def test_answers_within_objects_are_told_with_no_separator(cell: str, candidate: str, is_told: bool) -> None:
    rows = [{"reference": cell, "candidate": candidate, "label": label} for label in (0, 1, 1, 0)]
    told = " ".join(load_dataset(rows).hints)
    assert ("4 references are objects, or lists of other things than texts" in told) is is_told
    assert ("--columns reference=COLUMN.KEY" in told) is is_told
    assert not is_told or "--separator" not in told


def test_a_row_for_each_candidate_of_a_record(tmp_path: Path) -> None:
    record = {"gold": ["a", "b"], "judged": [{"text": "a", "grade": 3}, {"text": "c", "grade": 0}]}
    path = tmp_path / "d.json"
    path.write_text(json.dumps({"one": record, "two": record | {"judged": record["judged"][:1]}}), encoding="utf-8")
    columns = "reference=gold,candidate=judged.text,label=judged.grade"
    pairs = load_dataset(path, columns=columns)
    assert pairs.texts()[:2] == ([["a", "b"]] * 3, ["a", "c", "a"]) and pairs.labels.tolist() == [3, 0, 3]
    assert pairs.table.column("pair_id").to_pylist() == ["1-1", "1-2", "2-1"]
    assert pairs.column("key").to_pylist() == ["one", "one", "two"]
    path.write_text(json.dumps([record | {"judged": [{"text": "a"}, {"text": "b", "grade": 1}]}]), encoding="utf-8")
    with pytest.raises(InputError, match=r"entry 1: has 2 candidates and 1 values at judged\.grade"):
        load_dataset(path, columns=columns)


def test_a_record_without_candidates_is_said() -> None:
    rows = [
        {"gold": "a", "judged": [{"text": "a", "grade": 1}, {"text": "b", "grade": 0}]},
        {"gold": "c", "judged": []},
    ]
    pairs = load_dataset(rows, columns="reference=gold,candidate=judged.text,label=judged.grade")
    assert len(pairs) == 2 and pairs.notes[0] == "1 of 2 records have no judged.text and give no pair (row 1)"


def test_answers_of_a_preference_may_be_numbers() -> None:
    rows = [{"ref": "4", "a": 4, "b": 5, "winner": "a"}, {"ref": "7", "a": 6, "b": 7, "winner": "b"}]
    assert load_dataset(rows, columns=PREFERRED.replace("question=q,", "")).texts()[1] == ["4", "5", "6", "7"]
