"""Base classes of the metrics that one session scores together: what the session asks each of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from assay.exceptions import InputError, UnavailableError
from assay.metrics.base import option
from assay.metrics.neural.metric import ModelMetric

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from assay.metrics.neural.embeddings import TextEmbeddings
    from assay.metrics.neural.views import View


#: The most labels of a classifier in a message.
_SHOWN_LABELS = 12


@dataclass(frozen=True)
class EncoderBased(ModelMetric):
    """A metric that compares the embeddings of two texts; metrics of the same model share its passes."""

    @abstractmethod
    def view(self) -> View:
        """Return which output of a pass the metric reads, and how its texts are prepared."""

    @abstractmethod
    def compare(
        self, embeddings: TextEmbeddings, left: NDArray[np.intp], right: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """Return the scores of n pairs, float64, shape (n,).

        Args:
            embeddings: the embeddings of the distinct texts.
            left: the index of each reference, shape (n,).
            right: the index of each candidate, shape (n,).
        """

    def resolve_layer(self, layer: int | None) -> int:
        """Return *layer* after a check that the model has it, or the number of the last layer for None.

        Raises:
            InputError: the model has fewer layers.
            UnavailableError: the model is not on this machine, or its files do not declare the number of layers.
        """
        from assay.metrics.neural.limits import layer_count

        layers = layer_count(self.located().folder)
        if layers is None:
            raise UnavailableError(f"model {self.subject}: its config.json does not say how many layers it has")
        if layer is not None and layer > layers:
            raise InputError(f"metric {self}: the model has {layers} layers; valid: 0 to {layers}")
        return layers if layer is None else layer


@dataclass(frozen=True)
class TokenMatcher(EncoderBased):
    """A metric that matches the tokens of two texts, with precision, recall and F of each pair."""

    @abstractmethod
    def chosen_output(self, outputs: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
        """Return the output that the options choose, float64, shape (n,), rescaled by the baseline if there is one.

        Args:
            outputs: precision, recall and f, shape (n,) each.
        """


@dataclass(frozen=True)
class PairReader(ModelMetric):
    """A metric whose model reads both texts of a pair together, and one of whose outputs is the score."""

    order: Literal["reference-first", "candidate-first", "mean"] = option("reference-first", "which text comes first")
    activation: Literal["declared", "sigmoid", "identity", "softmax"] = option(
        "declared", "what turns the output into a score; declared is what the model's files say"
    )
    class_: str | None = option(None, "which output of a classifier is the score: its label, or its number from 0")
    prompt: str | None = option(None, "a prompt by its name, put before the first text; by default the model's own")
    prefix: str | None = option(None, "a text put before the first text, instead of a prompt")

    def __post_init__(self) -> None:
        """Check that the options do not contradict each other."""
        super().__post_init__()
        if self.prompt is not None and self.prefix is not None:
            raise InputError(
                f"metric {self.declaration.name!r}: prompt and prefix are two names of one thing; give one of them"
            )
        if self.activation == "softmax" and self.class_ is None:
            raise InputError(f"metric {self.declaration.name!r}: activation=softmax needs class=LABEL of a classifier")

    def resolve_class(self) -> int:
        """Return the index of the output that is the score; 0 for a model with one output.

        A class is found by its label, else by its label in lower case, else by its number.

        Raises:
            UnavailableError: the model is not on this machine, or has several outputs of which none is chosen.
            InputError: the model has no such class, or one output and a class is named.
        """
        labels = self.description().labels or ()
        labels_text = ", ".join(labels[:_SHOWN_LABELS]) + (", …" if len(labels) > _SHOWN_LABELS else "")
        if self.class_ is None:
            if len(labels) < 2:
                return 0
            proposal = next((label for label in labels if label.lower() == "entailment"), labels[-1])
            raise UnavailableError(
                f"model {self.located().folder}: has {len(labels)} outputs, a similarity needs one ({labels_text})",
                f"choose one: class={proposal}",
            )
        if len(labels) < 2:
            raise InputError(f"metric {self}: the model has one output; leave out class")
        for names in (labels, [label.lower() for label in labels], [str(number) for number in range(len(labels))]):
            for name in (self.class_, self.class_.lower()):
                if name in names:
                    return names.index(name)
        raise InputError(
            f"metric {self}: the model has no class {self.class_!r}; valid: {labels_text}; or a number from 0"
        )

    def resolve_prefix(self) -> str:
        """Return the text that is put before the first text of a pair; empty for none.

        Raises:
            UnavailableError: the model is not on this machine.
            InputError: the model has no prompt of the name in the option ``prompt``.
        """
        return self.text_before(self.prompt, self.prefix, {})

    def signature(self) -> dict[str, str]:
        """Return everything that changes the score, in a fixed order.

        Options from later versions are left out while they have no effect, so that older signatures stay valid.
        """
        signature = super().signature()
        for key, value in (("prompt", self.prompt), ("prefix", self.prefix), ("class", self.class_)):
            if value is None:
                del signature[key]
        return signature

    def data_signature(self) -> dict[str, str]:
        """Return what the model adds to the signature, and the text before the first text if there is one.

        Raises:
            UnavailableError: the model is not on this machine.
            InputError: the model has no prompt of the name in the option ``prompt``, or this machine no such device.
        """
        prefix = self.resolve_prefix()
        return super().data_signature() | ({"before": prefix} if prefix else {})

    def orders(self, reference: str, candidate: str) -> tuple[tuple[str, str], ...]:
        """Return the pairs (first text, second text) that the model reads for a pair: one, or both orders."""
        if self.order == "candidate-first":
            return ((candidate, reference),)
        if self.order == "mean":
            return ((reference, candidate), (candidate, reference))
        return ((reference, candidate),)
