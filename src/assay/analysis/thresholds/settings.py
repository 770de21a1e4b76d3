"""Settings of ``assay thresholds``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay.analysis.settings import DatasetsOfRun, MetricsOfRun
from assay.analysis.thresholds.objectives import Costs, GivenThreshold, MeasureObjective, Objective, Target
from assay.common.declarations import Settings, setting
from assay.common.messages import Message, Setting, join_messages
from assay.exceptions import InputError
from assay.settings import Resampling


def parse_costs(cost: str | Mapping[str, float]) -> tuple[float, float]:
    """Return the costs of a false positive and of a false negative, in this order.

    Args:
        cost: both costs, as ``fp=5,fn=1`` or as a mapping with the keys ``fp`` and ``fn``.

    Raises:
        InputError: *cost* is not of the form ``fp=5,fn=1``, a cost is negative or infinite, or both costs are 0.
    """
    costs_by_name: dict[str, Any] = {}
    if isinstance(cost, str):
        for item in cost.split(","):
            name, _, value = item.partition("=")
            costs_by_name[name] = value
    else:
        costs_by_name |= cost
    try:
        costs = {str(name).strip(): float(value) for name, value in costs_by_name.items()}
    except (TypeError, ValueError):
        # refused below, like other names than fp and fn
        costs = {}
    values = list(costs.values())
    if set(costs) != {"fp", "fn"} or not all(0 <= value < math.inf for value in values) or not any(values):
        raise InputError(
            "expected what a false yes (fp) and a false no (fn) cost, such as fp=5,fn=1", setting="cost", value=cost
        )
    return costs["fp"], costs["fn"]


#: The confidence with which a required precision or recall is reached on new pairs.
TARGET_CONFIDENCE = 0.95
#: Measures that a threshold can be chosen by. Precision or recall alone would be best at a trivial threshold.
OPTIMISED = ("f1-macro", "f1", "accuracy", "youden", "mcc")


@dataclass(frozen=True, kw_only=True)
class Criterion(Settings):
    """Which labels mean yes, and what a threshold is chosen by.

    Raises:
        InputError: two criteria are set, or a value is out of its range.
    """

    positive: str | None = setting(
        "The labels that mean yes, such as 'label>=2' [default: the higher of two; of votes, what most people say].",
        None,
        metavar="RULE",
    )
    measure: str = setting("The measure by which a threshold is chosen.", OPTIMISED[0], choices=OPTIMISED)
    precision: float | None = setting(
        "Choose the threshold with the highest recall that has this precision on new pairs, with 95 % confidence.",
        None,
        metavar="SHARE",
    )
    recall: float | None = setting(
        "Choose the threshold with the highest precision that has this recall on new pairs, with 95 % confidence.",
        None,
        metavar="SHARE",
    )
    plain_target: bool = setting(
        "Choose a threshold that has the precision or recall on the labelled pairs; on new pairs it often misses it.",
        False,
    )
    cost: str | Mapping[str, float] | None = setting(
        "Choose the cheapest threshold: fp=5,fn=1 are the costs of a false yes and a false no.",
        None,
        metavar="fp=A,fn=B",
    )

    @property
    def objective(self) -> Objective:
        """What thresholds are chosen by: a required precision or recall, else the costs, else the measure."""
        confidence = None if self.plain_target else TARGET_CONFIDENCE
        if self.precision is not None:
            return Target("precision", self.precision, confidence)
        if self.recall is not None:
            return Target("recall", self.recall, confidence)
        if self.cost is not None:
            return Costs(*parse_costs(self.cost))
        return MeasureObjective(self.measure)

    def check(self) -> None:
        """Raise InputError if two criteria are set, or if a value is out of its range."""
        super().check()
        criteria = {"precision": self.precision, "recall": self.recall, "cost": self.cost}
        criterion_names = [Message(Setting(name)) for name, value in criteria.items() if value is not None]
        # a measure is a criterion, too, unless it is the default
        if len(criterion_names) > 1 or (criterion_names and self.measure != OPTIMISED[0]):
            conflicting = join_messages(
                " and ",
                criterion_names if len(criterion_names) > 1 else [*criterion_names, Message(Setting("measure"))],
            )
            raise InputError(conflicting, ": give one of them, a threshold is chosen by one criterion")
        if self.plain_target and self.precision is None and self.recall is None:
            raise InputError(
                "is about ",
                Setting("precision"),
                " or ",
                Setting("recall"),
                ", and neither is given",
                setting="plain_target",
            )
        for name in ("precision", "recall"):
            value = criteria[name]
            if isinstance(value, int | float) and not 0 < value <= 1:
                raise InputError(
                    "must be a share above 0 and at most 1, such as 0.95", setting=name, value=f"{value:g}"
                )
        if self.cost is not None:
            parse_costs(self.cost)


@dataclass(frozen=True, kw_only=True)
class ThresholdSettings(MetricsOfRun, DatasetsOfRun, Criterion, Resampling):
    """How thresholds are found and tested: which labels mean yes, and how the pairs to tune on and to test on differ.

    Raises:
        InputError: settings that contradict each other or are out of their range.
    """

    folds: int | None = setting(
        "Cross-validate in this many folds [default: 5, unless the pairs are split in another way].", None, at_least=2
    )
    repeats: int = setting("How often cross-validation is repeated with new folds.", 1, at_least=1)
    split_by: str | None = setting(
        "Test the pairs of each value of a column by the threshold of the others.", None, metavar="COLUMN"
    )
    tune: str | None = setting("Find the threshold on this dataset of the run.", None, metavar="DATASET")
    test: str | None = setting("Test it on this dataset.", None, metavar="DATASET")
    at: float | None = setting(
        "Test this threshold instead of finding one, such as 0.5 for a score that is a probability.",
        None,
        metavar="SCORE",
    )
    each: str | None = setting(
        "Also show agreement on the pairs of each value of a column, such as each system.", None, metavar="COLUMN"
    )
    same_pairs: bool = setting("Find and test the threshold on the same pairs; the values are then too good.", False)
    group_by: str | None = setting(
        "Keep pairs with the same value of a column in one fold, and resample them together [default: the run's "
        "groups].",
        None,
        metavar="COLUMN",
    )

    @property
    def objective(self) -> Objective:
        """What thresholds are chosen by, or the given threshold."""
        return super().objective if self.at is None else GivenThreshold(self.at)

    def check(self) -> None:
        """Raise InputError if settings contradict each other, such as two ways to split, or are out of their range."""
        super().check()
        if self.at is not None:
            if not math.isfinite(self.at):
                raise InputError("must be a finite number, such as 0.5", setting="at", value=self.at)
            if super().objective != MeasureObjective(OPTIMISED[0]):
                raise InputError(Setting("at"), " gives the threshold: no criterion chooses one")
        if (self.tune is None) != (self.test is None):
            raise InputError(
                Setting("tune"),
                " and ",
                Setting("test"),
                " belong together: one dataset of the run to find on, one to test on",
            )
        if self.tune is not None and self.datasets:
            raise InputError(
                Setting("tune"), " and ", Setting("test"), " name the datasets already", setting="datasets"
            )
        is_chosen_by = {
            Message(Setting("folds")): self.folds is not None,
            Message(Setting("split_by")): self.split_by is not None,
            Message(Setting("tune"), " and ", Setting("test")): self.tune is not None,
            Message(Setting("same_pairs")): self.same_pairs,
        }
        chosen = [setting for setting, is_chosen in is_chosen_by.items() if is_chosen]
        if len(chosen) > 1:
            raise InputError(
                join_messages(" and ", chosen), ": give one of them, they part the pairs in different ways"
            )
        if self.repeats != 1 and chosen and self.folds is None:
            raise InputError(
                Setting("repeats"),
                " is for ",
                Setting("folds"),
                "; ",
                chosen[0],
                " parts the pairs in one way only",
            )
