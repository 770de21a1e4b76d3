"""Training of bi-encoders and cross-encoders on labelled pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from assay.api.given import several
from assay.api.recipes import run_recipe
from assay.api.reporting import Report
from assay.benchmark.progress import Progress
from assay.datasets.columns import columns_text
from assay.reports.training.agreement import agreement_document
from assay.training.packages import check_packages
from assay.training.pairwise.settings import RECIPES

__all__ = ["train_pairs"]


def train_pairs(
    recipe: Literal["bi-encoder", "cross-encoder"],
    base: str,
    pairs: str | Sequence[str],
    out: str | Path,
    *,
    dev: str | Sequence[str] | None = (),
    test: str | Sequence[str] | None = (),
    columns: str | Mapping[str, str] | None = None,
    device: str = "auto",
    threads: int | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Report:
    """Train a model on labelled pairs, and write it to a folder that metrics load.

    Args:
        recipe: which kind of model.
        base: the model to start from: a folder, a hub id or a short name.
        pairs: datasets of labelled pairs.
        out: the folder of the model, absent or empty; a training that was stopped continues when it is asked for again.
        dev, test: held-out datasets; without *dev* a tenth of the pairs is cut off, without *test* a tenth of the rest.
        columns: which columns of files of your own are what, as for :func:`assay.run`; a dataset with a card has its
            own reader.
        device: ``auto``, ``cpu``, ``cuda``, ``cuda:N``, ``mps`` or ``all``.
        threads: of a CPU; by default the cores that are free.
        progress: told of every step.
        **settings: as in :class:`assay.training.pairwise.settings.PairSettings`.

    Returns:
        Agreement with people on the test pairs before and after. The folder holds the same as ``results.json`` and
        ``results.md``.

    Raises:
        InputError: something that was asked for cannot be used.
        UnavailableError: the model cannot be had.
        MissingExtraError: a package for training is not installed.
    """
    asked = RECIPES[recipe](
        base, several(pairs), dev=several(dev), test=several(test), columns=columns_text(columns), **settings
    )
    check_packages()
    # torch comes with it
    from assay.training.pairwise.recipe import train_on_pairs

    found = run_recipe(
        train_on_pairs, asked, out, agreement_document, device=device, threads=threads, progress=progress
    )
    return Report(agreement_document(found))
