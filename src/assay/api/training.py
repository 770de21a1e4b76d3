"""Training of models that assay's metrics read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.api.given import several
from assay.api.reporting import Report
from assay.benchmark.progress import Progress, Silent
from assay.datasets.columns import columns_text
from assay.metrics.neural.runtime import Runtime, use_runtime
from assay.reports.sheets import Column, Document, Sheet, write
from assay.training.packages import check_packages
from assay.training.s3bert.settings import Settings

__all__ = ["train_s3bert"]

#: Head of a column -> the value of a record.
_SYSTEMS = {"full": "full", "random": "random", "ILP": "ilp", "ILP, even": "ilp_even", "trained": "trained"}

#: What p is: of one model, and of several seeds.
_TESTS = (
    ("p: paired bootstrap over the test pairs.",),
    (
        "p seeds: Student's t over the seeds, a test of the order of the batches alone, not of the choice of pairs.",
        "p pairs: the largest p that a paired bootstrap over the test pairs gives for any seed.",
    ),
)


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

    runtime = Runtime(device=device, threads=threads)
    with use_runtime(runtime):
        found = train(
            asked,
            Path(out),
            runtime=runtime,
            render=lambda results: write(_document(results), "md"),
            progress=progress or Silent(),
        )
    return Report(_document(found))


def _document(results: Mapping[str, Any]) -> Document:
    """Return the tables of a training."""
    seeds = len(results["seeds"])
    records = [*results["aspects"], *results["people"]]
    tests = [*_TESTS[seeds > 1], "Each p is two-sided and not corrected for the number of lines."]
    aspects = Sheet(
        "Aspects: Spearman's rho x 100 with the AMR metrics, test pairs and their negatives",
        [Column("aspect"), *(Column(head, number=True) for head in (*_SYSTEMS, *_tail(seeds, ("full", "ilp"))))],
        [_row(record, "aspect", _SYSTEMS.values(), ("full", "ilp"), seeds) for record in results["aspects"]],
        notes=[
            "full: cosine of the base's whole embedding. random, ILP: dimensions of the base given to each aspect.",
            *tests,
            "Pairs that exchanged candidates are drawn together; others that share a sentence count as independent.",
        ],
    )
    sheets = [aspects]
    if results["people"]:
        shown = {"base": "full", "trained": "trained"}
        sheets.append(
            Sheet(
                "Whole embedding: Spearman's rho x 100 with human labels, test pairs",
                [Column("dataset"), *(Column(head, number=True) for head in ("n", *shown, *_tail(seeds, ("full",))))],
                [_row(record, "dataset", ("n", *shown.values()), ("full",), seeds) for record in results["people"]],
                notes=[*tests, "Whole groups are drawn where the data has them."],
            )
        )
    return Document(sheets, records, value=dict(results))


def _tail(seeds: int, rivals: Sequence[str]) -> list[str]:
    """Return the heads behind the systems."""
    heads = ["sd"] if seeds > 1 else []
    for rival in rivals:
        heads += [f"over {rival if rival == 'full' else 'ILP'}", *(("p seeds", "p pairs") if seeds > 1 else ("p",))]
    return heads


def _row(record: Mapping[str, Any], key: str, systems: Any, rivals: Sequence[str], seeds: int) -> list[str]:
    cells = [str(record[key])]
    cells += [f"{record[name]:,}" if name == "n" else _number(record[name]) for name in systems]
    cells += [_number(record["sd_trained"])] if seeds > 1 else []
    for rival in rivals:
        cells.append(_number(record[f"over_{rival}"], sign=True))
        for head in ("p", "p_bootstrap") if seeds > 1 else ("p",):
            p = record[f"{head}_{rival}"]
            cells.append("–" if p is None else f"{p:.3f}")
    return cells


def _number(value: float | None, *, sign: bool = False) -> str:
    return "–" if value is None else f"{value:+.1f}" if sign else f"{value:.1f}"
