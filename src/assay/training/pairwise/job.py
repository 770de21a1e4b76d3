"""The job of a training on labelled pairs, and the two steps of training a model: start and fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from assay.analysis.thresholds.training import are_yes_or_no
from assay.common.progress import Progress
from assay.datasets.annotation_graph import AnnotationGraph, build_graph, describe_graph, graph_line
from assay.exceptions import InputError
from assay.metrics.models import LocatedModel, locate
from assay.metrics.neural.bertscore import equal_weighting
from assay.metrics.neural.runtime import Runtime
from assay.statistics.coefficients import CLASS_MEASURES
from assay.training.batches import degree_subset, random_subset
from assay.training.data import Examples
from assay.training.job import PairsJob, prepare_device
from assay.training.labels import class_numbers, scaled_labels
from assay.training.loop import TrainingCourse, schedule_of
from assay.training.models import (
    Inputs,
    bi_inputs,
    cross_inputs,
    freeze_except_last_layers,
    has_trained_head,
    load_bi_encoder,
    load_cross_encoder,
)
from assay.training.pairwise.losses import PairLoss, make_loss
from assay.training.pairwise.settings import BERTSCORE, PairSettings
from assay.training.pairwise.trainer import plan_epochs, score_rows, train_pairs
from assay.training.sets import count_repetitions, load_sets
from assay.training.settings import TrainingSettings


@dataclass(frozen=True, eq=False)
class PairwiseJob(PairsJob):
    """What all seeds of a training on labelled pairs share.

    Attributes:
        settings: the settings of the training.
        labels: the labels of all sets, one set after another: float64 in [0, 1], or int64 indices into *classes*.
        classes: the names of the classes; empty for a regression.
        rows: the row numbers of each set in *labels*.
        graph: the annotation graph of the training pairs.
        original_request: the user's settings, if a recipe made the sets and these settings from them; else None.
    """

    settings: PairSettings
    labels: NDArray[Any]
    classes: tuple[str, ...]
    rows: Mapping[str, NDArray[np.int64]]
    graph: AnnotationGraph
    original_request: TrainingSettings | None = None

    @property
    def request(self) -> TrainingSettings:
        """The user's settings, as they are written to the card and to ``training.json``."""
        return self.original_request or self.settings

    @property
    def is_cross(self) -> bool:
        """Whether a cross-encoder is trained."""
        return self.settings.recipe == "cross-encoder"

    @property
    def output_count(self) -> int:
        """The number of outputs of a cross-encoder's head."""
        return len(self.classes) or 1

    @property
    def has_base_scores(self) -> bool:
        """Whether the base model returns scores of this kind without training."""
        return not self.classes and (not self.is_cross or has_trained_head(self.base.folder, 1))

    @cached_property
    def base_scores(self) -> NDArray[np.float64] | None:
        """The base model's scores of the test rows, the same for every seed; None if it returns none."""
        return self._base_scores_of("test")

    @cached_property
    def base_dev_scores(self) -> NDArray[np.float64] | None:
        """The base model's scores of the development rows, on which a threshold is found; None if it returns none."""
        return self._base_scores_of("dev")

    def _base_scores_of(self, name: str) -> NDArray[np.float64] | None:
        if not self.has_base_scores:
            return None
        return score_rows(start_model(self, self.settings.seed), self.rows[name])[0]


def prepare_job(settings: PairSettings, runtime: Runtime, progress: Progress) -> PairwiseJob:
    """Locate the base model, load the pairs, and return the job of training the one on the others.

    Args:
        settings: the settings of the training.
        runtime: the device, and the number of threads that torch is set to use.
        progress: receives lines on what is left out and on the annotation graph.

    Raises:
        InputError: a setting or a dataset cannot be used.
        UnavailableError: the model or a dataset is unavailable.
    """
    base = locate(settings.base)
    sets, counts = load_sets(
        settings.pairs, settings.dev, settings.test,
        seed=settings.seed, limit=settings.limit, say=progress.say,
        classes=settings.classes, drop_shared=settings.drop_shared_texts, columns=settings.columns_spec,
        question=settings.question,
    )  # fmt: skip
    subset = settings.chosen_subset()
    if subset is not None and subset[1] > len(sets["train"]):
        raise InputError(f"there are {len(sets['train']):,} training pairs", setting="subset", value=settings.subset)
    return _restrict_to_subset(job_of(settings, base, sets, counts, runtime, progress))


