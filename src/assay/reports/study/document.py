"""A study as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.reports.layout import short
from assay.reports.sheets import Column, Document, Sheet
from assay.reports.study.reading import Study, Trial, read_study

__all__ = ["setting_text", "study_document", "trial_sheet"]

_TRIED = (
    "Values of the development set chose the winner, so that the best of them flatters; what the model is worth, the "
    "test set says, which no trial has seen."
)


def study_document(held: Mapping[str, Any], results: Sheet) -> Document:
    """Return what ``study.json`` holds as tables: the trials, and the winner on the test set.

    Args:
        held: as it was parsed.
        results: of the winner.
    """
    return Document([trial_sheet(read_study(held)), results], list(held["trials"]), value=dict(held))


def trial_sheet(study: Study) -> Sheet:
    """Return a line a trial, the winner marked."""
    names = list(study.space)
    heads = [
        Column("trial", number=True),
        *(Column(name.replace("_", " "), number=not _named(study, name)) for name in names),
        Column("state"),
        Column("epochs done", number=True),
        Column(f"dev {study.title}", number=True),
        Column("seconds", number=True),
        Column("note"),
    ]
    rows = [_row(trial, names) for trial in study.trials]
    over = sum(trial.state in ("complete", "pruned") for trial in study.trials)
    return Sheet(
        f"Study {study.name}: {over} trials of a {study.recipe}",
        heads,
        rows,
        notes=[_TRIED],
        marked=frozenset(row for row, trial in enumerate(study.trials) if trial is study.winner),
    )


def _named(study: Study, name: str) -> bool:
    return any(isinstance(value, str) for value in study.space[name].get("choices", ()))


def _row(trial: Trial, names: list[str]) -> list[str]:
    return [
        str(trial.number),
        *(setting_text(trial.settings[name]) if name in trial.settings else "–" for name in names),
        trial.state,
        str(max(trial.epochs, default=0)),
        "–" if trial.reached is None else short(trial.reached, 4),
        "–" if trial.seconds is None else f"{trial.seconds:,.0f}",
        trial.why,
    ]


def setting_text(value: object) -> str:
    """Return the value of a setting in few characters."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
