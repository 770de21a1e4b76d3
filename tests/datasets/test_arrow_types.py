"""Parquet files with columns of every type of Arrow: read as text and numbers, or refused by the column's name."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import assay
from assay.analysis.data import read_datasets
from assay.analysis.folder import read_run
from assay.api.agree import agree
from assay.datasets import load_dataset
from assay.exceptions import InputError

N = 12
BIG = 2**60
ROWS = {
    "pair_id": [str(i) for i in range(N)],
    "reference": [f"a b{i % 5}" for i in range(N)],
    "candidate": [f"a c{i % 4}" for i in range(N)],
    "label": [i % 3 for i in range(N)],
}
WHOLE = range(1, N + 1)
TEXTS = pa.array(ROWS["reference"])
VIEW_TEXTS = pa.array(ROWS["reference"], pa.string_view())
BROKEN = pa.Array.from_buffers(pa.string(), N, pa.array([b"a"] * (N - 1) + [b"\xff"]).buffers())


@pytest.fixture
def written(tmp_path):
    def write(**columns):
        try:
            pq.write_table(pa.table(ROWS | columns), tmp_path / "own.parquet")
        except pa.ArrowNotImplementedError as error:
            # older versions read views and do not write them
            pytest.skip(f"this pyarrow cannot write the file: {error}")
        return str(tmp_path / "own.parquet")

    return write


@pytest.mark.parametrize(
    "type_",
    [pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.dictionary(pa.int8(), pa.string())],
)
def test_every_encoding_of_text_is_text(written, type_):
    texts = TEXTS.dictionary_encode() if pa.types.is_dictionary(type_) else TEXTS
    # before version 18, nothing is cast to views
    texts = VIEW_TEXTS if type_ == pa.string_view() else texts.cast(type_)
    pairs = load_dataset(written(reference=texts, group=texts))
    assert pairs.column("reference").to_pylist() == pairs.column("group").to_pylist() == ROWS["reference"]


def test_texts_in_lists_are_texts_in_every_encoding(written):
    answers = pa.array([[text, "b"] for text in ROWS["reference"]], pa.list_(pa.string()))
    encoded = answers.cast(pa.list_(pa.dictionary(pa.int8(), pa.string())))
    pairs = load_dataset(written(reference=encoded))
    assert pairs.column("reference").to_pylist() == answers.to_pylist()


@pytest.mark.parametrize(
    "type_", [pa.int8(), pa.uint64(), pa.float16(), pa.float32(), pa.decimal128(22, 2), pa.bool_(), pa.string_view()]
)
def test_every_encoding_of_a_number_is_a_label(written, type_):
    labels = [0, 1] * (N // 2)
    label = pa.array([str(value) for value in labels], type_) if type_ == pa.string_view() else None
    pairs = load_dataset(written(label=pa.array(labels).cast(type_) if label is None else label))
    assert pairs.labels.tolist() == labels


def test_identifiers_beyond_53_bits_stay_what_they_are(written):
    for ids in ([BIG + i for i in range(N)], [2**63 + i for i in range(N)]):
        file = written(pair_id=pa.array(ids, pa.uint64()), number_id=pa.array(ids, pa.uint64()))
        assert load_dataset(file).column("pair_id").to_pylist() == [str(value) for value in ids]
        result = assay.run(file, ["f1"], buckets=["number_id"], resamples=0)
        assert {row.bucket for row in result.outcome.agreement} >= {f"number_id={value}" for value in ids}


@pytest.mark.parametrize("first", [BIG, 2**53 - N + 2])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_column_of_long_identifiers_is_no_score(tmp_path, ending, first):
    # the second ends with 2**53 + 1, the smallest integer that a float cannot hold
    table = {"id": [first + i for i in range(N)], "label": ROWS["label"], "mine": [i / 7 for i in range(N)]}
    file = tmp_path / f"scores.{ending}"
    if ending == "csv":
        lines = [",".join(map(str, row)) for row in zip(*table.values(), strict=True)]
        file.write_text("\n".join(["id,label,mine", *lines]) + "\n", encoding="utf-8")
    else:
        pq.write_table(pa.table(table), file)
    assert {row.metric for row in agree(file, resamples=0).outcome.agreement} == {"recorded:mine"}


@pytest.mark.parametrize("text", [False, True])
def test_a_label_that_a_float_cannot_hold_is_refused(written, text):
    labels = [BIG + i for i in WHOLE]
    with pytest.raises(InputError, match=r"row 1, column label: .* too large .*identifier"):
        load_dataset(written(label=[str(value) for value in labels] if text else labels))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"reference": BROKEN}, r"own\.parquet, column reference: the text in row 12 is not UTF-8"),
        ({"remark": BROKEN}, r"own\.parquet, column remark: the text in row 12 is not UTF-8"),
        ({"group": [["a"]] * N}, r"own\.parquet, column group: holds lists"),
        ({"label": [{"a": 1}] * N}, r"own\.parquet, column label: holds struct<a: int64>; expected text or numbers"),
        ({"question": [[["a"]]] * N}, r"own\.parquet, column question: holds list<.*>; expected text or numbers"),
    ],
)
def test_what_is_neither_text_nor_number_is_refused_by_its_name(written, columns, message):
    with pytest.raises(InputError, match=message):
        load_dataset(written(**columns))


def test_structures_that_nobody_asked_for_do_no_harm(written, tmp_path):
    file = written(answers=[{"start": i} for i in range(N)], question=[i % 2 == 0 for i in range(N)])
    result = assay.run(file, ["f1"], resamples=0, out=tmp_path / "run")
    assert "answers" not in result.outcome.datasets[0].pairs.table.column_names
    assert set(read_datasets(read_run(tmp_path / "run"))[0].table.column("question").to_pylist()) == {"true", "false"}


def test_the_name_of_a_column_that_is_no_utf8_is_refused(written, tmp_path):
    file = Path(written(topic=TEXTS))
    assay.run(str(file), ["f1"], resamples=0, out=tmp_path / "run")
    for damaged in (file, tmp_path / "run/pairs.parquet"):
        content = damaged.read_bytes()
        assert b"topic" in content
        damaged.write_bytes(content.replace(b"topic", b"top\xdac"))
    with pytest.raises(InputError, match=r"own\.parquet: is not a readable .*the name of a column is not UTF-8"):
        load_dataset(str(file))
    with pytest.raises(InputError, match=r"pairs\.parquet: cannot be read \(the name of a column is not UTF-8\)"):
        read_datasets(read_run(tmp_path / "run"))


@pytest.mark.parametrize("cell", ["inf", "-Infinity", "1_0", "many"])
def test_a_recorded_score_that_is_no_number_is_refused_with_its_pair(tmp_path, cell):
    cells = ["0.5", "nan", "", cell, "1"]
    file = tmp_path / "own.csv"
    lines = [f"a b{i},a c,{i % 2},{value}" for i, value in enumerate(cells)]
    file.write_text("\n".join(["reference,candidate,label,mine", *lines]) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=rf"pair 5, column mine: a recorded score must be a number, not '{cell}'"):
        assay.run(file, ["recorded:mine"], resamples=0)


CHANGED = {
    "label": pa.array([str(i) for i in range(N)]),
    "group": pa.array([["a"]] * N),
    "question": pa.array([True] * N),
    "buckets": pa.array([1] * N),
    "candidate": BROKEN,
}


@pytest.mark.parametrize("column", CHANGED)
def test_a_run_folder_with_a_column_of_another_type_is_refused_by_its_name(written, tmp_path, column):
    assay.run(written(group=TEXTS, question=TEXTS), ["f1"], resamples=0, out=tmp_path / "run")
    file = tmp_path / "run/pairs.parquet"
    table = pq.read_table(file)
    pq.write_table(table.set_column(table.column_names.index(column), column, CHANGED[column]), file)
    with pytest.raises(InputError, match=r"pairs\.parquet: (column .* should hold|cannot be read .*UTF8)"):
        read_datasets(read_run(tmp_path / "run"))


@pytest.mark.parametrize("kind", [pa.list_view, pa.large_list_view])
def test_views_of_lists_keep_every_row(kind):
    answers = [[f"a b{i % 5}", f"c{i}"] for i in range(N)]
    labels = [[float(i % 3), None, 1.0] for i in range(N)]
    columns = {"reference": pa.array(answers, kind(pa.string())), "label": pa.array(labels, kind(pa.float64()))}
    # a slice, whose views do not begin at the first value
    views = pa.table(ROWS | columns).slice(3)
    lists = pa.table(ROWS | {"reference": answers, "label": labels}).slice(3)
    pairs = load_dataset(views)
    assert pairs.table.to_pylist() == load_dataset(lists).table.to_pylist()
    assert len(pairs) == N - 3


@pytest.mark.parametrize("run_ends", [pa.int16(), pa.int32(), pa.int64()])
def test_columns_of_repeated_values_are_read(run_ends):
    columns = {name: pc.run_end_encode(pa.array(ROWS[name]), run_ends) for name in ("reference", "label")}
    pairs = load_dataset(pa.table(ROWS | columns))
    assert pairs.column("reference").to_pylist() == ROWS["reference"]
    assert pairs.labels.tolist() == ROWS["label"]