def job_of(
    settings: PairSettings,
    base: LocatedModel,
    sets: Mapping[str, Examples],
    counts: Mapping[str, int],
    runtime: Runtime,
    progress: Progress,
    *,
    scored_test: bool = True,
) -> PairwiseJob:
    """Return the job of training a base model on loaded sets, and set torch's number of threads.

    Args:
        settings: the settings of the training.
        base: the base model.
        sets: the sets ``train``, ``dev`` and ``test``, in that order.
        counts: numbers of pairs by what became of them, for the model's card.
        runtime: the device and the number of threads.
        progress: receives a line on the annotation graph.
        scored_test: whether agreement with the test labels will be computed, so that two of them must differ.

    Raises:
        InputError: a label is missing or outside its scale, a class is not among the training pairs, all labels of a
            set are the same, or the measure that decides which step is kept does not exist for the labels.
    """
    device, threads = prepare_device(runtime)
    labels, classes = _labels_of_sets(sets, settings, scored_test)
    check_measure(settings.chosen_measure, "measure", labels[_rows_of_sets(sets)["dev"]], classes)
    graph = build_graph(sets["train"].references, sets["train"].candidates)
    progress.say(f"training pairs: {graph_line(describe_graph(graph))}")
    return PairwiseJob(
        settings=settings,
        base=base,
        device=device,
        threads=threads,
        progress=progress,
        sets=sets,
        counts=counts,
        labels=labels,
        classes=classes,
        rows=_rows_of_sets(sets),
        graph=graph,
    )


def check_measure(measure: str, setting: str, dev_labels: NDArray[Any], classes: Sequence[str]) -> None:
    """Check that a measure exists for the labels of the development pairs.

    Args:
        measure: one of :data:`~assay.training.pairwise.settings.STEP_MEASURES`.
        setting: the setting that names it, for the message.
        dev_labels: the labels of the development pairs, shape (n,).
        classes: the names of the classes; empty for a regression.

    Raises:
        InputError: the measure is of decisions at a threshold, and the labels are not 0 and 1 alone, both present; or
            it is F1 without macro, and there are more than two classes.
    """
    if measure in CLASS_MEASURES and not classes and not are_yes_or_no(dev_labels):
        raise InputError(
            "needs development labels that are the lowest and the highest of the scale alone, and both of them",
            setting=setting,
            value=measure,
        )
    if measure == "f1" and len(classes) > 2:
        raise InputError(f"is for two classes, and there are {len(classes)}", setting=setting, value=measure)


def _restrict_to_subset(job: PairwiseJob) -> PairwiseJob:
    """Return the job on the subset of training pairs that its settings name, or the same job if they name none.

    The subset is drawn with the seed of the settings, and the job's progress receives a line on its annotation graph.

    Raises:
        InputError: the training pairs, or for a subset by degree the distinct ones, are fewer than the subset.
    """
    subset = job.settings.chosen_subset()
    if subset is None:
        return job
    kind, size = subset
    draw_subset = degree_subset if kind == "degree" else random_subset
    rows = draw_subset(job.graph, size, np.random.default_rng(job.settings.seed))
    train = job.sets["train"].take(rows)
    sets = {**job.sets, "train": train}
    graph = build_graph(train.references, train.candidates)
    job.progress.say(f"{size} of the training pairs: {graph_line(describe_graph(graph))}")
    counts = {**job.counts, "train_pairs": size, **count_repetitions(sets, job.progress.say)}
    held_out = np.arange(len(job.rows["train"]), len(job.labels))
    labels = job.labels[np.concatenate([job.rows["train"][rows], held_out])]
    return replace(job, sets=sets, counts=counts, labels=labels, rows=_rows_of_sets(sets), graph=graph)


def _rows_of_sets(sets: Mapping[str, Examples]) -> dict[str, NDArray[np.int64]]:
    """Return the row numbers of each set by its name, if the rows of all sets are numbered one set after another."""
    ends = np.cumsum([len(examples) for examples in sets.values()])
    return dict(zip(sets, np.split(np.arange(ends[-1]), ends[:-1]), strict=True))


