"""``assay crossval``: agreement fold by fold, source by source."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from assay.analysis.crossval import (
    CrossvalSettings,
    DatasetValidation,
    class_labels,
    cross_validate_methods,
    divide,
    recorded_methods,
    unused_pair_notes,
)
from assay.analysis.data import ScoredDataset, read_datasets
from assay.analysis.folder import RunFolder, read_run, run_titles
from assay.analysis.pair_codes import group_codes
from assay.api.files import open_runs
from assay.api.run import dataset_list, run
from assay.api.values import Report
from assay.common.messages import Setting, join_messages
from assay.common.progress import Silent
from assay.common.verbs import verb
from assay.exceptions import InputError, UnavailableError, suggestion_for
from assay.paths import user_path
from assay.reports.crossval import to_document
from assay.reports.sheets import with_signatures
from assay.statistics.crossvalidation import ScoresOf
from assay.training.data import Examples, Source
from assay.training.ranks import process_count
from assay.training.settings import check_packages

if TYPE_CHECKING:
    from assay.training.pairwise.crossvalidation import FoldTrainer

#: A function that returns the trainer of a recipe for a dataset.
TrainerFactory: TypeAlias = "Callable[[ScoredDataset], FoldTrainer]"

#: The metric to compare a trained model with by default: the baseline of STR-2022.
BASELINE_METRIC = "dice"


@verb(
    CrossvalSettings,
    "Average the agreement of metrics over folds, as trained models are judged, and tell sources apart.",
    "assay crossval --dataset stsb:test --metric dice --by subset",
    "assay crossval runs/main --metric dice --folds 10",
    "assay crossval --dataset stsb:test --train bi-encoder:all-MiniLM-L6-v2,epochs=1 --by subset",
)
def crossval(settings: CrossvalSettings) -> Report:
    """Compute how far metrics agree with people, by the cross-validation that trained models are judged by.

    The protocol of STR-2022 (Abdalla, Vishnubhotla and Mohammad 2023), section 6: the coefficients of the folds are
    averaged; with *by*, also for each source, within the folds and with the source held out.

    Args:
        runs: run folders, or files with a label and score columns; empty to score data here.
        datasets: the names of datasets in the runs, all by default; without runs, as for :func:`assay.run`.
        metrics: the names of metrics in the runs, all by default; without runs, as for :func:`assay.run`, and
            ``dice`` by default if models are trained.
        train: the models to train anew for every fold, ``RECIPE:BASE[,setting=value]...`` with the settings of
            :data:`assay.training.pairwise.settings.LEARNING`, such as ``bi-encoder:all-MiniLM-L6-v2,epochs=2``.
        classes: the column with classes to learn instead of the label; measured by accuracy and F1.
        results: a CSV file to write, with the averages of trained models, which :func:`assay.significance` reads.

    Returns:
        A report whose records are the average over folds, the value on all pairs and the value in each fold, per method
        and coefficient.

    Raises:
        InputError: a setting or file cannot be used, or does not fit the data; or no run has a requested dataset or
            metric.
        UnavailableError: no metric returned scores, or a model or a package for training is not available.
    """
    if settings.train:
        if process_count() > 1:
            raise InputError("crossval ", Setting("train"), " trains in one process: start it without torchrun")
        check_packages()
    recipes = _recipes_by_name(settings)
    factories = {name: _trainer_factory(recipe, settings) for name, (recipe, _) in recipes.items()}
    with open_runs(settings.runs) if settings.runs else _open_scored_run(settings) as opened:
        titled_datasets = _requested_datasets(opened, settings)
        metric_names = settings.metrics if settings.runs else ()
        trainers_of_datasets = [_trainers_for_dataset(factories, data, settings) for _, data in titled_datasets]
        validations = []
        for (title, data), (trainers, notes) in zip(titled_datasets, trainers_of_datasets, strict=True):
            methods = recorded_methods(data, metric_names, settings) | trainers
            validation = cross_validate_methods(data, settings, methods, title)
            validations.append(replace(validation, notes=[*validation.notes, *notes]))
        if settings.results is not None:
            _write_results(user_path(settings.results), validations, recipes)
        metrics: dict[str, None] = {}
        for validation in validations:
            metrics |= dict.fromkeys(metric for metric in validation.results if metric not in factories)
        failures = [f"not scored: {line}" for folder in opened for line in folder.manifest.failures]
        document = replace(to_document(validations, settings), warnings=failures)
        return Report(
            with_signatures(
                document, [data for _, data in titled_datasets], metrics, settings.signature, group_by=settings.group_by
            )
        )


def _recipes_by_name(settings: CrossvalSettings) -> dict[str, tuple[str, int]]:
    """Return each recipe with its seed in place, and that seed, by the name of its row; each seed has a row.

    With one seed, the recipes stay as they are, with the number 0.
    """
    if settings.seeds == 1:
        return {recipe: (recipe, 0) for recipe in settings.train}
    recipes = {}
    for recipe in settings.train:
        for seed in range(settings.seeds):
            seeded_recipe = f"{recipe},seed={seed}"
            recipes[seeded_recipe] = seeded_recipe, seed
    return recipes


def _write_results(
    path: Path, validations: Sequence[DatasetValidation], recipes: Mapping[str, tuple[str, int]]
) -> None:
    """Write the average over folds of each trained model, one row per dataset, system, seed and statistic.

    A recipe without its seed is the system. An undefined average has no row.

    Args:
        path: the CSV file; an existing one is replaced.
        validations: the results by dataset.
        recipes: each recipe with its seed, by the name of its row, as :func:`_recipes_by_name` returns them.

    Raises:
        InputError: the file cannot be written.
    """
    rows = []
    for validation in validations:
        for name, (recipe, seed) in recipes.items():
            system = recipe.removesuffix(f",seed={seed}")
            for statistic, average in validation.results[name].average.items():
                if average.value is not None:
                    rows.append([system, validation.dataset, seed, statistic, repr(average.value)])
    try:
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([["system", "dataset", "seed", "statistic", "value"], *rows])
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror or error})", setting="results") from None


def _trainers_for_dataset(
    factories: Mapping[str, TrainerFactory], data: ScoredDataset, settings: CrossvalSettings
) -> tuple[dict[str, ScoresOf], list[str]]:
    """Return the trainers for a dataset by recipe, and notes on its unused pairs and shared texts; both may be empty.

    Each trainer is checked against the folds here, so that errors come before any training starts.

    Args:
        factories: for each recipe, the function that makes its trainer for a dataset.
        data: the dataset.
        settings: how it is divided into folds.

    Raises:
        InputError: a recipe cannot be trained on the dataset.
    """
    if not factories:
        return {}, []
    partition, _ = divide(data, settings)
    trainers = {name: make_trainer(data) for name, make_trainer in factories.items()}
    notes = unused_pair_notes(partition)
    for name, trainer in trainers.items():
        note = trainer.check_partition(partition)
        if note:
            notes.append(f"{name}: {note}")
    return dict(trainers), notes


def _trainer_factory(recipe: str, settings: CrossvalSettings) -> TrainerFactory:
    """Return a function that returns the trainer of a recipe for a dataset; the trainer trains anew for every fold.

    Raises:
        InputError: the recipe cannot be read, or a setting of it is unknown.
    """
    # imported here, since they import torch
    from assay.metrics.neural.runtime import Runtime
    from assay.training.pairwise.crossvalidation import FoldTrainer, parse_recipe

    learning = parse_recipe(recipe, settings.scale, settings.classes)
    runtime = Runtime(settings.device, settings.threads)
    progress = settings.progress or Silent()
    decides_yes_or_no = settings.decides and not settings.classes
    return lambda data: FoldTrainer(
        learning, _training_examples(data, settings), runtime, progress, decides_yes_or_no=decides_yes_or_no
    )


def _training_examples(data: ScoredDataset, settings: CrossvalSettings) -> Examples:
    """Return the pairs of a dataset in a run as training examples, with the groups of the folds, and their classes.

    Without groups each pair is its own; without classes to learn there are none.

    Raises:
        InputError: a pair has several gold answers, or no class where classes are learned; or the column of groups or
            of classes is missing.
    """
    references = data.table.column("reference").to_pylist()
    for row, golds in enumerate(references, start=1):
        if isinstance(golds, list) and len(golds) != 1:
            raise InputError(f"{data.name}, pair {row}: has {len(golds)} gold answers; a model learns pairs of texts")
    facts = data.facts
    source = Source(
        spec=data.name,
        name=data.name,
        version=facts.version,
        split=facts.split,
        language=facts.language,
        licence="",
        digest=facts.digest,
        scale=(facts.scale[0], facts.scale[1]) if facts.scale else None,
    )
    rows = np.arange(len(data), dtype=np.int64)
    codes = group_codes(data, settings.group_by)
    classes: tuple[str, ...] = ()
    if settings.classes:
        numbers, names = class_labels(data, settings.classes)
        classes = tuple(names[int(number)] for number in numbers)
    return Examples(
        references=tuple(golds[0] if isinstance(golds, list) else golds for golds in references),
        candidates=tuple(data.table.column("candidate").to_pylist()),
        labels=data.labels,
        reference_graphs=(),
        candidate_graphs=(),
        origins=np.zeros_like(rows),
        groups=rows if codes is None else codes.astype(np.int64),
        sources=(source,),
        rows=rows + 1,
        classes=classes,
    )


@contextmanager
def _open_scored_run(settings: CrossvalSettings) -> Iterator[list[RunFolder]]:
    """Score the datasets with the metrics, and yield the run in a list; its folder is removed afterwards.

    Without metrics, they are :data:`BASELINE_METRIC` if models are trained.

    Raises:
        InputError: a dataset, a metric or a setting cannot be used.
        UnavailableError: no metric returned scores, or the only dataset is unavailable.
    """
    metrics = settings.metrics or ((BASELINE_METRIC,) if settings.train else ())
    with tempfile.TemporaryDirectory(prefix="assay-") as temporary:
        folder = Path(temporary) / "run"
        scoring = settings.scoring_settings()
        result = run(settings.datasets, metrics, buckets=("none",), resamples=0, out=folder, page=False, **scoring)
        opened = read_run(folder)
        if not opened.manifest.has_scores:
            raise UnavailableError("no metric gave scores", join_messages("; ", result.failures))
        yield [opened]


def _requested_datasets(runs: list[RunFolder], settings: CrossvalSettings) -> list[tuple[str, ScoredDataset]]:
    """Return the requested datasets of the runs, all if none are named, as (title of the run, dataset).

    The title is empty if there is only one run. With runs, ``datasets`` says which of theirs are kept; without, it says
    what was scored, which is kept whole.

    Raises:
        InputError: a run is given twice, or no run has one of the datasets.
    """
    titles = run_titles(runs) if len(runs) > 1 else [""]
    titled_datasets = []
    for title, folder in zip(titles, runs, strict=True):
        titled_datasets += [(title, data) for data in read_datasets(folder)]
    requested_names = [str(name) for name in dataset_list(settings.datasets)] if settings.runs else []
    known_names = [data.name for _, data in titled_datasets]
    for name in requested_names:
        if name not in known_names:
            raise InputError(
                f"there are {', '.join(known_names)}.{suggestion_for(name, known_names)}",
                setting="datasets",
                value=name,
            )
    if not requested_names:
        return titled_datasets
    return [(title, data) for title, data in titled_datasets if data.name in requested_names]
