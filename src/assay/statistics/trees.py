"""Boosted trees as LightGBM's own text, which is checked before LightGBM reads it.

LightGBM trusts its text: an invalid child node makes it read outside its memory or loop forever, and the text can come
from an untrusted folder.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from assay.errors import MissingExtraError
from assay.statistics.concordance import Floats

#: The line after the trees; the importances and training settings that follow it are left out.
END = "end of trees"
#: The most leaves of a tree, because LightGBM's recursion is as deep as the tree.
MOST_LEAVES = 1000
#: Lines of a tree with one number per leaf, or per inner node.
_OF_LEAVES = ("leaf_value", "leaf_weight", "leaf_count")
_OF_NODES = ("split_gain", "threshold", "internal_value", "internal_weight", "internal_count")
_WHOLE_OF_NODES = ("split_feature", "decision_type", "left_child", "right_child")
_NUMBER = r"-?\d{1,20}(?:\.\d{1,40})?(?:e[-+]?\d{1,3})?"


@dataclass(frozen=True)
class Trees:
    """Boosted trees of LightGBM.

    Attributes:
        text: the trees in LightGBM's own text format, see :func:`text_of_trees`.
        columns: the indices of the inputs that the trees read.
    """

    text: str
    columns: tuple[int, ...]

    @property
    def _booster(self) -> Any:
        return _booster_of(self.text)

    def margin(self, inputs: Floats) -> Floats:
        """Return the sum of the trees for each pair, shape (n,), from inputs of shape (n, m)."""
        values: Floats = self._booster.predict(inputs[:, self.columns], raw_score=True, num_threads=1)
        return values

    def contributions(self, inputs: Floats) -> Floats:
        """Return the contribution of each input that the trees read, and the mean margin last, shape (n, columns + 1).

        Source: Lundberg, Erion & Lee, Consistent individualized feature attribution for tree ensembles (2018).
        """
        values: Floats = self._booster.predict(inputs[:, self.columns], pred_contrib=True, num_threads=1)
        return values


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


@lru_cache(maxsize=16)
def _booster_of(text: str) -> Any:
    # cached, because LightGBM takes a while to parse the text, and a score is computed in many batches
    return import_lightgbm().Booster(model_str=text)


def text_of_trees(booster: Any) -> str:
    """Return the text of a LightGBM booster up to the end of its trees."""
    text: str = booster.model_to_string()
    return text.partition(END)[0] + END + "\n"


def check_trees(text: str, inputs: int) -> None:
    """Raise ValueError unless LightGBM can safely read the text of trees, which :func:`text_of_trees` returned.

    Args:
        text: the text to check.
        inputs: the number of inputs that the trees may read.

    Raises:
        ValueError: the text is invalid; the message says where.
    """
    starts = [match.start() for match in re.finditer(r"^Tree=", text, re.MULTILINE)]
    if not starts or not text.endswith(f"\n{END}\n"):
        raise ValueError("there are no trees")
    ends = [*starts[1:], len(text) - len(END) - 1]
    blocks = [text[start:end] for start, end in zip(starts, ends, strict=True)]
    _check_head(text[: starts[0]], blocks, inputs)
    for number, block in enumerate(blocks):
        try:
            _check_tree(block, number, inputs)
        except (KeyError, ValueError) as error:
            raise ValueError(f"tree {number}: {error}") from None


def _fields_of_text(text: str) -> dict[str, str]:
    """Return lines of the form ``key=value`` as a dictionary; raise ValueError for another line or a duplicate key."""
    values: dict[str, str] = {}
    for line in text.splitlines():
        key, sign, value = line.partition("=")
        if line and (not sign or key in values):
            raise ValueError(f"cannot read {line[:40]!r}")
        if line:
            values[key] = value
    return values


def _check_head(head: str, blocks: Sequence[str], inputs: int) -> None:
    """Raise ValueError unless the lines before the trees are those of trees of this many inputs.

    Args:
        head: the text before the first tree.
        blocks: the texts of the trees, whose sizes the head lists.
        inputs: the number of inputs.
    """
    first, _, rest = head.partition("\n")
    lines = _fields_of_text(rest)
    objective = lines.pop("objective", "")
    names, ranges = lines.pop("feature_names", "").split(" "), lines.pop("feature_infos", "").split(" ")
    expected = {
        "version": "v4",
        "num_class": "1",
        "num_tree_per_iteration": "1",
        "label_index": "0",
        "max_feature_idx": str(inputs - 1),
        "tree_sizes": " ".join(str(len(block)) for block in blocks),
    }
    # the monotone constraints of the training, which prediction does not read
    constraints = lines.pop("monotone_constraints", "0").split(" ")
    numbers = rf"\[{_NUMBER}:{_NUMBER}\]|none"
    if (
        first != "tree"
        or lines != expected
        or objective not in ("binary sigmoid:1", "regression")
        or not all(re.fullmatch(r"Column_\d{1,6}", name) for name in names)
        or not all(re.fullmatch(numbers, span) for span in ranges)
        or not all(re.fullmatch(r"-?[01]", sign) for sign in constraints)
        or len(names) != inputs
        or len(ranges) != inputs
    ):
        raise ValueError("the lines before the trees are not those of such trees")


def _check_tree(block: str, number: int, inputs: int) -> None:
    """Raise ValueError, or KeyError for a missing line, unless the text of a tree is valid.

    Args:
        block: the text of the tree.
        number: the position of the tree, from 0, which its first line states.
        inputs: the number of inputs that the tree may read.
    """
    lines = _fields_of_text(block)
    leaves = int(lines["num_leaves"])
    if not 1 <= leaves <= MOST_LEAVES:
        raise ValueError(f"has {leaves} leaves")
    single = {"Tree": str(number), "num_leaves": str(leaves), "num_cat": "0", "is_linear": "0"}
    sizes = dict.fromkeys(_OF_LEAVES, leaves) | dict.fromkeys((*_OF_NODES, *_WHOLE_OF_NODES), leaves - 1)
    if leaves == 1 and lines.get("leaf_weight") == "":
        # LightGBM writes a tree of a single leaf without its weight
        sizes["leaf_weight"] = 0
    if lines.keys() != {*single, *sizes, "shrinkage"} or any(lines[key] != value for key, value in single.items()):
        raise ValueError("its lines are not those of a tree of numbers")
    _parse_numbers(lines["shrinkage"], 1)
    values = {key: _parse_numbers(lines[key], size) for key, size in sizes.items()}
    if not all(value.is_integer() for key in _WHOLE_OF_NODES for value in values[key]):
        raise ValueError("a node or an input is not a whole number")
    integers = {key: [int(value) for value in values[key]] for key in _WHOLE_OF_NODES}
    if any(not 0 <= feature < inputs for feature in integers["split_feature"]):
        raise ValueError("reads an input that there is not")
    # an odd type divides by categories; the higher bits tell what is done with missing values
    if any(kind not in range(0, 16, 2) for kind in integers["decision_type"]):
        raise ValueError("divides by something else than a number")
    # each node but the first, and each leaf (as -1, -2, ...), must be the child of exactly one node, which precedes it
    children = sorted([*integers["left_child"], *integers["right_child"]])
    expected = [*range(-leaves, 0), *range(1, leaves - 1)] if leaves > 1 else []
    children_follow = True
    for side in ("left_child", "right_child"):
        children_follow &= all(child < 0 or child > node for node, child in enumerate(integers[side]))
    if children != expected or not children_follow:
        raise ValueError("its nodes are not a tree")


def _parse_numbers(text: str, size: int) -> list[float]:
    """Return the *size* finite numbers of a line; raise ValueError for anything else."""
    parts = text.split(" ") if text else []
    if len(parts) != size or not all(re.fullmatch(_NUMBER, part) for part in parts):
        raise ValueError(f"expected {size} numbers, found {text[:40]!r}")
    numbers = [float(part) for part in parts]
    if not all(map(math.isfinite, numbers)):
        raise ValueError(f"a number is too large: {text[:40]!r}")
    return numbers
