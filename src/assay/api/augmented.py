"""Training of a bi-encoder on pairs that are made: entities, aliases, numbers (Augmented SBERT)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from assay.api.recipes import run_recipe
from assay.api.reporting import Report
from assay.benchmark.progress import Progress
from assay.reports.training.agreement import agreement_document
from assay.training.augmented.settings import AugmentedSettings
from assay.training.packages import check_packages

__all__ = ["train_augmented"]


def train_augmented(
    base: str,
    out: str | Path,
    *,
    entities: str | Path | None = None,
    labeller: str | None = None,
    device: str = "auto",
    threads: int | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Report:
    """Make pairs of entities and of numbers, have a cross-encoder label the random ones, and train a bi-encoder.

    Args:
        base: the sentence encoder to start from: a folder, a hub id or a short name.
        out: the folder of the model, absent or empty; a training that was stopped continues when it is asked for again.
        entities: a file with the columns ``name`` and ``aliases``.
        labeller: a cross-encoder, as it stands after ``cross-encoder:``.
        device: ``auto``, ``cpu``, ``cuda``, ``cuda:N``, ``mps`` or ``all``.
        threads: of a CPU; by default the cores that are free.
        progress: told of every step.
        **settings: as in :class:`assay.training.augmented.settings.AugmentedSettings`.

    Returns:
        Agreement with the labels of held-out pairs before and after, which is not agreement with people.

    Raises:
        InputError: something that was asked for cannot be used.
        UnavailableError: a model cannot be had.
        MissingExtraError: a package for training is not installed.
    """
    asked = AugmentedSettings(base, entities=None if entities is None else str(entities), labeller=labeller, **settings)
    check_packages()
    # torch comes with it
    from assay.training.augmented.recipe import train_augmented as train

    found = run_recipe(train, asked, out, agreement_document, device=device, threads=threads, progress=progress)
    return Report(agreement_document(found))
