"""What tests of kernels, focus and quantifiers share: graphs at random, tables of vectors, BAMBOO with its labels."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

from assay.language.amr import Graph, normalized, parse_graph
from tests.metrics.amr.amr_data import ROWS, bamboo

CONCEPTS = ("cat", "dog", "run-01", "see-01", "some", "unheard-of-thing")
ROLES = ("arg0", "arg1", "mod", "quant")
CONSTANTS = ("-", "2", "17", "ann")


def graph(text: str) -> Graph:
    return normalized(parse_graph(text))


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """A connected graph of up to six nodes: a tree, further relations, constants."""
    size = draw(st.integers(1, 6))
    role, node = st.sampled_from(ROLES), st.integers(0, size - 1)
    relations = [(draw(st.integers(0, place - 1)), draw(role), place) for place in range(1, size)]
    relations += draw(st.lists(st.tuples(node, role, node), max_size=2))
    attributes = draw(st.lists(st.tuples(node, role, st.sampled_from(CONSTANTS)), max_size=3))
    return Graph(
        tuple(f"v{place}" for place in range(size)),
        tuple(draw(st.sampled_from(CONCEPTS)) for _ in range(size)),
        tuple(dict.fromkeys(relations)),
        tuple(dict.fromkeys(attributes)),
        0,
    )


def reordered(one: Graph, order: list[int]) -> Graph:
    """Return the same graph with node i at order[i], under other names, its triples in reverse."""
    back = sorted(range(len(order)), key=order.__getitem__)
    return Graph(
        tuple(f"w{place}" for place in range(len(order))),
        tuple(one.concepts[node] for node in back),
        tuple((order[source], role, order[target]) for source, role, target in reversed(one.relations)),
        tuple((order[source], role, constant) for source, role, constant in reversed(one.attributes)),
        order[one.root],
    )


@st.composite
def same_graphs(draw: st.DrawFn) -> tuple[Graph, Graph]:
    one = draw(graphs())
    return one, reordered(one, draw(st.permutations(range(len(one.concepts)))))


def write_vectors(folder: Path, table: dict[str, list[float]]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "vectors.npy", np.array(list(table.values()), dtype=np.float32))
    (folder / "words.txt").write_text("".join(f"{word}\n" for word in table), encoding="utf-8")
    return folder


@functools.lru_cache(maxsize=8)
def parsed(data: Path, name: str, part: str) -> list[tuple[Graph, Graph]]:
    return [(graph(one), graph(other)) for one, other in bamboo(data, name, part)]


def pearson(data: Path, name: str, scores: list[float]) -> float:
    """Return Pearson's correlation with the human labels of a test set, times 100."""
    labels = np.loadtxt(data / "bamboo" / name / "test.y")[ROWS[name]]
    return float(100 * np.corrcoef(scores, labels)[0, 1])


def pair_accuracy(scores: list[float]) -> float:
    """Return how often the true paraphrase scores above its foil, in percent; rows are foil, true, foil, …"""
    return float(100 * np.mean(np.array(scores[1::2]) > np.array(scores[0::2])))
