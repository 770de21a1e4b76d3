"""Trees as text: what learners give is read, and what LightGBM could not walk is refused before it reads it."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest

from assay.statistics.learners import Recipe
from assay.statistics.trees import Trees, check_trees

lightgbm = pytest.importorskip("lightgbm")


def learned(n=400, inputs=3, *, is_class=True, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, inputs))
    target = values @ np.arange(inputs) + rng.normal(size=n)
    recipe = Recipe("trees", tuple(range(inputs)), (True,) * inputs)
    return recipe.fit(values, (target > 0).astype(float) if is_class else target, is_class=is_class), values


@pytest.mark.parametrize("is_class", [True, False])
@pytest.mark.parametrize(("n", "inputs"), [(60, 1), (60, 2), (400, 5), (3000, 4)])
def test_what_is_learned_is_read(n, inputs, is_class):
    trees, values = learned(n, inputs, is_class=is_class)
    check_trees(trees.text, inputs)
    assert np.isfinite(trees.margin(values)).all()
    assert trees.contributions(values).sum(axis=1) == pytest.approx(trees.margin(values))


def test_nothing_is_lost_with_what_follows_the_trees():
    rng = np.random.default_rng(1)
    values, target = rng.normal(size=(300, 3)), rng.random(300)
    booster = lightgbm.train({"verbosity": -1, "num_threads": 1}, lightgbm.Dataset(values, target), num_boost_round=20)
    from assay.statistics.trees import text_of_trees

    text = text_of_trees(booster)
    check_trees(text, 3)
    assert len(text) < len(booster.model_to_string()) and "parameters" not in text
    assert Trees(text, (0, 1, 2)).margin(values).tolist() == booster.predict(values, raw_score=True).tolist()


def test_a_tree_that_divides_nothing_is_one():
    values = np.ones((60, 2))
    target = (np.arange(60) % 2).astype(float)
    trees = Recipe("trees", (0, 1), (True, True)).fit(values, target, is_class=True)
    check_trees(trees.text, 2)


def edited(text, key, change):
    """The text with the first line *key* of a tree changed, and the sizes that go with it."""
    head, _, rest = text.partition("Tree=0\n")
    match = re.search(rf"^{key}=(.*)$", rest, re.MULTILINE)
    rest = rest[: match.start(1)] + change(match[1].split(" ")) + rest[match.end(1) :]
    blocks = re.split(r"^(?=Tree=)", "Tree=0\n" + rest.removesuffix("end of trees\n"), flags=re.MULTILINE)[1:]
    head = re.sub(r"tree_sizes=.*", "tree_sizes=" + " ".join(str(len(block)) for block in blocks), head)
    return head + "".join(blocks) + "end of trees\n"


def test_the_helper_changes_nothing_else():
    trees, _ = learned()
    assert edited(trees.text, "left_child", " ".join) == trees.text


@pytest.mark.parametrize(
    ("key", "change", "message"),
    [
        ("left_child", lambda parts: " ".join(["0", *parts[1:]]), "its nodes are not a tree"),
        ("right_child", lambda parts: " ".join([*parts[:-1], "999999"]), "its nodes are not a tree"),
        ("left_child", lambda parts: " ".join([*parts[:-1], "-999999"]), "its nodes are not a tree"),
        ("split_feature", lambda parts: " ".join(["3", *parts[1:]]), "reads an input that there is not"),
        ("split_feature", lambda parts: " ".join(["-1", *parts[1:]]), "reads an input that there is not"),
        ("decision_type", lambda parts: " ".join(["1", *parts[1:]]), "divides by something else"),
        ("leaf_value", lambda parts: " ".join(["nan", *parts[1:]]), "expected 7 numbers"),
        ("leaf_value", lambda parts: " ".join(["9e999", *parts[1:]]), "a number is too large"),
        ("threshold", lambda parts: " ".join(parts[:-1]), "expected 6 numbers"),
        ("num_cat", lambda parts: "1", "not those of a tree of numbers"),
        ("is_linear", lambda parts: "1", "not those of a tree of numbers"),
        ("shrinkage", lambda parts: "1\ncode=1", "not those of a tree of numbers"),
        ("shrinkage", lambda parts: "1\nleaf_value=0", "cannot read"),
        ("num_leaves", lambda parts: "99999999", "has 99999999 leaves"),
        ("split_feature", lambda parts: " ".join(["0.5", *parts[1:]]), "not a whole number"),
    ],
)
def test_what_lightgbm_could_not_walk_is_refused(key, change, message):
    trees, _ = learned()
    with pytest.raises(ValueError, match=message):
        check_trees(edited(trees.text, key, change), 3)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("max_feature_idx=2", "max_feature_idx=20"),
        ("num_class=1", "num_class=3"),
        ("tree_sizes=", "tree_sizes=9"),
        ("objective=binary sigmoid:1", "objective=lambdarank"),
        ("end of trees", "end of trees\nparameters:\n[forcedsplits_filename: /etc/passwd]"),
        ("Tree=1\n", "Tree=7\n"),
        ("version=v4", "version=v4\nlinear_tree=1"),
    ],
)
def test_other_lines_are_refused(before, after):
    trees, _ = learned()
    assert before in trees.text
    with pytest.raises(ValueError):
        check_trees(trees.text.replace(before, after, 1), 3)
    with pytest.raises(ValueError):
        check_trees("", 3)


def test_changes_at_random_are_refused_or_harmless():
    """What passes is given to LightGBM, in this process."""
    trees, values = learned(120)
    head = trees.text.split("Tree=3\n")[0]
    short = re.sub(r"tree_sizes=(\S+ \S+ \S+).*", r"tree_sizes=\1", head) + "end of trees\n"
    check_trees(short, 3)
    dice, passed = random.Random(0), 0
    for _ in range(1500):
        text = list(short)
        for _ in range(dice.choice([1, 1, 2, 4])):
            text[dice.randrange(len(text))] = dice.choice([*"0123456789-=. \n", "1e9", "nan", ""])
        changed = "".join(text)
        try:
            check_trees(changed, 3)
        except ValueError:
            continue
        passed += 1
        assert len(Trees(changed, (0, 1, 2)).margin(values)) == len(values)
    assert passed > 50
