"""The text of trees: what LightGBM writes is read, anything else is refused, and no text of a stranger reaches it."""

from __future__ import annotations

import random
import re
import sys

import numpy as np
import pytest

from assay.statistics.learners import Recipe
from assay.statistics.tree_text import MOST_LEAVES, parse_trees, text_of_trees
from tests.fuzz.trees import margin_of_text, random_text

lightgbm = pytest.importorskip("lightgbm")
INPUTS = (0, 1, 2)


@pytest.fixture(scope="module")
def text():
    """Trees of three inputs."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(400, 3))
    target = (values @ np.arange(3) + rng.normal(size=400) > 0).astype(float)
    return Recipe("trees", INPUTS, (True,) * 3).fit(values, target, is_class=True).text


def edited(text, key, change):
    """The text with the first line *key* of a tree changed."""
    head, _, rest = text.partition("Tree=0\n")
    match = re.search(rf"^{key}=(.*)$", rest, re.MULTILINE)
    return f"{head}Tree=0\n{rest[: match.start(1)]}{change(match[1].split(' '))}{rest[match.end(1) :]}"


def first(value):
    """A change of the first value of a line."""
    return lambda parts: " ".join([value, *parts[1:]])


def last(value):
    """A change of the last value of a line."""
    return lambda parts: " ".join([*parts[:-1], value])


def test_the_helper_changes_nothing_else(text):
    assert edited(text, "left_child", " ".join) == text


@pytest.mark.parametrize(
    ("key", "change", "message"),
    [
        ("left_child", first("0"), "its nodes are not a tree"),
        ("right_child", last("999999"), "its nodes are not a tree"),
        ("left_child", last("-999999"), "its nodes are not a tree"),
        ("split_feature", first("3"), "reads an input that there is not"),
        ("split_feature", first("-1"), "reads an input that there is not"),
        ("decision_type", first("1"), "divides by something else"),
        ("decision_type", first("12"), "divides by something else"),
        ("decision_type", first("18"), "divides by something else"),
        ("leaf_value", first("nan"), "expected 7 numbers"),
        ("leaf_value", first("inf"), "expected 7 numbers"),
        ("leaf_value", first("9e999"), "a leaf is larger"),
        ("threshold", lambda parts: " ".join(parts[:-1]), "expected 6 numbers"),
        ("threshold", lambda parts: " ".join([*parts, "0"]), "expected 6 numbers"),
        ("threshold", first("nan"), "expected 6 numbers"),
        ("leaf_count", first("0"), "are not those of its children"),
        ("internal_count", first("99999999999"), "expected 6 numbers"),
        ("num_cat", lambda parts: "1", "not those of a tree of numbers"),
        ("is_linear", lambda parts: "1", "not those of a tree of numbers"),
        ("shrinkage", lambda parts: "1\ncode=1", "not those of a tree of numbers"),
        ("shrinkage", lambda parts: "1\nleaf_value=0", "cannot read"),
        ("shrinkage", lambda parts: "1\n", "cannot read"),
        ("num_leaves", lambda parts: "999999", "has 999999 leaves"),
        ("num_leaves", lambda parts: str(MOST_LEAVES + 1), f"has {MOST_LEAVES + 1} leaves"),
    ],
)
def test_what_is_no_tree_is_refused(text, key, change, message):
    with pytest.raises(ValueError, match=message):
        parse_trees(edited(text, key, change), INPUTS)


#: Ways to write an integer that other readers of numbers take for one, or read in part.
NO_INTEGERS = (
    *("99999999e-999", "-100000000e-8", "-0.01e2", "-100e-2", "5e-999", "1.0", "1.", "+1", "01", "-0", "0x1", "1_0"),
    *(
        "١",
        "１",
        "²",
        "1\x0b",
        "\x0b1",
        "1\t",
        "1\r",
        "1\x00",
        "1\xa0",
        " 1",
        "1 ",
        "1\x1f",
        "1\u2028",
        "",
        "1,0",
        "0.5",
    ),
)


@pytest.mark.parametrize("key", ["split_feature", "decision_type", "left_child", "right_child", "leaf_count"])
@pytest.mark.parametrize("written", NO_INTEGERS)
def test_an_integer_is_written_in_one_way(text, key, written):
    for change in (first(written), last(written)):
        with pytest.raises(ValueError, match=r"expected \d numbers, found|cannot read"):
            parse_trees(edited(text, key, change), INPUTS)


@pytest.mark.parametrize("key", ["threshold", "leaf_value"])
@pytest.mark.parametrize(
    "written", ["١", "1_0", "+1", ".5", "1.", "1e", "1e5000", "0x1", "1\x0b", "infinity", "1d5", ""]
)
def test_a_number_is_written_in_ascii(text, key, written):
    with pytest.raises(ValueError, match=r"expected \d numbers"):
        parse_trees(edited(text, key, first(written)), INPUTS)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("max_feature_idx=2", "max_feature_idx=20"),
        ("num_class=1", "num_class=3"),
        ("num_class=1", "num_class=１"),
        ("tree_sizes=", "tree_sizes=9 "),
        ("objective=binary sigmoid:1", "objective=lambdarank"),
        ("objective=binary sigmoid:1", "objective=binary sigmoid:2"),
        ("end of trees", "end of trees\nparameters:\n[forcedsplits_filename: /etc/passwd]"),
        ("Tree=1\n", "Tree=7\n"),
        ("Tree=1\n", "\n\nTree=1\n"),
        ("Tree=1\n", "\x0bTree=1\n"),
        ("version=v4", "version=v4\nlinear_tree=1"),
        ("version=v4", "version=v4\naverage_output"),
        ("version=v4\n", "version=v4\n\n"),
        ("\n", "\r\n"),
        ("tree\n", "\ufefftree\n"),
    ],
)
def test_other_lines_are_refused(text, before, after):
    assert before in text
    with pytest.raises(ValueError):
        parse_trees(text.replace(before, after, 1), INPUTS)
    with pytest.raises(ValueError):
        parse_trees(text.replace(before, after), INPUTS)


@pytest.mark.parametrize("text", ["", "\n\n", "end of trees\n", "tree\n\nend of trees\n", "tree\n\nTree=0\n", "a" * 99])
def test_what_has_no_trees_is_refused(text):
    with pytest.raises(ValueError):
        parse_trees(text, INPUTS)


def test_trees_that_divide_by_categories_are_refused():
    rng = np.random.default_rng(0)
    values = np.stack([rng.integers(0, 6, 400).astype(float), rng.normal(size=400)], axis=1)
    data = lightgbm.Dataset(values, (values[:, 0] % 2) + values[:, 1], categorical_feature=[0])
    booster = lightgbm.train({"verbosity": -1, "num_threads": 1}, data, num_boost_round=5)
    with pytest.raises(ValueError, match="not those of a tree of numbers"):
        parse_trees(text_of_trees(booster), (0, 1))


def test_linear_trees_are_refused():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(400, 2))
    data = lightgbm.Dataset(values, values.sum(axis=1))
    booster = lightgbm.train({"verbosity": -1, "num_threads": 1, "linear_tree": True}, data, num_boost_round=3)
    with pytest.raises(ValueError, match="not those of a tree of numbers"):
        parse_trees(text_of_trees(booster), (0, 1))


def test_changes_at_random_are_refused_or_read_as_they_are_written():
    """No changed text is given to LightGBM; a second reader, row by row in Python, gives the value."""
    dice, read = random.Random(0), 0
    values = np.random.default_rng(0).normal(size=(20, 3))
    for _ in range(3000):
        written = random_text(dice, 3)
        characters = list(written)
        for _ in range(dice.choice([0, 1, 1, 2, 4])):
            characters[dice.randrange(len(characters))] = dice.choice(
                [*"0123456789-=. \n", "1e9", "nan", "inf", "", "٣"]
            )
        changed = "".join(characters)
        try:
            trees = parse_trees(changed, INPUTS)
        except ValueError:
            assert changed != written
            continue
        read += changed != written
        expected = [margin_of_text(changed, row) for row in values.tolist()]
        assert trees.margin(values).tolist() == expected
        largest = 1 + np.abs(trees.nodes.values).sum()
        np.testing.assert_allclose(trees.contributions(values).sum(axis=1), expected, rtol=0, atol=1e-12 * largest)
    assert read > 100


def test_trees_of_any_shape_have_the_values_of_lightgbm():
    """These texts are well-formed by how they are made; only such ones are given to LightGBM."""
    dice, rng = random.Random(1), np.random.default_rng(1)
    for _ in range(150):
        inputs = dice.randint(1, 6)
        text = random_text(dice, inputs)
        trees, booster = parse_trees(text, tuple(range(inputs))), lightgbm.Booster(model_str=text)
        values = rng.choice([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, np.nan, 1e-36, 3e9], size=(60, inputs))
        assert np.array_equal(trees.margin(values), booster.predict(values, raw_score=True, num_threads=1))
        expected = booster.predict(values, pred_contrib=True, num_threads=1)
        np.testing.assert_allclose(trees.contributions(values), expected, rtol=1e-9, atol=1e-9)


def test_scores_of_trees_need_no_lightgbm(text, monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    trees = parse_trees(text, INPUTS)
    assert np.isfinite(trees.margin(np.zeros((3, 3)))).all()
    assert np.isfinite(trees.contributions(np.zeros((3, 3)))).all()
