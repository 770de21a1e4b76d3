"""Epochs of batches: which rows a step learns from, and how much each weighs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sentence_transformers.base.sampler import DefaultBatchSampler

from assay.datasets.annotation_graph import AnnotationGraph
from assay.training.batches.composition import Batch, compose
from assay.training.ranks import processes
from datasets import Dataset

__all__ = ["ROWS", "Collate", "Plan", "PlanSampler", "by_length", "plan_epochs"]

#: Batches that are drawn at random together before their rows are sorted by length.
TOGETHER = 50
#: Under this name a trainer of sentence-transformers takes the rows of a batch for the input of a loss.
ROWS = "rows_input_ids"


class Plan:
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


def plan_epochs(batches: str, graph: AnnotationGraph, lengths: NDArray[np.int64], batch_size: int, seed: int) -> Plan:
    """Return the batches of a training.

    Args:
        batches: ``length``, or a strategy of :func:`~assay.training.batches.composition.compose`.
        graph: of the n training pairs.
        lengths: tokens of each pair's longer text, or of the pair, shape (n,).
        batch_size: rows, texts or base pairs of a batch.
        seed: of all epochs.
    """
    if batches == "length":
        return Plan(partial(by_length, lengths, batch_size), seed)
    return Plan(partial(compose, batches, graph, batch_size), seed)


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

    def __init__(self, dataset: Any, plan: Plan, **settings: Any) -> None:
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

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    def __call__(self, rows: Sequence[Mapping[str, int]]) -> dict[str, torch.Tensor]:
        """Return the batch that one row of the dataset stands for: rows, and as ``label`` their weights, shape (k,)."""
        batch = self.plan[rows[0]["batch"]]
        return {ROWS: torch.from_numpy(batch.rows), "label": torch.from_numpy(batch.weights).float()}
