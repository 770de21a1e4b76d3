"""What a recommendation comes down to: metric, threshold and errors, cost, which system is better, what is next."""

from __future__ import annotations

from dataclasses import dataclass

from assay.analysis.decision import Evidence, YesNoDecisions
from assay.analysis.leaderboard.board import Line
from assay.analysis.power import PlannedComparison
from assay.analysis.recommend.best_systems import BestSystems


@dataclass(frozen=True)
class Closing:
    """The recommendation for all pairs in a few facts.

    Attributes:
        line: the recommended metric; None if none is.
        yes_no: its decisions by a threshold; None without one.
        positive: the rule for the labels that mean yes; empty without a threshold.
        why_no_threshold: a sentence on why there is no threshold; empty if there is one.
        systems: the two best systems; None without a column of systems.
        settling: the number of pairs that would settle the choice of metric; None if it is settled.
    """

    line: Line | None
    yes_no: YesNoDecisions | None
    positive: str
    why_no_threshold: str
    systems: BestSystems | None
    settling: PlannedComparison | None


def close(evidence: Evidence) -> Closing:
    """Return what the evidence for a decision comes down to."""
    choice = evidence.choice
    line = evidence.advice.recommended
    return Closing(
        line=line,
        yes_no=None if choice is None else choice.yes_no,
        positive="" if choice is None or choice.yes_no is None else choice.yes_no.subject.rule,
        why_no_threshold="" if choice is None else choice.why_no_threshold,
        systems=None if line is None else evidence.systems,
        settling=evidence.advice.settling_plan,
    )
