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


def score_perturbed(
    request: Request,
    perturbations: Sequence[Perturbation],
    right: Mapping[str, NDArray[np.bool_] | None],
    seed: int,
    score: Callable[[Request], Outcome],
) -> tuple[list[PerturbedScores], list[str]]:
    """Return the scores of the datasets of a request before and after each perturbation, and lines on what failed.

    Args:
        request: the datasets, with their rows chosen, and the metrics.
        perturbations: changes of texts, and of options of metrics.
        right: by dataset, which pairs people judged right, or None.
        seed: of what perturbations draw.
        score: scores a request, see :func:`~assay.benchmark.runner.score_pairs`.
    """
    failures: list[str] = []
    of_texts = [perturbation for perturbation in perturbations if perturbation.change is not None]
    changed: dict[str, list[tuple[Perturbation, Pairs, NDArray[np.intp]]]] = {}
    skipped: dict[str, dict[str, str]] = {}
    for pairs in request.pairs:
        changed[pairs.name], skipped[pairs.name] = [], {}
        for perturbation in of_texts:
            try:
                texts, rows = perturb(pairs, perturbation, right[pairs.name], seed)
            except UnavailableError as error:
                failures.append(str(error))
                continue
            if len(rows):
                changed[pairs.name].append((perturbation, texts, rows))
            else:
                skipped[pairs.name][perturbation.name] = "it applies to none of the pairs"
    everything = [texts for of_one in changed.values() for _, texts, _ in of_one]
    outcome = score(replace(request, pairs=(*request.pairs, *everything)))
    failures += _failures(outcome, request)
    scores = {dataset.pairs.name: dataset.scores for dataset in outcome.datasets}
    metrics = {str(metric): metric for metric in request.metrics}
    results = []
    for pairs in request.pairs:
        of_pairs = []
        for perturbation, texts, rows in changed[pairs.name]:
            of_pairs.append(Changed(perturbation, rows, scores[texts.name], texts))
        base = scores[pairs.name]
        scored = {name: metric for name, metric in metrics.items() if name in base}
        results.append(PerturbedScores(pairs, scored, base, tuple(of_pairs), skipped[pairs.name]))
    for perturbation in perturbations:
        if perturbation.change is None:
            results = _with_other_option(results, request, perturbation, score, failures)
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


def _with_other_option(
    results: Sequence[PerturbedScores],
    request: Request,
    perturbation: Perturbation,
    score: Callable[[Request], Outcome],
    failures: list[str],
) -> list[PerturbedScores]:
    """Return the results with the scores of the same pairs under metrics with another value of an option."""
    others: dict[str, Metric] = {}
    for metric in request.metrics:
        if perturbation.option in describe_options(type(metric)) and metric.takes(perturbation.option):
            try:
                others[str(metric)] = _rebuilt(metric, perturbation)
            except InputError as error:
                failures.append(f"{perturbation.name}: {error}")
    if not others:
        reason = f"no metric has the option {perturbation.option}"
        return [replace(one, skipped=one.skipped | {perturbation.name: reason}) for one in results]
    outcome = score(replace(request, metrics=tuple(others.values())))
    failures += _failures(outcome, request)
    completed = []
    for one, dataset in zip(results, outcome.datasets, strict=True):
        known = {name: dataset.scores[str(other)] for name, other in others.items() if str(other) in dataset.scores}
        changed = Changed(perturbation, np.arange(len(one.pairs)), known)
        completed.append(replace(one, changed=(*one.changed, changed)))
    return completed


def _rebuilt(metric: Metric, perturbation: Perturbation) -> Metric:
    """Return the metric with the other value of an option.

    Raises:
        InputError: the metric cannot have it.
    """
    if perturbation.other is None:
        raise InputError(f"perturbation {perturbation.name!r}: has no other value of {perturbation.option}")
    other = perturbation.other(getattr(metric, perturbation.option))
    return replace(metric, **{perturbation.option: other})
