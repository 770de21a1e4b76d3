"""What ``study.json`` holds, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay.reports.layout import TITLES

__all__ = ["Study", "Trial", "read_study"]


@dataclass(frozen=True)
class Trial:
    """One training of a study.

    Attributes:
        number: counted from 0.
        state: ``complete``, ``pruned`` or ``fail``.
        settings: by name.
        value: agreement on the development set where the training was best there; None where it did not end.
        epochs: the value at the end of each epoch, the first being 1.
        seconds: how long it took, or None.
        why: what is known of a trial that failed or tried another one once more; may be empty.
    """

    number: int
    state: str
    settings: Mapping[str, Any]
    value: float | None
    epochs: Mapping[int, float]
    seconds: float | None
    why: str

    @property
    def reached(self) -> float | None:
        """The value, or that of the last epoch of a pruned trial; None for a failed one."""
        if self.state == "complete":
            return self.value
        return self.epochs[max(self.epochs)] if self.state == "pruned" and self.epochs else None


@dataclass(frozen=True)
class Study:
    """All trials.

    Attributes:
        name: of the study.
        recipe: what was trained.
        objective: name of the agreement.
        space: ``choices``, or ``low``, ``high`` and ``log``, by setting.
        trials: in the order of their numbers.
        winner: the best one.
        command: trains the winner's model.
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
        """The objective as a reader knows it."""
        return TITLES.get(self.objective, self.objective)


def read_study(held: Mapping[str, Any]) -> Study:
    """Return the values of ``study.json``, which has been parsed."""
    trials = tuple(sorted(map(_trial, held["trials"]), key=lambda trial: trial.number))
    request = held["request"]
    return Study(
        name=held["name"],
        recipe=request["recipe"],
        objective=held["objective"],
        space=request["space"],
        trials=trials,
        winner=next(trial for trial in trials if trial.number == held["winner"]),
        command=held["command"],
    )


def _trial(held: Mapping[str, Any]) -> Trial:
    again = held["retry_of"]
    why = [] if again is None else [f"trial {again} once more"]
    if held["error"]:
        why.append(held["error"])
    elif held["state"] == "fail":
        why.append("its process ended")
    return Trial(
        number=held["number"],
        state=held["state"],
        settings=held["settings"],
        value=held["value"],
        epochs={int(epoch): value for epoch, value in held["epochs"].items()},
        seconds=held["seconds"],
        why="; ".join(why),
    )
