"""The annotation graph: what nodes, edges and degrees are, and the figures of Waldis et al. 2022."""

from __future__ import annotations

import math
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from assay.datasets import Pairs, load_card_splits, load_dataset
from assay.datasets.annotation_graph import AnnotationGraph, build_graph, describe_graph, graph_line, graph_of
from assay.exceptions import InputError

# What the paper's text and the captions of its figures 2 to 4 say of the seven edges of figure 2. The seventh is not
# in the text; V4 is at an end of it, since no other node has fewer than two edges without it.
FIGURE = [("V1", "V2"), ("V1", "V3"), ("V3", "V2"), ("V1", "V6"), ("V4", "V5"), ("V5", "V6"), ("V4", "V1")]


def graph(rows: list[tuple[str, str]], directed: bool = False) -> AnnotationGraph:
    return build_graph([a for a, _ in rows], [b for _, b in rows], directed=directed)


def degrees(made: AnnotationGraph) -> dict[str, int]:
    return dict(zip(made.texts, made.degrees.tolist(), strict=True))


def test_the_graph_of_figure_2() -> None:
    made = graph(FIGURE)
    assert degrees(made) == {"V1": 4, "V2": 2, "V3": 2, "V4": 2, "V5": 2, "V6": 2}
    # Seven edges have fourteen ends, and so six nodes a mean of 2.33; the caption's 2.5 would be fifteen.
    assert made.mean_degree == pytest.approx(14 / 6)
    # Squared distances from 14/6: 25/9 and five times 1/9, together 10/3; over five.
    assert made.deviation == pytest.approx(math.sqrt(10 / 3 / 5))
    assert made.variation == pytest.approx(math.sqrt(2 / 3) / (14 / 6))
    rows = made.rows_of(made.texts.index("V3"))
    neighbours = {made.texts[node] for row in rows for node in (made.first[row], made.second[row])}
    assert neighbours - {"V3"} == {"V1", "V2"}
    assert (
        graph_line(describe_graph(made))
        == "annotation graph: 6 texts, each paired with 2.3 ± 0.8 others (mean ± SD, CV 0.35)"
    )


def test_the_deviation_of_figure_2_can_only_be_that_of_a_sample() -> None:
    six = [np.array(one) for one in combinations_with_replacement(range(1, 11), 6) if sum(one) == 15]
    assert not any(round(one.std(), 2) == 0.84 for one in six)
    assert [one.tolist() for one in six if round(one.std(ddof=1), 2) == 0.84] == [
        [1, 2, 3, 3, 3, 3],
        [2, 2, 2, 2, 3, 4],
    ]


@pytest.mark.parametrize(
    ("rows", "directed", "expected", "edges"),
    [
        ([("a", "b"), ("a", "b")], False, {"a": 1, "b": 1}, 1),
        ([("a", "b"), ("b", "a")], False, {"a": 1, "b": 1}, 1),
        ([("a", "b"), ("b", "a"), ("b", "a")], True, {"a": 2, "b": 2}, 2),
        ([("a", "a"), ("a", "b"), ("a", "a")], False, {"a": 3, "b": 1}, 2),
        ([("a", "A"), ("a", "a ")], False, {"a": 2, "A": 1, "a ": 1}, 2),
    ],
)
def test_what_an_edge_is(rows: Any, directed: bool, expected: dict[str, int], edges: int) -> None:
    made = graph(rows, directed)
    assert degrees(made) == expected and len(made.edges) == edges and made.degrees.sum() == 2 * edges


def test_the_rows_of_a_node_are_all_there_and_each_once() -> None:
    made = graph([("a", "b"), ("b", "a"), ("a", "a"), ("c", "b")])
    rows = {text: made.rows_of(node).tolist() for node, text in enumerate(made.texts)}
    assert rows == {"a": [0, 1, 2], "b": [0, 1, 3], "c": [3]}


