"""What a training on labelled pairs works with, and the two steps of a model: start and fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from assay.datasets.annotation_graph import AnnotationGraph, build_graph, describe_graph, graph_line
from assay.errors import InputError
from assay.metrics.models import LocatedModel, locate
from assay.metrics.neural.runtime import Runtime
from assay.progress import Progress
from assay.training.batches import degree_subset, random_subset
from assay.training.data import Examples, class_numbers, count_repeated, load_sets, scaled_labels
from assay.training.job import PairsJob, take_device
from assay.training.loop import Trained, schedule_of
from assay.training.models import (
    Inputs,
    bi_inputs,
    cross_inputs,
    freeze_except_last_layers,
    has_head,
    load_bi_encoder,
    load_cross_encoder,
)
from assay.training.pairwise.losses import PairLoss, make_loss
from assay.training.pairwise.settings import PairSettings
from assay.training.pairwise.trainer import BatchPlan, plan_epochs, score_rows, train_pairs
from assay.training.settings import TrainingSettings


@dataclass(frozen=True, eq=False)
class PairwiseJob(PairsJob):
    """What all seeds of a training on labelled pairs share.

    Attributes:
        labels: of all sets, one after another: float64 in [0, 1], or int64 numbers of *classes*.
        rows: of each set among them.
        graph: annotation graph of the training pairs.
        asked: the request of a recipe that makes the sets itself, and these settings; else None.
    """

    settings: PairSettings
    labels: NDArray[Any]
    classes: tuple[str, ...]
    rows: Mapping[str, NDArray[np.int64]]
    graph: AnnotationGraph
    asked: TrainingSettings | None = None

    @property
    def request(self) -> TrainingSettings:
        """What was asked for, as it is written down."""
        return self.asked or self.settings

    @property
    def cross(self) -> bool:
        """Whether a cross-encoder is trained."""
        return self.settings.recipe == "cross-encoder"

    @property
    def outputs(self) -> int:
        """Of a cross-encoder's head."""
        return len(self.classes) or 1

    @property
    def starts_with_scores(self) -> bool:
        """Whether the model that is started from gives scores of this kind itself."""
        return not self.classes and (not self.cross or has_head(self.base.folder, 1))

    @cached_property
    def before(self) -> NDArray[np.float64] | None:
        """Scores of the test rows by the model that is started from, the same for every seed; None if it gives none."""
        return score_rows(start(self, self.settings.seed), self.rows["test"])[0] if self.starts_with_scores else None


def prepare(settings: PairSettings, runtime: Runtime, progress: Progress) -> PairwiseJob:
    """Load the model's files and the pairs of a request, and hold them against each other.

    Args:
        settings: the request.
        runtime: device and threads.
        progress: told what is left out.

    Raises:
        InputError: something that was asked for cannot be used.
        UnavailableError: the model cannot be had here.
    """
    base = locate(settings.base)
    sets, counts = load_sets(
        settings.pairs, settings.dev, settings.test,
        seed=settings.seed, limit=settings.limit, say=progress.say,
        classes=settings.classes, drop_shared=settings.drop_shared_texts, columns=settings.column_names,
        question=settings.question,
    )  # fmt: skip
    part = settings.chosen_subset()
    if part is not None and part[1] > len(sets["train"]):
        raise InputError(f"`subset={settings.subset}`: there are {len(sets['train']):,} training pairs")
    return _drawn(job_of(settings, base, sets, counts, runtime, progress))


def job_of(
    settings: PairSettings,
    base: LocatedModel,
    sets: Mapping[str, Examples],
    counts: Mapping[str, int],
    runtime: Runtime,
    progress: Progress,
    *,
    judged: bool = True,
) -> PairwiseJob:
    """Return the training of a base on sets that are loaded; see :func:`prepare`.

    With *judged*, the test set must have two labels, as agreement with them takes.
    """
    device, threads = take_device(runtime)
    labels, classes = _labels(sets, settings, judged)
    graph = build_graph(sets["train"].references, sets["train"].candidates)
    progress.say(f"training pairs: {graph_line(describe_graph(graph))}")
    return PairwiseJob(settings, base, device, threads, progress, sets, counts, labels, classes, _rows(sets), graph)


