"""Settings of ``assay thresholds``."""

from __future__ import annotations

from dataclasses import dataclass

from assay.errors import InputError
from assay.reports.settings import DatasetsOfRun, MetricsOfRun
from assay.settings import Resampling, setting

#: Measures that a threshold can be chosen by; precision or recall alone would decide one way always.
OPTIMISED = ("f1-macro", "f1", "accuracy", "youden", "mcc")


@dataclass(frozen=True, kw_only=True)
class ThresholdSettings(MetricsOfRun, DatasetsOfRun, Resampling):
    """How thresholds are found and tested: which labels mean yes, and how the pairs to tune on and to test on differ.

    Raises:
        InputError: settings that contradict each other or are out of their range.
    """

    positive: str | None = setting(
        "Which labels mean yes, such as 'label>=2' [default: the higher of two].", None, metavar="RULE"
    )
    measure: str = setting("What a threshold is chosen by.", OPTIMISED[0], choices=OPTIMISED)
    folds: int | None = setting(
        "Cross-validate in this many folds [default: 5, unless the pairs are parted in another way].", None, at_least=2
    )
    repeats: int = setting("How often the pairs are dealt to folds anew.", 1, at_least=1)
    split_by: str | None = setting(
        "Test each value of a column with the threshold of the others.", None, metavar="COLUMN"
    )
    tune: str | None = setting("Find the threshold on this dataset of the run.", None, metavar="DATASET")
    test: str | None = setting("Test it on this one.", None, metavar="DATASET")
    same_pairs: bool = setting("Find and test on the same pairs; the values are too good.", False)
    group_by: str | None = setting(
        "Never part the pairs of one value of a column, and resample them together [default: the run's groups].",
        None,
        metavar="COLUMN",
    )

    def check(self) -> None:
        """Refuse two ways to part the pairs at once, and half of one."""
        super().check()
        if (self.tune is None) != (self.test is None):
            raise InputError("`tune` and `test` belong together: one dataset of the run to find on, one to test on")
        if self.tune is not None and self.datasets:
            raise InputError("`datasets`: `tune` and `test` name the datasets already")
        ways = {
            "`folds`": self.folds is not None,
            "`split_by`": self.split_by is not None,
            "`tune` and `test`": self.tune is not None,
            "`same_pairs`": self.same_pairs,
        }
        chosen = [way for way, is_chosen in ways.items() if is_chosen]
        if len(chosen) > 1:
            raise InputError(f"{' and '.join(chosen)}: give one of them, they part the pairs in different ways")
        if self.repeats != 1 and chosen not in ([], ["`folds`"]):
            raise InputError(f"`repeats` is for `folds`; {chosen[0]} parts the pairs in one way only")
