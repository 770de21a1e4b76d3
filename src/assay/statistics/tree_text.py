"""LightGBM's text of boosted trees, read into arrays by a strict grammar.

The text can come from a stranger's folder, and LightGBM would trust it: an invalid child node makes it read outside its
memory or loop forever. So LightGBM only learns, and assay computes with the numbers that it has read itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.exceptions import MissingExtraError
from assay.statistics.trees import Nodes, Trees

#: The line after the trees; the importances and training settings that follow it are left out.
END = "end of trees"
#: The most leaves of a tree, so that time and memory stay proportional to the length of a text.
MOST_LEAVES = 64
#: The largest absolute value of a leaf, so that no sum of leaves is infinite.
MOST_VALUE = 1e100
#: The most training pairs, which LightGBM counts in 32 bits.
MOST_PAIRS = 2**31 - 1
_NUMBER = r"-?[0-9]{1,20}(?:\.[0-9]{1,40})?(?:e[-+]?[0-9]{1,3})?"
_NUMBERS = re.compile(rf"{_NUMBER}(?: {_NUMBER})*")
#: A threshold is ``inf`` where a node only separates missing values.
_THRESHOLDS = re.compile(rf"(?:{_NUMBER}|inf)(?: (?:{_NUMBER}|inf))*")
_INTEGER = r"(?:0|-?[1-9][0-9]{0,9})"
_INTEGERS = re.compile(rf"{_INTEGER}(?: {_INTEGER})*")
#: The lines before the trees that must have a value; the others of the head are not read.
_HEAD = {"version": "v4", "num_class": "1", "num_tree_per_iteration": "1", "label_index": "0"}
_HEAD_OTHERS = {"max_feature_idx", "objective", "feature_names", "feature_infos", "tree_sizes"}
#: A line of the head that may be absent: the monotone constraints of the training, which are not read.
_CONSTRAINTS = "monotone_constraints"
_OBJECTIVES = ("binary sigmoid:1", "regression")
#: The lines of a tree with one value for each inner node, with one for each leaf, and those that are not read.
_OF_NODES = ("split_feature", "decision_type", "left_child", "right_child", "internal_count", "threshold")
_OF_LEAVES = ("leaf_count", "leaf_value")
_NOT_READ = {"split_gain", "leaf_weight", "internal_value", "internal_weight", "shrinkage"}
_TREE = {"Tree", "num_leaves", "num_cat", "is_linear", *_OF_NODES, *_OF_LEAVES, *_NOT_READ}
#: The decision types of a node that compares a number: the bit of 2 sends missing values left, the bits above it are
#: one of the kinds of missing values of :mod:`assay.statistics.trees`.
_DECISIONS = (0, 2, 4, 6, 8, 10)


def import_lightgbm() -> Any:
    """Return the module lightgbm.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        import lightgbm
    except ImportError as error:
        raise MissingExtraError("lightgbm", "combine") from error
    return lightgbm


def text_of_trees(booster: Any) -> str:
    """Return the text of a LightGBM booster up to the end of its trees."""
    text: str = booster.model_to_string()
    return text.partition(END)[0] + END + "\n"


def parse_trees(text: str, columns: tuple[int, ...]) -> Trees:
    """Return the trees of a text as :func:`text_of_trees` writes it.

    Args:
        text: LightGBM's text of trees that compare numbers.
        columns: the indices of the inputs that the trees read, in the order of the text.

    Raises:
        ValueError: the text is not such a text; the message says where.
    """
    # the head ends with one blank line, and each tree with two
    head, *blocks = re.split(r"\n{2,3}", text)
    if len(blocks) < 2 or blocks.pop() != f"{END}\n":
        raise ValueError("there are no trees")
    _check_head(head, len(blocks), len(columns))
    trees = []
    for number, block in enumerate(blocks):
        try:
            trees.append(_parse_tree(block, number, len(columns)))
        except ValueError as error:
            raise ValueError(f"tree {number}: {error}") from None
    return Trees(text, columns, _join_trees(trees))


class _Tree(NamedTuple):
    """One tree as it is written: its inner nodes from 0 on, with leaves as the children -1, -2, ...

    Attributes:
        leaf_values: the values of the leaves.
        leaf_counts: the training pairs in each leaf.
        node_counts: the training pairs in each inner node.
        features, thresholds, decisions: the input that each node compares, with what, and the decision type.
        children: the left and the right child of each node.
    """

    leaf_values: list[float]
    leaf_counts: list[int]
    node_counts: list[int]
    features: list[int]
    thresholds: list[float]
    decisions: list[int]
    children: list[tuple[int, int]]


def _fields_of_lines(lines: Sequence[str]) -> dict[str, str]:
    """Return lines of the form ``key=value`` as a dictionary; raise ValueError for another line or a duplicate key."""
    values: dict[str, str] = {}
    for line in lines:
        key, sign, value = line.partition("=")
        if not sign or key in values:
            raise ValueError(f"cannot read {line[:40]!r}")
        values[key] = value
    return values


def _check_head(head: str, tree_count: int, inputs: int) -> None:
    """Raise ValueError unless the lines before the trees are those of so many trees of so many inputs."""
    first, *lines = head.split("\n")
    values = _fields_of_lines(lines)
    values.pop(_CONSTRAINTS, None)
    fixed = {**_HEAD, "max_feature_idx": str(inputs - 1)}
    is_head = first == "tree" and values.keys() == _HEAD.keys() | _HEAD_OTHERS and values.items() >= fixed.items()
    is_of_these_trees = is_head and len(values["tree_sizes"].split(" ")) == tree_count
    if not is_of_these_trees or values["objective"] not in _OBJECTIVES:
        raise ValueError("the lines before the trees are not those of such trees")


