"""What is asked of thresholds."""

from __future__ import annotations

from dataclasses import dataclass

from assay.errors import InputError, unknown
from assay.reports.thresholds.measures import OPTIMISED
from assay.statistics.drawing import check_level, check_resamples, check_seed

__all__ = ["FOLDS", "Settings"]

#: Folds where nothing else was asked for.
FOLDS = 5


@dataclass(frozen=True)
class Settings:
    """See the module.

    Attributes:
        metrics, datasets: of the run; all where empty.
        positive: which labels mean yes, such as ``label>=2``; None where the label has two values.
        measure: what a threshold is chosen by.
        folds: number of folds; None for five, unless pairs are parted in another way.
        repeats: how often pairs are dealt to folds anew.
        split_by: column; each value is tested once with the threshold of all others.
        tune, test: datasets of the run: the threshold is found on one and tested on the other.
        same_pairs: whether to find and test on the same pairs.
        group_by: column whose values are never on both sides, and are resampled whole; the run's groups by default.
        resamples: of the intervals; 0 for none.
        confidence: their level.
        seed: of folds and resamples.

    Raises:
        InputError: settings that contradict each other or are out of their range.
    """

    metrics: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    positive: str | None = None
    measure: str = "f1-macro"
    folds: int | None = None
    repeats: int = 1
    split_by: str | None = None
    tune: str | None = None
    test: str | None = None
    same_pairs: bool = False
    group_by: str | None = None
    resamples: int = 1000
    confidence: float = 0.95
    seed: int = 0

    def __post_init__(self) -> None:
        if self.measure not in OPTIMISED:
            raise InputError(unknown("--measure: no threshold is chosen by", self.measure, OPTIMISED))
        if (self.tune is None) != (self.test is None):
            raise InputError("--tune and --test belong together: one dataset of the run to find on, one to test on")
        ways = {
            "--folds": self.folds is not None,
            "--split-by": self.split_by is not None,
            "--tune and --test": self.tune is not None,
            "--same-pairs": self.same_pairs,
        }
        chosen = [name for name, given in ways.items() if given]
        if len(chosen) > 1:
            raise InputError(f"{' and '.join(chosen)}: give one of them, they part the pairs in different ways")
        if self.repeats != 1 and chosen not in ([], ["--folds"]):
            raise InputError(f"--repeats is for --folds; {chosen[0]} parts the pairs in one way only")
        if self.folds is not None and self.folds < 2:
            raise InputError(f"--folds {self.folds}: expected 2 or more; one part is tested with the others' threshold")
        if self.repeats < 1:
            raise InputError(f"--repeats {self.repeats}: expected 1 or more")
        if self.tune is not None and self.datasets:
            raise InputError("--dataset: --tune and --test name the datasets already")
        check_resamples(self.resamples, none_allowed=True)
        check_level(self.confidence, self.resamples)
        check_seed(self.seed)
