"""Adjusted agreement over all pairs: with quantities held constant, or corrected for the noise in labels.

A control names quantities as a bucket rule does: ``length``, ``f1``, ``number`` or a column, joined by ``+``. It adds
two blocks to the agreement table: ``all given length``, the partial correlation, and ``all within length``, the mean
over strata. If pairs have several labels, ``all disattenuated`` is corrected for their noise. If these are votes of yes
and no, ``all against the majority`` and ``all against annotator 1`` compare scores with labels of two values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assay.benchmark.buckets import ALL, QUANTITIES, parse_rule, quantity_values, split_into_buckets
from assay.exceptions import InputError
from assay.statistics.agreement import Estimate, agreement
from assay.statistics.attenuation import disattenuated_agreement
from assay.statistics.coefficients import OF_VOTES
from assay.statistics.partial import MOST_NAMED, partial_agreement, stratified_agreement
from assay.statistics.reliability import are_means
from assay.statistics.votes import references_of_votes, votes_of

if TYPE_CHECKING:
    from assay.datasets import Pairs

#: A numeric column with at most this many values has one stratum per value, any other has its quarters as strata.
MAX_VALUES = 10


@dataclass(frozen=True)
class Control:
    """The quantities of n pairs that agreement is adjusted for.

    Attributes:
        rule: the rule as it was requested.
        quantities: the quantities by name, shape (n,), NaN where unknown; empty if one of them is not numeric.
        strata: the mask of the pairs in each stratum by its name, shape (n,).
    """

    rule: str
    quantities: dict[str, NDArray[np.float64]] = field(repr=False)
    strata: dict[str, NDArray[np.bool_]] = field(repr=False)


@dataclass(frozen=True)
class AdjustedBlock:
    """A block of the agreement table.

    Attributes:
        name: the name of the block, which takes the place of a bucket.
        about: an explanation for readers.
        estimates: the adjusted estimates.
        n: the number of pairs whose labels and controls are known; an estimate rests on those of them with a score.
    """

    name: str
    about: str
    estimates: list[Estimate]
    n: int


def check_controls(rules: Sequence[str]) -> None:
    """Raise InputError for a control that cannot be parsed, occurs twice, has a condition, or cannot be held constant.

    The last are the label, ``none`` and ``all``.
    """
    for rule in rules:
        if rules.count(rule) > 1:
            raise InputError("is asked for twice", setting="controls", value=rule)
        for term in parse_rule(rule):
            if term.op or term.name in ("label", "none", ALL):
                raise InputError(
                    "name what is held constant: length, f1, number or a column; with edges, such "
                    "as f1:0,0.5,1, for strata of your own",
                    setting="controls",
                    value=rule,
                )


def make_controls(
    pairs: Pairs, rules: Sequence[str], token_f1: Callable[[], NDArray[np.float64]]
) -> tuple[Control, ...]:
    """Return one control per rule, in the order of the rules.

    Args:
        pairs: n pairs.
        rules: the rules of the controls, whose columns the dataset has.
        token_f1: a function that returns the token F1 of every pair, shape (n,); called only if a control needs it.

    Raises:
        InputError: a rule cannot be parsed or makes too many strata, or its column is missing or cannot be read, such
            as one of lists.
    """
    return tuple(_make_control(pairs, rule, token_f1) for rule in rules)


def _make_control(pairs: Pairs, rule: str, token_f1: Callable[[], NDArray[np.float64]]) -> Control:
    """Return the control of a rule; its strata are the buckets of the rule.

    A column of more than :data:`MAX_VALUES` distinct numbers without edges in the rule is divided into quarters.
    """
    terms = parse_rule(rule)
    quantities = {term.name: quantity_values(pairs, term, token_f1) for term in terms}
    numbers = {name: values for name, values in quantities.items() if values.dtype.kind == "f"}
    stratum_terms = []
    for term in terms:
        # computed quantities have default ranges of their own
        has_ranges = bool(term.edges) or term.name in QUANTITIES
        is_divided = term.name in numbers and not has_ranges
        stratum_terms.append(term.text + (_quarter_edges(numbers[term.name]) if is_divided else ""))
    buckets = split_into_buckets(pairs, ("+".join(stratum_terms),), token_f1)
    strata = {bucket.name: bucket.mask for bucket in buckets if bucket.name != ALL}
    are_all_numeric = len(numbers) == len(quantities)
    return Control(rule, numbers if are_all_numeric else {}, strata)


def _quarter_edges(values: NDArray[np.float64]) -> str:
    """Return the edges that divide the numbers of a column into quarters, as they are written in a rule.

    NaN is left out, and equal edges are written once, so that there may be fewer than four ranges. The text is empty
    for a column of at most :data:`MAX_VALUES` distinct numbers.
    """
    finite_values = values[np.isfinite(values)]
    if len(np.unique(finite_values)) <= MAX_VALUES:
        return ""
    edges = np.unique(np.quantile(finite_values, [0, 0.25, 0.5, 0.75, 1]))
    # with all digits, since a rounded last edge could be below the highest value
    return ":" + ",".join(repr(float(edge)) for edge in edges)


def adjusted_blocks(
    controls: Sequence[Control],
    scores: dict[str, NDArray[np.float64]],
    labels: NDArray[np.float64],
    annotations: NDArray[np.float64] | None,
    label_reliability: Mapping[str, float | None] | None = None,
    **settings: Any,
) -> list[AdjustedBlock]:
    """Return the blocks of all controls in order, and then the block of disattenuated agreement if it is defined.

    A control has a block of partial correlations if its quantities are numeric, and then a block of means over its
    strata. Disattenuated agreement is undefined if the reliability of the labels is unknown, as it is for labels that
    are not the means of the annotations, and if none of the statistics can be corrected.

    Args:
        controls: the controls of the n pairs.
        scores: the scores by metric, shape (n,).
        labels: the labels, shape (n,).
        annotations: the annotators' labels, shape (n, annotators), NaN for a missing label; None if there are none.
        label_reliability: the reliability of the labels by correlation, None for one without; None to compute it.
        **settings: the statistics, confidence, resamples, seed and groups of the agreement over all pairs.
    """
    blocks = []
    for control in controls:
        if control.quantities:
            blocks.append(_partial_correlation_block(control, scores, labels, settings))
        if control.strata:
            blocks.append(_strata_block(control, scores, labels, settings))
    if annotations is not None and are_means(labels, annotations):
        estimates = disattenuated_agreement(
            scores, labels, annotations, label_reliability=label_reliability, **settings
        )
        explanation = "corrected for the noise in the labels: over the root of their reliability, which may exceed 1"
        if estimates:
            blocks.append(AdjustedBlock(f"{ALL} disattenuated", explanation, estimates, len(labels)))
    return blocks


def vote_blocks(
    scores: Mapping[str, NDArray[np.float64]],
    labels: NDArray[np.float64],
    annotations: NDArray[np.float64],
    *,
    seed: tuple[int, ...],
    groups: NDArray[np.intp] | None,
    **settings: Any,
) -> list[AdjustedBlock]:
    """Return the agreement with the majority of votes of yes and no, and with each annotator, as one block each.

    The list is empty if the labels are not votes, or if nobody disagrees or is unsure. Labels that do not have two
    values get no block, nor do annotators if there are more than :data:`~assay.statistics.votes.MAX_ANNOTATORS`, or if
    the labels of each pair are sorted, so that no column is one annotator.

    Args:
        scores: the scores by metric, shape (n,).
        labels: the labels, shape (n,).
        annotations: the annotators' labels, shape (n, annotators), one column per annotator, NaN for a missing label.
        seed, groups: the seed of the resamples, and the group code of each pair; None without groups.
        **settings: the statistics, confidence, resamples and interval of the agreement over all pairs.
    """
    votes = votes_of(labels, annotations)
    if votes is None or votes.statistic != OF_VOTES:
        return []
    blocks = []
    for name, own_labels in references_of_votes(votes, annotations).items():
        is_labelled = np.isfinite(own_labels)
        # numbered anew from 0, since some groups may have no labelled pair
        own_groups = None if groups is None else np.unique(groups[is_labelled], return_inverse=True)[1]
        estimates = agreement(
            {metric: values[is_labelled] for metric, values in scores.items()},
            own_labels[is_labelled],
            seed=seed,
            groups=own_groups,
            **settings,
        )
        explanation = f"against {name}, of the votes whose mean is the label"
        blocks.append(AdjustedBlock(f"{ALL} against {name}", explanation, estimates, int(is_labelled.sum())))
    return blocks


def _partial_correlation_block(
    control: Control, scores: dict[str, NDArray[np.float64]], labels: NDArray[np.float64], settings: dict[str, Any]
) -> AdjustedBlock:
    """Return the block of partial correlations with the quantities of a control held constant.

    It rests on the pairs of which every quantity is known.
    """
    covariates = list(control.quantities.values())
    is_known = np.all([np.isfinite(values) for values in covariates], axis=0)
    estimates = partial_agreement(scores, labels, covariates, **settings)
    explanation = f"partial correlation: {' and '.join(control.quantities)} held constant"
    return AdjustedBlock(f"{ALL} given {control.rule}", explanation, estimates, int(is_known.sum()))


def _strata_block(
    control: Control, scores: dict[str, NDArray[np.float64]], labels: NDArray[np.float64], settings: dict[str, Any]
) -> AdjustedBlock:
    """Return the block of means over the strata of a control.

    Its explanation lists the size of each stratum; for more than :data:`MOST_NAMED` strata, it gives their number and
    the smallest and largest size.
    """
    is_in_stratum = np.any(list(control.strata.values()), axis=0)
    estimates = stratified_agreement(scores, labels, control.strata, **settings)
    counts = {name: int(mask.sum()) for name, mask in control.strata.items()}
    sizes = ", ".join(f"{name}: {n:,}" for name, n in counts.items())
    if len(counts) > MOST_NAMED:
        # once if all strata have the same size
        extremes = dict.fromkeys(f"{n:,}" for n in (min(counts.values()), max(counts.values())))
        sizes = f"{len(counts):,} strata of {' to '.join(extremes)} pairs"
    explanation = f"mean over strata, weighted by their pairs ({sizes})"
    return AdjustedBlock(f"{ALL} within {control.rule}", explanation, estimates, int(is_in_stratum.sum()))
