"""One model: sentence-transformers' trainers over planned batches, with only the embedding rows that the texts
read.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from numpy.typing import NDArray
from sentence_transformers import (
    CrossEncoderTrainer,
    CrossEncoderTrainingArguments,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)
from sentence_transformers.base.evaluation import BaseEvaluator
from sentence_transformers.base.sampler import DefaultBatchSampler
from torch import nn
from torch.nn import functional

from assay.datasets.annotation_graph import AnnotationGraph
from assay.errors import InputError
from assay.progress import Progress
from assay.statistics.agreement import agreement
from assay.training.batches import Batch, compose
from assay.training.loop import SCORED_AT_ONCE, ResumableTrainer, Schedule, Trained, arguments, train
from assay.training.models import TokenTable
from assay.training.pairwise.losses import PairLoss
from assay.training.ranks import processes

# Epochs of batches: which rows a step learns from, and how much each weighs.

#: Batches that are drawn at random together before their rows are sorted by length.
TOGETHER = 50
#: Under this name a trainer of sentence-transformers takes the rows of a batch for the input of a loss.
ROWS = "rows_input_ids"


class BatchPlan:
    """The batches of every epoch, which its seed decides alone.

    Args:
        compose: batches of one epoch from a random generator; each epoch has as many. No function within a function:
            where the plan stands in a trainer's arguments, a checkpoint pickles it.
        seed: of all epochs.
    """

    def __init__(self, compose: Callable[[np.random.Generator], Sequence[Batch]], seed: int) -> None:
        self._compose, self._seed = compose, seed
        self._epoch = -1
        self._batches: Sequence[Batch] = ()
        self.at(0)

    def __len__(self) -> int:
        return len(self._batches)

    @property
    def dataset(self) -> Dataset:
        """What a trainer goes through: a row for each batch of an epoch."""
        return Dataset.from_dict({"batch": list(range(len(self)))})

    def at(self, epoch: int) -> None:
        """Turn to an epoch, counted from 0."""
        if epoch != self._epoch:
            self._batches = self._compose(np.random.default_rng([self._seed, epoch]))
            self._epoch = epoch

    def __getitem__(self, number: int) -> Batch:
        return self._batches[number]


def plan_epochs(
    batches: str, graph: AnnotationGraph, lengths: NDArray[np.int64], batch_size: int, seed: int
) -> BatchPlan:
    """Return the batches of a training.

    Args:
        batches: ``length``, or a strategy of :func:`~assay.training.batches.compose`.
        graph: of the n training pairs.
        lengths: tokens of each pair's longer text, or of the pair, shape (n,).
        batch_size: rows, texts or base pairs of a batch.
        seed: of all epochs.
    """
    if batches == "length":
        return BatchPlan(partial(by_length, lengths, batch_size), seed)
    return BatchPlan(partial(compose, batches, graph, batch_size), seed)


def by_length(lengths: NDArray[np.int64], batch_size: int, rng: np.random.Generator) -> list[Batch]:
    """Return batches in which rows have about the same length: little padding, in an order that tells nothing of it.

    Args:
        lengths: tokens of each row's longest text, shape (n,).
        batch_size: rows of a batch.
        rng: of the epoch.
    """
    order = rng.permutation(len(lengths))
    parts = []
    for start in range(0, len(order), TOGETHER * batch_size):
        drawn = order[start : start + TOGETHER * batch_size]
        drawn = drawn[np.argsort(lengths[drawn], kind="stable")]
        parts += np.split(drawn, range(batch_size, len(drawn), batch_size))
    return [Batch(parts[k], np.full(len(parts[k]), 1 / len(parts[k]))) for k in rng.permutation(len(parts))]


class PlanSampler(DefaultBatchSampler):  # type: ignore[misc]  # sentence-transformers has no types here
    """Gives the numbers of a plan's batches, one at a time; :class:`Collate` looks them up.

    Where several processes take turns, the first batches come again until each process has as many: none would wait for
    another one for ever.

    Args:
        dataset: a row a batch.
        plan: the batches.
        **settings: of the trainer.
    """

    def __init__(self, dataset: Any, plan: BatchPlan, **settings: Any) -> None:
        super().__init__(dataset, **settings)
        self._plan = plan

    def __len__(self) -> int:
        return len(self._plan) + -len(self._plan) % processes()

    def __iter__(self) -> Iterator[list[int]]:
        self._plan.at(self.epoch)
        return ([number % len(self._plan)] for number in range(len(self)))


class Collate:
    """Makes a batch of its number.

    Args:
        plan: the batches.
    """

    valid_label_columns: tuple[str, ...] = ()

    def __init__(self, plan: BatchPlan) -> None:
        self.plan = plan

    def __call__(self, rows: Sequence[Mapping[str, int]]) -> dict[str, torch.Tensor]:
        """Return the batch that one row of the dataset stands for: rows, and as ``label`` their weights, shape (k,)."""
        batch = self.plan[rows[0]["batch"]]
        return {ROWS: torch.from_numpy(batch.rows), "label": torch.from_numpy(batch.weights).float()}


# The rows of a table of embeddings that the texts of a training read, trained without the others.
#
# A gradient of the whole table, its norm and the optimizer's step over it cost as much for rows that no text reads,
# whose gradient is zero, as for the others: in a small model with a large vocabulary more than all layers together.


class ReadRows(nn.Module):  # type: ignore[misc]  # torch has no types here
    """Stands in for a table of embeddings; gives the same for every token that is read.

    Args:
        table: the whole one; what is learned is written into it by :meth:`write`.
        read: numbers of the rows that are read, sorted, shape (r,).
    """

    def __init__(self, table: nn.Embedding, read: torch.Tensor) -> None:
        super().__init__()
        self.read = read.to(table.weight.device)
        self._table = (table,)  # a tuple, or its weight would be a parameter
        self.weight = nn.Parameter(table.weight.detach()[self.read].clone())
        places = torch.zeros(len(table.weight), dtype=torch.int64, device=table.weight.device)
        places[self.read] = torch.arange(len(read), device=places.device)
        self.register_buffer("places", places, persistent=False)
        # the padding token has no gradient in the whole table, and has none here
        self._padding = None if table.padding_idx is None else int(places[table.padding_idx])

    @property
    def table(self) -> nn.Embedding:
        """The whole table."""
        return self._table[0]

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Return embeddings of tokens that are read, shape of *ids* plus (dimensions,)."""
        found: torch.Tensor = functional.embedding(self.places[ids], self.weight, self._padding)
        return found

    def write(self) -> None:
        """Write the rows into the whole table."""
        whole = self.table.weight
        with torch.no_grad():
            whole[self.read.to(whole.device)] = self.weight.to(whole)

    def fetch(self) -> None:
        """Take the rows from the whole table, in place."""
        whole = self.table.weight
        with torch.no_grad():
            self.weight.copy_(whole[self.read.to(whole.device)])


