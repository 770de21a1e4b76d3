"""What a session asks of the metrics that it serves: each takes its own number from what is computed for all."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from assay.metrics.neural.rows import TextRows
    from assay.metrics.neural.views import View

__all__ = ["EncoderTaker", "LibraryTaker", "PairTaker"]


class EncoderTaker(Protocol):
    """A metric that compares what an encoder says of two texts."""

    def view(self) -> View:
        """Return what the metric takes from a pass."""
        ...

    def compare(self, rows: TextRows, left: NDArray[np.intp], right: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the scores of references *left* and candidates *right*, float64, shape (n,)."""
        ...


class PairTaker(Hashable, Protocol):
    """A metric that turns what a cross-encoder says of a pair into a score.

    Attributes:
        order: which text comes first; ``mean`` reads both orders.
        activation: what turns an output into a score.
    """

    @property
    def order(self) -> Literal["reference-first", "candidate-first", "mean"]:
        """See the class."""
        ...

    @property
    def activation(self) -> Literal["declared", "sigmoid", "identity"]:
        """See the class."""
        ...

    def limit(self) -> int:
        """Return the tokens at which a pair is cut."""
        ...

    def orders(self, reference: str, candidate: str) -> tuple[tuple[str, str], ...]:
        """Return the pairs that the model reads, (first, second)."""
        ...


class LibraryTaker(Protocol):
    """A metric that picks one of the outputs of the package bert-score."""

    def finish(self, outputs: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
        """Return the output that is asked for, of shape (n,)."""
        ...
