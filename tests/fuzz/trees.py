"""Trees in a combination of a stranger: read in full, with scores and contributions, or refused in one line."""

from __future__ import annotations

import math
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from tests.fuzz.making import TEXTS
from tests.fuzz.target import Target

INPUTS = 3
#: What has been read as another number by one of two readers, or as a line end.
WORDS = (
    *("99999999e-999", "-100000000e-8", "-0.01e2", "-100e-2", "5e-999", "9e999", "-1", "0", "1", "12", "2147483648"),
    *(
        "nan",
        "inf",
        "-inf",
        "1e308",
        "٣",
        "１",
        "\x0b",
        "\x0c",
        "\x1c",
        "\x85",
        "\u2028",
        "\r",
        "\n",
        "\n\n",
        "\0",
        " ",
    ),
    *("Tree=0\n", "end of trees\n", "leaf_value=0\n", "num_cat=1", "left_child=", "-", ".", "e", "e9", "00", "_", "="),
)
NUMBERS = (0.0, -0.0, 0.5, -0.5, 1.0, 1.0000000180025095e-35, -1e-36, 1e-300, 1e300, 123.456, -7.25, 0.1)


def random_text(random: Random, inputs: int) -> str:
    """Return well-formed trees of any shape in the notation of LightGBM."""
    blocks = [_random_tree(random, number, inputs) for number in range(random.choice((1, 1, 2, 5)))]
    head = {
        "version": "v4",
        "num_class": 1,
        "num_tree_per_iteration": 1,
        "label_index": 0,
        "max_feature_idx": inputs - 1,
        "objective": random.choice(("regression", "binary sigmoid:1")),
        "feature_names": " ".join(f"Column_{number}" for number in range(inputs)),
        "feature_infos": " ".join(["[-9:9]"] * inputs),
        "tree_sizes": " ".join(str(len(block)) for block in blocks),
    }
    return f"tree\n{_lines(head)}\n" + "".join(blocks) + "end of trees\n"


def _random_tree(random: Random, number: int, inputs: int) -> str:
    leaf_counts, children = [random.choice((1, 5, 1000))], []
    at: list[tuple[int, int] | None] = [None]
    for _ in range(random.choice((0, 1, 2, 6, 6, 6, 20, 63))):
        # the last leaf makes a chain, any leaf a bush
        leaf = random.choice((len(leaf_counts) - 1, random.randrange(len(leaf_counts))))
        place = at[leaf]
        if place is not None:
            children[place[0]][place[1]] = len(children)
        at[leaf] = (len(children), 0)
        at.append((len(children), 1))
        children.append([~leaf, ~len(leaf_counts)])
        leaf_counts.append(random.choice((1, 3, 400)))

    def count(child: int) -> int:
        return leaf_counts[~child] if child < 0 else sum(map(count, children[child]))

    lines: dict[str, Any] = {
        "Tree": number,
        "num_leaves": len(leaf_counts),
        "num_cat": 0,
        "split_feature": [random.randrange(inputs) for _ in children],
        "split_gain": [1] * len(children),
        "threshold": [random.choice(NUMBERS) for _ in children],
        "decision_type": [random.choice((0, 2, 4, 6, 8, 10)) for _ in children],
        "left_child": [left for left, _ in children],
        "right_child": [right for _, right in children],
        "leaf_value": [random.uniform(-2, 2) for _ in leaf_counts],
        "leaf_weight": leaf_counts,
        "leaf_count": leaf_counts,
        "internal_value": [0] * len(children),
        "internal_weight": [0] * len(children),
        "internal_count": [count(node) for node in range(len(children))],
        "is_linear": 0,
        "shrinkage": 1,
    }
    return f"{_lines(lines)}\n\n"


def _lines(values: dict[str, Any]) -> str:
    texts = {key: " ".join(map(str, value)) if isinstance(value, list) else value for key, value in values.items()}
    return "".join(f"{key}={value}\n" for key, value in texts.items())


def margin_of_text(text: str, row: list[float]) -> float:
    """Return the sum of the trees of a text that was accepted for one row: a second reader, slow and plain."""
    total = 0.0
    row = [0.0 if abs(value) <= float(np.float32(1e-35)) else value for value in row]
    for block in text.split("\nTree=")[1:]:
        lines = dict(line.partition("=")[::2] for line in block.split("\n")[1:])
        child = -1 if lines["num_leaves"] == "1" else 0
        while child >= 0:
            decision = int(lines["decision_type"].split(" ")[child])
            threshold = float(lines["threshold"].split(" ")[child])
            value = row[int(lines["split_feature"].split(" ")[child])]
            kind = decision // 4
            if math.isnan(value) and kind != 2:
                value = 0.0
            if (kind == 1 and value == 0) or (kind == 2 and math.isnan(value)):
                goes_left = decision % 4 == 2
            else:
                goes_left = value <= threshold
            child = int(lines["left_child" if goes_left else "right_child"].split(" ")[child])
        total += float(lines["leaf_value"].split(" ")[~child])
    return total


def make_trees(random: Random) -> bytes:
    """Return trees with some numbers, lines or characters changed."""
    text = random_text(random, INPUTS)
    for _ in range(random.choice((0, 1, 1, 1, 2, 4))):
        way = random.random()
        if way < 0.6:
            # a value of a line is another
            parts = text.replace("\n", " \n ").replace("=", " = ").split(" ")
            parts[random.randrange(len(parts))] = random.choice((*WORDS, *parts))
            text = " ".join(parts).replace(" \n ", "\n").replace(" = ", "=")
        elif way < 0.8:
            place = random.randrange(len(text))
            text = text[:place] + random.choice((*WORDS, *TEXTS)) + text[place + random.choice((0, 1, 3)) :]
        else:
            lines = text.split("\n")
            lines[random.randrange(len(lines))] = random.choice((*WORDS, *lines))
            text = "\n".join(lines)
    return text.encode()


def read_folder(content: bytes, folder: Path) -> None:
    """Read a combination with these trees, and compare scores and contributions with the second reader."""
    from assay.metrics.combination import FILE_NAME, CombinedFile, Member, TreesStep, read_combined

    text = content.decode("utf-8", "replace")
    combined = CombinedFile(
        format=1,
        members=tuple(Member(metric=name, higher_is_better=True, signature={}) for name in ("em", "f1", "chrf")),
        means=(0.5,) * INPUTS,
        levels=(),
        low=-1e200,
        high=1e200,
        steps=(TreesStep(kind="trees", trees=text, offset=0.0, slope=1.0),),
        learned_from={},
    )
    combined = combined.model_copy(update={"digest": combined.own_digest()})
    (folder / FILE_NAME).write_text(combined.model_dump_json(), encoding="utf-8")
    learned = read_combined(folder).learned
    values = np.array([[0.0, 0.0, 0.0], [1.0, 0.5, -0.5], [0.5, 1e-36, 1e9], [-7.25, 0.1, 1.0], [-1e300, 1e300, -0.0]])
    expected = [margin_of_text(text, row) for row in values.tolist()]
    assert learned.scores(values).tolist() == expected
    contributions, base = learned.contributions(values, np.full(INPUTS, 0.5))
    largest = 1 + float(np.abs(learned.steps[0].function.nodes.values).sum())  # type: ignore[union-attr]
    np.testing.assert_allclose(contributions.sum(axis=1) + base, expected, rtol=0, atol=1e-11 * largest)


TARGETS = {"trees": Target(make_trees, read_folder)}
