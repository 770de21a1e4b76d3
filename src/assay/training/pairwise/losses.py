"""Losses of pairs, each as one value a pair, so that any composition of a batch is a weighted sum of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from sentence_transformers.sentence_transformer.losses import CoSENTLoss
from sentence_transformers.sentence_transformer.modules import Normalize
from torch import nn
from torch.nn import functional

from assay.training.models import Inputs, alike

__all__ = ["BiLoss", "CosentLoss", "CosineLoss", "CrossLoss", "PairLoss", "SoftmaxLoss", "make_loss"]

#: Tokens of a pass with its gradients, padding included, and tokens of padding that cost less than one pass more.
CPU_TOKENS, CPU_SPARE = 4096, 64
GPU_TOKENS, GPU_SPARE = 16384, 4096


class PairLoss(nn.Module, ABC):  # type: ignore[misc]  # torch has no types here
    """The loss of a batch: the sum of weights times the loss of each row.

    Args:
        model: what is trained, of sentence-transformers; held so that its parameters are found.
        inputs: of all rows.
        tokens: of a pass with its gradients; None for what suits the device.
    """

    #: Whether rows may be cut into passes whose gradients are added up.
    additive = True

    def __init__(self, model: Any, inputs: Inputs, tokens: int | None) -> None:
        super().__init__()
        self.model = model
        self._whole = (model,)  # a tuple, or it would be registered twice
        self.inputs = inputs
        cpu = self.device.type == "cpu"
        self._tokens = tokens or (CPU_TOKENS if cpu else GPU_TOKENS)
        self._spare = CPU_SPARE if cpu else GPU_SPARE

    @property
    def whole(self) -> Any:
        """The model itself, where a trainer that spreads it over devices has put a wrapper in its place."""
        return self._whole[0]

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return next(self.model.parameters()).device

    @abstractmethod
    def outputs(self, rows: torch.Tensor) -> torch.Tensor:
        """Return what the model says of rows: cosines or logits, shape (k,), or logits of classes, shape (k, c)."""

    @abstractmethod
    def row_losses(self, outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the loss of each row, shape (k,)."""

    def scores(self, outputs: torch.Tensor) -> torch.Tensor:
        """Return what a metric would give: scores, or numbers of classes, shape (k,)."""
        return outputs

    def labels(self, rows: torch.Tensor) -> torch.Tensor:
        """Return the labels of rows where the model is."""
        return self.inputs.labels[rows].to(self.device)

    def forward(self, features: Sequence[Any], labels: torch.Tensor, **_: Any) -> torch.Tensor:
        """Return the loss of a batch, a scalar, from what :class:`~assay.training.pairwise.trainer.Collate` gives.

        Args:
            features: one item, the rows, int64, shape (k,): as CrossEncoderTrainer hands it on, or under the name
                ``input_ids``, as SentenceTransformerTrainer does.
            labels: the weights of the rows, float32, shape (k,); the rows' own labels are in the inputs.
        """
        (item,) = features
        rows = (item["input_ids"] if isinstance(item, Mapping) else item).cpu()
        return self.batch_loss(rows, labels)

    def batch_loss(self, rows: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        """Return the sum of weights times losses of rows, a scalar."""
        losses = self.row_losses(self.outputs(rows), self.labels(rows))
        return (weights.to(losses) * losses).sum()

    def passes(self, rows: torch.Tensor) -> list[torch.Tensor]:
        """Return the places in *rows* of each pass: as many as have room, one after another."""
        return self._halved(rows, torch.arange(len(rows))) if self.additive else [torch.arange(len(rows))]

    def _halved(self, rows: torch.Tensor, places: torch.Tensor) -> list[torch.Tensor]:
        read = torch.unique(torch.cat([side[rows[places]] for side in self.inputs.sides]))
        if len(places) == 1 or int(self.inputs.table.lengths[read].sum()) <= self._tokens:
            return [places]
        middle = len(places) // 2
        return [*self._halved(rows, places[:middle]), *self._halved(rows, places[middle:])]

    def _run(self, numbers: torch.Tensor, name: str) -> torch.Tensor:
        """Return what the model gives under a name for distinct inputs of the table, in groups of like length."""
        table = self.inputs.table
        parts = list(alike(table.lengths[numbers], self._tokens, self._spare))
        found = [self.model(table.padded(numbers[part], self.device))[name] for part in parts]
        return torch.cat(found)[torch.argsort(torch.cat(parts)).to(self.device)]


class BiLoss(PairLoss):
    """Base of losses over sentence embeddings; a text that several pairs of a batch have is embedded once."""

    def embeddings(self, rows: torch.Tensor) -> list[torch.Tensor]:
        """Return the embeddings of each side of rows, shape (k, dimensions) each."""
        read = torch.cat([side[rows] for side in self.inputs.sides])
        numbers, places = torch.unique(read, return_inverse=True)
        embedded = self._run(numbers, "sentence_embedding").float()
        return [embedded[part] for part in torch.split(places.to(embedded.device), len(rows))]


class CosineLoss(BiLoss):
    """Squared difference of cosine and label (Reimers and Gurevych 2019, regression objective)."""

    def outputs(self, rows: torch.Tensor) -> torch.Tensor:
        """Return cosines, shape (k,)."""
        return functional.cosine_similarity(*self.embeddings(rows))

    def row_losses(self, outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return squared differences, shape (k,)."""
        return functional.mse_loss(outputs, labels, reduction="none")


class CosentLoss(CosineLoss):
    """CoSENT: couples of pairs of a batch that the cosine orders otherwise than the labels (Su 2022)."""

    additive = False

    def __init__(self, model: Any, inputs: Inputs, tokens: int | None) -> None:
        super().__init__(model, inputs, tokens)
        self._couples = CoSENTLoss(model)

    def batch_loss(self, rows: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        """Return the loss of the couples of rows, a scalar; all rows weigh the same."""
        found: torch.Tensor = self._couples.compute_loss_from_embeddings(self.embeddings(rows), self.labels(rows))
        return found


class SoftmaxLoss(BiLoss):
    """Cross-entropy of a linear layer over both embeddings and their difference (Reimers and Gurevych 2019).

    Theirs are mean token vectors, whose numbers are about 1. Where a model brings its embeddings of d numbers to length
    1, the layer reads sqrt(d) times the embedding: it would else learn too slowly to tell the classes apart at all.

    Args:
        model, inputs, tokens: see :class:`PairLoss`.
        classes: how many there are.
    """

    def __init__(self, model: Any, inputs: Inputs, tokens: int | None, classes: int) -> None:
        super().__init__(model, inputs, tokens)
        dimension = int(model.get_embedding_dimension())
        self.head = nn.Linear(3 * dimension, classes)
        self._stretch = dimension**0.5 if any(isinstance(module, Normalize) for module in model) else 1.0

    def outputs(self, rows: torch.Tensor) -> torch.Tensor:
        """Return logits, shape (k, classes)."""
        one, other = (self._stretch * side for side in self.embeddings(rows))
        found: torch.Tensor = self.head(torch.cat([one, other, (one - other).abs()], dim=1))
        return found

    def row_losses(self, outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return cross-entropies, shape (k,)."""
        return functional.cross_entropy(outputs, labels, reduction="none")

    def scores(self, outputs: torch.Tensor) -> torch.Tensor:
        """Return the number of the likeliest class, shape (k,)."""
        return outputs.argmax(dim=1)


class CrossLoss(PairLoss):
    """Losses of a cross-encoder: binary cross-entropy against a label in [0, 1], squared error, or cross-entropy.

    Args:
        model, inputs, tokens: see :class:`PairLoss`.
        kind: ``bce``, ``mse`` or ``cross-entropy``.
    """

    def __init__(self, model: Any, inputs: Inputs, tokens: int | None, kind: str) -> None:
        super().__init__(model, inputs, tokens)
        self._kind, self._activation = kind, model.activation_fn

    def outputs(self, rows: torch.Tensor) -> torch.Tensor:
        """Return logits, shape (k,) or (k, classes)."""
        logits = self._run(self.inputs.first[rows], "scores").float()
        return logits if self._kind == "cross-entropy" else logits.view(-1)

    def row_losses(self, outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the loss of each row, shape (k,)."""
        losses: dict[str, Any] = {
            "bce": functional.binary_cross_entropy_with_logits,
            "mse": functional.mse_loss,
            "cross-entropy": functional.cross_entropy,
        }
        found: torch.Tensor = losses[self._kind](outputs, labels, reduction="none")
        return found

    def scores(self, outputs: torch.Tensor) -> torch.Tensor:
        """Return scores by the declared activation, or numbers of classes, shape (k,)."""
        if self._kind == "cross-entropy":
            return outputs.argmax(dim=1)
        found: torch.Tensor = self._activation(outputs)
        return found


def make_loss(name: str, model: Any, inputs: Inputs, tokens: int | None, classes: int) -> PairLoss:
    """Return a loss by its name in :data:`~assay.training.pairwise.settings.LOSSES`.

    Args:
        name: of the loss.
        model, inputs, tokens: see :class:`PairLoss`.
        classes: how many there are, for a loss of classes.
    """
    if name == "softmax":
        return SoftmaxLoss(model, inputs, tokens, classes)
    if name in ("cosine", "cosent"):
        return {"cosine": CosineLoss, "cosent": CosentLoss}[name](model, inputs, tokens)
    return CrossLoss(model, inputs, tokens, name)
