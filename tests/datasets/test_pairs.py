"""The pairs table and data in memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import assay
from assay.datasets import Pairs, load_card_splits, load_dataset
from assay.exceptions import InputError

ROWS = [("a", "x", 1), ("b", "y", 2), ("a", "x", 1), ("a", "x", 0), ("", "ü", 1)]


def test_the_digest_sees_content_and_not_chunks() -> None:
    pairs = load_dataset(ROWS)
    table = pairs.table
    cut = pa.concat_tables([table.slice(0, 1), table.slice(1, 3), table.slice(4, 1)])
    assert Pairs(cut, "other").digest == pairs.digest
    assert Pairs(table.slice(1), "x").digest == load_dataset(pairs.to_pandas().iloc[1:]).digest
    assert pairs.take([0, 1, 2, 4, 3]).digest != pairs.digest
    changed = load_dataset([("a", "x", 1), ("b", "y", 2), ("a", "x", 1), ("a", "x", 0), ("", "u", 1)])
    assert changed.digest != pairs.digest


def test_the_digest_of_lists_sees_no_chunks_and_that_of_earlier_versions_is_known() -> None:
    rows = [
        {"reference": ["abc", "de"], "candidate": "x", "label": 1},
        {"reference": ["d"], "candidate": "y", "label": 0},
    ]
    pairs = load_dataset([{**row, "annotations": [row["label"], 0.5]} for row in [*rows, rows[0]]])
    table = pairs.table
    # as such a table is after the cache, whose columns are cut at the ends of every chunk
    cut = Pairs(pa.concat_tables([table.slice(0, 1), table.slice(1, 0), table.slice(1, 2)]), "other")
    assert cut.table.column("reference").num_chunks > 1 == table.column("reference").num_chunks
    assert cut.digest == pairs.digest and cut.has_digest(pairs.digest)
    # written for these chunks when the lengths of lists and of their items followed each other chunk by chunk
    earlier = "a07d8309f2956b20d827651294c27b40e3c407de663d74b073508c6f8601f182"
    assert cut.digest != earlier and cut.has_digest(earlier) and not pairs.has_digest(earlier)


def test_the_digest_sees_where_a_text_ends() -> None:
    one, two = [("ab", "x", 1), ("c", "y", 1)], [("a", "x", 1), ("bc", "y", 1)]
    assert load_dataset(one).digest != load_dataset(two).digest
    lists = [
        [{"reference": r, "candidate": "x", "label": 1} for r in rows]
        for rows in ([["a", "b"], ["c"]], [["a"], ["b", "c"]])
    ]
    assert load_dataset(lists[0]).digest != load_dataset(lists[1]).digest


TEXT = st.text(max_size=3)


@settings(max_examples=80)
@given(
    rows=st.lists(st.tuples(TEXT, TEXT, st.integers(0, 2)), min_size=2, max_size=6),
    cut=st.integers(0, 6),
)
def test_the_digest_of_neighbours_differs(rows: list[tuple[str, str, int]], cut: int) -> None:
    pairs = load_dataset(rows)
    table = pa.concat_tables([pairs.table.slice(0, cut), pairs.table.slice(cut)])
    assert Pairs(table, "x").digest == pairs.digest
    moved = [(a + b, "", n) for a, b, n in rows]  # the same bytes, cut in other places
    if any(b for _, b, _ in rows):
        assert load_dataset(moved).digest != pairs.digest


def test_duplicates_limit_and_take() -> None:
    pairs = load_dataset(ROWS)
    kept, dropped = pairs.drop_duplicates()
    assert dropped == 1 and kept.table.column("pair_id").to_pylist() == ["0", "1", "3", "4"]
    assert kept.notes == ("1 duplicate rows left out",)
    assert kept.drop_duplicates()[1] == 0
    assert len(pairs.limit(2)) == 2 and pairs.limit(None) is pairs and pairs.limit(99) is pairs
    with pytest.raises(InputError):
        pairs.limit(0)
    with pytest.raises(InputError, match="'label'"):
        pairs.column("labl")
    lists = load_dataset([{"reference": ["a", "b"], "candidate": "x", "label": 1}] * 2)
    assert lists.drop_duplicates()[1] == 1 and len(lists.digest) == 64


def test_labels_are_read_only() -> None:
    labels = load_dataset(ROWS).labels
    with pytest.raises(ValueError, match="read-only"):
        labels[0] = 5


def test_every_form_in_memory_gives_the_same_pairs() -> None:
    frame = pd.DataFrame(ROWS, columns=["answer1", "answer2", "label"])
    dicts = [{"reference": a, "candidate": b, "label": n} for a, b, n in ROWS]
    columns = {"reference": "answer1", "candidate": "answer2"}
    digest = load_dataset(ROWS).digest
    before = frame.copy()
    assert load_dataset(frame, columns=columns).digest == digest
    assert frame.equals(before)
    assert load_dataset(dicts).digest == digest
    assert load_dataset(pa.Table.from_pylist(dicts)).digest == digest
    datasets = pytest.importorskip("datasets")
    assert load_dataset(datasets.Dataset.from_list(dicts)).digest == digest
    shuffled = datasets.Dataset.from_list(dicts).select([1, 0])
    assert load_dataset(shuffled).texts()[0] == ["b", "a"], "the chosen rows, not those of the file behind"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([], "no rows"),
        ([("a", "b", 1), ("a",)], "row 1"),
        (["ab", "cd"], "row 0"),
        (7, "int"),
        (pd.DataFrame({"reference": ["a", None], "candidate": ["b", "c"], "label": [1, 2]}), "row 1, column reference"),
        (pd.DataFrame({"reference": [1.0, np.nan], "candidate": ["b", "c"], "label": [1, 2]}), "not text|no text"),
        (pd.DataFrame({"reference": ["a"], "candidate": ["c"], "label": [np.nan]}), "no label"),
        (pd.DataFrame({"reference": ["a"], "candidate": ["c"], "label": [np.inf]}), "row 0.*inf"),
    ],
)
def test_faults_in_memory(data: object, words: str) -> None:
    with pytest.raises(InputError, match=words):
        load_dataset(data)


@pytest.mark.slow
def test_a_dataset_dict_asks_which_split() -> None:
    datasets = pytest.importorskip("datasets")
    rows = [{"reference": "a", "candidate": "b", "label": label} for label in (0, 1)]
    both = datasets.DatasetDict(train=datasets.Dataset.from_list(rows), test=datasets.Dataset.from_list(rows[:1]))
    said = (
        r"^data in memory: holds the splits train \(2 rows\), test \(1 row\); pass one of them, such as data\['train'"
    )
    for wrong in (both, [both], [both["train"], both], dict(both)):
        with pytest.raises(InputError, match=said):
            assay.run(wrong, ["f1"], resamples=0)
    assert len(assay.run(both["train"], ["f1"], resamples=0).outcome.datasets[0].pairs) == 2
    assert len(load_dataset(both, split="test")) == 1
    with pytest.raises(InputError, match=said):
        load_dataset(both, split="dev")
    with pytest.raises(InputError, match="is a streamed dataset; load it without streaming=True"):
        load_dataset(both["train"].to_iterable_dataset())


def test_tables_by_name_are_splits_and_columns_are_not() -> None:
    frame = pd.DataFrame({"reference": ["a", "b"], "candidate": ["c", "d"], "label": [0, 1]})
    with pytest.raises(InputError, match=r"holds the splits one \(2 rows\), two \(2 rows\)"):
        load_dataset({"one": frame, "two": frame})
    assert len(load_dataset(dict(frame.items()))) == 2, "a mapping of columns is a dataset"


def test_splits_of_an_own_file(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("reference,candidate,label,split,question\na,b,1,x,\nc,d,2,y,why\n")
    assert load_dataset(f"{path}:y").texts() == (["c"], ["d"], ["why"])
    assert set(load_card_splits(str(path))) == {"x", "y"}


def test_splits_of_own_data() -> None:
    rows = [{"reference": "a", "candidate": "b", "label": i, "split": s} for i, s in enumerate(["x", "y", "x"])]
    assert load_dataset(rows, split="x").labels.tolist() == [0, 2]
    with pytest.raises(InputError, match="no split 'z'"):
        load_dataset(rows, split="z")
