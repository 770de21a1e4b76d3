"""Batches by the annotation graph: the figures of Waldis et al. 2022 by hand, and their equations word by word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from assay.datasets import load_dataset
from assay.datasets.annotation_graph import AnnotationGraph, build_graph, graph_of
from assay.exceptions import InputError
from assay.training.batches import STRATEGIES, Batch, compose_batches

# The example of the paper's figures 2 to 5: six edges are in its text, of the seventh only that V4 is at one end.
FIGURE = ["12", "13", "32", "16", "45", "56", "41"]


def graph(pairs: list[str]) -> AnnotationGraph:
    return build_graph([pair[0] for pair in pairs], [pair[1] for pair in pairs])


def weights(batch: Batch) -> dict[str, float]:
    """The weights of a batch of the example, by the names of its two nodes."""
    return {FIGURE[row]: round(float(weight), 9) for row, weight in zip(batch.rows, batch.weights, strict=True)}


def epochs(strategy: str, batch_size: int, number: int) -> Iterator[dict[str, float]]:
    rng = np.random.default_rng(5)
    for _ in range(number):
        for batch in compose_batches(strategy, graph(FIGURE), batch_size, rng):
            yield weights(batch)


def counted(batches: Any) -> Counter[tuple[tuple[str, float], ...]]:
    return Counter(tuple(sorted(batch.items())) for batch in batches)


def rounded(batch: dict[str, float]) -> tuple[tuple[str, float], ...]:
    return tuple(sorted((pair, round(weight, 9)) for pair, weight in batch.items()))


def test_node_on_the_nodes_of_figure_3() -> None:
    found = counted(epochs("node", 2, 300))
    # V3 and V5: the edges of both, four in all.
    assert rounded({"13": 1 / 4, "32": 1 / 4, "45": 1 / 4, "56": 1 / 4}) in found
    # V5 and V6 have (V5, V6) in common, which equation 1 adds up for each of them.
    assert rounded({"45": 1 / 4, "56": 2 / 4, "16": 1 / 4}) in found
    # V1 has four edges and V3 two, one of them common.
    assert rounded({"12": 1 / 6, "13": 2 / 6, "16": 1 / 6, "41": 1 / 6, "32": 1 / 6}) in found
    assert len(found) == 15  # as many as there are pairs of nodes


def test_edge_1_on_the_base_edges_of_figure_4() -> None:
    batches = epochs("edge-1", 2, 2000)
    based = [batch for batch in batches if {pair for pair, w in batch.items() if w >= 0.5} == {"13", "56"}]
    found = counted(based)
    # V3 gives (V3, V2), V5 gives (V4, V5), V6 gives (V1, V6); V1 gives two of its three other edges. Of them, (V1, V6)
    # is in E' already, so that E' has four or, without it from V1, five edges.
    base = {"13": 1 / 2, "56": 1 / 2}
    figure = {"12": 1 / 4, "16": 1 / 4, "32": 1 / 4, "45": 1 / 4}
    assert found.keys() == {
        rounded(base | figure),
        rounded(base | {"41": 1 / 4, "16": 1 / 4, "32": 1 / 4, "45": 1 / 4}),
        rounded(base | {"12": 1 / 5, "41": 1 / 5, "16": 1 / 5, "32": 1 / 5, "45": 1 / 5}),
    }
    # Each of the three draws of V1 is as likely as the others: four standard errors.
    assert all(abs(count / len(based) - 1 / 3) < 4 * (2 / 9 / len(based)) ** 0.5 for count in found.values())


def test_edge_2_on_the_same_base_edges() -> None:
    base = {"13": 1 / 2, "56": 1 / 2}
    # Half of a third for each context edge of (V1, V3), half of a half for each one of (V5, V6); (V1, V6) is of both.
    expected = {
        rounded(base | {"12": 1 / 6, "32": 1 / 6, "16": 1 / 6 + 1 / 4, "45": 1 / 4}),
        rounded(base | {"41": 1 / 6, "32": 1 / 6, "16": 1 / 6 + 1 / 4, "45": 1 / 4}),
        rounded(base | {"12": 1 / 6, "41": 1 / 6, "32": 1 / 6, "16": 1 / 4, "45": 1 / 4}),
    }
    found = counted(epochs("edge-2", 2, 1000))
    assert {batch for batch in found if {pair for pair, w in batch if w >= 0.5} == {"13", "56"}} == expected


def test_a_base_edge_is_context_of_its_neighbour() -> None:
    two = graph(["12", "23"])
    for strategy in ("edge-1", "edge-2"):
        (batch,) = compose_batches(strategy, two, 2, np.random.default_rng(0))
        assert batch.rows.tolist() == [0, 1] and batch.weights.tolist() == [1, 1]


def test_the_rows_of_a_node_are_drawn_alike() -> None:
    star = graph(["01", "02", "03", "04", "05"])
    rng = np.random.default_rng(3)
    drawn: Counter[tuple[int, ...]] = Counter()
    for _ in range(2000):
        for batch in compose_batches("edge-1", star, 1, rng):
            drawn[tuple(batch.rows[batch.weights < 1])] += int(1.0 in batch.weights)
    # Every base row has four others, and six couples of them; a couple has three base rows: 10,000 draws of 10.
    assert len(drawn) == 10 and sum(drawn.values()) == 10_000
    assert sum((count - 1000) ** 2 / 1000 for count in drawn.values()) < 27.9  # chi-squared, 9 df, p = .001


def naive(strategy: str, ends: list[tuple[int, int]], chosen: list[int]) -> list[dict[int, float]]:
    """Write the equations down: every batch that there can be for these nodes or base rows."""
    if strategy == "node":
        met = [row for node in chosen for row, pair in enumerate(ends) for end in pair if end == node]
        return [{row: met.count(row) / len(met) for row in met}]
    draws = []
    for row in chosen:
        sides = []
        for node in set(ends[row]):
            others = [other for other, pair in enumerate(ends) if node in pair and other != row]
            sides.append(list(combinations(others, min(2, len(others)))))
        draws.append([set().union(*sets) for sets in product(*sides)])
    found = []
    for contexts in product(*draws):
        batch = dict.fromkeys(chosen, 1 / len(chosen))
        if strategy == "edge-1":
            union = set().union(*contexts)
            parts = [(row, 1 / len(union)) for row in union]
        else:
            parts = [(row, 1 / len(context) / len(chosen)) for context in contexts for row in context]
        for row, weight in parts:
            batch[row] = batch.get(row, 0.0) + weight
        found.append(batch)
    return found


ROWS = some.lists(some.tuples(some.integers(0, 5), some.integers(0, 5)), min_size=1, max_size=9)


@settings(max_examples=150)
@given(ROWS, some.integers(1, 2), some.integers(0, 1000), some.sampled_from(["node", "edge-1", "edge-2"]))
def test_each_batch_is_one_that_the_equations_allow(
    ends: list[tuple[int, int]], batch_size: int, seed: int, strategy: str
) -> None:
    made = build_graph([str(a) for a, _ in ends], [str(b) for _, b in ends])
    batches = compose_batches(strategy, made, batch_size, np.random.default_rng(seed))
    # Which batch a node or base row is in is the first thing drawn.
    number = len(made.texts) if strategy == "node" else len(ends)
    where = np.random.default_rng(seed).permutation(number) // batch_size
    assert len(batches) == -(-number // batch_size)
    for index, batch in enumerate(batches):
        chosen = np.flatnonzero(where == index).tolist()
        if strategy == "node":
            chosen = [int(made.texts[node]) for node in chosen]
        found = dict(zip(batch.rows.tolist(), batch.weights.tolist(), strict=True))
        assert any(found == pytest.approx(allowed) for allowed in naive(strategy, ends, chosen))


@settings(max_examples=150)
@given(ROWS, some.integers(1, 12), some.integers(0, 1000))
def test_every_instance_twice_an_epoch(ends: list[tuple[int, int]], batch_size: int, seed: int) -> None:
    made = build_graph([str(a) for a, _ in ends], [str(b) for _, b in ends])
    rng = np.random.default_rng(seed)
    base = compose_batches("base", made, batch_size, rng)
    assert Counter(int(row) for batch in base for row in batch.rows) == dict.fromkeys(range(len(ends)), 2)
    sizes = [len(batch.rows) for batch in base]
    assert set(sizes[:-1]) <= {min(batch_size, len(ends))}
    nodes = compose_batches("node", made, batch_size, np.random.default_rng(seed))
    where = np.random.default_rng(seed).permutation(len(made.texts)) // batch_size
    met = np.bincount(np.concatenate([where[made.first], where[made.second]]))
    times = np.zeros(len(ends))
    for batch, ends_met in zip(nodes, met, strict=True):
        times[batch.rows] += batch.weights * ends_met
    assert times == pytest.approx(2)
    for batch in base + nodes:
        assert batch.weights.sum() == pytest.approx(1)
    for batch in (
        base
        + nodes
        + compose_batches("edge-1", made, batch_size, rng)
        + compose_batches("edge-2", made, batch_size, rng)
    ):
        assert len(set(batch.rows.tolist())) == len(batch.rows)
        assert batch.rows.dtype == np.int64 and batch.weights.dtype == np.float64


def test_weights_of_a_graph_without_structure() -> None:
    made = graph(["12", "34", "56", "77"])
    for strategy in ("edge-1", "edge-2"):
        batches = compose_batches(strategy, made, 3, np.random.default_rng(1))
        assert [len(batch.rows) for batch in batches] == [3, 1]
        assert all(batch.weights == pytest.approx(1 / len(batch.rows)) for batch in batches)


def test_a_pair_of_a_text_with_itself() -> None:
    made = graph(["11", "12"])
    (node,) = compose_batches("node", made, 2, np.random.default_rng(0))
    assert node.rows.tolist() == [0, 1] and node.weights == pytest.approx([2 / 4, 2 / 4])
    for seed in range(20):  # its one node is drawn from once: two of three others
        batches = compose_batches("edge-1", graph(["11", "12", "13", "14"]), 1, np.random.default_rng(seed))
        (own,) = [batch for batch in batches if 0 in batch.rows[batch.weights == 1]]
        assert sorted(own.weights) == [0.5, 0.5, 1]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_generator_decides(strategy: str) -> None:
    one, again, other = (list(composed(strategy, seed)) for seed in (0, 0, 1))
    assert one == again != other


def composed(strategy: str, seed: int) -> Iterator[tuple[list[int], list[float]]]:
    for batch in compose_batches(strategy, graph(FIGURE), 2, np.random.default_rng(seed)):
        yield batch.rows.tolist(), batch.weights.tolist()


def test_two_epochs_of_one_generator_differ() -> None:
    rng = np.random.default_rng(0)
    one, two = ([batch.rows.tolist() for batch in compose_batches("base", graph(FIGURE), 2, rng)] for _ in range(2))
    assert one != two


def test_what_is_refused() -> None:
    with pytest.raises(InputError, match=r"no batches 'edge'.*edge-1"):
        compose_batches("edge", graph(FIGURE), 2, np.random.default_rng(0))
    with pytest.raises(InputError, match="batch size of 0"):
        compose_batches("base", graph(FIGURE), 0, np.random.default_rng(0))
    assert all(compose_batches(strategy, graph([]), 2, np.random.default_rng(0)) == [] for strategy in STRATEGIES)


@pytest.mark.parametrize("split", ["train", "test"])
def test_how_many_instances_sick_has_an_epoch(shared_data: Path, monkeypatch: pytest.MonkeyPatch, split: str) -> None:
    monkeypatch.setenv("ASSAY_DATA", str(shared_data))
    made = graph_of([load_dataset(f"sick@2:{split}")])
    met = {
        name: sum(len(batch.rows) for batch in compose_batches(name, made, 1, np.random.default_rng(0)))
        for name in STRATEGIES
    }
    assert met["base"] == met["node"] == 2 * len(made)
    # Section 5.3 has n + 2n(mean degree - 1). That is the mean over nodes; of the ends of pairs, more are at nodes with
    # many, and two are drawn at most. No text of SICK is paired with itself.
    rows = np.diff(made.starts)
    drawn = sum(int(np.minimum(2, rows[ends] - 1).sum()) for ends in (made.first, made.second))
    # Of rows with the same two texts, each may be drawn for another one at both ends, and is then met once.
    alike = Counter(zip(*np.sort([made.first, made.second], axis=0).tolist(), strict=True))
    twice = {ends: number * (number - 1) for ends, number in alike.items() if number > 1}
    chances = {ends: float(np.prod(np.minimum(2, rows[list(ends)] - 1) / (rows[list(ends)] - 1))) for ends in twice}
    repeats = sum(twice[ends] * chances[ends] for ends in twice)
    spread = sum(twice[ends] * chances[ends] * (1 - chances[ends]) for ends in twice) ** 0.5
    for name in ("edge-1", "edge-2"):
        assert met[name] == pytest.approx(len(made) + drawn - repeats, abs=4 * spread)
