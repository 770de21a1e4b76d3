"""Thresholds that turn a score into a yes/no decision."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from assay.api.files import open_runs
from assay.api.values import Report
from assay.reports.data import draws_of, read_datasets, signed
from assay.reports.thresholds.document import to_document
from assay.reports.thresholds.planning import ThresholdSettings, find_thresholds

__all__ = ["thresholds"]


def thresholds(run: str | Path, **settings: Any) -> Report:
    """Find the threshold of each metric that decides best between yes and no, and test it on other pairs.

    Args:
        run: a run folder, or a file with a label and score columns.
        **settings: fields of :class:`assay.reports.thresholds.planning.ThresholdSettings`.

    Raises:
        InputError: the run cannot be read, or settings that do not fit it.
    """
    asked = ThresholdSettings(**settings)
    with open_runs([run]) as (opened,):
        found = find_thresholds(opened, asked)
        names = {subject.dataset for subject in found} | {asked.tune}
        datasets = [data for data in read_datasets(opened) if data.name in names]
        metrics = dict.fromkeys(metric for subject in found for metric in subject.decisions)
        draws = draws_of(resamples=asked.resamples, confidence=asked.confidence, seed=asked.seed)
        return Report(signed(to_document(found, asked), datasets, metrics, draws))
