"""Trains one model with the sentence-transformers trainers, over planned batches."""

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

from assay.analysis.thresholds.training import are_yes_or_no, find_threshold, measures_at_threshold
from assay.common.messages import Setting
from assay.common.progress import Progress
from assay.datasets.annotation_graph import AnnotationGraph
from assay.exceptions import InputError
from assay.metrics.neural.bertscore import TokenWeighting, harmonic_mean, match_tokens
from assay.metrics.neural.embeddings import TextEmbeddings
from assay.statistics.agreement import agreement
from assay.statistics.decisions import class_measures
from assay.training.batches import Batch, compose_batches
from assay.training.loop import (
    SCORED_AT_ONCE,
    ResumableTrainer,
    Schedule,
    TrainingCourse,
    run_trainer,
    trainer_arguments,
)
from assay.training.pairwise.losses import PairLoss
from assay.training.pairwise.read_rows import restore_whole_table, train_only_read_rows
from assay.training.pairwise.settings import BERTSCORE
from assay.training.ranks import process_count

# Batch plans: the rows of each step, and their weights.

#: The number of batches whose rows are drawn together before they are sorted by length.
SORTED_BATCHES = 50
#: The name of a batch's row numbers: the suffix makes sentence-transformers pass them to the loss as an input.
ROWS = "rows_input_ids"


class BatchPlan:
    """The batches of every epoch, determined by the seed and the epoch alone.

    Args:
        compose: returns the batches of one epoch from a random generator, the same number for every epoch. It must be
            picklable, so not a nested function: a checkpoint pickles a plan that is in a trainer's arguments.
        seed: the seed of all epochs.
    """

    def __init__(self, compose: Callable[[np.random.Generator], Sequence[Batch]], seed: int) -> None:
        self._compose, self._seed = compose, seed
        self._epoch = -1  # none yet
        self._batches: Sequence[Batch] = ()
        self.set_epoch(0)

    def __len__(self) -> int:
        return len(self._batches)

    @property
    def dataset(self) -> Dataset:
        """The dataset that a trainer iterates over: one row per batch of an epoch."""
        return Dataset.from_dict({"batch": list(range(len(self)))})

    def set_epoch(self, epoch: int) -> None:
        """Compose the batches of an epoch, counted from 0; the batches of the current epoch are kept as they are."""
        if epoch != self._epoch:
            self._batches = self._compose(np.random.default_rng([self._seed, epoch]))
            self._epoch = epoch

    def __getitem__(self, number: int) -> Batch:
        return self._batches[number]


def plan_epochs(
    batches: str, graph: AnnotationGraph, lengths: NDArray[np.int64], batch_size: int, seed: int
) -> BatchPlan:
    """Return the batches of all epochs of a training.

    Args:
        batches: ``length``, or a strategy of :func:`~assay.training.batches.compose_batches`.
        graph: the annotation graph of the n training pairs.
        lengths: the number of tokens of each pair's longer text, or of the joined pair for a cross-encoder, shape (n,).
        batch_size: the number of rows, texts or base pairs per batch, by strategy.
        seed: the seed of all epochs.

    Raises:
        InputError: the strategy is unknown, or does not fit the graph or the size of a batch.
    """
    if batches == "length":
        return BatchPlan(partial(batches_by_length, lengths, batch_size), seed)
    return BatchPlan(partial(compose_batches, batches, graph, batch_size), seed)


def batches_by_length(lengths: NDArray[np.int64], batch_size: int, rng: np.random.Generator) -> list[Batch]:
    """Return batches of rows of similar length, which need little padding, in an order independent of length.

    Args:
        lengths: the number of tokens of each row's longest text, shape (n,).
        batch_size: the number of rows per batch.
        rng: the random generator of the epoch.
    """
    order = rng.permutation(len(lengths))
    parts = []
    for start in range(0, len(order), SORTED_BATCHES * batch_size):
        chunk = order[start : start + SORTED_BATCHES * batch_size]
        by_length = chunk[np.argsort(lengths[chunk], kind="stable")]
        parts += np.split(by_length, range(batch_size, len(chunk), batch_size))
    shuffled = [parts[index] for index in rng.permutation(len(parts))]
    return [Batch(rows, np.full(len(rows), 1 / len(rows))) for rows in shuffled]


