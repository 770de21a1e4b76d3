"""Which pairs stand on which side as a model is trained fold by fold, and what is said of those it cannot learn."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import assay
from assay.exceptions import InputError
from assay.language.texts import pair_key
from assay.metrics.neural.runtime import Runtime
from assay.statistics.crossvalidation import Fold, Partition
from assay.training.data import load_examples
from assay.training.pairwise import crossvalidation as validating
from assay.training.pairwise.crossvalidation import parse_recipe
from tests.training.training_run import Slow, made_pairs


def test_labels_of_any_scale(asked, told):
    rows = [row | {"label": 1 + 4 * row["label"]} for row in made_pairs(44, 1)]
    with pytest.raises(InputError, match='say what the scale is with `scale="LOW,HIGH"`'):
        assay.crossval(**asked(rows))
    assert not told
    assay.crossval(**asked(rows, scale="1,5"))
    assert len(told) == 2


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"scale": "5,1"}, "scale=5,1: the first number must be below the second"),
        ({"scale": "0,0.5"}, "is not between 0 and 0.5"),
        ({"scale": "0,1", "train": ()}, "scale=0,1: is for models that are trained here; name one with `train`"),
    ],
)
def test_a_scale_that_cannot_be_used(asked, told, changes, said):
    with pytest.raises(InputError, match=said):
        assay.crossval(**asked(made_pairs(44, 1), **{"metrics": ["dice"]} | changes))
    assert not told


def test_a_source_with_one_label_is_told_and_stops_nothing(asked, told):
    rows = [row | {"source": ("one", "few", "many", "more")[k % 4]} for k, row in enumerate(made_pairs(80, 1))]
    rows = [row | {"label": 0.5} if row["source"] == "one" else row for row in rows]
    found = assay.crossval(**asked(rows, by="source"))
    assert len(told) == 6
    (row,) = (
        row
        for row in found.records.to_dict("records")
        if (row["source"], row["on"], row["statistic"]) == ("one", "left out", "pearson") and row["metric"] != "dice"
    )
    assert (row["note"], row["n"]) == ("constant label", 20)


@pytest.mark.parametrize(
    ("make", "changes", "said"),
    [
        # without the source "many" the label 0.5 alone is left
        (
            lambda k, row: row | {"source": "many"} if k < 33 else row | {"source": "one", "label": 0.5},
            {"by": "source"},
            r"own, 'many' left out: the 25 pairs to train have one label alone, 0\.5, .*; do without `by`$",
        ),
        (
            lambda k, row: row | {"source": "many" if k > 10 else "few"},
            {"by": "source"},
            r"own, 'many' left out: 11 pairs are too few .*; do without `by`, or give more pairs$",
        ),
        (
            lambda k, row: row | {"label": float(k == 7)},
            {},
            r"fold 1: the 3 pairs to choose the best step have one label alone, 0, .*; give `train` a seed=N, or use",
        ),
        (
            lambda k, row: row | {"group": f"g{min(k, 3)}"},
            {"folds": 4},
            r"own, fold \d: 3 pairs are too few .*; use more `folds`, or another `seed`, or give more pairs$",
        ),
        (
            lambda k, row: row | {"group": f"g{k % 2}"},
            {},
            r"own, fold \d: 30 pairs in groups that stay whole \(1\) are too few .*, or give pairs of more groups$",
        ),
    ],
    ids=["one label", "few pairs", "one label in a fold", "few pairs in a fold", "one group in a fold"],
)
def test_what_cannot_be_trained_is_told_before_any_training(asked, told, make, changes, said):
    rows = [make(k, row) for k, row in enumerate(made_pairs(60, 1))]
    with pytest.raises(InputError, match=said) as caught:
        assay.crossval(**asked(rows, **changes))
    assert "\n" not in str(caught.value) and "--dev" not in str(caught.value)
    assert not told


def mirrored(rows):
    """Every row, then each with its texts exchanged, in capitals and with a full stop."""
    turned = [
        row | {"reference": row["candidate"].upper(), "candidate": f"{row['reference']}."} for row in rows
    ]  # fmt: skip
    return [row | {"source": "a"} for row in rows] + [row | {"source": "b"} for row in turned]


def test_a_pair_and_its_mirror_are_on_one_side_of_every_parting(asked, told, monkeypatch):
    sets = []
    fit = validating.fit_model

    def spy(job, *others):
        sets.append({name: set(one.keys) for name, one in job.sets.items()})
        return fit(job, *others)

    monkeypatch.setattr(validating, "fit_model", spy)
    rows = mirrored(made_pairs(44, 1))
    assay.crossval(**asked(rows))
    for one in sets:
        assert not one["test"] & (one["train"] | one["dev"])
        assert not one["train"] & one["dev"]
    assert [len(one["train"]) + len(one["dev"]) for one in told] == [44, 44]
    assert [len(one["dev"]) for one in told] == [4, 4]  # two of 22 that differ


@pytest.mark.parametrize("by_column", [False, True], ids=["groups of the data", "a column"])
def test_a_group_is_on_one_side_of_every_parting(asked, told, by_column):
    column = "topic" if by_column else "group"
    rows = [row | {column: f"q{k % 15}"} for k, row in enumerate(made_pairs(60, 1))]
    assay.crossval(**asked(rows, **({"group_by": column} if by_column else {})))
    assert len(told) == 2
    for one in told:
        groups = {name: {(row - 1) % 15 for row in rows} for name, rows in one.items()}
        assert not groups["train"] & groups["dev"]
        assert not groups["test"] & (groups["train"] | groups["dev"])
        # of some 30 pairs at most three may go, and a group has four: the smallest goes
        assert len(one["dev"]) == 4


def test_repeats_of_a_source_left_out_are_counted(asked, told):
    rows = mirrored(made_pairs(60, 1))
    # ten pairs of b repeat pairs of a
    rows = rows[:60] + rows[60:70] + [row | {"source": "b"} for row in made_pairs(40, 2)]
    found = assay.crossval(**asked(rows, by="source"))
    assert [len(one["train"]) + len(one["dev"]) for one in told[2:]] == [40, 50]
    keys = [pair_key(row["reference"], row["candidate"]) for row in rows]
    for one in told:
        assert not {keys[row - 1] for row in one["test"]} & {keys[row - 1] for row in one["train"] | one["dev"]}
    shown = found.to_markdown()
    assert "a left out: 10 pairs of other sources are the same as one of its pairs" in shown
    assert "b left out: 10 pairs of other sources" in shown


def test_texts_on_both_sides_are_told(tiny_base, tmp_path):
    """Of the four texts of the first fold one is trained on as well, of the four of the second none."""
    rows = [{"reference": f"w{k}", "candidate": f"v{k}", "label": k / 100} for k in range(44)]
    rows += [{"reference": "w0", "candidate": "x", "label": 0.5}, {"reference": "y", "candidate": "z", "label": 0.5}]
    rows += [{"reference": "r", "candidate": "s", "label": 0.5}, {"reference": "t", "candidate": "u", "label": 0.5}]
    path = tmp_path / "own.parquet"
    pq.write_table(pa.Table.from_pylist(rows), path)
    examples = load_examples([str(path)], limit=None)
    trainer = validating.FoldTrainer(
        parse_recipe(f"bi-encoder:{tiny_base}"), examples, Runtime(device="cpu", threads=1), Slow()
    )
    train = np.arange(44)
    learned = trainer._split_training_rows(train)[0]
    assert 0 in learned
    folds = [Fold("fold 1", train, np.array([44, 45])), Fold("fold 2", train, np.array([46, 47]))]
    assert trainer.check_partition(Partition(folds, {}, ())) == (
        "0 to 1 texts of the pairs held out at a time also occur in training pairs, with others: "
        "12.5% of them on average"
    )
    assert trainer.check_partition(Partition(folds[1:], {}, ())) == ""


def test_the_note_on_texts_stands_in_the_report(asked):
    rows = [row | {"reference": "one question"} for row in made_pairs(44, 1)]
    assert ": 1 to 1 texts of the pairs held out at a time also occur" in assay.crossval(**asked(rows)).to_markdown()
