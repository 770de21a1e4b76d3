"""Training of bi-encoders and cross-encoders on labelled pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from assay.api.given import several
from assay.api.reporting import Report
from assay.benchmark.progress import Progress, Silent
from assay.datasets.columns import columns_text
from assay.metrics.neural.runtime import Runtime, use_runtime
from assay.reports.layout import p_value
from assay.reports.sheets import Column, Document, Sheet, write
from assay.tables import NOT_BY_PEOPLE
from assay.training.packages import check_packages
from assay.training.pairwise.settings import RECIPES

__all__ = ["agreement_document", "agreement_sheet", "train_pairs"]

_NOTES = (
    "gain: with the paired bootstrap over the test pairs, whole groups where the data has them; p is two-sided and not "
    "corrected for the number of lines."
)
_OVER_SEEDS = (
    "Bounds are the outermost of any seed's interval, p the largest of any seed; p seeds: Student's t over the seeds, "
    "a test of batches and head alone, not of the choice of pairs."
)
_NO_BASE = "The model that was started from gives no such scores by itself."


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

    runtime = Runtime(device=device, threads=threads)
    with use_runtime(runtime):
        found = train_on_pairs(
            asked,
            Path(out),
            runtime=runtime,
            render=lambda results: write(agreement_document(results), "md"),
            progress=progress or Silent(),
        )
    return Report(agreement_document(found))


def agreement_document(results: Mapping[str, Any]) -> Document:
    """Return the table of a training with its records."""
    return Document([agreement_sheet(results)], results["agreement"], value=dict(results))


def agreement_sheet(results: Mapping[str, Any]) -> Sheet:
    """Return the table of the agreement with people before and after a training."""
    records = results["agreement"]
    several = len(results["seeds"]) > 1
    heads = ["n", "before", "after", "sd", "gain", "95 %", "p", "p seeds"]
    machine = results.get("machine_labels", ())
    shown = [head for head in heads if several or head not in ("sd", "p seeds")]
    with_whom = "labels" if machine else "people"
    return Sheet(
        f"Agreement with {with_whom} on the test pairs" + (f", {len(results['seeds'])} seeds" if several else ""),
        [Column("dataset"), Column("statistic"), *(Column(head, number=True) for head in shown)],
        [_row(record, several) for record in records],
        notes=[
            *([_NOTES] if any(record["gain"] is not None for record in records) else []),
            *([_NO_BASE] if all(record["before"] is None for record in records) else []),
            *([_OVER_SEEDS] if several else []),
            *([f"{', '.join(machine)}: {NOT_BY_PEOPLE['machine']}."] if machine else []),
        ],
    )


def _row(record: Mapping[str, Any], several: bool) -> list[str]:
    bounds = "–" if record["low"] is None else f"[{record['low']:+.4f}, {record['high']:+.4f}]"
    cells = [record["dataset"], record["statistic"], f"{record['n']:,}", _number(record["before"])]
    cells += [_number(record["after"]), *([_number(record["sd"])] if several else [])]
    cells += ["–" if record["gain"] is None else f"{record['gain']:+.4f}", bounds, p_value(record["p"])]
    return cells + ([p_value(record["p_seeds"])] if several else [])


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"
