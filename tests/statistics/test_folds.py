"""Codes of groups, and folds by hand."""

from __future__ import annotations

import numpy as np
import pytest

from assay.exceptions import InputError
from assay.statistics.crossvalidation import codes_of, codes_of_groups, join_codes, leave_one_value_out, make_folds


def rows(folds):
    return [(fold.name, fold.train.tolist(), fold.test.tolist()) for fold in folds]


def test_codes_stand_in_the_order_in_which_keys_first_occur():
    assert codes_of(["b", "a", "b", ("a",), "a"]).tolist() == [0, 1, 0, 2, 1]
    assert codes_of([]).tolist() == []


def test_pairs_without_the_name_of_a_group_are_alone_and_come_last():
    assert codes_of_groups(["b", "a", None, "b", "", "c", ""]).tolist() == [0, 1, 3, 0, 4, 2, 5]
    assert codes_of_groups([None, "a", "a"]).tolist() == [1, 0, 0]
    assert codes_of_groups([0, 0, 1]).tolist() == [0, 0, 1], "a number is a name, 0 too"


def test_folds_as_many_as_there_are_groups_leave_each_out_once():
    codes = np.array([4, 4, 7, 9, 9, 9])
    found = make_folds(codes, 3, np.random.default_rng(0))
    assert [fold.name for fold in found] == ["fold 1", "fold 2", "fold 3"]
    assert sorted(fold.test.tolist() for fold in found) == [[0, 1], [2], [3, 4, 5]]
    assert all(sorted([*fold.train, *fold.test]) == list(range(6)) for fold in found)
    for k in (1, 4):
        with pytest.raises(InputError, match=f"folds={k}: expected 2 to 3, the number of pairs or groups"):
            make_folds(codes, k, np.random.default_rng(0))
    with pytest.raises(InputError, match=r"folds=2: there are too few pairs or groups that differ \(1; at least 2\)"):
        make_folds(np.zeros(6, dtype=int), 2, np.random.default_rng(0))
    halves = make_folds(np.arange(2), 2, np.random.default_rng(0))
    assert sorted(fold.test.tolist() for fold in halves) == [[0], [1]]


def test_what_shares_a_code_with_a_tested_pair_is_not_trained_on():
    # pair 3 has the code of pair 1, which is of another source: neither side may have both
    assert rows(leave_one_value_out(["a", "b", "a", "c", "b"], np.array([0, 1, 2, 1, 3]))) == [
        ("a", [1, 3, 4], [0, 2]),
        ("b", [0, 2], [1, 4]),
        ("c", [0, 2, 4], [3]),
    ]


def test_codes_joined_by_hand():
    # 0-5, 0-6 and 1-6 hang together, 2-7 stands alone, 3 and 4 share 8
    codes = join_codes(np.array([0, 0, 1, 2, 3, 4]), np.array([5, 6, 6, 7, 8, 8]))
    assert [np.flatnonzero(codes == code).tolist() for code in dict.fromkeys(codes)] == [[0, 1, 2], [3], [4, 5]]
