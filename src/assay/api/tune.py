"""``assay tune``: search settings, train the winner."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from assay.api.train import run_recipe
from assay.api.values import Report
from assay.common.packages import ABSENT, version_of
from assay.common.verbs import verb
from assay.exceptions import MissingExtraError
from assay.reports.formats import format_document
from assay.reports.train import agreement_document, agreement_sheet
from assay.reports.tune import study_document, study_html
from assay.training.settings import check_packages
from assay.training.tuning.settings import TuneSettings


@verb(
    TuneSettings,
    "Search the settings of a training on a development set; train the winner, and evaluate it on test once.",
    "assay tune bi-encoder --base all-MiniLM-L6-v2 --pairs stsb:train --dev stsb:dev --test stsb:test --out tuned",
)
def tune(settings: TuneSettings) -> Report:
    """Search the settings of a training on a development set, and train and test the winner.

    An interrupted search resumes with the same arguments. The space is a TOML file, see
    :func:`assay.training.tuning.settings.read_space`.

    Args:
        out: the folder of the search and of the best model: absent, empty, or that of an interrupted search.

    Returns:
        The trials, and the agreement of the winner on the test pairs. The folder holds the same as ``study.json``,
        ``study.md`` and ``report.html``.

    Raises:
        InputError: a setting, a dataset, the folder or the database of the search cannot be used, the study was created
            by another request, the winner's training diverged, the disk is full, or torchrun started the process.
        UnavailableError: the model or a dataset is unavailable, a process that ran trials was killed, or no trial was
            completed.
        MissingExtraError: a package for training is not installed.
    """
    search = settings.search()
    check_packages()
    if version_of("optuna") == ABSENT:
        raise MissingExtraError("optuna", "train")
    from assay.training.tuning.recipe import search_and_train  # imports torch and optuna

    recipe = partial(search_and_train, render_study=_render_study_files)
    study = run_recipe(recipe, search, settings, agreement_document)
    return Report(study_document(study, agreement_sheet(study["results"])))


def _render_study_files(study: Mapping[str, Any]) -> dict[str, str]:
    """Return the contents of the files that show a study, by file name."""
    results = agreement_sheet(study["results"])
    return {
        "study.md": format_document(study_document(study, results), "md"),
        "report.html": study_html(study, results),
    }
