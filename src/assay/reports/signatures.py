"""What lets another person get the same numbers: a line for each dataset, each metric, and the draws."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from assay.reports.data import ScoredDataset
from assay.reports.sheets import Document

__all__ = ["draws_of", "signed"]


def draws_of(*, resamples: int, confidence: float, seed: int) -> str:
    """Return the signature of intervals."""
    return f"resamples:{resamples}|confidence:{confidence}|seed:{seed}" if resamples else "resamples:none"


def signed(document: Document, datasets: Sequence[ScoredDataset], metrics: Iterable[str], draws: str) -> Document:
    """Return a document that ends with its signatures.

    Args:
        document: what was found.
        datasets: the data it was found on.
        metrics: the metrics it is about; those that a dataset lacks are left out there.
        draws: how intervals and tests were drawn.
    """
    asked = list(metrics)
    lines = [
        f"{data.title}: n:{len(data)}|digest:{data.facts['digest'][:16]}|{data.run.manifest['signature']}"
        for data in datasets
    ]
    lines += dict.fromkeys(
        f"{name}: {data.metrics[name].short_signature}" for name in asked for data in datasets if name in data.metrics
    )
    return replace(document, notes=[*document.notes, *lines, f"draws: {draws}"])
