"""What the labels of a dataset are like: their distribution, the ceiling of a score, how far annotators agree."""

from __future__ import annotations

from itertools import chain, pairwise
from typing import Any

import numpy as np

from assay.common.numbers import label_texts
from assay.common.tables import annotations_of
from assay.datasets.pairs import Pairs
from assay.language.answer_tokens import answer_tokens
from assay.statistics.annotators import krippendorff_alpha
from assay.statistics.ceilings import tie_free_ceiling
from assay.statistics.coefficients import default_statistics
from assay.statistics.reliability import split_half_reliability

#: The largest number of distinct labels that are counted each; more are counted in this many equal parts of the scale.
MAX_COUNTED_LABELS, PARTS = 7, 5
#: The number of pairs that are shown of a dataset.
SAMPLES = 5
#: What a licence begins with if the authors state none; texts under it are not shown.
NO_LICENCE = "none stated"


def label_counts(pairs: Pairs) -> dict[str, int]:
    """Return the number of pairs with each label, or in each of five equal parts of the scale if there are many.

    More than seven distinct labels are many. If the scale is unknown, the parts are those of the range of the labels.
    Pairs without a label are not counted, and in parts of the scale those with a label outside of it neither.
    """
    labels = pairs.labels[~np.isnan(pairs.labels)]
    values, counts = np.unique(labels, return_counts=True)
    if len(values) <= MAX_COUNTED_LABELS:
        return dict(zip(label_texts(values.tolist()), counts.tolist(), strict=True))
    low, high = pairs.scale or (labels.min(), labels.max())
    counts, edges = np.histogram(labels, PARTS, (low, high))
    intervals = pairwise(label_texts(edges.tolist()))
    return {f"{start} to {end}": count for (start, end), count in zip(intervals, counts.tolist(), strict=True)}


def measure_labels(pairs: Pairs) -> dict[str, Any]:
    """Return measures of the labels as JSON values.

    ``split`` is the name of the split, ``labels`` has the counts of :func:`label_counts`, ``distinct`` what
    :func:`measure_distinct` returns, ``ceiling`` the highest value of each coefficient for a score without ties. With
    annotators, ``reliability`` has how many labels a pair has, what two halves of them share, the highest
    correlation of a metric that follows from it, and Krippendorff's alpha on the interval level. What cannot be
    measured is absent, such as the ceiling of a single label.
    """
    labels = pairs.labels[~np.isnan(pairs.labels)]
    measures: dict[str, Any] = {"split": pairs.split, "labels": label_counts(pairs)}
    if pairs.has_references and len(labels):
        measures["distinct"] = measure_distinct(pairs)
    if len(labels) > 1:
        measures["ceiling"] = tie_free_ceiling(labels, default_statistics([]))
    annotations = annotations_of(pairs.table)[0]
    reliability = None if annotations is None else split_half_reliability(annotations)
    if annotations is not None and reliability is not None:
        label_counts_of_pairs = (~np.isnan(annotations)).sum(axis=1)
        measures["reliability"] = {
            "fewest_labels": int(label_counts_of_pairs.min()),
            "most_labels": int(label_counts_of_pairs.max()),
            "pearson": reliability.pearson,
            "spearman": reliability.spearman,
            "bound_pearson": reliability.bound_pearson,
            "bound_spearman": reliability.bound_spearman,
            "alpha_interval": krippendorff_alpha(annotations, "interval"),
        }
    return measures


def measure_distinct(pairs: Pairs) -> dict[str, Any]:
    """Return measures of the pairs without duplicates as JSON values, as papers on answers print them.

    ``pairs`` is their number; ``no_common_token`` that of pairs whose candidate shares no token with any gold answer
    (token F1 = 0); ``label_shares`` the share of each label, in [0, 1]; ``reference_length`` and ``candidate_length``
    the mean length in characters, where every gold answer counts as a reference.
    """
    distinct, _ = pairs.drop_duplicates()
    references = distinct.table.column("reference").to_pylist()
    candidates = distinct.table.column("candidate").to_pylist()
    gold_answers = [[reference] if isinstance(reference, str) else reference for reference in references]
    without_common_token = 0
    for golds, candidate in zip(gold_answers, candidates, strict=True):
        without_common_token += not _share_a_token(golds, candidate)
    counts = label_counts(distinct)
    total = sum(counts.values())
    return {
        "pairs": len(distinct),
        "no_common_token": without_common_token,
        "label_shares": {label: count / total for label, count in counts.items()},
        "reference_length": float(np.mean([len(gold) for gold in chain.from_iterable(gold_answers)])),
        "candidate_length": float(np.mean([len(candidate) for candidate in candidates])),
    }


def _share_a_token(gold_answers: list[str], candidate: str) -> bool:
    """Tell whether token F1 is above 0 for one of the gold answers; two texts without a token count as equal."""
    tokens = set(answer_tokens(candidate))
    for gold in gold_answers:
        gold_tokens = set(answer_tokens(gold))
        if tokens & gold_tokens or not (tokens or gold_tokens):
            return True
    return False


def sample_pairs(pairs: Pairs) -> list[dict[str, Any]]:
    """Return up to five labelled pairs, spread evenly from the lowest to the highest label, each a dict by column.

    The columns are question (if the data has it), reference, candidate and label.
    """
    labelled = np.flatnonzero(~np.isnan(pairs.labels))
    order = labelled[np.argsort(pairs.labels[labelled], kind="stable")]
    positions = np.unique(np.linspace(0, len(order) - 1, min(SAMPLES, len(order))).round().astype(int))
    names = [name for name in ("question", "reference", "candidate", "label") if name in pairs.table.column_names]
    rows: list[dict[str, Any]] = pairs.take(order[positions]).table.select(names).to_pylist()
    return rows
