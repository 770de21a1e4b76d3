"""Training of encoders that align sentences with their semantic forms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from assay.api.given import several
from assay.api.recipes import run_recipe
from assay.api.reporting import Report
from assay.benchmark.progress import Progress
from assay.datasets.columns import columns_text
from assay.reports.sheets import write
from assay.reports.training.alignment import alignment_document, neighbours_document
from assay.training.midtuning.settings import MidTuningSettings
from assay.training.packages import check_packages

__all__ = ["train_mid_tuning"]


def train_mid_tuning(
    base: str,
    forms: str | Sequence[str],
    out: str | Path,
    *,
    test: str | Sequence[str] | None = (),
    columns: str | Mapping[str, str] | None = None,
    device: str = "auto",
    threads: int | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Report:
    """Train a sentence encoder on sentences and their semantic forms, and write it to a folder that metrics load.

    Args:
        base: the encoder to start from: a folder, a hub id or a short name.
        forms: datasets with AMR graphs, files of graphs, or files of frames (``.jsonl``).
        out: the folder of the model, absent or empty; a training that was stopped continues when it is asked for again.
        test: labelled pairs on which it is evaluated before and after.
        columns: which columns of files of your own are what, as for :func:`assay.run`; a dataset with a card has its
            own reader.
        device: ``auto``, ``cpu``, ``cuda``, ``cuda:N``, ``mps`` or ``all``.
        threads: of a CPU; by default the cores that are free.
        progress: told of every step.
        **settings: as in :class:`assay.training.midtuning.settings.MidTuningSettings`.

    Returns:
        Agreement with people on the test pairs before and after, how well forms are told apart, and the nearest
        neighbours of a few sentences. The folder holds the same as ``results.json``, ``results.md`` and
        ``neighbours.md``.

    Raises:
        InputError: something that was asked for cannot be used.
        UnavailableError: the model cannot be had.
        MissingExtraError: a package for training or for AMR graphs is not installed.
    """
    asked = MidTuningSettings(base, several(forms), test=several(test), columns=columns_text(columns), **settings)
    check_packages()
    # torch comes with it
    from assay.training.midtuning.recipe import train_mid_tuning as train

    whole = partial(train, render_neighbours=lambda records: write(neighbours_document(records), "md"))
    found = run_recipe(whole, asked, out, alignment_document, device=device, threads=threads, progress=progress)
    return Report(alignment_document(found))
