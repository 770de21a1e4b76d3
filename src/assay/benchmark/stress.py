"""Effects of perturbations on the scores and verdicts of a metric on a dataset."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.analysis.data import ALL
from assay.analysis.pair_codes import keys_of_texts
from assay.analysis.stress import (
    FOLDS,
    Effect,
    Example,
    StressSettings,
    Subject,
    effects_and_violations,
    learned_thresholds,
    mean_estimates,
)
from assay.benchmark.perturbed import ChangedScores, PerturbedScores
from assay.common.messages import Message, Setting
from assay.datasets import Pairs
from assay.exceptions import InputError
from assay.metrics import Metric
from assay.statistics.concordance import Floats
from assay.statistics.crossvalidation import Rows, codes_of
from assay.statistics.resampling import seed_of


@dataclass(frozen=True)
class Source:
    """A dataset in a stress test.

    Attributes:
        pairs: the n original pairs.
        title: the name of the dataset in tables.
        groups: the group code of each pair, shape (n,), for resampling whole groups; None to resample single pairs.
        right: which pairs people judged right, shape (n,); None if unknown.
        no_verdict_reason: the reason why people's verdicts are unknown, for a note; empty if they are known.
        hints: hints on possible mistakes, such as groups that were not named.
    """

    pairs: Pairs
    title: str
    groups: Rows | None
    right: NDArray[np.bool_] | None
    no_verdict_reason: str
    hints: tuple[str, ...]


def stress_subject(source: Source, scored: PerturbedScores, metric_name: str, settings: StressSettings) -> Subject:
    """Return the effects of all perturbations on one metric and dataset, and how far the metric agrees with people.

    Perturbations without scores of the metric are left out. The agreement is the share of pairs with equal verdicts;
    None if the verdicts of people or of the metric are unknown.

    Args:
        source: the dataset.
        scored: the scores of its original and of its changed pairs.
        metric_name: the name of the metric, one of those that scored the dataset.
        settings: the settings of the stress test.
    """
    metric = scored.metrics[metric_name]
    sign = 1.0 if metric.declaration.higher_is_better else -1.0
    original_scores = sign * scored.scores[metric_name]
    thresholds, verdicts, notes = _thresholds_of_pairs(source, metric, original_scores, settings)
    if sign < 0:
        notes.append("its scores fall with similarity: shifts have their sign turned")
    agreement = None
    has_verdict = np.isfinite(thresholds) & np.isfinite(original_scores)
    if source.right is not None and has_verdict.any():
        agrees = (original_scores >= thresholds) == source.right
        agreement = float(agrees[has_verdict].mean())
    effects = []
    for changed in scored.changed:
        if metric_name in changed.scores:
            effects.append(
                _perturbation_effect(source, scored.pairs, changed, metric, original_scores, thresholds, settings)
            )
    return Subject(
        dataset=source.pairs.name,
        title=source.title,
        metric=metric_name,
        n=len(source.pairs),
        verdicts=verdicts,
        agreement=agreement,
        effects=tuple(effects),
        signature=metric.short_signature(),
        notes=tuple(notes),
    )


def _thresholds_of_pairs(
    source: Source, metric: Metric, scores: Floats, settings: StressSettings
) -> tuple[Floats, str, list[str]]:
    """Return the threshold of each pair, a description of its origin, and notes.

    Args:
        source: the dataset, n pairs.
        metric: the metric.
        scores: the scores of the metric, shape (n,), with their sign such that they rise with similarity.
        settings: the settings of the stress test.

    Returns:
        The thresholds, shape (n,), on the scale of *scores*; without verdicts all are NaN and the description is empty.
    """
    declared = metric.declaration
    sign, direction = (1.0, "from") if declared.higher_is_better else (-1.0, "up to")
    if settings.threshold is not None:
        return np.full(len(scores), sign * settings.threshold), f"yes {direction} {settings.threshold:g}", []
    if declared.kind == "judge" and (declared.low, declared.high) == (0.0, 1.0):
        return np.full(len(scores), 0.5), "yes from .5, as the score is a probability", []
    undefined = np.full(len(scores), np.nan)
    if source.right is None:
        return undefined, "", [Message("no verdicts: ", source.no_verdict_reason)]
    references, candidates, _ = source.pairs.texts()
    gold_answers = [[text] if isinstance(text, str) else text for text in references]
    text_codes = codes_of(keys_of_texts(gold_answers, candidates))
    try:
        learned = learned_thresholds(str(metric), scores, source.right, text_codes, source.groups, settings.seed)
    except InputError as error:
        remedy = Setting("threshold", "SCORE")
        return undefined, "", [Message("no verdicts: ", error.message, "; or give ", remedy)]
    extremes = sorted({sign * np.nanmin(learned), sign * np.nanmax(learned)})
    # different numbers may be the same text
    distinct_texts = dict.fromkeys(f"{value:.3g}" for value in extremes)
    return learned, f"yes {direction} a threshold learned in {FOLDS} folds ({' to '.join(distinct_texts)})", []


def _perturbation_effect(
    source: Source,
    pairs: Pairs,
    changed: ChangedScores,
    metric: Metric,
    original_scores: Floats,
    thresholds: Floats,
    settings: StressSettings,
) -> Effect:
    """Return the effect of one perturbation on the scores of a metric, with the worst fooled pair as an example if any.

    Args:
        source: the dataset, n pairs.
        pairs: the scored pairs.
        changed: the changed pairs with their scores.
        metric: the metric.
        original_scores: the scores of the original pairs, shape (n,), rising with similarity; NaN if unscored.
        thresholds: the threshold of each original pair for such scores, shape (n,); NaN if there is none.
        settings: the settings of the stress test.
    """
    perturbation = changed.perturbation
    sign = 1.0 if metric.declaration.higher_is_better else -1.0
    changed_scores = sign * changed.scores[str(metric)]
    is_scored = np.isfinite(original_scores[changed.rows]) & np.isfinite(changed_scores)
    rows = changed.rows[is_scored]
    before, after = original_scores[rows], changed_scores[is_scored]
    tolerance = metric.declaration.tolerance
    violations, fooled = effects_and_violations(perturbation.expected, before, after, thresholds[rows], tolerance)
    seed = seed_of(settings.seed, pairs.name, pairs.split, f"{ALL}|{perturbation.name}")
    groups = None if source.groups is None else source.groups[rows]
    estimated = mean_estimates({**violations, "fooled": fooled}, settings, seed, groups)
    example = None
    if changed.texts is not None and (fooled == 1).any():
        fooled_positions = np.flatnonzero(fooled == 1)
        severity = after if perturbation.expected == "negative" else np.abs(after - before)
        worst = int(fooled_positions[np.argmax(severity[fooled_positions])])
        example = _example_pair(pairs, changed, int(rows[worst]), sign * before[worst], sign * after[worst])
    return Effect(
        perturbation=perturbation.name,
        summary=perturbation.summary,
        expected=perturbation.expected,
        n=len(rows),
        unscored=int((~is_scored).sum()),
        example=example,
        **estimated,
    )


def _example_pair(pairs: Pairs, changed: ChangedScores, row: int, before: float, after: float) -> Example | None:
    """Return the texts and scores of one pair before and after its change; None if the changed texts were not kept.

    Args:
        pairs: the original pairs.
        changed: the changed pairs.
        row: the index of the pair among the original ones.
        before, after: its scores before and after the change, as the metric gave them.
    """
    if changed.texts is None:
        return None
    references, candidates, questions = pairs.texts(row, row + 1)
    position = int(np.searchsorted(changed.rows, row))
    _, changed_candidates, _ = changed.texts.texts(position, position + 1)
    golds = references[0]
    return Example(
        question=questions[0] if questions else "",
        reference=golds if isinstance(golds, str) else " | ".join(golds),
        candidate=candidates[0],
        changed=changed_candidates[0],
        before=float(before),
        after=float(after),
    )
