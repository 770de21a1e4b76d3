"""Losses over pairs: one value per pair, so that the loss of a batch is a weighted sum, however the batch is made."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from sentence_transformers import CrossEncoder
from sentence_transformers.sentence_transformer.losses import CoSENTLoss
from sentence_transformers.sentence_transformer.modules import Normalize
from torch import nn
from torch.nn import functional

from assay.training.models import Inputs, length_groups

#: The most tokens, padding included, of one forward and backward pass; and the padding tokens that a group of texts
#: may have, because they cost less than one more forward call.
CPU_TOKENS, CPU_SPARE = 4096, 64
GPU_TOKENS, GPU_SPARE = 16384, 4096


def pass_limits(device_type: str) -> tuple[int, int]:
    """Return the maximum number of tokens in one pass, and of padding tokens in a group of texts.

    Args:
        device_type: ``cpu``, or the name of another device.
    """
    return (CPU_TOKENS, CPU_SPARE) if device_type == "cpu" else (GPU_TOKENS, GPU_SPARE)


class PairLoss(nn.Module, ABC):  # type: ignore[misc]  # torch has no types here
    """The loss of a batch: the sum of weights times the loss of each row.

    Args:
        model: the sentence-transformers model that is trained; kept as an attribute so that torch finds its parameters.
        inputs: the tokens and labels of all rows.
        tokens: the most tokens of one forward and backward pass; None for the default of the device.
    """

    #: Whether the loss of a batch is the sum of the losses of its parts, so that gradients may be added part by part.
    is_additive = True

    def __init__(self, model: Any, inputs: Inputs, tokens: int | None) -> None:
        super().__init__()
        self.model = model
        self._unwrapped = (model,)  # in a tuple, or torch would register the model a second time
        self.inputs = inputs
        default_budget, self._spare_padding = pass_limits(self.device.type)
        self._token_budget = tokens or default_budget

    @property
    def unwrapped_model(self) -> Any:
        """The model itself; :attr:`model` may be a trainer's wrapper that distributes it over devices."""
        return self._unwrapped[0]

    @property
    def device(self) -> torch.device:
        """The device of the model."""
        return next(self.model.parameters()).device

    @abstractmethod
    def outputs(self, rows: torch.Tensor) -> torch.Tensor:
        """Return the model's outputs for k rows, on the model's device.

        They are cosines or logits of shape (k,), class logits of shape (k, classes), or squared distances of shape
        (k, 2).

        Args:
            rows: the row numbers, int64, shape (k,), on the CPU.
        """

    @abstractmethod
    def row_losses(self, outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the loss of each row, shape (k,), from what :meth:`outputs` and :meth:`labels` return."""

    def scores(self, outputs: torch.Tensor) -> torch.Tensor:
        """Return the predictions of k rows, shape (k,): scores as a metric would return them, or class numbers.

        This base class returns the outputs themselves.

        Args:
            outputs: what :meth:`outputs` returned for the rows.
        """
        return outputs

    def labels(self, rows: torch.Tensor) -> torch.Tensor:
        """Return the labels of k rows, shape (k,), on the model's device."""
        return self.inputs.labels[rows].to(self.device)

    def forward(self, features: Sequence[Any], labels: torch.Tensor, **_: Any) -> torch.Tensor:
        """Return the loss of a batch, a scalar; called by the trainer.

        Args:
            features: one item with the row numbers, int64, shape (k,), on the CPU: themselves from
                CrossEncoderTrainer, in a mapping with the key ``input_ids`` from SentenceTransformerTrainer.
            labels: the weights of the rows, float32, shape (k,), under the name that trainers use; the labels that are
                learned are in :attr:`inputs`. Both come from :class:`~assay.training.pairwise.trainer.Collate`.
        """
        (item,) = features
        rows = item["input_ids"] if isinstance(item, Mapping) else item
        return self.batch_loss(torch.as_tensor(rows), labels)

    def batch_loss(self, rows: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        """Return the weighted sum of the losses of k rows, a scalar; *weights* has shape (k,)."""
        losses = self.row_losses(self.outputs(rows), self.labels(rows))
        return (weights.to(losses) * losses).sum()

    def split_into_passes(self, rows: torch.Tensor) -> list[torch.Tensor]:
        """Split a batch into parts that fit into memory, each an int64 tensor of indices into *rows*.

        The distinct inputs of a part, without padding, fit the token budget unless it is a single row. A loss that is
        not additive is computed in one part, whatever its size.
        """
        indices = torch.arange(len(rows))
        return self._split_to_budget(rows, indices) if self.is_additive else [indices]

    def _split_to_budget(self, rows: torch.Tensor, indices: torch.Tensor) -> list[torch.Tensor]:
        """Split *indices* by repeated halving until every part fits the token budget or is a single row."""
        numbers = torch.unique(torch.cat([side[rows[indices]] for side in self.inputs.sides]))
        if len(indices) == 1 or int(self.inputs.table.lengths[numbers].sum()) <= self._token_budget:
            return [indices]
        middle = len(indices) // 2
        return [*self._split_to_budget(rows, indices[:middle]), *self._split_to_budget(rows, indices[middle:])]

    def _model_output(self, model: Any, numbers: torch.Tensor, key: str) -> torch.Tensor:
        """Return one of a model's outputs for n inputs, in the order of *numbers*, with n as its first dimension.

        Inputs of similar length run together, which saves padding; the outputs are then put back in order.

        Args:
            model: the model that reads the inputs.
            numbers: the distinct indices of n inputs in the table, shape (n,).
            key: the name of the output, such as ``sentence_embedding``.
        """
        table = self.inputs.table
        groups = list(length_groups(table.lengths[numbers], self._token_budget, self._spare_padding))
        outputs = [model(table.padded_batch(numbers[group], self.device))[key] for group in groups]
        original_order = torch.argsort(torch.cat(groups)).to(self.device)
        return torch.cat(outputs)[original_order]

    def token_embeddings(self, numbers: torch.Tensor) -> torch.Tensor:
        """Return the embeddings of all tokens of n inputs by the last layer, one input after another.

        The inputs are those of a bi-encoder. The result is float32 of shape (tokens, dimensions).

        Args:
            numbers: the distinct indices of the inputs in the table, shape (n,).
        """
        table = self.inputs.table
        groups = list(length_groups(table.lengths[numbers], self._token_budget, self._spare_padding))
        outputs: dict[int, torch.Tensor] = {}
        for group in groups:
            embedded = self.model(table.padded_batch(numbers[group], self.device))["token_embeddings"].float()
            for index, tokens in zip(group.tolist(), embedded, strict=True):
                outputs[index] = tokens[: int(table.lengths[numbers[index]])]
        return torch.cat([outputs[index] for index in range(len(numbers))])


class BiLoss(PairLoss):
    """Base of losses over sentence embeddings; a text that occurs in several pairs of a batch is embedded once.

    Attributes:
        second_model: the encoder of all sides but the first, which is trained as well; None if one encoder reads all.
    """

    def __init__(self, model: Any, inputs: Inputs, tokens: int | None) -> None:
        super().__init__(model, inputs, tokens)
        self.second_model: Any = None

    def embeddings(self, rows: torch.Tensor) -> list[torch.Tensor]:
        """Return the embeddings of k rows, one float32 tensor of shape (k, dimensions) per side."""
        sides = [side[rows] for side in self.inputs.sides]
        if self.second_model is None:
            return self._embedded(self.model, sides)
        self.second_model.train(self.unwrapped_model.training)  # the trainer sets the mode of the first one alone
        return self._embedded(self.model, sides[:1]) + self._embedded(self.second_model, sides[1:])

    def _embedded(self, model: Any, sides: list[torch.Tensor]) -> list[torch.Tensor]:
        numbers, inverse = torch.unique(torch.cat(sides), return_inverse=True)
        embedded = self._model_output(model, numbers, "sentence_embedding").float()
        return [embedded[indices] for indices in torch.split(inverse.to(embedded.device), len(sides[0]))]


class CosineLoss(BiLoss):
    """Squared difference of cosine and label (Reimers and Gurevych 2019, regression objective)."""

    def outputs(self, rows: torch.Tensor) -> torch.Tensor:
        """Return the cosine of the two embeddings of each row, shape (k,)."""
        return functional.cosine_similarity(*self.embeddings(rows))

    def row_losses(self, outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the squared difference of cosine and label of each row, shape (k,)."""
        return functional.mse_loss(outputs, labels, reduction="none")


class SigmoidCosineLoss(CosineLoss):
    """Binary cross-entropy of the sigmoid of the cosine and the label (Waldis, Beck and Gurevych 2022, section 3.2).

    The sigmoid of a cosine lies between .27 and .73, so that the loss never falls below .31. The score stays the
    cosine, which orders pairs in the same way.
    """

    def row_losses(self, outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the binary cross-entropy of each row, shape (k,)."""
        return functional.binary_cross_entropy_with_logits(outputs, labels, reduction="none")


class CosentLoss(CosineLoss):
    """CoSENT: a ranking loss over every two pairs of a batch that have different labels (Su 2022).

    It grows as the cosine of the pair with the lower label exceeds the cosine of the other pair.
    """

    is_additive = False

    def __init__(self, model: Any, inputs: Inputs, tokens: int | None) -> None:
        super().__init__(model, inputs, tokens)
        self._cosent = CoSENTLoss(model)

    def batch_loss(self, rows: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        """Return the CoSENT loss of rows, a scalar; the weights are ignored: all rows count the same."""
        loss: torch.Tensor = self._cosent.compute_loss_from_embeddings(self.embeddings(rows), self.labels(rows))
        return loss


class SoftmaxLoss(BiLoss):
    """Cross-entropy of a linear layer over both embeddings and their difference (Reimers and Gurevych 2019).

    The paper's embeddings are mean token vectors with components of about 1. A model that normalises its embeddings to
    length 1 has components of about 1 / sqrt(dimensions), from which the layer would learn too slowly to separate the
    classes; the layer then reads sqrt(dimensions) times the embedding.

    Args:
        model, inputs, tokens: the model that is trained, the tokens and labels of all rows, and the most tokens of one
            pass, as in :class:`PairLoss`.
        classes: the number of classes.
    """

    def __init__(self, model: Any, inputs: Inputs, tokens: int | None, classes: int) -> None:
        super().__init__(model, inputs, tokens)
        dimension = int(model.get_embedding_dimension())
        self.head = nn.Linear(3 * dimension, classes)
        self._stretch = dimension**0.5 if any(isinstance(module, Normalize) for module in model) else 1.0

    def outputs(self, rows: torch.Tensor) -> torch.Tensor:
        """Return the class logits of each row, shape (k, classes)."""
        first, second = (self._stretch * side for side in self.embeddings(rows))
        logits: torch.Tensor = self.head(torch.cat([first, second, (first - second).abs()], dim=1))
        return logits

    def row_losses(self, outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the cross-entropy of each row's logits and class, shape (k,)."""
        return functional.cross_entropy(outputs, labels, reduction="none")

    def scores(self, outputs: torch.Tensor) -> torch.Tensor:
        """Return the number of each row's likeliest class, shape (k,)."""
        return outputs.argmax(dim=1)


class CrossLoss(PairLoss):
    """A loss of a cross-encoder: binary cross-entropy against a label in [0, 1], squared error, or cross-entropy.

    Args:
        model, inputs, tokens: the model that is trained, the tokens and labels of all rows, and the most tokens of one
            pass, as in :class:`PairLoss`.
        kind: the name of the loss: ``bce``, ``mse`` or ``cross-entropy``.
    """

    def __init__(self, model: Any, inputs: Inputs, tokens: int | None, kind: str) -> None:
        super().__init__(model, inputs, tokens)
        self._kind, self._activation = kind, model.activation_fn

    def outputs(self, rows: torch.Tensor) -> torch.Tensor:
        """Return the logits of the head, shape (k, classes) for ``cross-entropy``, else (k,)."""
        logits = self._model_output(self.model, self.inputs.first[rows], "scores").float()
        return logits if self._kind == "cross-entropy" else logits.view(-1)

    def row_losses(self, outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the loss of each row, of the kind that was chosen, shape (k,)."""
        losses: dict[str, Any] = {
            "bce": functional.binary_cross_entropy_with_logits,
            "mse": functional.mse_loss,
            "cross-entropy": functional.cross_entropy,
        }
        values: torch.Tensor = losses[self._kind](outputs, labels, reduction="none")
        return values

    def scores(self, outputs: torch.Tensor) -> torch.Tensor:
        """Return activated logits, or for ``cross-entropy`` the number of each row's likeliest class, shape (k,)."""
        if self._kind == "cross-entropy":
            return outputs.argmax(dim=1)
        scores: torch.Tensor = self._activation(outputs)
        return scores


def make_loss(name: str, model: Any, inputs: Inputs, tokens: int | None, classes: int) -> PairLoss:
    """Return the loss of a given name, which holds the model and its inputs.

    Args:
        name: a loss in :data:`~assay.training.pairwise.settings.LOSSES` that the kind of model has; ``bce`` differs
            between bi-encoders and cross-encoders.
        model, inputs, tokens: the model that is trained, the tokens and labels of all rows, and the most tokens of one
            pass, as in :class:`PairLoss`.
        classes: the number of classes; only ``softmax`` reads it.
    """
    if name == "softmax":
        return SoftmaxLoss(model, inputs, tokens, classes)
    if name == "cosine":
        return CosineLoss(model, inputs, tokens)
    if name == "bce" and not isinstance(model, CrossEncoder):
        return SigmoidCosineLoss(model, inputs, tokens)
    if name == "cosent":
        return CosentLoss(model, inputs, tokens)
    return CrossLoss(model, inputs, tokens, name)