class PlanSampler(DefaultBatchSampler):  # type: ignore[misc]  # sentence-transformers has no types here
    """Yields the numbers of a plan's batches, one at a time; :class:`Collate` turns each into its batch.

    For several processes, the first batches are repeated at the end until every process gets the same number: with
    fewer batches, a process would leave the others waiting for its gradients.

    Args:
        dataset: a dataset with one row per batch.
        plan: the batches.
        **settings: the trainer's arguments of a sampler.
    """

    def __init__(self, dataset: Any, plan: BatchPlan, **settings: Any) -> None:
        super().__init__(dataset, **settings)
        self._plan = plan

    def __len__(self) -> int:
        missing = -len(self._plan) % process_count()  # up to a multiple of the number of processes
        return len(self._plan) + missing

    def __iter__(self) -> Iterator[list[int]]:
        self._plan.set_epoch(self.epoch)
        return ([number % len(self._plan)] for number in range(len(self)))


class Collate:
    """Turns the number of a batch into the batch, as a trainer's data collator.

    Args:
        plan: the batches.
    """

    #: An attribute of sentence-transformers' collators, which its trainers pass on to samplers.
    valid_label_columns: tuple[str, ...] = ()

    def __init__(self, plan: BatchPlan) -> None:
        self.plan = plan

    def __call__(self, rows: Sequence[Mapping[str, int]]) -> dict[str, Any]:
        """Return the batch of one dataset row: the rows as :data:`ROWS`, their weights as ``label``, shape (k,).

        The row numbers are an array of NumPy, since trainers move tensors to the device: to read them there would wait
        for all the work that a GPU still has.
        """
        batch = self.plan[rows[0]["batch"]]
        return {ROWS: batch.rows, "label": torch.from_numpy(batch.weights).float()}


# The training of one model: sentence-transformers trainers over a plan of batches.

#: Replaces a coefficient that is undefined because all scores are equal, so that no model ranks lower.
UNDEFINED_COEFFICIENT = -1.0


class DivergedError(InputError):
    """A training whose losses are no longer finite numbers."""


class PlannedBatches(ResumableTrainer):
    """Mixin for a trainer: batches come from a plan, and a batch too large for memory is computed in several passes."""

    data_collator: Collate
    accelerator: Any

    def get_batch_sampler(self, dataset: Any, batch_size: int, drop_last: bool, **settings: Any) -> Any:
        """Return a sampler of the plan's batches; *batch_size* and *drop_last* are ignored, since the plan decides."""
        return PlanSampler(dataset, self.data_collator.plan, batch_size=1, drop_last=False, **settings)

    def training_step(self, model: Any, inputs: dict[str, Any], *args: Any) -> Any:
        """Return the loss of a batch and accumulate its gradient, both summed over passes that fit into memory.

        Args:
            model: the model, possibly in a wrapper that distributes it over processes.
            inputs: the row numbers and weights of the batch, from :class:`Collate`.
            *args: further arguments of the trainer.
        """
        total = 0.0
        passes = self.loss.split_into_passes(torch.from_numpy(inputs[ROWS]))
        for number, indices in enumerate(passes, start=1):
            part = {ROWS: inputs[ROWS][indices.numpy()], "label": inputs["label"][indices]}
            # Processes exchange gradients once per batch, in the last pass: their numbers of passes may differ.
            is_last = number == len(passes)
            with contextlib.nullcontext() if is_last else self.accelerator.no_sync(model):
                total = total + super().training_step(model, part, *args)  # type: ignore[misc]  # of the trainer
        return total

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        with restore_whole_table(self.model):
            super()._save(output_dir, state_dict)

    def _load_from_checkpoint(self, checkpoint_path: str) -> None:
        with restore_whole_table(self.model):
            super()._load_from_checkpoint(checkpoint_path)


