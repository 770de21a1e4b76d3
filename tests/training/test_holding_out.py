"""What is held out where no development or test set is named: a tenth, by seed, in whole groups."""

from __future__ import annotations

import numpy as np
import pytest

from assay.exceptions import InputError
from assay.metrics.neural.runtime import Runtime
from assay.training import sets
from assay.training.data import load_examples
from assay.training.pairwise.job import prepare_job
from assay.training.pairwise.settings import PairSettings
from assay.training.sets import hold_out_rows, load_sets, split_off_held_out
from tests.training.training_run import Slow, made_pairs


def grouped_file(folder, sizes):
    """Pairs of so many groups, a group after another."""
    names = [f"q{number}" for number, size in enumerate(sizes) for _ in range(size)]
    rows = [f"{row['reference']},{row['candidate']},{row['label']}" for row in made_pairs(len(names), 1)]
    path = folder / "grouped.csv"
    path.write_text("reference,candidate,label,group\n" + "".join(map("{},{}\n".format, rows, names)))
    return str(path)


def test_holding_out_follows_the_seed(pairs_file):
    examples = load_examples([pairs_file(50, 1)], limit=40, graphs=True)
    assert len(examples) == 40
    stays, away = split_off_held_out(examples, 0)
    assert (len(stays), len(away)) == (36, 4)
    assert set(stays.keys) | set(away.keys) == set(examples.keys)
    assert split_off_held_out(examples, 0)[1].keys == away.keys
    assert split_off_held_out(examples, 1)[1].keys != away.keys
    with pytest.raises(InputError, match="10 training pairs are too few to hold out a set"):
        split_off_held_out(examples.take(range(10)), 0)


def test_pairs_without_groups_are_the_first_of_a_permutation():
    """What earlier versions held out, whatever the numbers of the groups are."""
    drawn = np.random.default_rng(3).permutation(90)[:9]
    stay, away = hold_out_rows(7 * np.arange(90), 3)
    assert away.tolist() == sorted(drawn.tolist())
    assert sorted([*stay, *away]) == list(range(90))
    assert len(hold_out_rows(np.arange(40_000), 0)[1]) == 2500


@pytest.mark.parametrize("seed", range(8))
def test_groups_stay_whole_and_below_a_tenth(seed):
    sizes = [1, 2, 3, 4, 5, 6, 30, 49]  # 100 rows: 10 of them may go, none of the last two groups
    groups = np.random.default_rng(9).permutation(np.repeat(np.arange(8), sizes))
    stay, away = hold_out_rows(groups, seed)
    assert not set(groups[stay]) & set(groups[away])
    # the groups that can go have 21 rows; none is left that would still have fitted
    left = [sizes[one] for one in set(groups[stay])]
    assert 10 - min(left) < len(away) <= 10
    assert not {6, 7} & set(groups[away])


def test_where_every_group_is_larger_the_smallest_goes():
    groups = np.repeat([4, 2, 9], [30, 25, 45])
    for seed in range(5):
        assert set(groups[hold_out_rows(groups, seed)[1]]) == {2}
    # of equally small ones the seed chooses
    even = np.repeat(np.arange(5), 20)
    assert len({tuple(set(even[hold_out_rows(even, seed)[1]])) for seed in range(20)}) > 1


def test_a_single_group_is_not_torn(tmp_path):
    examples = load_examples([grouped_file(tmp_path, [40])], limit=None)
    assert len(hold_out_rows(examples.groups, 0)[1]) == 0
    with pytest.raises(InputError, match=r"40 training pairs in groups that stay whole \(1\) are too few .* `dev`"):
        split_off_held_out(examples, 0)


@pytest.mark.parametrize("seed", range(3))
def test_no_group_is_in_two_sets(tmp_path, seed):
    path = grouped_file(tmp_path, [3, 5, 4, 2, 6] * 6)
    said = []
    sets, _ = load_sets([path], (), (), seed=seed, limit=None, say=said.append)
    groups = {name: set(one.groups.tolist()) for name, one in sets.items()}
    assert not groups["train"] & groups["dev"]
    assert not groups["train"] & groups["test"]
    assert not groups["dev"] & groups["test"]
    # 120 pairs, 12 may go, then 10 or 11; two less at most, since a group of two or three is left
    assert 10 <= len(sets["dev"]) <= 12
    assert 8 <= len(sets["test"]) <= 11
    assert f"no dev pairs are named: {len(sets['dev'])} of the training pairs are held out" in said


def test_a_request_says_which_pairs_each_set_has(tiny_base, tmp_path, monkeypatch):
    """A training that an earlier version began with other held-out pairs is refused, not resumed."""
    settings = PairSettings("bi-encoder", str(tiny_base), grouped_file(tmp_path, [4] * 10), "out")

    def request():
        return prepare_job(settings, Runtime(device="cpu", threads=1), Slow()).plain_request()

    now = request()
    assert request() == now
    monkeypatch.setattr(sets, "hold_out_rows", lambda groups, seed: hold_out_rows(np.arange(len(groups)), seed))
    torn = request()
    assert [name for name in now if now[name] != torn[name]] == ["data"]
