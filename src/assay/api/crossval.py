"""Cross-validation: agreement over k folds, and with one source left out at a time."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from assay.api.files import open_runs
from assay.api.run import as_list, run
from assay.api.values import Report
from assay.benchmark.progress import Progress, Silent
from assay.errors import InputError, UnavailableError, suggest
from assay.reports.crossval import FOLDS, CrossvalSettings, divide, methods_of, not_trained_on, study, to_document
from assay.reports.data import ScoredDataset, group_codes, read_datasets, signed
from assay.reports.folder import RunFolder, read_run, run_titles
from assay.statistics.crossvalidation import ScoresOf
from assay.training.data import Examples, Source
from assay.training.ranks import processes
from assay.training.settings import check_packages

if TYPE_CHECKING:
    from assay.training.pairwise.crossvalidation import FoldTrainer

__all__ = ["crossval"]

#: Makes a recipe a method on a dataset.
Maker: TypeAlias = "Callable[[ScoredDataset], FoldTrainer]"

#: What stands beside a trained model where no metric was named: the baseline of STR-2022.
BASELINE = "dice"


def crossval(
    runs: str | Path | Sequence[str | Path] = (),
    *,
    datasets: Any = (),
    metrics: str | Sequence[Any] = (),
    train: str | Sequence[str] = (),
    scale: str | None = None,
    folds: int = FOLDS,
    by: str | None = None,
    group_by: str | None = None,
    statistics: Sequence[str] = (),
    seed: int = 0,
    progress: Progress | None = None,
    **scoring: Any,
) -> Report:
    """Say how far metrics agree with people as models are judged that were trained on a part of the data.

    The protocol of STR-2022 (Abdalla, Vishnubhotla and Mohammad 2023), section 6: the coefficients of the folds are
    averaged; with *by*, also source by source, within the folds and with the source left out.

    Args:
        runs: run folders, or files with a label and score columns; none where data is to be scored here.
        datasets: names of datasets of the runs, all by default; without runs, as for :func:`assay.run`.
        metrics: names of metrics of the runs, all by default; without runs, as for :func:`assay.run`.
        train: models to train anew for every fold, ``RECIPE:BASE[,setting=value]...`` with the settings of
            :data:`assay.training.pairwise.settings.LEARNING`, such as ``bi-encoder:all-MiniLM-L6-v2,epochs=2``.
        scale: lowest and highest label, ``LOW,HIGH``, for the models of *train*, where the data does not say them.
        folds: number of folds.
        by: column whose values, such as sources or genres, are told apart.
        group_by: column whose values are never on both sides; the data's groups by default.
        statistics: coefficients; Pearson, Spearman and Kendall by default.
        seed: deals the pairs to folds.
        progress: told how far scoring is.
        **scoring: without runs, further arguments of :func:`assay.run`, such as ``columns``.

    Raises:
        InputError: something that was given cannot be used, or does not fit the data.
        UnavailableError: no metric gave scores.
    """
    paths = [runs] if isinstance(runs, str | Path) else list(runs)
    if paths and scoring:
        raise InputError(f"--{next(iter(scoring)).replace('_', '-')}: is for data that is scored here, not for a run")
    names = [metrics] if isinstance(metrics, str) else list(metrics)
    recipes = [train] if isinstance(train, str) else list(train)
    if scale is not None and not recipes:
        raise InputError(f"`scale={scale}`: is for models that are trained here; name one with `train`")
    if recipes:
        if processes() > 1:
            raise InputError("crossval `train` trains in one process: start it without torchrun")
        check_packages()
        if not paths and not names:
            names = [BASELINE]
    settings = CrossvalSettings(
        metrics=tuple(names) if paths else (),
        datasets=tuple(map(str, as_list(datasets))) if paths else (),
        folds=folds,
        by=by,
        group_by=group_by,
        statistics=tuple(statistics),
        seed=seed,
    )
    makers = {name: _trainer(name, scale, group_by, scoring, progress or Silent()) for name in recipes}
    with open_runs(paths) if paths else _scored(datasets, names, progress, scoring) as opened:
        chosen = _chosen(opened, settings)
        trained = [_trainers(makers, data, settings) for _, data in chosen]
        subjects = []
        for (title, data), (trainers, notes) in zip(chosen, trained, strict=True):
            found = study(data, settings, methods_of(data, settings.metrics) | trainers, title)
            subjects.append(replace(found, notes=[*found.notes, *notes]))
        used = dict.fromkeys(metric for subject in subjects for metric in subject.found if metric not in makers)
        failures = [f"not scored: {line}" for one in opened for line in one.manifest["failures"]]
        document = to_document(subjects, settings)
        return Report(signed(replace(document, notes=failures), [data for _, data in chosen], used, settings.signature))


def _trainers(
    makers: Mapping[str, Maker], data: ScoredDataset, settings: CrossvalSettings
) -> tuple[dict[str, ScoresOf], list[str]]:
    """Return recipes as methods on a dataset, checked before any of them is trained, and notes on them."""
    if not makers:
        return {}, []
    partition, _ = divide(data, settings)
    trainers = {name: make(data) for name, make in makers.items()}
    told = {name: one.inspect(partition) for name, one in trainers.items()}
    return dict(trainers), [*not_trained_on(partition), *(f"{name}: {note}" for name, note in told.items() if note)]


def _trainer(
    recipe: str, scale: str | None, group_by: str | None, scoring: Mapping[str, Any], progress: Progress
) -> Maker:
    """Return what makes a recipe a method on a dataset."""
    # torch comes with it
    from assay.metrics.neural.runtime import Runtime
    from assay.training.pairwise.crossvalidation import FoldTrainer, read_recipe

    settings = read_recipe(recipe, scale)
    runtime = Runtime(**{name: scoring[name] for name in ("device", "threads") if scoring.get(name) is not None})
    return lambda data: FoldTrainer(settings, _examples(data, group_by), runtime, progress)


def _examples(data: ScoredDataset, group_by: str | None) -> Examples:
    """Return the pairs of a run's dataset as a model learns them, grouped as the folds are.

    Raises:
        InputError: a pair has several gold answers.
    """
    references = data.table.column("reference").to_pylist()
    for row, golds in enumerate(references, start=1):
        if isinstance(golds, list) and len(golds) != 1:
            raise InputError(f"{data.name}, pair {row}: has {len(golds)} gold answers; a model learns pairs of texts")
    scale = data.facts.get("scale")
    source = Source(
        data.name, data.name, str(data.facts["version"]), str(data.facts["split"]), data.facts["language"], "",
        str(data.facts["digest"]), (scale[0], scale[1]) if scale else None,
    )  # fmt: skip
    rows = np.arange(len(data), dtype=np.int64)
    first = tuple(golds[0] if isinstance(golds, list) else golds for golds in references)
    second = tuple(data.table.column("candidate").to_pylist())
    codes = group_codes(data, group_by)
    groups = rows if codes is None else codes.astype(np.int64)
    return Examples(first, second, data.labels, (), (), np.zeros_like(rows), groups, (source,), rows + 1)


@contextmanager
def _scored(
    datasets: Any, metrics: list[Any], progress: Progress | None, scoring: dict[str, Any]
) -> Iterator[list[RunFolder]]:
    with tempfile.TemporaryDirectory(prefix="assay-") as scratch:
        folder = Path(scratch) / "run"
        done = run(datasets, metrics, buckets=("none",), resamples=0, out=folder, progress=progress, **scoring)
        opened = read_run(folder)
        if not any(one["status"] == "done" for one in opened.manifest["metrics"]):
            raise UnavailableError("no metric gave scores", "; ".join(done.failures))
        yield [opened]


def _chosen(runs: list[RunFolder], settings: CrossvalSettings) -> list[tuple[str, ScoredDataset]]:
    """Return the datasets asked for, each with what to call its run where there are several.

    Raises:
        InputError: a run is given twice, or no run has one of the datasets.
    """
    titles = run_titles(runs) if len(runs) > 1 else [""]
    found = [(title, data) for title, one in zip(titles, runs, strict=True) for data in read_datasets(one)]
    names = [data.name for _, data in found]
    for name in settings.datasets:
        if name not in names:
            raise InputError(f"`datasets={name}`: there are {', '.join(names)}.{suggest(name, names)}")
    return [(title, data) for title, data in found if not settings.datasets or data.name in settings.datasets]
