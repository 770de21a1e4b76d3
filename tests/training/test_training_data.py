"""Pairs are kept apart, negatives are other pairs' candidates, and all of it is told."""

from __future__ import annotations

import json
import unicodedata

import numpy as np
import pytest

from assay.exceptions import InputError
from assay.training.data import load_examples
from assay.training.s3bert.targets import UNIT_PAIRS, draw_negatives
from assay.training.sets import separate_sets


def test_pairs_of_held_out_sets_are_not_trained_on(pairs_file, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    train = load_examples([pairs_file(30, 1)], limit=None, graphs=True)
    dev, test = train.take([1, 2, 3, 29]), train.take([3, 4])
    exchanged = pa.table(
        {
            "reference": [train.candidates[7]],
            "candidate": [train.references[7]],
            "label": [0.5],
            "reference_graph": ["(a / a)"],
            "candidate_graph": ["(b / b)"],
        }
    )
    pq.write_table(exchanged, tmp_path / "exchanged.parquet")
    other = load_examples([str(tmp_path / "exchanged.parquet")], limit=None, graphs=True)
    said = []
    kept, kept_dev, counts = separate_sets(train, dev, test, said.append)
    assert (len(kept), len(kept_dev)) == (25, 3)
    assert not set(kept.keys) & (set(kept_dev.keys) | set(test.keys))
    assert counts["train_pairs_left_out"] == 5
    assert any("5 training pairs" in line for line in said)
    assert any("1 development pairs" in line for line in said)
    again, _, _ = separate_sets(train, test, other, said.append)
    assert train.references[7] not in again.references


def test_shared_texts_are_counted(pairs_file):
    train = load_examples([pairs_file(30, 1)], limit=None, graphs=True)
    said = []
    from dataclasses import replace

    news = ("new a", "new b", "new c")
    dev = replace(train.take([0, 1, 2]), candidates=news, candidate_graphs=news)
    _, _, counts = separate_sets(train, dev, train.take([5, 6]), said.append)
    assert counts["dev_texts_in_train"] == 3
    assert any(line.startswith("warning: 3 of 6 dev texts") for line in said)


def test_pairs_that_repeat_another_one_are_counted(pairs_file):
    train = load_examples([pairs_file(30, 1)], limit=None, graphs=True)
    said = []
    kept, _, counts = separate_sets(
        train.take([*range(20), 3, 4, 4]), train.take([20, 21]), train.take([22]), said.append
    )
    assert (len(kept), counts["train_pairs_more_than_once"], counts["dev_pairs_more_than_once"]) == (23, 3, 0)
    assert "3 train pairs repeat another one of their set; they are kept" in said


def test_groups_are_those_of_each_dataset(pairs_file, tmp_path):
    grouped = tmp_path / "grouped.csv"
    grouped.write_text("reference,candidate,label,group\na,b,1,x\nc,d,1,\ne,f,1,x\ng,h,1,\n")
    found = load_examples([str(grouped), pairs_file(2, 1), str(grouped)], limit=None, graphs=False)
    assert found.groups.tolist() == [0, 1, 0, 3, 4, 5, 6, 7, 6, 9]
    assert found.take([2, 9]).groups.tolist() == [0, 9]


@pytest.mark.parametrize("times", [0, 1, 3, 12])
def test_negatives_are_other_pairs_candidates(pairs_file, times):
    examples = load_examples([pairs_file(50, 1)], limit=None, graphs=True)
    left, right, units = draw_negatives(examples, times, seed=4)
    assert (left != right).all()
    assert len(left) == 50 * times
    assert len(set(zip(left.tolist(), right.tolist(), strict=True))) == len(left)
    assert (units[left] == units[right]).all()
    assert np.bincount(units).min() >= max(UNIT_PAIRS, times + 1)
    again = draw_negatives(examples, times, seed=4)
    assert (again[1] == right).all()
    if times:
        assert (draw_negatives(examples, times, seed=5)[1] != right).any()


def test_a_negative_that_is_a_pair_is_left_out(pairs_file):
    from dataclasses import replace

    examples = load_examples([pairs_file(8, 1)], limit=None, graphs=True)
    same = replace(examples, candidates=("always this",) * 8)
    assert len(draw_negatives(same, 3, seed=0)[0]) == 0


def test_bad_data_is_one_line(pairs_file, tmp_path):
    with pytest.raises(InputError, match=r"pair 1, column candidate_graph: there is no graph"):
        load_examples([pairs_file(3, 1, candidate_graph=None)], limit=None, graphs=True)
    bare = tmp_path / "bare.csv"
    bare.write_text("reference,candidate,label\na,b,1\n")
    with pytest.raises(InputError, match="has no column 'reference_graph'"):
        load_examples([str(bare)], limit=None, graphs=True)
    assert len(load_examples([str(bare)], limit=None, graphs=False)) == 1
    bare.write_text("reference,candidate,label\n")
    with pytest.raises(InputError, match=r"bare.csv"):
        load_examples([str(bare)], limit=None, graphs=False)


def test_texts_that_differ_in_case_or_punctuation_are_shared(tmp_path):
    def pairs(name, *rows):
        path = tmp_path / f"{name}.csv"
        path.write_text("reference,candidate,label\n" + "".join(f"{row},1\n" for row in rows))
        return load_examples([str(path)], limit=None)

    train = pairs("train", "A cat sleeps.,x", "y,a dog runs!", "!!!,z", "u,v", "w,t")
    dev, test = pairs("dev", "a CAT sleeps,d", "d,e"), pairs("test", "A dog runs.,f", "???,g")
    said = []
    kept, _, counts = separate_sets(train, dev, test, said.append)
    assert (len(kept), counts["dev_texts_in_train"], counts["test_texts_in_train"]) == (5, 1, 1)
    assert "warning: 1 of 4 test texts also occur in training pairs, with others" in said
    kept, _, counts = separate_sets(train, dev, test, said.append, drop_shared=True)
    # texts without words are told apart by their punctuation
    assert kept.references == ("!!!", "u", "w")
    assert counts["train_pairs_with_shared_texts_left_out"] == 2
    assert (counts["dev_texts_in_train"], counts["test_texts_in_train"]) == (0, 0)


def test_pairs_of_other_scripts_and_without_words_are_kept_apart(tmp_path):
    def pairs(name, *rows):
        path = tmp_path / f"{name}.csv"
        path.write_text("reference,candidate,label\n" + "".join(f"{row},1\n" for row in rows), encoding="utf-8")
        return load_examples([str(path)], limit=None)

    composed, decomposed = (unicodedata.normalize(form, "Müller ist schön") for form in ("NFC", "NFD"))
    train = pairs("train", f"{composed},a", "दिन,रात", "😀,👍", "u,v")
    dev, test = pairs("dev", "d,e", "f,g"), pairs("test", f"{decomposed},a", "दान,रीत", "?,!")
    kept, _, counts = separate_sets(train, dev, test, lambda line: None)
    # the first pair alone is one of the test set; the others have other vowels, or other signs
    assert kept.references == ("दिन", "😀", "u")
    assert (counts["train_pairs_left_out"], counts["test_texts_in_train"]) == (1, 0)


def test_of_several_gold_answers_the_nearest_is_learned_from(tmp_path):
    path = tmp_path / "answers.jsonl"
    rows = [
        {"reference": ["JFK", "John Kennedy", "the president"], "candidate": "it was John Kennedy", "label": 1},
        {"reference": ["Rome", "Roma"], "candidate": "Paris", "label": 0},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    examples = load_examples([str(path)], limit=None)
    assert examples.references == ("John Kennedy", "Rome")
    assert examples.candidates == ("it was John Kennedy", "Paris")


def test_questions_stand_before_both_texts(tmp_path):
    asked, plain = tmp_path / "asked.csv", tmp_path / "plain.csv"
    asked.write_text("question,reference,candidate,label\nwho?,Ann,it was Ann,1\n,Rome,Paris,0\n", encoding="utf-8")
    plain.write_text("reference,candidate,label\na,b,0\n", encoding="utf-8")
    examples = load_examples([str(asked), str(plain)], limit=None, question=True)
    assert examples.references == ("who? Ann", "Rome", "a")
    assert examples.candidates == ("who? it was Ann", "Paris", "b")
    with pytest.raises(InputError, match=r"question: .*plain\.csv has no column with questions"):
        load_examples([str(plain)], limit=None, question=True)
