"""One graph as the aspects compare it: parsed once, and each form of it made once, when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

from assay.amr.graph import Graph, normalized, parse_graph
from assay.errors import InputError
from assay.metrics.amr.alignment import Triples
from assay.metrics.amr.finegrained import PARTS, SETS
from assay.metrics.amr.node_vectors import NodeVectors
from assay.metrics.amr.standard import lowered, standardized
from assay.metrics.amr.wasserstein import NodeEmbeddings, prepare
from assay.metrics.amr.wl import Surroundings, surroundings

__all__ = ["PreparedGraph"]

T = TypeVar("T")

#: Characters of a graph that an error shows.
_SHOWN = 60


class PreparedGraph:
    """A graph and what was made of it.

    Args:
        text: Penman notation.

    Raises:
        InputError: the text is no graph.
    """

    def __init__(self, text: str) -> None:
        try:
            self._read = parse_graph(text)
        except InputError as error:
            begin = " ".join(text.split())[:_SHOWN]
            raise InputError(f"a graph of the data cannot be read: {error}; it begins: {begin}") from None
        self._made: dict[tuple[Any, ...], Any] = {}

    @cached_property
    def normal(self) -> Graph:
        """The normalized graph, as the kernels compare it."""
        return normalized(self._read)

    def form(self, *, standardize: bool) -> Graph:
        """Return the graph as its triples and labels are compared."""
        return self._once(("form", standardize), lambda: (standardized if standardize else lowered)(self._read))

    def labels(self, aspect: str, *, standardize: bool) -> frozenset[str]:
        """Return the labels of an aspect that compares sets."""
        return self._once((aspect, standardize), lambda: SETS[aspect](self.form(standardize=standardize)))

    def triples(self, aspect: str, *, standardize: bool) -> Triples:
        """Return the triples of an aspect that compares aligned graphs."""
        return self._once((aspect, standardize), lambda: PARTS[aspect](self.form(standardize=standardize)))

    def surroundings(self, iterations: int) -> Surroundings:
        """Return what the Weisfeiler-Leman kernel compares."""
        return self._once(("wlk", iterations), lambda: surroundings(self.normal, iterations))

    def embeddings(self, vectors: NodeVectors, iterations: int) -> NodeEmbeddings:
        """Return what the Wasserstein Weisfeiler-Leman kernel compares."""
        return self._once(
            ("wwlk", iterations, vectors.digest), lambda: prepare(self.normal, vectors, iterations=iterations)
        )

    def _once(self, key: tuple[Any, ...], make: Callable[[], T]) -> T:
        if key not in self._made:
            self._made[key] = make()
        found: T = self._made[key]
        return found
