"""Cross-encoder: both texts read together by one model, as in semantic answer similarity (SAS)."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.exceptions import InputError
from assay.metrics.base import Batch, Declaration
from assay.metrics.models.layouts import special_computation
from assay.metrics.neural.readers import PairReader

if TYPE_CHECKING:
    from assay.metrics.base import Engine
    from assay.metrics.explaining.words import WordExplanation


@dataclass(frozen=True)
class CrossEncoder(PairReader):
    """The output of a cross-encoder, which reads both texts of a pair together.

    The order of the two texts changes the score: Mustafazade and Ebbinghaus (2022) saw .09 for 11/eleven and .89 for
    eleven/11. ``order=mean`` averages both orders, and the run then reports how much they differ.
    """

    declaration = Declaration(
        name="cross-encoder",
        kind="cross-encoder",
        summary="one model that reads both texts together",
        formula="g(reference, candidate), the output of one model",
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
        if self.activation in ("sigmoid", "softmax"):
            self.redeclare(low=0.0, high=1.0)
        if self.order == "mean":
            self.redeclare(symmetric=True)

    @property
    def library_class(self) -> str:
        """The class of sentence-transformers that loads the model, whose length limit applies."""
        return "CrossEncoder"

    def check_available(self) -> None:
        """Check that the packages are installed and that a model that scores pairs is on this machine.

        Raises:
            MissingExtraError: a package is not installed.
            UnavailableError: the model is not on this machine, or has several outputs of which none is chosen.
            InputError: the model has no such class, or a class is named and the model has one output.
        """
        super().check_available()
        self.resolve_class()

    def needs(self) -> Engine:
        """Return the engine: assay's own loop, or sentence-transformers if the model computes more than that loop.

        Raises:
            UnavailableError: the model is not on this machine, or has several outputs of which none is chosen.
            InputError: this machine has no such device, or the device does not support the precision; the model has no
                such class; or a model for sentence-transformers is to run in another backend than torch.
        """
        self.resolve_class()
        special = special_computation(self.located().folder, self.library_class)
        if special is None:
            from assay.metrics.neural.cross import CrossEngine

            return self.engine_of(CrossEngine)
        from assay.metrics.neural.library import LibraryCrossEngine

        if self.backend != "torch":
            raise InputError(f"metric {self}: because of {special} it runs in torch only; leave out backend")
        return self.engine_of(LibraryCrossEngine)

    @property
    def is_explainable(self) -> bool:
        """True: words can be left out."""
        return True

    def explain(self, batch: Batch) -> list[WordExplanation]:
        """Return the effect of each word of each pair, see :func:`~assay.metrics.explaining.words.explain_words`.

        Raises:
            AssayError: the model cannot be loaded, or the scores cannot be computed.
        """
        from assay.metrics.explaining.words import explain_words

        return explain_words(self, batch)


@dataclass(frozen=True)
class Sas(CrossEncoder):
    """Semantic answer similarity: a cross-encoder, by default the model of the papers for the data's language."""

    declaration = dataclasses.replace(
        CrossEncoder.declaration, name="sas", summary="semantic answer similarity, a cross-encoder"
    )