class BiTrainer(PlannedBatches, SentenceTransformerTrainer):  # type: ignore[misc]  # no types there
    """Trains a bi-encoder."""


class CrossTrainer(PlannedBatches, CrossEncoderTrainer):  # type: ignore[misc]  # no types there
    """Trains a cross-encoder."""


class DevAgreement(BaseEvaluator):  # type: ignore[misc]  # no types there
    """Evaluates the agreement of a model with the labels of its development pairs.

    Args:
        loss: the loss, which holds the model and the inputs and labels of all rows.
        rows: the row numbers of the development set.
        weigh: the weights of tokens, to measure ``bertscore`` as well; None to leave it out.
    """

    def __init__(self, loss: PairLoss, rows: NDArray[np.int64], weigh: TokenWeighting | None = None) -> None:
        super().__init__()
        self._loss, self._rows, self._weigh = loss, rows, weigh

    def __call__(self, *_: Any, **__: Any) -> dict[str, float]:
        """Return the mean ``loss`` over the development pairs and their agreement with the labels, by name.

        The agreement is ``pearson``, ``spearman`` and ``kendall``, each :data:`UNDEFINED_COEFFICIENT` if it is
        undefined, or for classes that of :func:`~assay.statistics.decisions.class_measures`. For labels 0 and 1 alone,
        both: decisions are then made at the best threshold on these pairs. With weights of tokens there is also
        ``bertscore``, Spearman of BERTScore (F) on the last layer.

        Args:
            *_, **__: the trainer's arguments, which are ignored.

        Raises:
            DivergedError: a loss is not finite.
        """
        scores, losses = score_rows(self._loss, self._rows)
        if not np.isfinite(losses).all():
            raise DivergedError(
                "the training diverged: losses on the development set are not numbers; ask for a lower ",
                Setting("learning_rate"),
            )
        labels = self._loss.inputs.labels[torch.from_numpy(self._rows)].numpy()
        results = {"loss": float(losses.mean())}
        if labels.dtype == np.int64:  # class numbers
            return results | class_measures(labels, scores.astype(np.int64))
        labels = labels.astype(np.float64)
        results |= _coefficients(scores, labels, ("pearson", "spearman", "kendall"))
        if self._weigh is not None:
            scores_of_tokens = bertscore_of_rows(self._loss, self._rows, self._weigh)
            results[BERTSCORE] = _coefficients(scores_of_tokens, labels, ("spearman",))["spearman"]
        if are_yes_or_no(labels):
            results |= measures_at_threshold(scores, labels, find_threshold(scores, labels))
        return results


def _coefficients(
    scores: NDArray[np.float64], labels: NDArray[np.float64], statistics: Sequence[str]
) -> dict[str, float]:
    """Return coefficients of scores and labels by name, :data:`UNDEFINED_COEFFICIENT` where one is undefined."""
    estimates = agreement({"dev": scores}, labels, statistics=statistics, confidence=0.95, seed=(0,), resamples=0)
    return {
        estimate.statistic: UNDEFINED_COEFFICIENT if estimate.value is None else estimate.value
        for estimate in estimates
    }


@contextmanager
def _in_evaluation(loss: PairLoss) -> Iterator[None]:
    """Inside the block, the model of a loss is in evaluation mode, without a wrapper, and no gradient is computed."""
    wrapped_model, was_training = loss.model, loss.unwrapped_model.training
    loss.model = loss.unwrapped_model.eval()  # a wrapper would wait for the other processes
    try:
        with torch.inference_mode():
            yield
    finally:
        loss.unwrapped_model.train(was_training)
        loss.model = wrapped_model


