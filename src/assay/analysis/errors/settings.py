"""Settings of ``assay errors``."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from assay.analysis.settings import DatasetsOfRun, MetricsOfRun
from assay.common.declarations import Settings, setting
from assay.common.messages import Setting
from assay.exceptions import InputError
from assay.settings import Resampling

if TYPE_CHECKING:
    from assay.manifest import MetricRecord

#: The criterion of divergence: scores beyond thresholds, or a difference of ranks.
By = Literal["threshold", "rank"]
#: The lowest and the highest label.
Scale = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class LabelScale(Settings):
    """The range of the labels; the command line takes it as LOW,HIGH."""

    scale: Scale | None = setting(
        "Lowest and highest label [default: those that the data declares, else those that occur].",
        None,
        python_only=True,
    )


@dataclass(frozen=True, kw_only=True)
class Rule(LabelScale):
    """What counts as diverging; the paper's thresholds are the defaults.

    A *threshold* decides between two classes, and the pairs that it decides wrongly diverge.

    Raises:
        InputError: a number is out of its range, or a setting has no effect under the criterion or beside another one.
    """

    by: By | None = setting(
        "Diverging by threshold, or by rank [default: threshold where scores run from 0 to 1, unless it finds next to "
        "nothing].",
        None,
        choices=get_args(By),
    )
    low: float = setting("Too low with the highest label: a score below this.", 0.25)
    high: float = setting("Too high with the lowest label: a score above this.", 0.5)
    threshold: str | Path | float | None = setting(
        "Wrong decisions by a threshold: auto learns it on other pairs; a number; or a file that assay thresholds "
        "--format json wrote.",
        None,
        metavar="auto|VALUE|FILE",
    )
    positive: str | None = setting(
        "With `threshold`: which labels mean yes, such as 'label>=2' [default: the higher of two; of votes, what most "
        "people say].",
        None,
        metavar="RULE",
    )
    residual: float = setting("By rank: how far the ranks of score and label are apart, as a share of the pairs.", 0.5)

    def check(self) -> None:
        """Check the numbers, and that every setting has an effect.

        Raises:
            InputError: a bound, the threshold or an end of the scale is not finite, or two of them are in the wrong
                order; the residual is no share; or a setting has no effect under *by*, beside *threshold* or without
                it.
        """
        for name, value in (("low", self.low), ("high", self.high)):
            if not math.isfinite(value):
                raise InputError("must be a finite number", setting=name, value=f"{value:g}")
        if self.low > self.high:
            raise InputError(
                Setting("low", self.low),
                " ",
                Setting("high", self.high),
                ": a score between them would be too low with the highest label and too high with the lowest; ",
                Setting("low"),
                " is the lower one",
            )
        if not 0 < self.residual <= 1:
            raise InputError(
                "a share of the pairs is above 0 and at most 1", setting="residual", value=f"{self.residual:g}"
            )
        if self.scale is not None:
            lowest, highest = self.scale
            if not (math.isfinite(lowest) and math.isfinite(highest)):
                raise InputError("both must be finite numbers", setting="scale", value=f"{lowest:g},{highest:g}")
            if not lowest < highest:
                raise InputError("the lowest label comes first", setting="scale", value=f"{lowest:g},{highest:g}")
        self.check_used(get_args(By) if self.by is None else (self.by,))
        self._check_threshold()
        super().check()

    def _check_threshold(self) -> None:
        """Raise InputError for settings without effect beside or without a threshold, or one that is not finite."""
        if self.threshold is None:
            if self.positive is not None:
                raise InputError(
                    "has no effect without ",
                    Setting("threshold"),
                    "; leave it out",
                    setting="positive",
                    value=self.positive,
                )
            return
        for name in ("by", "low", "high", "residual"):
            # the attributes of the class are the defaults
            if getattr(self, name) != getattr(Rule, name):
                raise InputError(
                    "has no effect beside ",
                    Setting("threshold"),
                    "; leave one out",
                    setting=name,
                    value=getattr(self, name),
                )
        number = self.threshold_number
        if number is not None and not math.isfinite(number):
            raise InputError("must be a finite number", setting="threshold", value=self.threshold)

    @property
    def threshold_number(self) -> float | None:
        """The threshold as a number; None if there is none, or if it is learned or read from a file."""
        if self.threshold is None or isinstance(self.threshold, Path):
            return None
        try:
            return float(self.threshold)
        except ValueError:
            return None

    def criterion_for(self, metric: MetricRecord) -> By:
        """Return the criterion for a metric; the default is threshold for declared scores in [0, 1], else rank."""
        if self.threshold is not None:
            return "threshold"
        return self.by or ("threshold" if (metric.declared.low, metric.declared.high) == (0, 1) else "rank")

    def check_used(self, criteria_in_use: Collection[By]) -> None:
        """Raise InputError for a number that is not the default although no metric uses its criterion.

        Args:
            criteria_in_use: the criteria by which the pairs of some metric diverge.
        """
        for name, value, default, by in (
            ("low", self.low, Rule.low, "threshold"),
            ("high", self.high, Rule.high, "threshold"),
            ("residual", self.residual, Rule.residual, "rank"),
        ):
            if value != default and by not in criteria_in_use:
                raise InputError(
                    f"counts by {by}, and here pairs diverge by {' and '.join(criteria_in_use)}; use ",
                    Setting("by", by),
                    ", or leave ",
                    Setting(name),
                    " out",
                    setting=name,
                    value=f"{value:g}",
                )

    def check_bounds(self, metric: MetricRecord) -> None:
        """Raise InputError if *low* or *high* is outside the range of the scores of a metric.

        The range is that of 1 - score for a metric of which lower is better.
        """
        declared = metric.declared
        lowest = -math.inf if declared.low is None else declared.low
        highest = math.inf if declared.high is None else declared.high
        values = "scores"
        if not declared.higher_is_better:
            lowest, highest, values = 1 - highest, 1 - lowest, "values of 1 − score"
        for name, value in (("low", self.low), ("high", self.high)):
            if not lowest <= value <= highest:
                raise InputError(
                    f"{metric.metric} gives {values} from {lowest:g} to {highest:g}", setting=name, value=f"{value:g}"
                )


@dataclass(frozen=True, kw_only=True)
class Tagging(Settings):
    """What reads parts of speech for the categories."""

    tagger: str | Path | None = setting(
        "Also read parts of speech for the categories: a folder with a spaCy pipeline, or an installed one.",
        None,
        metavar="FOLDER_OR_NAME",
    )


@dataclass(frozen=True, kw_only=True)
class ErrorSettings(Rule, MetricsOfRun, DatasetsOfRun, Resampling, Tagging):
    """Which pairs are looked at, what counts as diverging, and how much of it is shown.

    Raises:
        InputError: a value outside its range.
    """

    bucket: str = setting("Only the pairs of this bucket of the run.", "all", flags=("--bucket", "-b"))
    rule: Rule | None = setting(
        "What counts as diverging, in place of the settings by, low, high, threshold, positive, residual and scale.",
        None,
        python_only=True,
    )
    corrected: str | Path | None = setting(
        "A run of the same pairs with other labels: the cleaning experiment.", None, metavar="RUN"
    )
    statistics: Sequence[str] = setting(
        "Coefficients of the agreement; repeatable [default: kendall].", (), flags=("--statistic",), metavar="NAME"
    )
    top: int = setting("How many of the worst pairs the tables show.", 10, at_least=0)
    limit: int | None = setting(
        "At most this many pairs of each metric in JSON and CSV [default: all].", None, at_least=0, metavar="N"
    )

    @property
    def divergence_rule(self) -> Rule:
        """The criterion of divergence: *rule* if given, else one made of the single settings."""
        return self.rule or Rule(**self.values_of(Rule))

    def check(self) -> None:
        """Raise InputError for a rule together with the settings that it replaces."""
        super().check()
        if self.rule is not None and Rule(**self.values_of(Rule)) != Rule():
            raise InputError("holds what counts as diverging; give no other setting of it beside", setting="rule")


@dataclass(frozen=True, kw_only=True)
class EvaluationSettings(DatasetsOfRun, LabelScale, Tagging):
    """Which pairs have annotated categories that the rules are compared with."""
