"""One model: sentence-transformers' trainers over a plan of batches."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sentence_transformers import (
    CrossEncoderTrainer,
    CrossEncoderTrainingArguments,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)
from sentence_transformers.base.evaluation import BaseEvaluator

from assay.errors import InputError
from assay.statistics.agreement import agreement
from assay.training.loop import Course, Kept, arguments, train
from assay.training.pairwise.batching import ROWS, Collate, Plan, PlanSampler
from assay.training.pairwise.losses import PairLoss
from assay.training.pairwise.rows import only_read_rows, with_whole_table
from assay.training.progress import Progress

__all__ = ["DivergedError", "Trained", "score_rows", "train_pairs"]

#: Rows scored at a time where no gradient is wanted.
MANY = 512
#: Stands for a coefficient that is undefined since all scores are equal: no model is worse.
WORST = -1.0


class DivergedError(InputError):
    """A training whose weights have become too large for numbers."""


@dataclass(frozen=True)
class Trained:
    """What a training gave; the model itself is changed in place.

    Attributes:
        history: the trainer's log, a record a step.
        best: name of what was looked at on the development set.
        best_step: the step at which it was best.
        best_value: what it was there.
        steps: in all.
    """

    history: Sequence[Mapping[str, float]]
    best: str
    best_step: int
    best_value: float
    steps: int

    @property
    def facts(self) -> dict[str, Any]:
        """All but the history, as ``training.json`` has it."""
        return {"steps": self.steps, "best_step": self.best_step, "best": {f"dev_{self.best}": self.best_value}}


class PlannedBatches(Kept):
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
                "the training diverged: losses on the development set are no numbers; ask for a lower --learning-rate"
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
        for part in torch.split(torch.from_numpy(rows), MANY):
            outputs = loss.outputs(part)
            losses.append(loss.row_losses(outputs, loss.labels(part)).double().cpu())
            scores.append(loss.scores(outputs).double().cpu())
    loss.whole.train(mode)
    loss.model = wrapped
    return torch.cat(scores).numpy(), torch.cat(losses).numpy()


def train_pairs(
    recipe: str,
    loss: PairLoss,
    plan: Plan,
    dev: NDArray[np.int64],
    course: Course,
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
        course: the pace.
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
            args=arguments(folder, course, device, kind=kind, best=best, mixed=True),
            train_dataset=plan.dataset,
            evaluator=DevAgreement(loss, dev),
            loss=loss,
            data_collator=Collate(plan),
        )
        history = train(trainer, folder, progress, f"training, seed {course.seed}", callbacks)
    state = trainer.state
    return Trained(history, best, int(state.best_global_step), float(state.best_metric), int(state.global_step))
