"""Losses of pairs: one value per pair, so that the loss of any composition of a batch is a weighted sum."""

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

#: The most tokens, padding included, of one forward and backward pass; and the most tokens of padding that a group of
#: texts may have, since so many cost less than a further forward call.
CPU_TOKENS, CPU_SPARE = 4096, 64
GPU_TOKENS, GPU_SPARE = 16384, 4096


class PairLoss(nn.Module, ABC):  # type: ignore[misc]  # torch has no types here
    """The loss of a batch: the sum of weights times the loss of each row.

    Args:
        model: the model of sentence-transformers that is trained; an attribute, so that torch finds its parameters.
        inputs: tokens and labels of all rows.
        tokens: the most tokens of one forward and backward pass; None for a default that suits the device.
    """

    #: Whether the loss of a batch is the sum over any parts of it, so that gradients may be added up part by part.
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
        """The model itself; :attr:`model` may be a wrapper that a trainer put around it to spread it over devices."""
        return self._whole[0]

    @property
    def device(self) -> torch.device:
        """The device of the model."""
        return next(self.model.parameters()).device

    @abstractmethod
    def outputs(self, rows: torch.Tensor) -> torch.Tensor:
        """Return the model's outputs for rows: cosines or logits, shape (k,), or logits of classes, shape (k, c)."""

    @abstractmethod
    def row_losses(self, outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the loss of each row, shape (k,)."""

    def scores(self, outputs: torch.Tensor) -> torch.Tensor:
        """Return the scores that a metric would give for outputs, or numbers of classes, shape (k,)."""
        return outputs

    def labels(self, rows: torch.Tensor) -> torch.Tensor:
        """Return the labels of rows, on the model's device."""
        return self.inputs.labels[rows].to(self.device)

    def forward(self, features: Sequence[Any], labels: torch.Tensor, **_: Any) -> torch.Tensor:
        """Return the loss of a batch, a scalar, from what :class:`~assay.training.pairwise.trainer.Collate` returns.

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
        """Return the parts of a batch that are computed one after another, each as indices into *rows*.

        All rows are one part where the loss is not additive; else each part fits the budget of tokens, or is one row.
        """
        indices = torch.arange(len(rows))
        return self._split_to_budget(rows, indices) if self.additive else [indices]

    def _split_to_budget(self, rows: torch.Tensor, indices: torch.Tensor) -> list[torch.Tensor]:
        """Return *indices* in parts whose distinct inputs fit the budget of tokens, by repeated halving."""
        numbers = torch.unique(torch.cat([side[rows[indices]] for side in self.inputs.sides]))
        if len(indices) == 1 or int(self.inputs.table.lengths[numbers].sum()) <= self._tokens:
            return [indices]
        middle = len(indices) // 2
        return [*self._split_to_budget(rows, indices[:middle]), *self._split_to_budget(rows, indices[middle:])]

    def _model_output(self, numbers: torch.Tensor, key: str) -> torch.Tensor:
        """Return one of the model's outputs for distinct inputs, in the order of *numbers*.

        Inputs of like length run together, which saves padding; the outputs are then put back in order.

        Args:
            numbers: of inputs of the table, shape (n,).
            key: of the output, such as ``sentence_embedding``.
        """
        table = self.inputs.table
        groups = list(alike(table.lengths[numbers], self._tokens, self._spare))
        outputs = [self.model(table.padded(numbers[group], self.device))[key] for group in groups]
        original_order = torch.argsort(torch.cat(groups)).to(self.device)
        return torch.cat(outputs)[original_order]


class BiLoss(PairLoss):
    """Base of losses over sentence embeddings; a text that several pairs of a batch have is embedded once."""

    def embeddings(self, rows: torch.Tensor) -> list[torch.Tensor]:
        """Return the embeddings of each side of rows, shape (k, dimensions) each."""
        both_sides = torch.cat([side[rows] for side in self.inputs.sides])
        numbers, inverse = torch.unique(both_sides, return_inverse=True)
        embedded = self._model_output(numbers, "sentence_embedding").float()
        return [embedded[indices] for indices in torch.split(inverse.to(embedded.device), len(rows))]


class CosineLoss(BiLoss):
    """Squared difference of cosine and label (Reimers and Gurevych 2019, regression objective)."""

    def outputs(self, rows: torch.Tensor) -> torch.Tensor:
        """Return cosines, shape (k,)."""
        return functional.cosine_similarity(*self.embeddings(rows))

    def row_losses(self, outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return squared differences, shape (k,)."""
        return functional.mse_loss(outputs, labels, reduction="none")


class CosentLoss(CosineLoss):
    """CoSENT: a ranking loss over every two pairs of a batch with different labels (Su 2022).

    It grows with the cosine of the pair that has the lower label over that of the other.
    """

    additive = False

    def __init__(self, model: Any, inputs: Inputs, tokens: int | None) -> None:
        super().__init__(model, inputs, tokens)
        self._cosent = CoSENTLoss(model)

    def batch_loss(self, rows: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        """Return the CoSENT loss of rows, a scalar; the weights are not used, all rows weigh the same."""
        loss: torch.Tensor = self._cosent.compute_loss_from_embeddings(self.embeddings(rows), self.labels(rows))
        return loss


class SoftmaxLoss(BiLoss):
    """Cross-entropy of a linear layer over both embeddings and their difference (Reimers and Gurevych 2019).

    Their embeddings are mean token vectors, with components of about 1. For a model that normalises its embeddings of d
    dimensions to length 1, the layer reads sqrt(d) times the embedding; otherwise it learns too slowly to tell the
    classes apart.

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
        first, second = (self._stretch * side for side in self.embeddings(rows))
        logits: torch.Tensor = self.head(torch.cat([first, second, (first - second).abs()], dim=1))
        return logits

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
        logits = self._model_output(self.inputs.first[rows], "scores").float()
        return logits if self._kind == "cross-entropy" else logits.view(-1)

    def row_losses(self, outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the loss of each row, shape (k,)."""
        losses: dict[str, Any] = {
            "bce": functional.binary_cross_entropy_with_logits,
            "mse": functional.mse_loss,
            "cross-entropy": functional.cross_entropy,
        }
        values: torch.Tensor = losses[self._kind](outputs, labels, reduction="none")
        return values

    def scores(self, outputs: torch.Tensor) -> torch.Tensor:
        """Return scores by the declared activation, or numbers of classes, shape (k,)."""
        if self._kind == "cross-entropy":
            return outputs.argmax(dim=1)
        scores: torch.Tensor = self._activation(outputs)
        return scores


def make_loss(name: str, model: Any, inputs: Inputs, tokens: int | None, classes: int) -> PairLoss:
    """Return a loss by its name in :data:`~assay.training.pairwise.settings.LOSSES`.

    Args:
        name: of the loss.
        model, inputs, tokens: see :class:`PairLoss`.
        classes: how many there are; only ``softmax`` reads it.
    """
    if name == "softmax":
        return SoftmaxLoss(model, inputs, tokens, classes)
    if name == "cosine":
        return CosineLoss(model, inputs, tokens)
    if name == "cosent":
        return CosentLoss(model, inputs, tokens)
    return CrossLoss(model, inputs, tokens, name)