def bertscore_of_rows(loss: PairLoss, rows: NDArray[np.int64], weigh: TokenWeighting) -> NDArray[np.float64]:
    """Return BERTScore (F) of n rows on the last layer of a bi-encoder with its current weights, shape (n,).

    Args:
        loss: the loss, which holds the model and the inputs.
        rows: the row numbers, at least one, shape (n,).
        weigh: the weights of tokens.
    """
    table = loss.inputs.table
    sides = [side[torch.from_numpy(rows)] for side in (loss.inputs.first, loss.inputs.second)]
    numbers, text_indices = torch.unique(torch.cat(sides), return_inverse=True)
    with _in_evaluation(loss):
        parts = [loss.token_embeddings(part) for part in torch.split(numbers, SCORED_AT_ONCE)]
    lengths = table.lengths[numbers]
    ends = table.starts[numbers] + lengths
    ids = [table.ids[start:end].tolist() for start, end in zip(table.starts[numbers], ends, strict=True)]
    starts = (torch.cumsum(lengths, 0) - lengths).numpy().astype(np.intp)
    first, second = text_indices.numpy().astype(np.intp).reshape(2, -1)
    precision, recall = match_tokens(TextEmbeddings(torch.cat(parts), starts, ids), first, second, weigh)
    return harmonic_mean(precision, recall)


def score_rows(loss: PairLoss, rows: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the scores (or class numbers) and the losses of n rows, float64, shape (n,) each.

    The model computes them in evaluation mode with its current weights, and is then put back into its earlier mode.

    Args:
        loss: the loss, which holds the model and the inputs.
        rows: the row numbers, at least one, shape (n,).
    """
    scores, losses = [], []
    with _in_evaluation(loss):
        for part in torch.split(torch.from_numpy(rows), SCORED_AT_ONCE):
            outputs = loss.outputs(part)
            losses.append(loss.row_losses(outputs, loss.labels(part)).double().cpu())
            scores.append(loss.scores(outputs).double().cpu())
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
    measure: str | None = None,
    weigh: TokenWeighting | None = None,
) -> TrainingCourse:
    """Train a model and return the course of the training; an interrupted one continues from its last checkpoint.

    Afterwards the model has the weights of the best step on the development set.

    Args:
        recipe: ``bi-encoder`` or ``cross-encoder``.
        loss: the loss with its model, which is changed in place.
        plan: the batches of training rows.
        dev: the row numbers of the development set.
        schedule: how long and how fast the model learns.
        folder: the folder for checkpoints.
        device: torch's name of the device.
        progress: receives each step.
        callbacks: further transformers callbacks.
        measure: the value of :class:`DevAgreement` that decides which step is kept; by default ``spearman``, or
            ``accuracy`` for classes.
        weigh: the weights of tokens, for the measure ``bertscore``; None for any other.

    Raises:
        DivergedError: a loss on the development set is no longer a finite number.
        InputError: the checkpoint of the best model is damaged at the end of the training.
    """
    is_cross = recipe == "cross-encoder"
    measure = measure or ("spearman" if loss.inputs.labels.is_floating_point() else "accuracy")
    trainer_class = CrossTrainer if is_cross else BiTrainer
    arguments_class = CrossEncoderTrainingArguments if is_cross else SentenceTransformerTrainingArguments
    arguments = trainer_arguments(
        folder, schedule, device, arguments_class=arguments_class, measure=measure, mixed_precision=True
    )
    with train_only_read_rows(loss.unwrapped_model, loss.inputs.table):
        trainer = trainer_class(
            model=loss.model,
            args=arguments,
            train_dataset=plan.dataset,
            evaluator=DevAgreement(loss, dev, weigh),
            loss=loss,
            data_collator=Collate(plan),
        )
        title = f"training, seed {schedule.seed}"
        return run_trainer(trainer, folder, progress, title, measure=measure, callbacks=callbacks)
