"""Cross-encoder: both texts read together by one model, as in semantic answer similarity (SAS)."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from assay.metrics.base import Declaration, option
from assay.metrics.neural.metric import ModelMetric

if TYPE_CHECKING:
    from assay.metrics.work import Engine


@dataclass(frozen=True)
class CrossEncoder(ModelMetric):
    """The output of a cross-encoder, which reads both texts of a pair together.

    The order of the two texts changes the score: Mustafazade and Ebbinghaus (2022) saw .09 for 11/eleven and .89 for
    eleven/11. ``order=mean`` averages both orders, and the run then reports how much they differ.
    """

    order: Literal["reference-first", "candidate-first", "mean"] = option("reference-first", "which text comes first")
    activation: Literal["declared", "sigmoid", "identity"] = option(
        "declared", "what turns the output into a score; declared is what the model's files say"
    )

    declaration = Declaration(
        name="cross-encoder",
        kind="cross-encoder",
        summary="one model that reads both texts together",
        low=float("-inf"),
        high=float("inf"),
        citation="Risch et al. 2021, Semantic Answer Similarity for Evaluating Question Answering Models",
        subject="MODEL",
        provider=("torch", "transformers", "sentence-transformers"),
        tolerance=1e-4,
        extra="neural",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.activation == "sigmoid":
            self.redeclare(low=0.0, high=1.0)
        if self.order == "mean":
            self.redeclare(symmetric=True)

    def orders(self, reference: str, candidate: str) -> tuple[tuple[str, str], ...]:
        """Return the pairs (first text, second text) that the model reads for a pair: one, or both orders."""
        if self.order == "candidate-first":
            return ((candidate, reference),)
        if self.order == "mean":
            return ((reference, candidate), (candidate, reference))
        return ((reference, candidate),)

    def needs(self) -> Engine:
        """Return the engine of the cross-encoder; metrics of the same model with the same settings have equal ones.

        Raises:
            UnavailableError: the model is not on this machine.
            InputError: this machine has no such device, or the device does not support the precision.
        """
        from assay.metrics.neural.cross import CrossEngine

        return self.engine_of(CrossEngine)


@dataclass(frozen=True)
class Sas(CrossEncoder):
    """Semantic answer similarity: a cross-encoder, by default the model of the papers for the data's language."""

    declaration = dataclasses.replace(
        CrossEncoder.declaration, name="sas", summary="semantic answer similarity, a cross-encoder"
    )
