"""Pairs that are made: entities and their files, random pairs, splits, numbers."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.exceptions import InputError
from assay.language.texts import text_key
from assay.training.augmented.pairs import (
    Entity,
    confusable_numbers,
    family_numbers,
    number_pairs,
    numbers_in_words,
    pair_entities,
    read_entities,
)
from assay.training.augmented.settings import AugmentedSettings

#: Few letters, so that entities often share a way of writing.
WORD = st.text("abC", min_size=1, max_size=2)
ENTITIES = st.lists(
    st.builds(Entity, WORD, st.lists(WORD, max_size=3, unique=True).map(tuple)), min_size=1, max_size=40
)


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_entities_of_a_csv(tmp_path):
    file = written(
        tmp_path / "e.csv",
        "name,aliases\nAda  Lovelace,Lady Lovelace| Ada King |Lady Lovelace|Ada Lovelace\nRays,a|b|c|d\nBob,\n"
        'Rulan Chao Pian,"[""卞趙如蘭"", ""Pian | Rulan""]"\n',
    )
    found = read_entities(file)
    assert found.items == (
        Entity("Ada Lovelace", ("Lady Lovelace", "Ada King")),  # repeats of itself do not count
        Entity("Bob"),
        Entity("Rulan Chao Pian", ("卞趙如蘭", "Pian | Rulan")),
    )
    assert (found.left_out, found.aliases_left_out) == (1, 4)


def test_entities_below_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    written(tmp_path / "e.csv", "name\nAda\n")
    assert read_entities("~/e.csv").items == (Entity("Ada"),)


def test_three_ways_of_writing_stay_and_four_go(tmp_path):
    file = written(tmp_path / "e.csv", "name,aliases\nX,a|b|X\nY,d|e|f\nZ,\n")
    assert [one.forms for one in read_entities(file).items] == [("X", "a", "b"), ("Z",)]


def test_entities_of_other_files(tmp_path):
    lines = [
        {"name": "X", "aliases": ["a", "b"]},
        {"name": "Y"},
        {"name": "Z", "aliases": "c|d"},
        {"name": "W", "aliases": '["e", "f|g"]'},
    ]
    file = written(tmp_path / "e.jsonl", "\n".join(map(json.dumps, lines)))
    assert [one.aliases for one in read_entities(file).items] == [("a", "b"), (), ("c", "d"), ("e", "f|g")]
    assert [one.aliases for one in read_entities(written(tmp_path / "n.csv", "name\nX\nY\n")).items] == [(), ()]
    one = read_entities(file).digest
    assert one != read_entities(written(tmp_path / "e2.jsonl", '{"name": "X", "aliases": ["a", "c"]}')).digest


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("e.csv", "names,aliases\nX,a\n", r"has no column 'name'.*Did you mean 'names'"),
        ("e.csv", "name,aliases\nX,a\n  ,b\n", r"e.csv, row 3, column name: there is no name"),
        ("e.csv", 'name,aliases\nX,"[""a"""\n', r"e.csv, row 2, column aliases: is not a JSON list"),
        ("e.csv", "name,aliases\nX,[1]\n", r"e.csv, row 2, column aliases: must be texts with"),
        ("e.jsonl", '{"name": "X", "aliases": 3}', r"e.jsonl, line 1, column aliases: must be texts"),
        ("e.doc", "name\nX\n", r"expected a file that ends in"),
    ],
)
def test_bad_files(tmp_path, name, text, words):
    with pytest.raises(InputError, match=words):
        read_entities(written(tmp_path / name, text))


def test_families_by_hand():
    entities = [Entity("A. B", ("c",)), Entity("d"), Entity("C", ("e",)), Entity("E!"), Entity("b a"), Entity("!!!")]
    # c = C joins 0 and 2, e = E! joins 2 and 3; the order of words counts
    assert family_numbers(entities).tolist() == [0, 1, 0, 0, 2, 3]


