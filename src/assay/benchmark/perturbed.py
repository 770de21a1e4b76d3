"""Pairs under perturbations, scored like any others: through the store, with the metrics of an engine together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assay.benchmark.records import DatasetScores, Outcome
from assay.benchmark.request import Request
from assay.common.messages import Message
from assay.common.tables import GRAPH_COLUMNS
from assay.exceptions import InputError, UnavailableError, unavailable_on_error
from assay.metrics import Metric
from assay.metrics.name import options_of
from assay.perturbations import Perturbation, TextPair

if TYPE_CHECKING:
    from assay.datasets import Pairs

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ChangedScores:
    """The scores of the pairs that one perturbation changed.

    Attributes:
        perturbation: the perturbation.
        rows: the indices of the k pairs that it applies to, ascending, shape (k,).
        scores: the scores of the changed pairs by metric, shape (k,); NaN for a pair without a score.
        texts: the changed pairs, k rows; None if the perturbation changed an option of metrics and no text.
    """

    perturbation: Perturbation
    rows: NDArray[np.intp]
    scores: dict[str, Floats]
    texts: Pairs | None = None


@dataclass(frozen=True)
class PerturbedScores:
    """The scores of a dataset before and after each perturbation.

    Attributes:
        pairs: the n original pairs.
        metrics: the metrics that returned scores, by name.
        scores: the scores of the original pairs by metric, shape (n,).
        changed: one entry per perturbation that applies to some pair.
        skipped: the reasons why other perturbations were skipped, by name of the perturbation.
    """

    pairs: Pairs
    metrics: dict[str, Metric]
    scores: dict[str, Floats]
    changed: tuple[ChangedScores, ...]
    skipped: dict[str, str]


def perturb_pairs(
    pairs: Pairs, perturbation: Perturbation, right: NDArray[np.bool_] | None, seed: int
) -> tuple[Pairs, NDArray[np.intp]]:
    """Return the pairs of a dataset that a perturbation changes, with their new texts.

    Args:
        pairs: n pairs.
        perturbation: a perturbation of texts.
        right: True for each pair that people judged right, shape (n,); None if unknown: any pair may then be changed.
        seed: the seed of the perturbation's random choices.

    Returns:
        The k changed pairs, and their rows in *pairs*, ascending, shape (k,).

    Raises:
        UnavailableError: a perturbation of another package raised an error.
    """
    references, candidates, questions = pairs.texts()
    languages = [pairs.language] * len(pairs)
    if "language" in pairs.table.column_names:
        languages = pairs.table.column("language").to_pylist()
    eligible = np.ones(len(pairs), dtype=bool)
    if right is not None and perturbation.pairs != "all":
        eligible = right if perturbation.pairs == "right" else ~right
    rows: list[int] = []
    changed: list[TextPair] = []
    with unavailable_on_error(f"the perturbation {perturbation.name!r} failed"):
        for row in np.flatnonzero(eligible).tolist():
            gold_answers = references[row]
            before = TextPair(
                (gold_answers,) if isinstance(gold_answers, str) else tuple(gold_answers),
                candidates[row],
                questions[row] if questions else "",
                languages[row],
            )
            after = perturbation.apply(before, seed)
            if after is not None:
                rows.append(row)
                changed.append(after)
    originals = pairs.take(rows)
    return _replace_texts(originals, changed, f"{pairs.name} · {perturbation.name}"), np.array(rows, dtype=np.intp)


def _replace_texts(pairs: Pairs, texts: Sequence[TextPair], name: str) -> Pairs:
    """Return the pairs with new texts and a new name; graphs, which belong to the old texts, are dropped."""
    import pyarrow as pa

    graphs = [column for column in GRAPH_COLUMNS if column in pairs.table.column_names]
    changed = replace(pairs, table=pairs.table.drop_columns(graphs), name=name)
    references: list[list[str]] | list[str] = [pair.references[0] for pair in texts]
    if pairs.has_several_references:
        references = [list(pair.references) for pair in texts]
    changed = changed.with_column("reference", pa.array(references, pairs.table.schema.field("reference").type))
    changed = changed.with_column("candidate", pa.array([pair.candidate for pair in texts], pa.string()))
    if "question" in changed.table.column_names:
        changed = changed.with_column("question", pa.array([pair.question for pair in texts], pa.string()))
    return changed


@dataclass(frozen=True)
class PerturbedPlan:
    """The datasets and metrics to score: datasets before and after changes, then metrics with changed options.

    Attributes:
        request: the original datasets, with their rows chosen, and the metrics.
        changed: for each dataset, each perturbation with the changed pairs and their rows.
        skipped: for each dataset, why perturbations are skipped, by name of the perturbation.
        changed_metrics: each perturbation of an option with the changed metrics, by the name of the original metric.
        failures: one line per failed perturbation.
    """

    request: Request
    changed: dict[str, list[tuple[Perturbation, Pairs, NDArray[np.intp]]]]
    skipped: dict[str, dict[str, str]]
    changed_metrics: list[tuple[Perturbation, dict[str, Metric]]]
    failures: list[str]

    @property
    def request_of_texts(self) -> Request:
        """The request for the pairs before and after changes of texts."""
        changed_pairs = [pairs for changes in self.changed.values() for _, pairs, _ in changes]
        return replace(self.request, pairs=(*self.request.pairs, *changed_pairs))

    def request_of_metrics(self, changed_metrics: Mapping[str, Metric]) -> Request:
        """Return the request for the original pairs under changed metrics."""
        return replace(self.request, metrics=tuple(changed_metrics.values()), absent={})


def plan_perturbed(
    request: Request,
    perturbations: Sequence[Perturbation],
    right: Mapping[str, NDArray[np.bool_] | None],
    seed: int,
) -> PerturbedPlan:
    """Return the changed datasets and metrics that perturbations make from a request.

    The plan also records the perturbations that apply to nothing, and those that failed.

    Args:
        request: the datasets, with their rows chosen, and the metrics.
        perturbations: perturbations of texts and of options of metrics.
        right: for each dataset, True for each pair that people judged right, or None if unknown.
        seed: the seed of the perturbations' random choices.
    """
    names = [pairs.name for pairs in request.pairs]
    plan = PerturbedPlan(request, {name: [] for name in names}, {name: {} for name in names}, [], [])
    for perturbation in perturbations:
        if perturbation.change is None:
            _plan_option(plan, perturbation)
            continue
        for pairs in request.pairs:
            try:
                texts, rows = perturb_pairs(pairs, perturbation, right[pairs.name], seed)
            except UnavailableError as error:
                plan.failures.append(error.message)
                break
            if len(rows):
                plan.changed[pairs.name].append((perturbation, texts, rows))
            else:
                plan.skipped[pairs.name][perturbation.name] = "it applies to none of the pairs"
    return plan


def _plan_option(plan: PerturbedPlan, perturbation: Perturbation) -> None:
    """Add the metrics with a changed option to a plan.

    A metric that does not accept the changed option is recorded as a failure. If no metric is left, the perturbation is
    skipped for every dataset.
    """
    changed_metrics: dict[str, Metric] = {}
    for metric in plan.request.metrics:
        if perturbation.option in options_of(type(metric)) and metric.takes(perturbation.option):
            try:
                changed_metrics[str(metric)] = _metric_with_changed_option(metric, perturbation)
            except InputError as error:
                plan.failures.append(Message(f"{perturbation.name}: ", error.message))
    if changed_metrics:
        plan.changed_metrics.append((perturbation, changed_metrics))
        return
    for skipped in plan.skipped.values():
        skipped[perturbation.name] = f"no metric has the option {perturbation.option}"


def _metric_with_changed_option(metric: Metric, perturbation: Perturbation) -> Metric:
    """Return the metric with a perturbation's other value of an option.

    Raises:
        InputError: there is no other value, or the metric does not accept it.
    """
    if perturbation.other is None:
        raise InputError(f"perturbation {perturbation.name!r}: has no other value of {perturbation.option}")
    return replace(metric, **{perturbation.option: perturbation.other(getattr(metric, perturbation.option))})


def score_perturbed(
    plan: PerturbedPlan, score: Callable[[Request], Outcome]
) -> tuple[list[PerturbedScores], list[str]]:
    """Return the scores of each dataset before and after each perturbation, and one line per failure.

    Args:
        plan: the datasets and metrics to score.
        score: a function that scores a request, such as :func:`~assay.benchmark.runner.score_pairs`; called once for
            all changes of texts, and once for each changed option.
    """
    request = plan.request
    outcome = score(plan.request_of_texts)
    failures = [*plan.failures, *_failure_lines(outcome, request)]
    scores = {dataset.pairs.name: dataset.scores for dataset in outcome.datasets}
    changed: dict[str, list[ChangedScores]] = {}
    for name, changes in plan.changed.items():
        changed[name] = []
        for perturbation, texts, rows in changes:
            changed[name].append(ChangedScores(perturbation, rows, scores[texts.name], texts))
    for perturbation, changed_metrics in plan.changed_metrics:
        outcome = score(plan.request_of_metrics(changed_metrics))
        failures += _failure_lines(outcome, request)
        for dataset in outcome.datasets:
            changed[dataset.pairs.name].append(_scores_of_changed_option(dataset, perturbation, changed_metrics))
    results = []
    for pairs in request.pairs:
        original_scores = scores[pairs.name]
        scored_metrics = {str(metric): metric for metric in request.metrics if str(metric) in original_scores}
        changes_of_pairs = tuple(changed[pairs.name])
        results.append(
            PerturbedScores(pairs, scored_metrics, original_scores, changes_of_pairs, plan.skipped[pairs.name])
        )
    return results, list(dict.fromkeys(failures))


def _scores_of_changed_option(
    dataset: DatasetScores, perturbation: Perturbation, changed_metrics: Mapping[str, Metric]
) -> ChangedScores:
    """Return the scores of all pairs of a dataset under metrics with a changed option.

    Args:
        dataset: the pairs with the scores of the changed metrics that gave some.
        perturbation: the perturbation of the option.
        changed_metrics: the changed metrics by the name of the original one, which the scores are returned under.
    """
    by_metric = {}
    for name, changed_metric in changed_metrics.items():
        if str(changed_metric) in dataset.scores:
            by_metric[name] = dataset.scores[str(changed_metric)]
    return ChangedScores(perturbation, np.arange(len(dataset.pairs)), by_metric)


def _failure_lines(outcome: Outcome, request: Request) -> list[str]:
    """Return one line per metric that lacks the scores of a dataset, with the first such dataset, originals first.

    A metric of graphs has none for changed texts, on which it always fails.
    """
    lines: dict[str, str] = {}
    originals = {pairs.name for pairs in request.pairs}
    graph_metrics = {str(metric) for metric in request.metrics if metric.declaration.reads_graphs}
    for record in sorted(outcome.metrics, key=lambda record: record.dataset not in originals):
        # changed texts have no graphs, so that a metric of graphs is expected to fail on them
        is_expected = record.metric in graph_metrics and record.dataset not in originals
        if not record.is_done and not is_expected and record.metric not in lines:
            remedy = Message(" -> ", record.remedy) if record.remedy else ""
            lines[record.metric] = Message(f"metric {record.metric} on {record.dataset}: ", record.reason, remedy)
    return list(lines.values())