def _drawn(job: PairwiseJob) -> PairwiseJob:
    """Return the training on the subset of the pairs that was asked for; the same one where none was."""
    part = job.settings.chosen_subset()
    if part is None:
        return job
    kind, size = part
    rng = np.random.default_rng(job.settings.seed)
    chosen = (degree_subset if kind == "degree" else random_subset)(job.graph, size, rng)
    train = job.sets["train"].take(chosen)
    sets = {**job.sets, "train": train}
    graph = build_graph(train.references, train.candidates)
    job.progress.say(f"{size} of the training pairs: {graph_line(describe_graph(graph))}")
    counts = {**job.counts, "train_pairs": size, **count_repeated(sets, job.progress.say)}
    held_out = np.arange(len(job.rows["train"]), len(job.labels))
    labels = job.labels[np.concatenate([job.rows["train"][chosen], held_out])]
    return replace(job, sets=sets, counts=counts, labels=labels, rows=_rows(sets), graph=graph)


def _rows(sets: Mapping[str, Examples]) -> dict[str, NDArray[np.int64]]:
    """Return the rows of each set, one set after another."""
    ends = np.cumsum([len(one) for one in sets.values()])
    return dict(zip(sets, np.split(np.arange(ends[-1]), ends[:-1]), strict=True))


def start(job: PairwiseJob, seed: int) -> PairLoss:
    """Return the loss with the model that a training starts from, as a seed has it."""
    settings = job.settings
    whole = _load(job, seed)
    inputs = _inputs(job, whole)
    freeze_except_last_layers(whole, settings.layers, settings.base)
    loss = make_loss(settings.chosen_loss, whole, inputs, settings.tokens, len(job.classes))
    loss.to(job.device)
    return loss


def fit(job: PairwiseJob, loss: PairLoss, seed: int, checkpoints: Path, callbacks: Sequence[Any] = ()) -> Trained:
    """Train the model of a loss; afterwards it is the best one by the development set.

    Args:
        job: the training.
        loss: of :func:`start`.
        seed: of the order of the pairs.
        checkpoints: a folder for them; a training that was killed continues from the last one.
        callbacks: of transformers, told of each step and evaluation.
    """
    plan = _plan(job, loss.inputs, seed)
    schedule = schedule_of(job.settings, len(plan), seed)
    return train_pairs(
        job.settings.recipe, loss, plan, job.rows["dev"], schedule, checkpoints, job.device, job.progress, callbacks
    )


def _labels(sets: Mapping[str, Examples], settings: PairSettings, judged: bool) -> tuple[NDArray[Any], tuple[str, ...]]:
    """Return the labels of all sets, and the names of classes.

    Raises:
        InputError: a label or a class cannot be learned, or those of a set are all the same.
    """
    if settings.classes is None:
        parts: list[NDArray[Any]] = [scaled_labels(one, settings.bounds()) for one in sets.values()]
        classes: tuple[str, ...] = ()
    else:
        classes = tuple(sorted(set(sets["train"].classes)))
        parts = [class_numbers(one, classes) for one in sets.values()]
    for name, labels in zip(sets, parts, strict=True):
        if len(np.unique(labels)) < 2 and (judged or name != "test"):
            raise InputError(f"the {name} set has one label alone, {labels[0]:g}; two are needed to tell pairs apart")
    return np.concatenate(parts), classes


def _load(job: PairwiseJob, seed: int) -> Any:
    if not job.cross:
        torch.manual_seed(seed)
        return load_bi_encoder(job.base.folder, job.device)
    activation = torch.nn.Sigmoid() if job.settings.chosen_loss == "bce" else torch.nn.Identity()
    return load_cross_encoder(job.base.folder, job.device, outputs=job.outputs, activation=activation, seed=seed)


def _inputs(job: PairwiseJob, whole: Any) -> Inputs:
    """Return tokens and labels of all rows, set after set."""
    firsts = [text for one in job.sets.values() for text in one.references]
    seconds = [text for one in job.sets.values() for text in one.candidates]
    labels = torch.from_numpy(job.labels if job.classes else job.labels.astype(np.float32))
    return (cross_inputs if job.cross else bi_inputs)(whole, firsts, seconds, labels)


def _plan(job: PairwiseJob, inputs: Inputs, seed: int) -> BatchPlan:
    lengths = inputs.lengths.numpy()[job.rows["train"]]
    return plan_epochs(job.settings.batches, job.graph, lengths, job.settings.batch_size, seed)
