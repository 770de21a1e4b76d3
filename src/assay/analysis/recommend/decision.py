"""The decision that a run folder holds: a metric, its threshold, and what its scores say of the labels.

``assay recommend --out`` writes it to ``decision.json``; ``assay rate``, ``assay score`` and ``assay annotate`` apply
it to new answers, and ``assay baseline --ci`` judges its metric. For the folder of another verb, or one whose scores
have changed, it is made anew.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError

from assay.analysis.decision import Evidence, gather_evidence
from assay.analysis.folder import RunFolder
from assay.analysis.recommend.evidence import folder_digest, read_kept_file, with_decision
from assay.analysis.report import PageSettings
from assay.analysis.thresholds.settings import parse_costs
from assay.common.messages import Setting
from assay.common.output import atomic_write
from assay.exceptions import InputError
from assay.statistics.concordance import Floats
from assay.statistics.expectation import Expectation, expected_labels

#: The file in a run folder.
FILE_NAME = "decision.json"
#: The version of the file; a file of another version is not read.
VERSION = 1


@dataclass(frozen=True)
class MetricDecision:
    """What is decided by the scores of a metric.

    Scores are oriented: higher means more similar.

    Attributes:
        dataset: the name of the labelled dataset.
        metric: the name of the metric in the run.
        signature: everything that affects its scores, by part.
        positive: the rule for the labels that mean yes; None if the labels are votes or grades.
        recommended: whether the metric is known to agree with people; else it is the highest, or was asked for.
        kind: ``share`` if labels say yes or no, ``mean`` if they are grades.
        low, high: the labels of no and of yes, or the lowest and the highest grade.
        threshold: the oriented score from which on an answer counts as yes; None without one.
        costs: what a false yes and a false no cost; None if nobody has said.
        expectation: the expected label of each score, as a share between *low* and *high*.
    """

    dataset: str
    metric: str
    signature: dict[str, str]
    positive: str | None
    recommended: bool
    kind: Literal["share", "mean"]
    low: float
    high: float
    threshold: float | None
    costs: tuple[float, float] | None
    expectation: Expectation

    def shares_of(self, labels: Floats) -> Floats:
        """Return labels as shares of the way from *low* to *high*, shape (n,): 1 for yes, 0 for no."""
        shares: Floats = (labels - self.low) / (self.high - self.low)
        return shares

    def decide(self, scores: Floats) -> NDArray[np.bool_]:
        """Return which oriented scores mean yes, shape (n,); all are False without a threshold."""
        return np.zeros(len(scores), dtype=bool) if self.threshold is None else scores >= self.threshold

    def should_ask(self, scores: Floats, cost_of_asking: float) -> NDArray[np.bool_]:
        """Return where asking a person costs less than the error to expect of deciding by the score, shape (n,).

        Chow's rule: the expected cost of the cheaper decision is compared with the cost of asking. All are False if the
        decision has no costs, and where the score is NaN.

        Args:
            scores: oriented scores, shape (n,).
            cost_of_asking: what it costs to ask a person, in the unit of the costs of errors.
        """
        if self.costs is None:
            return np.zeros(len(scores), dtype=bool)
        cost_of_false_yes, cost_of_false_no = self.costs
        probability_of_yes = self.expectation.of(scores)
        expected_cost = np.minimum(cost_of_false_yes * (1 - probability_of_yes), cost_of_false_no * probability_of_yes)
        return np.asarray(expected_cost > cost_of_asking)


_ADAPTER = TypeAdapter(MetricDecision)


def evidence_for_decision(run: RunFolder, settings: PageSettings, metric: str | None = None) -> Evidence:
    """Return the evidence for deciding by a metric of a run: the recommended one, or else the highest.

    Args:
        run: the run.
        settings: the dataset, the labels that mean yes, and the criterion of the threshold.
        metric: the metric; None to choose one.

    Raises:
        InputError: the run has no scores, or several datasets and none is chosen; a rule or criterion does not fit the
            labels; or the run has no scores of the metric.
    """
    evidence = gather_evidence(run, settings, metric)
    if evidence.choice is None and evidence.advice.highest is not None:
        evidence = gather_evidence(run, settings, evidence.advice.highest.metric)
    return evidence


def make_decision(evidence: Evidence, settings: PageSettings) -> MetricDecision | None:
    """Return the decision that follows from evidence; None if no metric can be compared.

    Args:
        evidence: the evidence, with the metric to decide by, and its threshold if the labels have one.
        settings: the settings that it was gathered with, of which the costs are kept.

    Raises:
        InputError: the costs cannot be read.
    """
    if evidence.choice is None:
        return None
    data, yes_no = evidence.data, evidence.choice.yes_no
    name = evidence.choice.line.metric
    decided, positive = with_decision(data, evidence.positive)
    votes = decided.votes
    if votes is not None:
        low, high = votes.no, votes.yes
    else:
        low, high = data.facts.scale or (float(decided.labels.min()), float(decided.labels.max()))
    shares = (decided.labels - low) / (high - low)
    scores = data.oriented_scores(name)
    has_score = np.isfinite(scores)
    kind: Literal["share", "mean"] = "mean" if votes is None else "share"
    are_probabilities = kind == "share" and _is_probability(data.metrics[name].signature)
    recommended = evidence.advice.recommended
    return MetricDecision(
        dataset=data.name,
        metric=name,
        signature=data.metrics[name].signature,
        positive=positive,
        recommended=recommended is not None and recommended.metric == name,
        kind=kind,
        low=float(low),
        high=float(high),
        threshold=None if yes_no is None else yes_no.decision.deployed,
        costs=None if settings.cost is None else parse_costs(settings.cost),
        expectation=expected_labels(
            scores[has_score],
            shares[has_score],
            bounded=kind == "share",
            probabilities=scores[has_score] if are_probabilities else None,
        ),
    )


def _is_probability(signature: Mapping[str, str]) -> bool:
    """Tell whether a score is the probability that an answer is right, by a judge that was learned from other data."""
    judge, _, tier = signature.get("subject", "").partition(":")
    return signature.get("metric") == "combined" and judge == "answer-judge" and tier != "grade"


def keep_decision(run: RunFolder, decision: MetricDecision) -> None:
    """Write a decision into the folder of its run; nothing is written for a run without a folder."""
    if run.path is None:
        return
    contents = {"version": VERSION, "digest": folder_digest(run.path), "decision": _ADAPTER.dump_python(decision)}
    with atomic_write(run.path / FILE_NAME) as file:
        file.write_text(json.dumps(contents, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def read_decision(run: RunFolder, metric: str | None = None) -> MetricDecision:
    """Return the decision that a run folder holds, or make one by the same rule if it holds none by this metric.

    Args:
        run: the run.
        metric: the metric to decide by; None for the one of the folder.

    Raises:
        InputError: no metric can be recommended, the folder has several datasets or no scores of the metric, or the
            file was changed by hand.
    """
    kept = kept_decision(run)
    if kept is not None and metric in (None, kept.metric):
        return kept
    settings = PageSettings(audience="decision", categories=False)
    evidence = evidence_for_decision(run, settings, metric)
    decision = make_decision(evidence, settings)
    if decision is None:
        raise InputError(
            f"{run.title}: {evidence.advice.warning or 'no metric can be recommended'}; add other labels and run "
            "recommend again, or name a metric: ",
            Setting("metric", "METRIC"),
        )
    return decision


def kept_decision(run: RunFolder) -> MetricDecision | None:
    """Return the decision in the file; None if there is none, or one of other scores or of another version.

    Raises:
        InputError: the file was changed by hand.
    """
    if run.path is None:
        return None
    contents = read_kept_file(run.path, FILE_NAME, VERSION)
    if contents is None:
        return None
    try:
        return _ADAPTER.validate_python(contents.get("decision"))
    except ValidationError as error:
        raise InputError(f"{run.path / FILE_NAME}: was changed by hand; run recommend again") from error
