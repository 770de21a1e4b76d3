"""The package smatchpp itself, as the engine of Smatch: pair by pair, aligned by its integer program."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.errors import UnavailableError
from assay.metrics.amr.given import graphs_of, load_parser_for
from assay.metrics.work import Scores

if TYPE_CHECKING:
    from assay.metrics.base import Batch, Metric

__all__ = ["LibraryEngine", "LibrarySession"]


@dataclass(frozen=True)
class LibraryEngine:
    """A ``smatchpp.Smatchpp`` with the solver ILP and its AMR standardiser.

    Attributes:
        parser: what parses texts that have no graph, empty for nothing.
    """

    parser: str = ""

    @property
    def pairs(self) -> int:
        """Pairs in a unit of work."""
        return 256

    def open(self) -> LibrarySession:
        """Import the package."""
        return LibrarySession(self)


class LibrarySession:
    """The package, ready to score."""

    def __init__(self, engine: LibraryEngine) -> None:
        try:
            from smatchpp import Smatchpp, solvers
            from smatchpp.formalism.amr.tools import AMRStandardizer
        except ImportError as error:
            package = (error.name or "smatchpp").partition(".")[0]
            raise UnavailableError(f"the package {package} is not installed", "pip install smatchpp") from error
        self._measure: Any = Smatchpp(alignmentsolver=solvers.ILP(), graph_standardizer=AMRStandardizer())
        self._parser = engine.parser
        self._compared = 0
        self._load = 0.0

    def score(self, metrics: Sequence[Metric], batch: Batch, again: Collection[str] = ()) -> Scores:
        """See :meth:`assay.metrics.work.Session.score`.

        Raises:
            InputError: a pair has no graph.
        """
        self._load += load_parser_for(batch, self._parser)
        begun = time.perf_counter()
        pairs = zip(*graphs_of(batch, self._parser), strict=True)
        # counts, since the package rounds its F1; matches are equal from either side, its triples being distinct
        counts = np.array([self._measure.process_pair(*pair)[0]["main"] for pair in pairs]).reshape(-1, 4)
        values = 2.0 * counts[:, 0] / (counts[:, 2] + counts[:, 3])
        self._compared += len(batch)
        columns = np.repeat(values.reshape(-1, 1), len(metrics), axis=1)
        seconds = np.full(len(metrics), time.perf_counter() - begun)
        return Scores(columns, np.zeros(columns.shape, dtype=np.uint8), seconds)

    def cost(self) -> dict[str, Any]:
        """Return the number of pairs that were compared, and the seconds that loading the parser took."""
        return {"load_seconds": round(self._load, 3), "graph_pairs": self._compared}

    def close(self) -> None:
        """Nothing is held."""
