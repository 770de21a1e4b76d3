"""What can be asked of a search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from assay.errors import InputError
from assay.training.pairwise.settings import PairSettings
from assay.training.tuning.space import Space, plain_space

__all__ = ["OBJECTIVES", "Search"]

#: Agreement with the development labels that can be searched for, by task, the first being the default.
OBJECTIVES = {"regression": ("spearman", "pearson", "kendall"), "classification": ("accuracy",)}
#: Settings that change from machine to machine, or that the trials do not depend on.
_APART = ("base", "pairs", "dev", "test", "tokens", "seeds")


@dataclass(frozen=True)
class Search:
    """The request.

    Attributes:
        settings: of every trial, but for what is searched.
        space: what is searched.
        trials: complete or pruned ones, those counted that the study holds already.
        objective: one of :data:`OBJECTIVES`, on the development set, at the step at which a training was best there.
        prune: whether trials end early that are worse than the median.
        storage: address of the database, as SQLAlchemy has it; None for a file beside the result.
        study: its name there.
        jobs: trials at a time.

    Raises:
        InputError: a value outside its range.
    """

    settings: PairSettings
    space: Space
    trials: int
    objective: str
    prune: bool
    storage: str | None
    study: str
    jobs: int

    def __post_init__(self) -> None:
        valid = OBJECTIVES[self.settings.task]
        if self.objective not in valid:
            raise InputError(f"--objective {self.objective}: must be one of {', '.join(valid)}")
        for name in ("trials", "jobs"):
            if getattr(self, name) < 1:
                raise InputError(f"--{name} {getattr(self, name)}: must be at least 1")
        if not self.study.strip():
            raise InputError("--study: must be a name")

    def request(self, base: str, data: dict[str, list[str]]) -> dict[str, Any]:
        """Return all that the values of trials depend on, as plain values; trials of one study share it.

        Args:
            base: digest of the model that is started from.
            data: digests of the datasets of each set.
        """
        settings = self.settings.plain()
        fixed = {name: value for name, value in settings.items() if name not in (*_APART, *self.space)}
        return {
            "recipe": self.settings.recipe,
            "base": base,
            "data": data,
            "fixed": fixed,
            "space": plain_space(self.space),
            "objective": self.objective,
            "prune": self.prune,
        }
