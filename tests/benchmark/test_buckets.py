"""Rules, and the names and sizes of the buckets they make."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from assay import load_dataset, run, verify
from assay.benchmark.buckets import MAX_VALUES, first_rule_of_texts, parse_rule, split_into_buckets
from assay.common.numbers import label_text, label_texts
from assay.common.tables import exact_number
from assay.datasets.reading import Reading
from assay.exceptions import InputError
from tests.cli.calling import call

ROWS = [
    {"reference": "twelve", "candidate": "12", "label": 2, "subset": "Number", "votes": 3},
    {"reference": "the 7 seas", "candidate": "seven seas", "label": 1, "subset": "Number", "votes": 1},
    {
        "reference": "a long sentence about nothing at all",
        "candidate": "nothing",
        "label": 0,
        "subset": "Text",
        "votes": 1,
    },
    {"reference": "zwölf", "candidate": "elf", "label": 0, "subset": "Text", "votes": 2},
]


@pytest.fixture
def pairs():
    return load_dataset(ROWS)


def sizes(pairs, *rules):
    f1 = np.array([0.0, 0.5, 0.2, 0.0])
    return {
        bucket.name: np.flatnonzero(bucket.mask).tolist() for bucket in split_into_buckets(pairs, rules, lambda: f1)
    }


def test_all_is_always_there(pairs):
    assert sizes(pairs) == {"all": [0, 1, 2, 3]}
    assert sizes(pairs, "none") == {"all": [0, 1, 2, 3]}


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("f1", {"f1=0": [0, 3], "f1>0": [1, 2]}),
        ("f1:0,0.5,1", {"0<=f1<0.5": [0, 2, 3], "0.5<=f1<=1": [1]}),
        ("f1:(0,0.2,0.5]", {"0<f1<=0.2": [2], "0.2<f1<=0.5": [1]}),
        ("label:(0,1,2]", {"0<label<=1": [1], "1<label<=2": [0]}),
        ("votes:(1,3]", {"1<votes<=3": [0, 3]}),
        ("label<1", {"label<1": [2, 3], "label>=1": [0, 1]}),
        ("label=2", {"label=2": [0], "label!=2": [1, 2, 3]}),
        ("subset", {"subset=Number": [0, 1], "subset=Text": [2, 3]}),
        ("subset=Text", {"subset=Text": [2, 3], "subset!=Text": [0, 1]}),
        ("number", {"number=yes": [1], "number=no": [0, 2, 3]}),
        ("length", {"length<6": [0, 1, 3], "6<=length<16": [2], "length>=16": []}),
        ("votes", {"votes=1": [1, 2], "votes=2": [3], "votes=3": [0]}),
        ("votes>1", {"votes>1": [0, 3], "votes<=1": [1, 2]}),
        ("f1+number", {"f1=0+number=yes": [], "f1=0+number=no": [0, 3], "f1>0+number=yes": [1], "f1>0+number=no": [2]}),
    ],
)
def test_rules(pairs, rule, expected):
    assert sizes(pairs, rule) == {"all": [0, 1, 2, 3]} | expected


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("f1:0.5", "two or more rising edges"),
        ("f1:1,0", "two or more rising edges"),
        ("f1:(1,0]", "two or more rising edges"),
        ("f1:(0,1", r"'\(0' is not a number"),
        ("f1:(0,1)", r"'\(0' is not a number"),
        ("f1:(]", "'' is not a number"),
        ("label<low", "'low' is not a number"),
        ("label<nan", "'nan' is not a number"),
        ("f1:nan,1", "'nan' is not a number"),
        ("<3", "cannot be read"),
    ],
)
def test_rule_that_cannot_be_read(rule, message):
    with pytest.raises(InputError, match=message):
        parse_rule(rule)


def test_column_that_is_not_there_names_the_nearest(pairs):
    with pytest.raises(InputError, match="Did you mean 'subset'"):
        sizes(pairs, "subsett")
    with pytest.raises(InputError, match="only = and !="):
        sizes(pairs, "subset<Text")


def test_several_gold_answers_count_together():
    pairs = load_dataset(
        [
            {"reference": ["no digit", "but 4 here"], "candidate": "x", "label": 1},
            {"reference": ["none", "at all in this one"], "candidate": "x", "label": 0},
        ]
    )
    assert sizes_of(pairs, "number") == {"number=yes": [0], "number=no": [1]}


def sizes_of(pairs, rule):
    found = split_into_buckets(pairs, (rule,), lambda: np.zeros(len(pairs)))
    return {bucket.name: np.flatnonzero(bucket.mask).tolist() for bucket in found if bucket.name != "all"}


def test_large_numbers_and_empty_cells():
    ids = [1000001, 1000002, 1000003, None]
    pairs = load_dataset([dict(row, qid=qid) for row, qid in zip(ROWS, ids, strict=True)])
    assert sizes_of(pairs, "qid") == {"qid=1000001": [0], "qid=1000002": [1], "qid=1000003": [2]}
    assert sizes_of(pairs, "qid<1000002") == {"qid<1000002": [0], "qid>=1000002": [1, 2]}


def test_values_stand_in_order_whatever_the_order_of_the_rows():
    # in a set 9 comes before 1: both have the hash 1 in a table of eight
    pairs = load_dataset([dict(row, votes=votes) for row, votes in zip(ROWS, [9, 1, 1, 9], strict=True)])
    assert list(sizes_of(pairs, "votes")) == ["votes=1", "votes=9"]
    pairs = load_dataset([dict(row, topic=topic) for row, topic in zip(ROWS, "dbca", strict=True)])
    assert list(sizes_of(pairs, "topic")) == ["topic=a", "topic=b", "topic=c", "topic=d"]


def test_a_dataset_has_one_language_or_a_column_of_them(pairs):
    assert sizes_of(pairs, "language") == {"language=unknown": [0, 1, 2, 3]}
    assert sizes_of(replace(pairs, language="en"), "language") == {"language=en": [0, 1, 2, 3]}
    mixed = load_dataset([dict(row, language=code) for row, code in zip(ROWS, ["en", "en", "en", "de"], strict=True)])
    assert sizes_of(mixed, "language") == {"language=de": [3], "language=en": [0, 1, 2]}


@pytest.mark.parametrize(
    ("rules", "first"),
    [
        (("label", "subset", "votes>1"), None),
        (("label", "f1:0,1"), "f1:0,1"),
        (("subset+length", "number"), "subset+length"),
        (("reference=x",), "reference=x"),
    ],
)
def test_rules_that_read_the_texts(rules, first):
    assert first_rule_of_texts(rules) == first


def test_rules_that_would_mislead_are_refused(pairs):
    for rule in ("number<3", "number=maybe", "number:0,1"):
        with pytest.raises(InputError, match="no other conditions than number=yes and number=no"):
            parse_rule(rule)
    for n in (MAX_VALUES, MAX_VALUES + 1):
        many = load_dataset([{"reference": str(i), "candidate": "x", "label": 1} for i in range(n)])
        if n == MAX_VALUES:
            assert len(sizes_of(many, "reference")) == n
        else:
            with pytest.raises(InputError, match=f"{n} values"):
                sizes_of(many, "reference")
    assert sizes(pairs, "all") == {"all": [0, 1, 2, 3]}


def test_numbers_of_a_csv_are_text_until_a_condition_needs_them():
    pairs = load_dataset(
        [dict(row, confidence=text) for row, text in zip(ROWS, ["0.9", "0.10", "", "1e-1"], strict=True)]
    )
    assert sizes_of(pairs, "confidence>0.5") == {"confidence>0.5": [0], "confidence<=0.5": [1, 3]}
    assert sizes_of(pairs, "confidence:0,0.5,1") == {"0<=confidence<0.5": [1, 3], "0.5<=confidence<=1": [0]}
    assert sizes_of(pairs, "confidence=0.10")["confidence=0.10"] == [1]


WITHOUT = [{key: value for key, value in row.items() if key != "subset"} for row in ROWS]


class Told:
    """A progress that keeps its lines."""

    def __init__(self):
        self.lines = []

    def begin(self, what, total):
        pass

    def advance(self, units):
        pass

    def say(self, line):
        self.lines.append(line)


@pytest.fixture
def two():
    return [
        replace(load_dataset(ROWS), name="with"),
        replace(load_dataset(WITHOUT), name="without"),
    ]


def buckets_of(result):
    return {
        one.pairs.name: [bucket.name for bucket in one.buckets if bucket.name != "all"]
        for one in result.outcome.datasets
    }


def test_a_dataset_without_the_column_has_no_such_bucket_and_says_so(two, tmp_path):
    told = Told()
    result = run(
        two, "f1", buckets=["subset", "number", "subset+votes>1"], resamples=0, progress=told, out=tmp_path / "run"
    )
    numbers = ["number=yes", "number=no"]
    crossed = [f"subset={left}+votes{right}" for left in ("Number", "Text") for right in (">1", "<=1")]
    assert buckets_of(result) == {"with": ["subset=Number", "subset=Text", *numbers, *crossed], "without": numbers}
    lines = [
        "no bucket 'subset': there is no column 'subset'",
        "no bucket 'subset+votes>1': there is no column 'subset'",
    ]
    assert [line for line in told.lines if "bucket" in line] == [f"without: {line}" for line in lines]
    assert [dataset.notes for dataset in result.report.manifest.datasets] == [[], lines]
    assert result.to_markdown().count("there is no column 'subset'") == 2
    whole = run(two[1], "f1", buckets="number", resamples=0)
    rows = result.agreement
    assert rows[rows["dataset"] == "without"].reset_index(drop=True).equals(whole.agreement)
    assert set(rows[rows["bucket"] == "mean over subset"]["dataset"]) == {"with"}
    assert verify(tmp_path / "run").found.same


def test_a_column_that_no_dataset_has_is_an_error(two):
    with pytest.raises(
        InputError, match=r"bucket 'subsett': none of with, without has a column 'subsett'\. Did you mean"
    ):
        run(two, "f1", buckets="subsett")
    with pytest.raises(InputError, match="bucket 'subset': without has no column 'subset'"):
        run(two[1], "f1", buckets="subset")
    # each has one of the columns, and neither has both
    two[1] = two[1].with_column("source", ["a", "b", "a", "b"])
    with pytest.raises(
        InputError, match=r"'subset\+source': none of with, without has a column 'subset' and a column 'source'\. Bu"
    ):
        run(two, "f1", buckets="subset+source")
    with pytest.raises(InputError, match="only = and !="):
        run(two, "f1", buckets="subset<Text")


def test_rules_that_make_very_many_combinations_are_refused():
    rows = [{"reference": "a", "candidate": "b", "label": 1.0, "x": f"x{i}", "y": f"y{i}"} for i in range(40)]
    with pytest.raises(InputError, match=r"bucket 'x\+y': makes 1,600 combinations, more than 1,000; name one of"):
        run(rows, ["f1"], buckets=["x+y"], resamples=0)


#: Labels that one format or another writes as one, each with the texts that tell them apart.
NEAR_LABELS = [
    ([10**15, 10**15 + 1, 10**15 + 2], ["1000000000000000", "1000000000000001", "1000000000000002"]),
    ([1e15, 1e15 + 0.5], ["1000000000000000", "1000000000000000.5"]),
    ([-(2.0**53) + 1, -(2.0**53) + 2], ["-9007199254740991", "-9007199254740990"]),
    ([1.0, 1 + 1e-9], ["1", "1.000000001"]),
    # to 13 digits labels are rounded when they are read: nearer ones are one label
    ([1.0, 1 + 1e-12], ["1", "1.000000000001"]),
    ([0.3000000000001, 0.3], ["0.3000000000001", "0.3"]),
]


@pytest.mark.parametrize(("labels", "texts"), NEAR_LABELS)
def test_two_labels_are_never_shown_as_one(labels, texts, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"a {row % 5},a {'b ' * (row % 4)},{float(labels[row % len(labels)])!r}" for row in range(24)]
    Path("near.csv").write_text("\n".join(["reference,candidate,label", *rows, ""]), encoding="utf-8")
    done = call("run", "near.csv", "-m", "f1", "-b", "label", "--resamples", "0", "--out", "a", "-q", "--format", "md")
    assert done.code == 0, done.err
    recorded = next(bucket for bucket in json.loads(Path("a/run.json").read_text(encoding="utf-8"))["buckets"])
    assert sorted(map(float, recorded["labels"])) == sorted(labels)
    assert set(recorded["labels"].values()) == {24 / len(labels)}
    buckets = {row["bucket"] for row in json.loads(Path("a/agreement.json").read_text(encoding="utf-8"))}
    assert len([bucket for bucket in buckets if bucket.startswith("label=")]) == len(labels)
    assert label_texts(labels) == texts
    for label, text in zip(labels, texts, strict=True):
        assert float(label_text(label, np.array(labels))) == float(text)
    shown = call("errors", "a", "--top", "4", "--format", "md").out
    assert f"label = {max(zip(labels, texts, strict=True))[1]}" in shown.replace("\\", "")
    assert (
        f"lowest {exact_number(min(labels))}, highest {exact_number(max(labels))}"
        in call("datasets", "show", "near.csv").out
    )


def test_numbers_of_words_are_recorded_with_all_digits():
    reading = Reading(labels={"no": 10**15, "yes": 10**15 + 1, "maybe": 1.000000001})
    assert Reading(labels=reading.record()["labels"]).configured_numbers() == reading.configured_numbers()


def test_edges_that_fifteen_digits_do_not_tell_apart_make_ranges_of_two_names():
    pairs = load_dataset([{"reference": "a", "candidate": "a", "label": label} for label in (0.0, 0.5, 1.0)])
    edges = "f1:-0.0,0.3,0.30000000000000004,1"
    names = [bucket.name for bucket in split_into_buckets(pairs, (edges,), lambda: np.ones(3))]
    assert names == ["all", "0<=f1<0.3", "0.3<=f1<0.30000000000000004", "0.30000000000000004<=f1<=1"]
    [bucket] = split_into_buckets(pairs, ("f1:-0.0,1",), lambda: np.ones(3))[1:]
    assert bucket.name == "0<=f1<=1"
