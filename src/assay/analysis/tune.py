"""A search of settings as read from its ``study.json``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay.statistics.coefficients import title_of


@dataclass(frozen=True)
class Trial:
    """One training run of a study.

    Attributes:
        number: the index of the trial, from 0.
        state: ``complete``, ``pruned`` or ``fail``.
        settings: the values of the settings, by name.
        value: the best agreement on the development set during the training; None if the training did not finish.
        epochs: the value at the end of each epoch, by number from 1.
        seconds: the duration; None if unknown.
        note: the reason for a failure, or the trial that it repeats; may be empty.
    """

    number: int
    state: str
    settings: Mapping[str, Any]
    value: float | None
    epochs: Mapping[int, float]
    seconds: float | None
    note: str

    @property
    def final_value(self) -> float | None:
        """The value of a complete trial, or that of the last epoch of a pruned one.

        It is None for a failed trial, and for one that was pruned before its first epoch ended.
        """
        if self.state == "complete":
            return self.value
        if self.state == "pruned" and self.epochs:
            return self.epochs[max(self.epochs)]
        return None


@dataclass(frozen=True)
class Study:
    """A study: its search space and all trials.

    Attributes:
        name: the name of the study.
        recipe: the name of the training recipe.
        objective: the name of the coefficient to maximise.
        space: the range of each setting by its name, a mapping with ``choices``, or with ``low``, ``high`` and ``log``.
        trials: the trials, in the order of their numbers.
        winner: the best trial.
        command: the command that trains the winner's model.
    """

    name: str
    recipe: str
    objective: str
    space: Mapping[str, Mapping[str, Any]]
    trials: tuple[Trial, ...]
    winner: Trial
    command: str

    @property
    def title(self) -> str:
        """The display name of the objective."""
        return title_of(self.objective)


def parse_study(parsed: Mapping[str, Any]) -> Study:
    """Return a study from the parsed content of a ``study.json`` that assay wrote; its trials are sorted by number."""
    trials = tuple(sorted(map(_parse_trial, parsed["trials"]), key=lambda trial: trial.number))
    request = parsed["request"]
    return Study(
        name=parsed["name"],
        recipe=request["recipe"],
        objective=parsed["objective"],
        space=request["space"],
        trials=trials,
        winner=next(trial for trial in trials if trial.number == parsed["winner"]),
        command=parsed["command"],
    )


def _parse_trial(record: Mapping[str, Any]) -> Trial:
    """Return a trial from its record in ``study.json``, whose epochs have text as keys."""
    return Trial(
        number=record["number"],
        state=record["state"],
        settings=record["settings"],
        value=record["value"],
        epochs={int(epoch): value for epoch, value in record["epochs"].items()},
        seconds=record["seconds"],
        note=_trial_note(record),
    )


def _trial_note(record: Mapping[str, Any]) -> str:
    """Return a note on the trial that this one retries and on its failure; empty if neither applies."""
    notes = []
    if record["retry_of"] is not None:
        notes.append(f"retry of trial {record['retry_of']}")
    if record["error"]:
        notes.append(record["error"])
    elif record["state"] == "fail":
        notes.append("its process ended")
    return "; ".join(notes)