def test_pairs_of_three_entities_by_hand():
    entities = [Entity("a", ("b",)), Entity("c"), Entity("d")]
    pairs, passed = pair_entities(entities, 1, 0)
    assert passed == 0
    assert [(one.reference, one.candidate, one.label) for one in pairs if one.origin == "alias"] == [("a", "b", 1.0)]
    # a ring of three: every two entities are neighbours once
    rings = [{one.reference, one.candidate} - {"b"} | ({"a"} if "b" in (one.reference, one.candidate) else set())
             for one in pairs if one.origin == "random"]  # fmt: skip
    assert sorted(map(sorted, rings)) == [["a", "c"], ["a", "d"], ["c", "d"]]
    # the next but one is the other neighbour: with its texts exchanged or in another way of writing
    more, passed = pair_entities([Entity("a"), Entity("c"), Entity("d")], 2, 0)
    assert (len(more), passed) == (3, 3)


@settings(max_examples=150)
@given(ENTITIES, st.integers(1, 3), st.integers(0, 5))
def test_no_random_pair_is_of_one_thing_and_no_entity_in_two_splits(entities, times, seed):
    pairs, passed = pair_entities(entities, times, seed)
    assert pairs == pair_entities(entities, times, seed)[0]
    owners: dict[str, set[int]] = {}
    for row, entity in enumerate(entities):
        for form in entity.forms:
            owners.setdefault(text_key(form), set()).add(row)
    random = [one for one in pairs if one.origin == "random"]
    assert len(random) + passed == times * len(entities)
    for one in random:
        assert owners[text_key(one.reference)].isdisjoint(owners[text_key(one.candidate)])
    keys = [frozenset((text_key(one.reference), text_key(one.candidate))) for one in random]
    assert len(set(keys)) == len(keys)
    splits: dict[int, set[str]] = {}
    for one in pairs:
        for text in (one.reference, one.candidate):
            for row in owners[text_key(text)]:
                splits.setdefault(row, set()).add(one.split)
    assert all(len(found) == 1 for found in splits.values())
    assert Counter(one.origin for one in pairs)["alias"] == sum(len(one.aliases) for one in entities)


def test_splits_and_sizes_of_many():
    entities = [Entity(f"n{k}") for k in range(200)]
    pairs, passed = pair_entities(entities, 2, 3)
    # a tenth each is held out; every entity appears twice on each side
    assert Counter(one.split for one in pairs) == {"train": 320, "dev": 40, "test": 40} and passed == 0
    assert set(Counter(one.reference for one in pairs).values()) == {2}
    assert pair_entities(entities, 2, 4)[0] != pairs


def test_near_numbers():
    assert confusable_numbers(14) == {13, 15, 40, 41, 140}
    assert confusable_numbers(40) == {39, 41, 400, 4, 14}
    assert confusable_numbers(100) == {99, 101, 1000, 10, 1}
    assert confusable_numbers(-3) == {-4, -2, -30}


def test_words_are_the_librarys():
    num2words = pytest.importorskip("num2words", reason="num2words is absent: pip install assay[train]").num2words
    # of the library's documentation and of German spelling
    assert numbers_in_words([42, 21, 1000], "en") == ["forty-two", "twenty-one", "one thousand"]
    assert numbers_in_words([21, 117], "de") == ["einundzwanzig", "einhundertsiebzehn"]
    assert numbers_in_words(range(300), "de") == [num2words(number, lang="de") for number in range(300)]
    with pytest.raises(InputError, match=r"numbers=xx: num2words has no such language"):
        numbers_in_words([1], "xx")