@contextmanager
def only_read_rows(whole: Any, tokens: TokenTable) -> Iterator[None]:
    """Have a model train the rows of its table of embeddings that its texts read, and no others, inside the block.

    Each step is the one that it would be with all rows, but for the weight decay of rows that are not read: they stay
    what they are. A model without a plain table of embeddings, or with a frozen one, is left as it is.

    Args:
        whole: the model of sentence-transformers, changed in place.
        tokens: of all texts that it will see.
    """
    body = getattr(whole[0], "model", None)
    table = _table_of(body)
    if body is None or type(table) is not nn.Embedding or not _is_its_own(body, table):
        yield
        return
    pads = [tokens.pad, *([] if table.padding_idx is None else [table.padding_idx])]
    rows = ReadRows(table, torch.unique(torch.cat([tokens.ids.long(), torch.tensor(pads)])))
    body.set_input_embeddings(rows)
    try:
        yield
    finally:
        rows.write()
        body.set_input_embeddings(table)


def _table_of(body: Any) -> Any:
    """Return the table of embeddings of a transformer, or None where there is none."""
    return body.get_input_embeddings() if hasattr(body, "get_input_embeddings") else None


def _is_its_own(body: Any, table: nn.Embedding) -> bool:
    """Return whether a table is trained in the plain way and its weight stands nowhere else in the model."""
    plain = table.weight.requires_grad and table.max_norm is None and not table.sparse and not table.scale_grad_by_freq
    places = [name for name, value in body.named_parameters(remove_duplicate=False) if value is table.weight]
    return plain and len(places) == 1


@contextmanager
def with_whole_table(whole: Any) -> Iterator[None]:
    """Give a model its whole table back for as long as the block runs, to be saved or loaded."""
    body = getattr(whole[0], "model", None)
    rows = _table_of(body)
    if body is None or not isinstance(rows, ReadRows):
        yield
        return
    rows.write()
    body.set_input_embeddings(rows.table)
    try:
        yield
    finally:
        rows.fetch()
        body.set_input_embeddings(rows)


# One model: sentence-transformers' trainers over a plan of batches.

#: Stands for a coefficient that is undefined since all scores are equal: no model is worse.
WORST = -1.0


class DivergedError(InputError):
    """A training whose weights have become too large for numbers."""


