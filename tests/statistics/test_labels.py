"""Labels that people meant as equal are equal wherever they are read, and others stay apart."""

from __future__ import annotations

import itertools
import json
import random

import numpy as np
import pytest

import assay
from assay.analysis.thresholds.labels import classify_labels
from assay.benchmark.buckets import split_into_buckets
from assay.statistics.labels import round_labels


@pytest.mark.parametrize(
    ("cells", "meant"),
    [
        ((0.1, 0.2, 0.3), 0.2),
        ((0.7, 0.8, 0.9), 0.8),
        ((0.7, 0.9, 0.8, 0.8), 0.8),
        ((1.1, 2.2, 3.3), 2.2),
        ((-0.1, -0.2, -0.3), -0.2),
        ((0.29999999999999999, 0.30000000000000004), 0.3),
        ((1e-6, 2e-6, 3e-6), 2e-6),
    ],
)
def test_the_mean_of_annotators_does_not_depend_on_their_order(cells, meant):
    names = [f"a{number}" for number in range(len(cells))]
    rows = [
        {"reference": "a", "candidate": str(number), **dict(zip(names, order, strict=True))}
        for number, order in enumerate(itertools.permutations(cells))
    ]
    pairs = assay.load_dataset(rows, columns={"label": names})
    assert set(pairs.labels.tolist()) == {meant}


def test_means_without_end_are_one_label_too():
    """As cells that another program computed, in any order and of other annotations with the same mean."""
    dice = random.Random(0)
    for count in (3, 6, 7, 9, 11, 13, 20, 49):
        total = dice.randint(1, 10 * count - 1)
        cells = []
        for _ in range(200):
            cuts = sorted(dice.randint(0, total) for _ in range(count - 1))
            tenths = [high - low for low, high in zip([0, *cuts], [*cuts, total], strict=True)]
            added = 0.0
            for tenth in tenths:
                added += tenth / 10
            cells.append(added / count)
        assert len(set(round_labels(np.array(cells)).tolist())) == 1, count


def test_decimal_numbers_keep_every_bit():
    dice = random.Random(0)
    for _ in range(20_000):
        digits, exponent = dice.randint(1, 12), dice.randint(-20, 15)
        number = float(f"{dice.choice('+-')}{dice.randint(10 ** (digits - 1), 10**digits - 1)}e{exponent - digits}")
        assert round_labels(np.array([number])).tolist() == [number]


@pytest.mark.parametrize(
    "apart",
    [
        (1e15, 1e15 + 1, 1e15 + 0.5, 1e15 - 1),
        (2.0**53 - 1, 2.0**53),
        (123456789012.25, 123456789012.5),
        (0.1, 0.1 + 1e-12),
        (1.0, 1.0 + 1e-11, 1.0 - 1e-11),
        (1e-300, 2e-300, 0.0, 5e-324),
        (1e-15, 1.00001e-15),
        (float(np.float32(0.1)), 0.1),
    ],
)
def test_labels_that_differ_stay_apart(apart):
    rows = [(str(number), "b", label) for number, label in enumerate(apart)]
    assert len(set(assay.load_dataset(rows).labels.tolist())) == len(apart)


def test_what_is_rounded_stays_as_it_is_and_missing_labels_stay_missing():
    values = np.random.default_rng(0).normal(size=10_000) * 10.0 ** np.random.default_rng(1).integers(-9, 9, 10_000)
    rounded = round_labels(values)
    assert np.array_equal(round_labels(rounded), rounded)
    np.testing.assert_allclose(rounded, values, rtol=1e-12)
    assert np.isnan(round_labels(np.array([np.nan]))).all() and values.flags.owndata


@pytest.mark.parametrize("form", ["csv", "jsonl", "rows"])
def test_cells_rules_and_buckets_agree(form, tmp_path):
    """.8 as ten programs would write it; a third of the pairs has a label of two thirds."""
    eights = [0.8, 0.7999999999999999, 0.8000000000000002]
    thirds = [2 / 3, 0.6666666666666667, 0.6666666666666665]
    labels = [*eights, *thirds, 0.1, 0.2, 0.19999999999999998]
    rows = [{"reference": f"a{number}", "candidate": "b", "label": label} for number, label in enumerate(labels)]
    data = rows
    if form == "csv":
        data = tmp_path / "a.csv"
        data.write_text("reference,candidate,label\n" + "".join(f"a{n},b,{v!r}\n" for n, v in enumerate(labels)))
    elif form == "jsonl":
        data = tmp_path / "a.jsonl"
        data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    pairs = assay.load_dataset(data)
    assert len(set(pairs.labels.tolist())) == 4

    def sizes(rule):
        return {bucket.name: int(bucket.mask.sum()) for bucket in split_into_buckets(pairs, (rule,), lambda: None)}

    assert sizes("label<0.8")["label<0.8"] == 6
    assert sizes("label=0.6666666666666666")["label=0.6666666666666666"] == 3
    assert list(sizes("label:0,0.6666666666666666,1").values())[1:] == [3, 6]
    for rule, count in (("label>=0.8", 3), ("label>=0.6666666666666666", 6), ("label>0.2", 6)):
        # also in the folder of an older run, which did not round
        for values in (pairs.labels, np.array(labels)):
            assert classify_labels(values, rule, "run", "data")[1].sum() == count
