"""Settings of ``assay table``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from assay.analysis.settings import BucketsOfRun, CorrectedTests, DatasetsOfRun, MetricsOfRun
from assay.errors import InputError
from assay.settings import WithProgress, setting


def _check_label(label: str) -> str:
    r"""Return the label of a table, which ``\label`` takes as it is.

    Raises:
        InputError: it is empty, or has characters that LaTeX reads as commands, or blanks.
    """
    if not re.fullmatch(r"[A-Za-z0-9:./+*-]+", label):
        raise InputError(
            "must consist of letters, digits and : . / + * -, such as tab:answers", setting="label", value=label
        )
    return label


#: The bucket of all pairs, as run folders call it.
ALL = "all"


@dataclass(frozen=True, kw_only=True)
class TableSettings(MetricsOfRun, DatasetsOfRun, BucketsOfRun, CorrectedTests, WithProgress):
    """What stands in the rows and columns of a table for a paper, and how it looks.

    Raises:
        InputError: a value is out of its range.
    """

    by: str | None = setting(
        "The coefficient of the table [default: auc where all labels have two values, else spearman].",
        None,
        metavar="NAME",
    )
    across: Literal["datasets", "buckets"] = setting(
        "The columns: datasets, with a table for each bucket [default: all pairs]; or buckets, with a table "
        "for each dataset.",
        "datasets",
        choices=("datasets", "buckets"),
    )
    mean: bool = setting(
        "Add the mean over several datasets, all with the same weight.", True, flags=("--mean/--no-mean",)
    )
    intervals: bool = setting(
        "Add the run's intervals, in small print below each value; others if resamples, confidence, interval or seed "
        "is not the default, or if runs differ in them.",
        False,
        flags=("--intervals/--no-intervals",),
    )
    siunitx: bool = setting("LaTeX: use columns of siunitx, which align at the decimal point.", False)
    label: str | None = setting(
        "LaTeX: the label for \\ref [default: tab: and the coefficient].", None, parse=_check_label, metavar="LABEL"
    )
    caption: str | None = setting("The beginning of the caption; n and method follow.", None, metavar="TEXT")

    @property
    def coefficient(self) -> str:
        """The name of the coefficient of the table; ``spearman`` if *by* is neither given nor set from the labels."""
        return self.by or "spearman"
