"""What is asked of a cross-validation."""

from __future__ import annotations

from dataclasses import dataclass

from assay.errors import InputError
from assay.statistics.coefficients import DEFAULT_STATISTICS, check_statistics
from assay.statistics.drawing import check_seed

__all__ = ["FOLDS", "Settings"]

#: Folds where nothing else was asked for, as in STR-2022.
FOLDS = 5


@dataclass(frozen=True)
class Settings:
    """See the module.

    Attributes:
        metrics, datasets: of the run; all where empty.
        folds: number of folds.
        by: column whose values are told apart, and left out one at a time; None for none.
        group_by: column whose values are never on both sides; the run's groups by default.
        statistics: coefficients.
        seed: of the folds.

    Raises:
        InputError: a value out of its range, or no such statistic.
    """

    metrics: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    folds: int = FOLDS
    by: str | None = None
    group_by: str | None = None
    statistics: tuple[str, ...] = DEFAULT_STATISTICS
    seed: int = 0

    def __post_init__(self) -> None:
        if self.folds < 2:
            raise InputError(f"--folds {self.folds}: expected 2 or more; one fold is tested, the others trained on")
        check_seed(self.seed)
        object.__setattr__(self, "statistics", check_statistics(self.statistics))

    @property
    def signature(self) -> str:
        """What lets another person divide the pairs alike."""
        apart = f"|group:{self.group_by}" if self.group_by else ""
        return f"folds:{self.folds}|by:{self.by or 'none'}{apart}|seed:{self.seed}"