def start_model(job: PairwiseJob, seed: int) -> PairLoss:
    """Return the loss with the model that a training starts from, on the job's device.

    The seed draws the weights of a new head; torch's global generator is seeded with it.

    Raises:
        InputError: the model has too few layers.
        UnavailableError: the base model cannot be loaded, or has no list of layers.
    """
    settings = job.settings
    model = _load_base(job, seed)
    inputs = _inputs_of_sets(job, model)
    freeze_except_last_layers(model, settings.layers, settings.base)
    loss = make_loss(settings.chosen_loss, model, inputs, settings.tokens, len(job.classes))
    loss.to(job.device)
    return loss


def fit_model(
    job: PairwiseJob, loss: PairLoss, seed: int, checkpoints: Path, callbacks: Sequence[Any] = ()
) -> TrainingCourse:
    """Train the model of a loss and return the course of the training.

    Afterwards the model has the weights of the step that was the best on the development pairs.

    Args:
        job: the training.
        loss: the loss with its model, from :func:`start_model`; changed in place.
        seed: the seed of the order of the pairs.
        checkpoints: the folder of checkpoints; an interrupted training continues from the last one.
        callbacks: further transformers callbacks.

    Raises:
        DivergedError: a loss on the development pairs is no longer a finite number.
        InputError: the checkpoint of the best model is damaged at the end of the training.
        Exception: what a callback raises.
    """
    lengths = loss.inputs.lengths.numpy()[job.rows["train"]]
    plan = plan_epochs(job.settings.batches, job.graph, lengths, job.settings.batch_size, seed)
    schedule = schedule_of(job.settings, len(plan), seed, job.settings.steps)
    measure = job.settings.chosen_measure
    weigh = equal_weighting(str(job.base.folder), job.base.digest) if measure == BERTSCORE else None
    return train_pairs(
        job.settings.recipe,
        loss,
        plan,
        job.rows["dev"],
        schedule,
        checkpoints,
        job.device,
        job.progress,
        callbacks=callbacks,
        measure=measure,
        weigh=weigh,
    )


def _labels_of_sets(
    sets: Mapping[str, Examples], settings: PairSettings, scored_test: bool
) -> tuple[NDArray[Any], tuple[str, ...]]:
    """Return the labels of all sets, one set after another, and the names of the classes (none for a regression).

    The labels are float64 in [0, 1], or int64 indices into the classes.

    Args:
        sets: the sets ``train``, ``dev`` and ``test``.
        settings: the settings of the training, with the scale or the column of classes.
        scored_test: whether two labels of the test set must differ.

    Raises:
        InputError: a label is missing or outside its scale, a class is not among the training pairs, or all labels of
            a set are the same.
    """
    if settings.classes is None:
        labels_of_sets: list[NDArray[Any]] = [
            scaled_labels(examples, settings.scale_bounds()) for examples in sets.values()
        ]
        classes: tuple[str, ...] = ()
    else:
        classes = tuple(sorted(set(sets["train"].classes)))
        labels_of_sets = [class_numbers(examples, classes) for examples in sets.values()]
    for name, labels in zip(sets, labels_of_sets, strict=True):
        if len(np.unique(labels)) < 2 and (scored_test or name != "test"):
            raise InputError(f"the {name} set has one label alone, {labels[0]:g}; two are needed to tell pairs apart")
    return np.concatenate(labels_of_sets), classes


def _load_base(job: PairwiseJob, seed: int) -> Any:
    """Return the base model, as a cross-encoder with the head that the job needs, and seed torch's global generator."""
    if not job.is_cross:
        torch.manual_seed(seed)
        return load_bi_encoder(job.base.folder, job.device)
    activation = torch.nn.Sigmoid() if job.settings.chosen_loss == "bce" else torch.nn.Identity()
    return load_cross_encoder(job.base.folder, job.device, outputs=job.output_count, activation=activation, seed=seed)


def _inputs_of_sets(job: PairwiseJob, model: Any) -> Inputs:
    """Return the tokens and labels of all rows, one set after another; the labels of a regression as float32."""
    firsts = [text for examples in job.sets.values() for text in examples.references]
    seconds = [text for examples in job.sets.values() for text in examples.candidates]
    labels = job.labels if job.classes else job.labels.astype(np.float32)
    make_inputs = cross_inputs if job.is_cross else bi_inputs
    return make_inputs(model, firsts, seconds, torch.from_numpy(labels))
