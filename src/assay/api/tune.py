"""Hyperparameter search for a training, and the winner trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

from assay.api.train import run_recipe
from assay.api.values import Report, several
from assay.benchmark.progress import Progress
from assay.datasets.columns import columns_text
from assay.errors import InputError, MissingExtraError
from assay.metrics.provenance import ABSENT, version_of
from assay.reports.sheets import write
from assay.reports.train import agreement_document, agreement_sheet
from assay.reports.tune import study_document, study_html
from assay.training.pairwise.settings import RECIPES
from assay.training.settings import check_packages
from assay.training.tuning.settings import OBJECTIVES, Search, read_space

__all__ = ["tune"]


def tune(
    recipe: Literal["bi-encoder", "cross-encoder"],
    base: str,
    pairs: str | Sequence[str],
    out: str | Path,
    *,
    dev: str | Sequence[str] | None = (),
    test: str | Sequence[str] | None = (),
    space: str | Path | None = None,
    trials: int = 5,
    objective: str | None = None,
    prune: bool = True,
    storage: str | None = None,
    study: str | None = None,
    jobs: int = 1,
    columns: str | Mapping[str, str] | None = None,
    device: str = "auto",
    threads: int | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Report:
    """Search the settings of a training on a development set, and train and test the winner.

    Args:
        recipe: which kind of model.
        base: the model to start from: a folder, a hub id or a short name.
        pairs: datasets of labelled pairs.
        out: the folder of the model and the study, absent or empty; a search that was stopped goes on when it is asked
            for again.
        dev, test: held-out datasets; without *dev* a tenth of the pairs is cut off, without *test* a tenth of the rest.
        space: a TOML file, see :func:`assay.training.tuning.settings.read_space`; by default batch size, epochs and
            warm-up.
        trials: complete or pruned ones, those counted that the study holds already.
        objective: ``spearman`` (the default), ``pearson`` or ``kendall``; ``accuracy`` for classes.
        prune: whether trials end early that are worse than the median of those before, epoch by epoch.
        storage: address of a database, as SQLAlchemy has it, which processes and machines can share; by default a file
            that is removed when all is done.
        study: its name in the database; by default that of *out*.
        jobs: trials at a time, each in a process of its own with its share of the threads or a GPU.
        columns: which columns of files of your own are what, as for :func:`assay.run`; a dataset with a card has its
            own reader.
        device: ``auto``, ``cpu``, ``cuda``, ``cuda:N``, ``mps`` or ``all``.
        threads: of a CPU, for all trials together; by default the cores that are free.
        progress: told of every step.
        **settings: of every trial, as in :class:`assay.training.pairwise.settings.PairSettings`; what the space has
            cannot be set. ``seeds`` is how often the winner is trained.

    Returns:
        The trials, and the agreement of the winner on the test pairs. The folder holds the same as ``study.json``,
        ``study.md`` and ``report.html``.

    Raises:
        InputError: something that was asked for cannot be used.
        UnavailableError: the model cannot be had, or no trial was completed.
        MissingExtraError: a package for training is not installed.
    """
    asked = RECIPES[recipe](
        base, several(pairs), dev=several(dev), test=several(test), columns=columns_text(columns), **settings
    )
    searched = read_space(None if space is None else Path(space), asked)
    for name in settings.keys() & searched.keys():
        raise InputError(f"--{name.replace('_', '-')}: is searched; leave it out, or take it out of the space")
    search = Search(
        asked,
        searched,
        trials=trials,
        objective=objective or OBJECTIVES[asked.task][0],
        prune=prune,
        storage=storage,
        study=study or Path(out).absolute().name,
        jobs=jobs,
    )
    check_packages()
    if version_of("optuna") == ABSENT:
        raise MissingExtraError("optuna", "train")
    # torch and optuna come with it
    from assay.training.tuning.recipe import search_and_train

    whole = partial(search_and_train, render_study=_render)
    found = run_recipe(whole, search, out, agreement_document, device=device, threads=threads, progress=progress)
    return Report(study_document(found, agreement_sheet(found["results"])))


def _render(found: Mapping[str, Any]) -> dict[str, str]:
    results = agreement_sheet(found["results"])
    return {"study.md": write(study_document(found, results), "md"), "report.html": study_html(found, results)}