@given(some.lists(some.tuples(some.integers(0, 6), some.integers(0, 6)), max_size=25), some.booleans())
def test_random_graphs_against_sets(rows: list[tuple[int, int]], directed: bool) -> None:
    made = graph([(str(a), str(b)) for a, b in rows], directed)
    edges = {(a, b) if directed else (min(a, b), max(a, b)) for a, b in rows}
    assert set(made.texts) == {str(node) for row in rows for node in row}
    assert len(made) == len(rows) and len(made.edges) == len(edges)
    for node, text in enumerate(made.texts):
        assert made.degrees[node] == sum((a == int(text)) + (b == int(text)) for a, b in edges)
        assert made.rows_of(node).tolist() == [row for row, ends in enumerate(rows) if int(text) in ends]
    for row, ends in enumerate(zip(made.first, made.second, strict=True)):
        for side, node in enumerate(ends):
            place = made.positions[row, side]
            assert made.incident_rows[place] == row and made.starts[node] <= place < made.starts[node + 1]


def test_some_rows_alone() -> None:
    made = graph(FIGURE).take([3, 5])
    assert len(made.texts) == 3
    assert degrees(made) == {"V1": 1, "V5": 1, "V6": 2}
    assert [(made.texts[a], made.texts[b]) for a, b in zip(made.first, made.second, strict=True)] == [
        ("V1", "V6"),
        ("V5", "V6"),
    ]
    assert graph(FIGURE, directed=True).take([0]).directed


def test_what_is_not_defined_is_not_a_number() -> None:
    for made in (graph([]), graph([("a", "a")])):
        assert math.isnan(made.deviation) and math.isnan(made.variation)
        assert describe_graph(made)["degree"]["deviation"] is None
    assert math.isnan(graph([]).mean_degree)
    assert graph_line(describe_graph(graph([("a", "a")]))) == "annotation graph: 1 text"
    with pytest.raises(ValueError, match="2 references and 1 candidates"):
        build_graph(["a", "b"], ["c"])


def test_pairs_of_several_tables_and_of_amr_graphs() -> None:
    one, two = load_dataset([("a", "b", 1), ("c", "b", 1)]), load_dataset([("b", "a", 0), ("d", "b", 1)])
    made = graph_of([one, two])
    assert degrees(made) == {"a": 1, "b": 3, "c": 1, "d": 1} and len(made) == 4
    rows = [
        {"reference": "", "candidate": "", "label": 1, "reference_graph": "(a / one)", "candidate_graph": "(b / two)"},
        {"reference": "x", "candidate": "", "label": 1, "reference_graph": "(c / six)", "candidate_graph": "(a / one)"},
    ]
    assert set(graph_of([load_dataset(rows)]).texts) == {"(a / one)", "(b / two)", "x"}


def test_several_gold_answers_are_no_pair_of_texts() -> None:
    pairs = load_dataset([{"reference": ["a", "b"], "candidate": "c", "label": 1}])
    assert pairs.has_several_references
    with pytest.raises(InputError, match="several gold answers"):
        graph_of([pairs])


def splits(spec: str) -> list[Pairs]:
    return list(load_card_splits(spec).values())


@pytest.mark.parametrize(
    ("spec", "pairs", "printed"),
    [("sick@1", 9927, "3.2 ± 2.1"), ("sick@2", 9840, "3.2 ± 2.1"), ("ukp-aspect", 3595, "3.5 ± 3.0")],
)
def test_the_degrees_of_table_1(with_shared: Path, spec: str, pairs: int, printed: str) -> None:
    made = graph_of(splits(spec))
    assert len(made) == pairs and f"{made.mean_degree:.1f} ± {made.deviation:.1f}" == printed
    assert round(made.variation) == 1  # the group G1 of the paper


def test_table_1_is_of_all_splits_and_counts_a_pair_of_texts_once(with_shared: Path) -> None:
    # Table 10 gives 495 and 4,906 pairs for trial and test, which are the sizes of version 2.
    parts = load_card_splits("sick@2")
    assert [len(parts[name]) for name in ("trial", "test")] == [495, 4906]
    by_split = {name: graph_of([part]).mean_degree for name, part in parts.items()}
    assert all(mean < 2 for mean in by_split.values())
    for spec, printed in (("sick@2", "3.2 ± 2.2"), ("ukp-aspect", "3.6 ± 3.0")):
        made = graph_of(splits(spec))
        ends = np.bincount(np.concatenate([made.first, made.second]))
        assert f"{ends.mean():.1f} ± {ends.std(ddof=1):.1f}" == printed