def _parse_tree(block: str, number: int, inputs: int) -> _Tree:
    """Return the tree of a text.

    Args:
        block: the text of the tree.
        number: the position of the tree, from 0, which its first line states.
        inputs: the number of inputs that the tree may read.

    Raises:
        ValueError: the text is not that of a tree that compares numbers.
    """
    lines = _fields_of_lines(block.split("\n"))
    if lines.keys() != _TREE or (lines["Tree"], lines["num_cat"], lines["is_linear"]) != (str(number), "0", "0"):
        raise ValueError("its lines are not those of a tree of numbers")
    (leaves,) = _parse_integers(lines["num_leaves"], 1)
    if not 1 <= leaves <= MOST_LEAVES:
        raise ValueError(f"has {leaves} leaves")
    integers = {key: _parse_integers(lines[key], leaves - 1) for key in _OF_NODES if key != "threshold"}
    tree = _Tree(
        leaf_values=[float(text) for text in _split_numbers(lines["leaf_value"], leaves, _NUMBERS)],
        leaf_counts=_parse_integers(lines["leaf_count"], leaves),
        node_counts=integers["internal_count"],
        features=integers["split_feature"],
        thresholds=[float(text) for text in _split_numbers(lines["threshold"], leaves - 1, _THRESHOLDS)],
        decisions=integers["decision_type"],
        children=list(zip(integers["left_child"], integers["right_child"], strict=True)),
    )
    _check_tree(tree, inputs)
    return tree


def _check_tree(tree: _Tree, inputs: int) -> None:
    """Raise ValueError unless the numbers of a tree fit each other and the number of inputs.

    The inputs, decisions and leaves have to be known ones, the nodes have to be a tree, and each node has to have the
    training pairs of its children.
    """
    leaves = len(tree.leaf_values)
    if any(not 0 <= feature < inputs for feature in tree.features):
        raise ValueError("reads an input that there is not")
    if any(decision not in _DECISIONS for decision in tree.decisions):
        raise ValueError("divides by something else than a number")
    if any(abs(value) > MOST_VALUE for value in tree.leaf_values):
        raise ValueError(f"a leaf is larger than {MOST_VALUE:g}")
    # each node but the first, and each leaf (as -1, -2, ...), must be the child of exactly one node, which precedes it
    expected = [*range(-leaves, 0), *range(1, leaves - 1)] if leaves > 1 else []
    if sorted(chain.from_iterable(tree.children)) != expected:
        raise ValueError("its nodes are not a tree")
    for node, children in enumerate(tree.children):
        if any(0 <= child <= node for child in children):
            raise ValueError("its nodes are not a tree")
    if leaves == 1:
        # LightGBM writes any number of pairs for a tree of a single leaf; nothing depends on it
        return
    for count, children in zip(tree.node_counts, tree.children, strict=True):
        counts_of_children = [tree.node_counts[child] if child >= 0 else tree.leaf_counts[~child] for child in children]
        if count != sum(counts_of_children):
            raise ValueError("the pairs in a node are not those of its children")
    if min(tree.leaf_counts) < 1 or tree.node_counts[0] > MOST_PAIRS:
        raise ValueError("a leaf without pairs, or more pairs than LightGBM counts")


def _join_trees(trees: Sequence[_Tree]) -> Nodes:
    """Return the arrays of several trees, in which the children of a node are slots; see :class:`Nodes`."""
    leaf_total = sum(len(tree.leaf_values) for tree in trees)
    children: list[tuple[int, ...]] = []
    roots = []
    first_leaf, first_node = 0, leaf_total
    for tree in trees:
        for pair in tree.children:
            children.append(tuple(first_node + child if child >= 0 else first_leaf + ~child for child in pair))
        roots.append(first_node if tree.children else first_leaf)
        first_leaf += len(tree.leaf_values)
        first_node += len(tree.children)
    decisions = _concatenate([tree.decisions for tree in trees], np.intp)
    counts = [tree.leaf_counts for tree in trees] + [tree.node_counts for tree in trees]
    return Nodes(
        features=_concatenate([tree.features for tree in trees], np.intp),
        thresholds=_concatenate([tree.thresholds for tree in trees], np.float64),
        # the bits of a decision: see _DECISIONS
        missing=decisions >> 2,
        missing_left=(decisions & 2).astype(np.bool_),
        children=np.array(children, dtype=np.intp).reshape(-1, 2),
        values=_concatenate([tree.leaf_values for tree in trees], np.float64),
        counts=_concatenate(counts, np.intp),
        roots=np.array(roots, dtype=np.intp),
    )


def _concatenate(lists: Sequence[Sequence[float]], kind: type[Any]) -> NDArray[Any]:
    """Return the numbers of several lists as one array."""
    return np.array([number for numbers in lists for number in numbers], dtype=kind)


def _parse_integers(text: str, size: int) -> list[int]:
    """Return the *size* integers of a line; raise ValueError for anything else."""
    return [int(number) for number in _split_numbers(text, size, _INTEGERS)]


def _split_numbers(text: str, size: int, notation: re.Pattern[str]) -> list[str]:
    """Return the *size* numbers of a line as texts; raise ValueError if it is not written in this notation."""
    numbers = text.split(" ") if text else []
    if len(numbers) != size or (numbers and not notation.fullmatch(text)):
        raise ValueError(f"expected {size} numbers, found {text[:40]!r}")
    return numbers