class PlannedBatches(ResumableTrainer):
    """Beside a trainer: batches come from a plan, and one that has no room in memory is computed in several passes."""

    data_collator: Collate
    accelerator: Any

    def get_batch_sampler(self, dataset: Any, batch_size: int, drop_last: bool, **settings: Any) -> Any:
        """Return the plan's batches."""
        return PlanSampler(dataset, self.data_collator.plan, batch_size=1, drop_last=False, **settings)

    def training_step(self, model: Any, inputs: dict[str, Any], *args: Any) -> Any:
        """Return the loss of a batch, and leave its gradient: the sum over the passes that have room."""
        total = 0.0
        passes = self.loss.passes(inputs[ROWS].cpu())
        for number, places in enumerate(passes, start=1):
            part = {name: value[places] for name, value in inputs.items()}
            # several processes exchange gradients once a batch, however many passes each of them needs
            last = number == len(passes)
            with contextlib.nullcontext() if last else self.accelerator.no_sync(model):
                total = total + super().training_step(model, part, *args)  # type: ignore[misc]  # of the trainer
        return total

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        with with_whole_table(self.model):
            super()._save(output_dir, state_dict)

    def _load_from_checkpoint(self, checkpoint_path: str) -> None:
        with with_whole_table(self.model):
            super()._load_from_checkpoint(checkpoint_path)


class BiTrainer(PlannedBatches, SentenceTransformerTrainer):  # type: ignore[misc]  # no types there
    """Trains a bi-encoder."""


class CrossTrainer(PlannedBatches, CrossEncoderTrainer):  # type: ignore[misc]  # no types there
    """Trains a cross-encoder."""


class DevAgreement(BaseEvaluator):  # type: ignore[misc]  # no types there
    """Agreement of a model with the labels of its development pairs.

    Args:
        loss: the loss, which knows rows, labels and model.
        rows: of the development set.
    """

    def __init__(self, loss: PairLoss, rows: NDArray[np.int64]) -> None:
        super().__init__()
        self._loss, self._rows = loss, rows

    def __call__(self, *_: Any, **__: Any) -> dict[str, float]:
        """Return the mean loss, and Pearson, Spearman and Kendall or the accuracy.

        Raises:
            DivergedError: a loss is no number.
        """
        scores, losses = score_rows(self._loss, self._rows)
        if not np.isfinite(losses).all():
            raise DivergedError(
                "the training diverged: losses on the development set are no numbers; ask for a lower `learning_rate`"
            )
        labels = self._loss.inputs.labels[torch.from_numpy(self._rows)].numpy()
        found = {"loss": float(losses.mean())}
        if labels.dtype == np.int64:
            return found | {"accuracy": float((scores == labels).mean())}
        settings: dict[str, Any] = {"statistics": ("pearson", "spearman", "kendall"), "confidence": 0.95, "seed": (0,)}
        values = agreement({"dev": scores}, labels.astype(np.float64), resamples=0, **settings)
        return found | {one.statistic: WORST if one.value is None else one.value for one in values}


def score_rows(loss: PairLoss, rows: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return scores (or numbers of classes) and losses of n rows by the model as it is, shape (n,) each."""
    wrapped, mode = loss.model, loss.whole.training
    loss.model = loss.whole.eval()  # a wrapper would wait for the other processes
    scores, losses = [], []
    with torch.inference_mode():
        for part in torch.split(torch.from_numpy(rows), SCORED_AT_ONCE):
            outputs = loss.outputs(part)
            losses.append(loss.row_losses(outputs, loss.labels(part)).double().cpu())
            scores.append(loss.scores(outputs).double().cpu())
    loss.whole.train(mode)
    loss.model = wrapped
    return torch.cat(scores).numpy(), torch.cat(losses).numpy()


def train_pairs(
    recipe: str,
    loss: PairLoss,
    plan: BatchPlan,
    dev: NDArray[np.int64],
    schedule: Schedule,
    folder: Path,
    device: str,
    progress: Progress,
    callbacks: Sequence[Any] = (),
    best: str | None = None,
) -> Trained:
    """Train a model; a training that was killed continues from its last checkpoint.

    Args:
        recipe: ``bi-encoder`` or ``cross-encoder``.
        loss: with the model, which is changed in place.
        plan: batches of training rows.
        dev: rows of the development set.
        schedule: how long and how fast it learns.
        folder: for checkpoints.
        device: torch's name of the device.
        progress: told of each step.
        callbacks: of transformers, told of the trainer's events.
        best: what decides which step is kept, one of :class:`DevAgreement`'s; by default Spearman or the accuracy.
    """
    cross = recipe == "cross-encoder"
    best = best or ("spearman" if loss.inputs.labels.is_floating_point() else "accuracy")
    kind = CrossEncoderTrainingArguments if cross else SentenceTransformerTrainingArguments
    with only_read_rows(loss.whole, loss.inputs.table):
        trainer = (CrossTrainer if cross else BiTrainer)(
            model=loss.model,
            args=arguments(folder, schedule, device, kind=kind, best=best, mixed=True),
            train_dataset=plan.dataset,
            evaluator=DevAgreement(loss, dev),
            loss=loss,
            data_collator=Collate(plan),
        )
        return train(trainer, folder, progress, f"training, seed {schedule.seed}", best=best, callbacks=callbacks)
