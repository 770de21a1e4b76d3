"""Pairs under perturbations, scored like all others: through the store, and with the metrics of an engine together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assay.benchmark.outcome import Outcome
from assay.benchmark.request import Request
from assay.errors import InputError, UnavailableError, code_of_others
from assay.metrics import Metric
from assay.metrics.name import describe_options
from assay.perturbations import Perturbation, TextPair
from assay.tables import GRAPH_COLUMNS

if TYPE_CHECKING:
    from assay.datasets import Pairs

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Changed:
    """The scores of changed pairs.

    Attributes:
        perturbation: what changed them.
        rows: which of the n pairs it applies to, ascending, shape (k,).
        scores: by metric, shape (k,); NaN where there is none.
        texts: the changed pairs, k rows; None where an option was changed and no text.
    """

    perturbation: Perturbation
    rows: NDArray[np.intp]
    scores: dict[str, Floats]
    texts: Pairs | None = None


@dataclass(frozen=True)
class PerturbedScores:
    """A dataset before and after.

    Attributes:
        pairs: as they were, n of them.
        metrics: those that gave scores, by name.
        scores: of the pairs as they were, by metric, shape (n,).
        changed: one for each perturbation that applies to some pair.
        skipped: perturbations that apply to none, by name with the reason.
    """

    pairs: Pairs
    metrics: dict[str, Metric]
    scores: dict[str, Floats]
    changed: tuple[Changed, ...]
    skipped: dict[str, str]


def perturb(
    pairs: Pairs, perturbation: Perturbation, right: NDArray[np.bool_] | None, seed: int
) -> tuple[Pairs, NDArray[np.intp]]:
    """Return the changed pairs that a perturbation makes of a dataset, and their rows.

    Args:
        pairs: n pairs.
        perturbation: one that changes texts.
        right: which of the pairs people judged right, shape (n,); None where that is unknown.
        seed: of what it draws.

    Raises:
        UnavailableError: a perturbation of another package raised an error.
    """
    references, candidates, questions = pairs.texts()
    languages = [pairs.language] * len(pairs)
    if "language" in pairs.table.column_names:
        languages = pairs.table.column("language").to_pylist()
    whose = np.ones(len(pairs), dtype=bool)
    if right is not None and perturbation.pairs != "all":
        whose = right if perturbation.pairs == "right" else ~right
    rows: list[int] = []
    changed: list[TextPair] = []
    with code_of_others(f"the perturbation {perturbation.name!r} failed"):
        for row in np.flatnonzero(whose).tolist():
            golds = references[row]
            before = TextPair(
                (golds,) if isinstance(golds, str) else tuple(golds),
                candidates[row],
                questions[row] if questions else "",
                languages[row],
            )
            after = perturbation.apply(before, seed)
            if after is not None:
                rows.append(row)
                changed.append(after)
    taken = pairs.take(rows)
    return _with_texts(taken, changed, f"{pairs.name} · {perturbation.name}"), np.array(rows, dtype=np.intp)


def _with_texts(pairs: Pairs, texts: Sequence[TextPair], name: str) -> Pairs:
    """Return the pairs with other texts, under another name and without graphs, which are those of the old texts."""
    import pyarrow as pa

    graphs = [column for column in GRAPH_COLUMNS if column in pairs.table.column_names]
    changed = replace(pairs, table=pairs.table.drop_columns(graphs), name=name)
    kind = pairs.table.schema.field("reference").type
    references = [list(pair.references) if pairs.has_several_references else pair.references[0] for pair in texts]
    changed = changed.with_column("reference", pa.array(references, kind))
    changed = changed.with_column("candidate", pa.array([pair.candidate for pair in texts], pa.string()))
    if "question" in changed.table.column_names:
        changed = changed.with_column("question", pa.array([pair.question for pair in texts], pa.string()))
    return changed


@dataclass(frozen=True)
class PerturbedPlan:
    """What is scored: datasets before and after changes of their texts, then metrics with other options.

    Attributes:
        request: the datasets as they were, with their rows chosen, and the metrics.
        changed: by dataset, each perturbation with the changed pairs that it makes and their rows.
        skipped: by dataset, perturbations that apply to none of its pairs, or to no metric, with the reason.
        others: each perturbation of an option, with the metrics that have its other value, by the metric's own name.
        failures: lines on perturbations that failed.
    """

    request: Request
    changed: dict[str, list[tuple[Perturbation, Pairs, NDArray[np.intp]]]]
    skipped: dict[str, dict[str, str]]
    others: list[tuple[Perturbation, dict[str, Metric]]]
    failures: list[str]

    @property
    def of_texts(self) -> Request:
        """The request for the pairs before and after changes of texts."""
        everything = [pairs for of_one in self.changed.values() for _, pairs, _ in of_one]
        return replace(self.request, pairs=(*self.request.pairs, *everything))

    def of_metrics(self, others: Mapping[str, Metric]) -> Request:
        """Return the request for the pairs as they were under other metrics."""
        return replace(self.request, metrics=tuple(others.values()), absent={})


def plan_perturbed(
    request: Request,
    perturbations: Sequence[Perturbation],
    right: Mapping[str, NDArray[np.bool_] | None],
    seed: int,
) -> PerturbedPlan:
    """Return what perturbations make of the datasets and the metrics of a request.

    Args:
        request: the datasets, with their rows chosen, and the metrics.
        perturbations: changes of texts, and of options of metrics.
        right: by dataset, which pairs people judged right, or None.
        seed: of what perturbations draw.
    """
    names = [pairs.name for pairs in request.pairs]
    plan = PerturbedPlan(request, {name: [] for name in names}, {name: {} for name in names}, [], [])
    for perturbation in perturbations:
        if perturbation.change is None:
            _plan_option(plan, perturbation)
            continue
        for pairs in request.pairs:
            try:
                texts, rows = perturb(pairs, perturbation, right[pairs.name], seed)
            except UnavailableError as error:
                plan.failures.append(str(error))
                break
            if len(rows):
                plan.changed[pairs.name].append((perturbation, texts, rows))
            else:
                plan.skipped[pairs.name][perturbation.name] = "it applies to none of the pairs"
    return plan


def _plan_option(plan: PerturbedPlan, perturbation: Perturbation) -> None:
    """Add the metrics that have an option with another value of it to a plan, or why there are none."""
    others: dict[str, Metric] = {}
    for metric in plan.request.metrics:
        if perturbation.option in describe_options(type(metric)) and metric.takes(perturbation.option):
            try:
                others[str(metric)] = _rebuilt(metric, perturbation)
            except InputError as error:
                plan.failures.append(f"{perturbation.name}: {error}")
    if others:
        plan.others.append((perturbation, others))
        return
    for skipped in plan.skipped.values():
        skipped[perturbation.name] = f"no metric has the option {perturbation.option}"


def _rebuilt(metric: Metric, perturbation: Perturbation) -> Metric:
    """Return the metric with the other value of an option.

    Raises:
        InputError: the metric cannot have it.
    """
    if perturbation.other is None:
        raise InputError(f"perturbation {perturbation.name!r}: has no other value of {perturbation.option}")
    return replace(metric, **{perturbation.option: perturbation.other(getattr(metric, perturbation.option))})


def score_perturbed(
    plan: PerturbedPlan, score: Callable[[Request], Outcome]
) -> tuple[list[PerturbedScores], list[str]]:
    """Return the scores of each dataset before and after each perturbation, and lines on what failed.

    Args:
        plan: what is scored.
        score: scores a request, see :func:`~assay.benchmark.runner.score_pairs`.
    """
    request = plan.request
    outcome = score(plan.of_texts)
    failures = [*plan.failures, *_failures(outcome, request)]
    scores = {dataset.pairs.name: dataset.scores for dataset in outcome.datasets}
    changed = {
        name: [Changed(perturbation, rows, scores[texts.name], texts) for perturbation, texts, rows in of_one]
        for name, of_one in plan.changed.items()
    }
    for perturbation, others in plan.others:
        outcome = score(plan.of_metrics(others))
        failures += _failures(outcome, request)
        for dataset in outcome.datasets:
            known = {name: dataset.scores[str(other)] for name, other in others.items() if str(other) in dataset.scores}
            changed[dataset.pairs.name].append(Changed(perturbation, np.arange(len(dataset.pairs)), known))
    results = []
    for pairs in request.pairs:
        base = scores[pairs.name]
        scored = {str(metric): metric for metric in request.metrics if str(metric) in base}
        results.append(PerturbedScores(pairs, scored, base, tuple(changed[pairs.name]), plan.skipped[pairs.name]))
    return results, list(dict.fromkeys(failures))


def _failures(outcome: Outcome, request: Request) -> list[str]:
    """Return a line for each metric that gave no scores of a dataset as it was, or of a changed one."""
    lines = {}
    originals = {pairs.name for pairs in request.pairs}
    # changed texts have no graphs
    of_graphs = {str(metric) for metric in request.metrics if metric.declaration.reads_graphs}
    for record in sorted(outcome.metrics, key=lambda record: record.dataset not in originals):
        if record.is_done or (record.metric in of_graphs and record.dataset not in originals):
            continue
        if record.metric not in lines:
            remedy = f" -> {record.remedy}" if record.remedy else ""
            lines[record.metric] = f"metric {record.metric} on {record.dataset}: {record.reason}{remedy}"
    return list(lines.values())
