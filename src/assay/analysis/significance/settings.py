"""Settings of ``assay significance``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from assay.errors import InputError
from assay.messages import Setting
from assay.settings import Seeded, WithProgress, check_level, check_resamples, setting

#: The most resamples that are drawn unless more are requested: the draws of all systems are kept in memory.
MAX_ADDED_RESAMPLES = 10_000
#: The most resamples that may be requested.
MAX_RESAMPLES = 100_000


@dataclass(frozen=True, kw_only=True)
class SignificanceSettings(Seeded, WithProgress):
    """Which systems are compared, and by what tests.

    Almost stochastic order has no p-values for Holm's method to sort, so that both corrections use Bonferroni's level.

    Raises:
        InputError: a value is out of its range, or both a baseline and all pairs are requested.
    """

    baseline: str | None = setting(
        "The system that the others are compared with [default: the first one].", None, metavar="SYSTEM"
    )
    all_pairs: bool = setting("Compare every pair of systems instead.", False)
    confidence: float = setting("Level of almost stochastic order, before it is corrected.", 0.99)
    tau: float = setting("Better by almost stochastic order if epsilon is below this.", 0.2)
    alpha: float = setting("Level of the other tests.", 0.05)
    # a rate of false discoveries has no counterpart in a confidence bound: no Benjamini-Hochberg
    correction: Literal["holm", "bonferroni", "none"] = setting(
        "Correction for the number of comparisons of one statistic.", "holm", choices=("holm", "bonferroni", "none")
    )
    resamples: int = setting("Bootstrap resamples of each system's results; more if the correction needs them.", 1000)

    def check(self) -> None:
        """Raise InputError if a level or number is out of range, or if both a baseline and all pairs are requested."""
        check_level(self.confidence)
        if not 0 < self.tau <= 0.5:
            raise InputError("must lie above 0 and be at most .5, such as .2", setting="tau", value=self.tau)
        if not 0 < self.alpha < 0.5:
            raise InputError("must lie between 0 and .5, such as .05", setting="alpha", value=self.alpha)
        check_resamples(self.resamples, most=MAX_RESAMPLES)
        super().check()
        if self.all_pairs and self.baseline is not None:
            raise InputError(
                Setting("all_pairs"),
                " compares every pair; give one of the two",
                setting="baseline",
                value=self.baseline,
            )

    @property
    def signature(self) -> str:
        """The settings in one line, with which another person can repeat the draws."""
        return (
            f"seed:{self.seed}|resamples:{self.resamples}|confidence:{self.confidence}|tau:{self.tau}"
            f"|alpha:{self.alpha}|correction:{self.correction}"
        )

    def comparisons_to_correct(self, comparisons: int) -> int:
        """Return the number of comparisons that a level is corrected for: all of them, or 1 without correction."""
        return 1 if self.correction == "none" else comparisons

    def needed_resamples(self, comparisons: int) -> int:
        """Return the number of resamples that a number of comparisons needs.

        The smallest p-value of r draws is 1 / (r + 1). Corrected for k comparisons it has to stay well below the level,
        or nothing could be told apart: r is at least twice k / alpha, up to :data:`MAX_ADDED_RESAMPLES`, and never less
        than the requested number.
        """
        needed = math.ceil(2 * self.comparisons_to_correct(comparisons) / self.alpha)
        return max(self.resamples, min(needed, MAX_ADDED_RESAMPLES))
