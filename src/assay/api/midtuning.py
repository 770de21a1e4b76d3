"""Training of encoders that align sentences with their semantic forms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.api.given import several
from assay.api.pairwise import agreement_sheet
from assay.api.reporting import Report
from assay.benchmark.progress import Progress, Silent
from assay.datasets.columns import columns_text
from assay.metrics.neural.runtime import Runtime, use_runtime
from assay.reports.sheets import Column, Document, Sheet, write
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
    from assay.training.midtuning.recipe import Rendering, train_mid_tuning

    runtime = Runtime(device=device, threads=threads)
    render = Rendering(
        lambda results: write(_document(results), "md"),
        lambda records: write(Document(_neighbours(records), records), "md"),
    )
    with use_runtime(runtime):
        found = train_mid_tuning(asked, Path(out), runtime=runtime, render=render, progress=progress or Silent())
    return Report(_document(found))


def _document(results: Mapping[str, Any]) -> Document:
    """Return the tables of a mid-tuning."""
    sheets = [agreement_sheet(results)] if results["agreement"] else []
    sheets += [_alignment(results["alignment"]), *_neighbours(results.get("neighbours", []))]
    return Document(sheets, results["agreement"], value=dict(results))


def _alignment(found: Mapping[str, Any]) -> Sheet:
    rows = [
        [name, *("–" if found[when] is None else f"{found[when][name]:.4f}" for when in ("before", "after"))]
        for name in ("loss", "accuracy")
    ]
    note = "Accuracy: how often the right form is told from the wrong one; a classifier has none before it is trained."
    columns = [Column("development set"), Column("before", number=True), Column("after", number=True)]
    return Sheet("Sentences and their forms", columns, rows, notes=[note])


def _neighbours(records: Sequence[Mapping[str, Any]]) -> list[Sheet]:
    """Return a table of the nearest sentences for each query."""
    columns = [Column("base"), Column("cosine", number=True), Column("trained"), Column("cosine", number=True)]
    return [
        Sheet(
            f"Nearest to: {record['query']}",
            columns,
            [
                [cell for one in both for cell in (one["text"], f"{one['cosine']:.4f}")]
                for both in zip(record["base"], record["trained"], strict=True)
            ],
        )
        for record in records
    ]
