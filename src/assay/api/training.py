"""Training of models that assay's metrics read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.api.given import several
from assay.api.recipes import run_recipe
from assay.api.reporting import Report
from assay.benchmark.progress import Progress
from assay.datasets.columns import columns_text
from assay.reports.training.aspects import aspects_document
from assay.training.packages import check_packages
from assay.training.s3bert.settings import Settings

__all__ = ["train_s3bert"]


def train_s3bert(
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
    """Train sentence embeddings whose parts measure aspects of meaning, and write the model to a folder.

    Opitz and Frank 2022, "SBERT studies Meaning Representations".

    Args:
        base: the sentence encoder to start from: a folder, a hub id or a short name.
        pairs: datasets of pairs with AMR graphs.
        out: the folder of the model, absent or empty; a training that was stopped continues when it is asked for again.
        dev, test: held-out datasets; without *dev* a tenth of the pairs is cut off, without *test* a tenth of the rest.
        columns: which columns of files of your own are what, as for :func:`assay.run`; a dataset with a card has its
            own reader.
        device: ``auto``, ``cpu``, ``cuda``, ``cuda:N`` or ``mps``.
        threads: of a CPU; by default the cores that are free.
        progress: told of every step.
        **settings: as in :class:`assay.training.s3bert.settings.Settings`.

    Returns:
        How well each aspect is followed on the test pairs, beside the partitions of the base, and whether the whole
        embedding still agrees with human labels. The folder holds the same as ``results.json`` and ``results.md``.

    Raises:
        InputError: something that was asked for cannot be used.
        UnavailableError: the base or the metrics cannot be had.
        MissingExtraError: a package for training is not installed.
    """
    asked = Settings(
        base, several(pairs), dev=several(dev), test=several(test), columns=columns_text(columns), **settings
    )
    check_packages()
    # torch comes with it
    from assay.training.s3bert.recipe import train_s3bert as train

    found = run_recipe(train, asked, out, aspects_document, device=device, threads=threads, progress=progress)
    return Report(aspects_document(found))