def test_number_pairs():
    pytest.importorskip("num2words", reason="num2words is absent: pip install assay[train]")
    pairs = number_pairs(("en", "de"), 0, 99, 7)
    assert pairs == number_pairs(("en", "de"), 0, 99, 7) != number_pairs(("en", "de"), 0, 99, 8)
    value = {word: k for code in ("en", "de") for k, word in enumerate(numbers_in_words(range(100), code))}
    digits_first, near, splits = 0, 0, {}
    for one in pairs:
        digits_first += one.reference.isdigit()
        digits, word = (one.reference, one.candidate) if one.reference.isdigit() else (one.candidate, one.reference)
        assert one.label == (int(digits) == value[word])
        near += not one.label and value[word] in confusable_numbers(int(digits))
        for number in (int(digits), value[word]):
            splits.setdefault(number, set()).add(one.split)
    assert [sum(one.label == label for one in pairs) for label in (1.0, 0.0)] == [200, 400]
    assert all(len(found) == 1 for found in splits.values()) and set(splits) == set(range(100))
    assert Counter(next(iter(found)) for found in splits.values()) == {"train": 80, "dev": 10, "test": 10}
    assert 200 < digits_first < 400 and near > 120


def test_numbers_beside_the_ones_before_and_after():
    pytest.importorskip("num2words")
    pairs = number_pairs(("en", "de"), 0, 199, 7, "neighbours")
    different = [one for one in pairs if not one.label]
    assert {abs(int(one.reference) - int(one.candidate)) for one in different} == {1}
    assert len(set(different)) == len(different)
    # of 20 blocks of ten, two each are held out; no number is in two splits
    splits: dict[str, set[str]] = {}
    for one in different:
        for text in (one.reference, one.candidate):
            splits.setdefault(text, set()).add(one.split)
    assert all(len(found) == 1 for found in splits.values())
    assert Counter(found for (found,) in splits.values()) == {"train": 160, "dev": 20, "test": 20}
    assert Counter(one.label for one in pairs)[1.0] == 400
    # the fewest numbers: blocks of two
    assert {one.split for one in number_pairs(("en",), -5, 14, 1, "neighbours") if not one.label} == {
        "train",
        "dev",
        "test",
    }


def test_what_cannot_be_asked():
    for changes, words in (
        ({}, "`entities` or `numbers` is needed"),
        ({"entities": "e.csv"}, "`labeller` is needed: alias pairs alone"),
        ({"numbers": "en", "labeller": "m"}, "no `entities` are given"),
        ({"numbers": "en,,de"}, "languages with commas"),
        ({"numbers": "en", "number_range": "1-9"}, "must be two whole numbers"),
        ({"numbers": "en", "number_range": "0,18"}, "must hold at least 20 numbers"),
        ({"numbers": "en", "epochs": 0}, "epochs=0: must be a whole number, at least 1"),
        ({"numbers": "en", "loss": "softmax"}, "loss=softmax: must be one of cosine, cosent, bce"),
        (
            {"entities": "e.csv", "labeller": "m", "random_pairs": 0},
            "random_pairs=0: must be a whole number, at least 1",
        ),
    ):
        with pytest.raises(InputError, match=words):
            AugmentedSettings("base", "out", **changes)
    asked = AugmentedSettings(
        "base", "out", entities="e.csv", labeller="m,activation=sigmoid", numbers="en,de", epochs=2
    )
    assert asked.training_command() == (
        "assay train augmented --base base --entities e.csv --labeller m,activation=sigmoid --numbers en,de --epochs 2 "
        "--out out"
    )


@pytest.mark.parametrize(
    ("language", "number", "kind"),
    [("am", -20, "TypeError"), ("ce", -20, "KeyError"), ("vi", -21, "IndexError"), ("en", 10**400, "OverflowError")],
    ids=["am", "ce", "vi", "en"],
)
def test_a_number_that_cannot_be_said(language, number, kind):
    pytest.importorskip("num2words", reason="num2words is absent: pip install assay[train]")
    with pytest.raises(InputError) as refused:
        numbers_in_words([number, 1], language)
    said = str(refused.value)
    assert said.startswith(f"number_range: num2words cannot say {number} in {language} ({kind}: ")
    assert said.endswith(f"give a range without it, or leave {language} out of `numbers`")
    assert "\n" not in said
