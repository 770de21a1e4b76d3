"""Pooled contextual embeddings: the cosine of two texts under a model that was not trained for sentences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from assay.metrics.base import Declaration, option
from assay.metrics.neural.readers import EncoderBased
from assay.metrics.neural.views import Preparation, View

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from assay.metrics.base import Engine
    from assay.metrics.neural.embeddings import TextEmbeddings


@dataclass(frozen=True)
class Pooled(EncoderBased):
    """Cosine of pooled token embeddings of one layer, special tokens included, in [-1, 1]."""

    pooling: Literal["mean", "max", "cls"] = option("mean", "mean or maximum over the tokens, or the first token")
    layer: int | None = option(None, "0 for the input embeddings, then the layers from 1; none for the last", minimum=0)

    declaration = Declaration(
        name="pooled",
        kind="embedding",
        summary="cosine of pooled token embeddings, without sentence training",
        formula="cos(pooled token embeddings of the reference, of the candidate)",
        low=-1.0,
        symmetric=True,
        citation="Abdalla, Vishnubhotla and Mohammad 2023, What Makes Sentences Semantically Related, table 5",
        subject="MODEL",
        provider=("torch", "transformers", "sentence-transformers"),
        tolerance=1e-5,
        extra="neural",
    )

    def needs(self) -> Engine:
        """Return the engine of the encoder, which all metrics of the same model and settings share.

        Raises:
            UnavailableError: the model is not on this machine.
            InputError: this machine has no such device, or the device does not support the precision.
        """
        from assay.metrics.neural.encoder import EncoderEngine

        return self.engine_of(EncoderEngine)

    def view(self) -> View:
        """Return the view that reads the pooled token embeddings of the layer, of texts without outer white space."""
        return View(Preparation(limit=self.limit(), strip=True), self.pooling, self.resolve_layer(self.layer))

    def data_signature(self) -> dict[str, str]:
        """Return what the model adds to the signature, and the number of the layer."""
        return super().data_signature() | {"layer": str(self.resolve_layer(self.layer))}

    def compare(
        self, embeddings: TextEmbeddings, left: NDArray[np.intp], right: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """Return the cosine of each pair's pooled embeddings, float64, shape (n,), in [-1, 1].

        Args:
            embeddings: one vector per distinct text.
            left: the index of each reference, shape (n,).
            right: the index of each candidate, shape (n,).
        """
        from assay.metrics.neural.embeddings import cosine

        return cosine(embeddings, left, right)
