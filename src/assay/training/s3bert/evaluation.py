"""How well sub-embeddings follow their aspects, in comparison with partitions of the untrained embedding, and whether
the whole embedding still agrees with people.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array
from scipy.stats import rankdata

from assay.exceptions import UnavailableError
from assay.metrics.aspects.layout import Layout
from assay.statistics.comparison import compare_all
from assay.training.data import Examples
from assay.training.evaluation import CONFIDENCE, merged_values, p_value_of_gains, standard_deviation
from assay.training.s3bert.targets import ScoredPairs

#: The indices of dimensions, or of rows.
Indices = NDArray[np.int64]


def random_dimensions(dimensions: int, aspects: int, width: int, seed: int) -> list[Indices]:
    """Return *width* dimensions for each aspect, ascending, drawn without overlap (SB-rand in Opitz and Frank 2022)."""
    drawn_dimensions = np.random.default_rng(seed).permutation(dimensions)[: aspects * width]
    return [np.sort(aspect_dimensions) for aspect_dimensions in drawn_dimensions.reshape(aspects, width)]


def dimension_weights(
    first: NDArray[np.float32], second: NDArray[np.float32], scores: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Return Spearman's rho of each dimension alone and each aspect, float64, shape (dimensions, aspects).

    The value of a dimension for a pair is what it adds to the cosine: the product of the two embeddings, each scaled to
    length 1, in this dimension. If the values or the scores are constant, the undefined coefficient is replaced by 0,
    since such a dimension is of no use.

    Args:
        first, second: the embeddings of n pairs, shape (n, dimensions).
        scores: the scores of the AMR metrics, shape (n, aspects).
    """
    products = _unit_length(first) * _unit_length(second)
    return _standardised_ranks(products).T @ _standardised_ranks(scores)


def assign_dimensions(weights: NDArray[np.float64], *, exactly: int | None = None) -> list[Indices]:
    """Return the dimensions of each aspect, ascending, as an integer program assigns them.

    The program, equations 7 to 9 in Opitz and Frank 2022, maximises the sum of the weights of the chosen edges, each
    between a dimension and an aspect. Every dimension goes to at most one aspect, and every aspect gets at least one
    dimension. A dimension without a positive weight may go to none.

    Args:
        weights: the weight of each edge, shape (dimensions, aspects).
        exactly: the number of dimensions of every aspect; None for at least one.

    Raises:
        UnavailableError: the solver found no optimum.
    """
    dimensions, aspects = weights.shape
    edges = np.arange(dimensions * aspects)
    # One constraint per dimension, then one per aspect; every edge counts in one of each.
    rows = np.concatenate([edges // aspects, dimensions + edges % aspects])
    matrix = coo_array((np.ones(2 * len(edges)), (rows, np.tile(edges, 2))), (dimensions + aspects, len(edges)))
    low = np.concatenate([np.zeros(dimensions), np.full(aspects, 1 if exactly is None else exactly)])
    high = np.concatenate([np.ones(dimensions), np.full(aspects, dimensions if exactly is None else exactly)])
    solution = milp(
        -weights.ravel(),
        integrality=np.ones(len(edges), dtype=np.int64),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(matrix.tocsr(), low, high),
    )
    if solution.status != 0 or solution.x is None:
        raise UnavailableError(f"the integer program of the partition has no solution ({solution.message})")
    # The solver returns 0 and 1 up to rounding.
    is_chosen = solution.x.reshape(dimensions, aspects) > 0.5
    return [np.flatnonzero(is_chosen[:, aspect]) for aspect in range(aspects)]


def _unit_length(embeddings: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return embeddings scaled to length 1, shape (n, dimensions); an embedding of zeros stays as it is."""
    unit: NDArray[np.float32] = embeddings / np.maximum(np.linalg.norm(embeddings, axis=1, keepdims=True), 1e-12)
    return unit


def _standardised_ranks(values: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the ranks of each column, centred and of length 1, shape (n, columns); zeros if a column is constant."""
    ranks = rankdata(values, axis=0)
    centred = ranks - ranks.mean(axis=0)
    length = np.linalg.norm(centred, axis=0)
    return np.where(length > 0, centred / np.where(length > 0, length, 1), 0.0)


#: The systems that are compared: the whole embedding of the base, and four ways to get a part for each aspect.
SYSTEMS = ("full", "random", "ilp", "ilp_even", "trained")
#: The systems against which the trained model is tested.
RIVALS = ("full", "ilp")
#: The number of resamples of the paired bootstrap.
RESAMPLES = 500
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Embedded:
    """Embeddings of texts before and after training.

    Attributes:
        numbers: the row of each text in the embeddings.
        base, trained: the embeddings, float32, shape (texts, dimensions); NaN for texts that are not compared.
    """

    numbers: Mapping[str, int]
    base: NDArray[np.float32]
    trained: NDArray[np.float32]

    def sides(self, references: Sequence[str], candidates: Sequence[str]) -> tuple[Indices, Indices]:
        """Return the rows of the references and of the candidates of n pairs, int64, shape (n,) each."""
        first = [self.numbers[text] for text in references]
        second = [self.numbers[text] for text in candidates]
        return np.array(first, dtype=np.int64), np.array(second, dtype=np.int64)


def cosines_over(
    first: NDArray[np.float32], second: NDArray[np.float32], dimensions: Indices | slice = slice(None)
) -> Floats:
    """Return the cosines of n pairs of embeddings over some dimensions, shape (n,); 0 where one is all zeros there."""
    left, right = first[:, dimensions].astype(np.float64), second[:, dimensions].astype(np.float64)
    lengths = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    return np.asarray((left * right).sum(axis=1) / np.where(lengths > 0, lengths, 1))


def aspect_correlations(
    dev: ScoredPairs, test: ScoredPairs, embedded: Embedded, layout: Layout, seed: int
) -> list[dict[str, Any]]:
    """Return for each aspect 100 times Spearman's rho of cosine and AMR metric on the test pairs and their negatives.

    As in table 1 of Opitz and Frank 2022, ``full`` is the cosine of the base's whole embeddings, and ``random`` and
    ``ilp`` are partitions of the base, the latter chosen on the development pairs; ``ilp_even`` has as many dimensions
    per aspect as the trained model. The differences of the trained model from ``full`` and ``ilp`` have intervals of a
    paired bootstrap and p of a two-sided jackknife t-test. Pairs that exchanged candidates are resampled, and left out
    by the jackknife, together. Other dependence, from a shared sentence or a group of the data, is ignored: where much
    is shared, the intervals are too short.

    Args:
        dev, test: the development and test pairs, each with its negatives.
        embedded: the embeddings of their texts.
        layout: the dimensions of each aspect in the trained model; all aspects have the same number.
        seed: the seed of the random partition and of the resamples.

    Returns:
        One record per aspect: ``aspect``, a value for each of :data:`SYSTEMS`, and for each rival the difference
        ``over_RIVAL`` and the bounds ``low_RIVAL`` and ``high_RIVAL``, times 100 as well, and ``p_RIVAL``; None if
        undefined.

    Raises:
        UnavailableError: a partition cannot be found.
    """
    _, first_start, first_stop = layout.aspects[0]
    width = first_stop - first_start
    dev_left, dev_right = embedded.sides(dev.references, dev.candidates)
    weights = dimension_weights(embedded.base[dev_left], embedded.base[dev_right], dev.scores)
    partitions = {
        "random": random_dimensions(layout.dimensions, len(layout.aspects), width, seed),
        "ilp": assign_dimensions(weights),
        "ilp_even": assign_dimensions(weights, exactly=width),
    }
    left, right = embedded.sides(test.references, test.candidates)
    base = embedded.base[left], embedded.base[right]
    trained = embedded.trained[left], embedded.trained[right]
    full = cosines_over(*base)
    records = []
    for index, (aspect, start, stop) in enumerate(layout.aspects):
        systems = {"full": full}
        for system, dimensions_of_aspects in partitions.items():
            systems[system] = cosines_over(*base, dimensions_of_aspects[index])
        systems["trained"] = cosines_over(*trained, slice(start, stop))
        target = test.scores[:, index].astype(np.float64)
        records.append({"aspect": aspect} | _compare_systems(systems, target, RIVALS, test.unit, seed))
    return records


def agreement_with_people(test: Examples, embedded: Embedded, seed: int) -> list[dict[str, Any]]:
    """Return 100 times Spearman's rho of whole cosine and label, before and after training, per dataset with labels.

    This is table 2 of Opitz and Frank 2022. The paired bootstrap draws pairs, or whole groups if the data has groups.

    Args:
        test: the test pairs, without negatives; pairs without a label are left out.
        embedded: the embeddings of their texts.
        seed: the seed of the resamples.

    Returns:
        One record per dataset: ``dataset``, ``n``, ``full``, ``trained``, the difference ``over_full``, its bounds
        ``low_full`` and ``high_full``, and ``p_full``, which is not multiplied; a value is None if undefined.
    """
    left, right = embedded.sides(test.references, test.candidates)
    records = []
    for origin, source in enumerate(test.sources):
        rows = np.flatnonzero((test.origins == origin) & np.isfinite(test.labels))
        if not len(rows):
            continue
        systems = {
            "full": cosines_over(embedded.base[left[rows]], embedded.base[right[rows]]),
            "trained": cosines_over(embedded.trained[left[rows]], embedded.trained[right[rows]]),
        }
        group_numbers = test.groups[rows]
        has_groups = len(np.unique(group_numbers)) < len(rows)
        groups = group_numbers if has_groups else None
        comparison = _compare_systems(systems, test.labels[rows], ("full",), groups, seed)
        records.append({"dataset": source.full_name, "n": len(rows)} | comparison)
    return records


def comparable_scores(
    aspects: Sequence[Mapping[str, Any]], people: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return records of ``dataset``, ``statistic`` and ``value`` of the trained model, for a comparison over seeds.

    Values are between -1 and 1, and a dataset with people's labels keeps its name, as in the results of other recipes,
    so that models of several recipes can be compared. The dataset of an aspect is named ``aspect NAME``. Undefined
    values are left out.

    Args:
        aspects: the records of :func:`aspect_correlations`.
        people: the records of :func:`agreement_with_people`.
    """
    named_records = [(record["dataset"], record) for record in people]
    named_records += [(f"aspect {record['aspect']}", record) for record in aspects]
    return [
        {"dataset": name, "statistic": "spearman", "value": record["trained"] / 100}
        for name, record in named_records
        if record["trained"] is not None
    ]


def records_over_seeds(runs: Sequence[Sequence[Mapping[str, Any]]], key: str) -> list[dict[str, Any]]:
    """Return the records of two or more seeds, combined: one record per aspect or dataset, in the order of a run.

    A record has the mean of each system and of each difference from a rival, the standard deviation of the trained
    model, and two tests per rival. A value is None if it is undefined for one of the seeds.

    All seeds have the same test pairs. ``p_RIVAL``, from :func:`~assay.training.evaluation.p_value_of_gains` over the
    differences from a rival, therefore reflects only the randomness of the batches, not the sampling of pairs. The
    sampling of pairs is covered by ``low_RIVAL`` and ``high_RIVAL``, the outermost bounds of the seeds' intervals, and
    by ``p_pairs_RIVAL``, the largest p of the seeds. These bounds are wider than an interval of the mean would be.

    Args:
        runs: for each seed, its records from :func:`aspect_correlations` or :func:`agreement_with_people`.
        key: the field that names a record: ``aspect`` or ``dataset``.
    """
    records = []
    for seed_records in zip(*runs, strict=True):
        first = seed_records[0]
        record: dict[str, Any] = {name: first[name] for name in (key, "n") if name in first}
        for system in SYSTEMS:
            if system in first:
                record[system] = merged_values([record_of_seed[system] for record_of_seed in seed_records], np.mean)
        record["sd_trained"] = standard_deviation([record_of_seed["trained"] for record_of_seed in seed_records])
        for rival in RIVALS:
            if f"over_{rival}" in first:
                record |= _rival_over_seeds(seed_records, rival)
        records.append(record)
    return records


def _rival_over_seeds(seed_records: Sequence[Mapping[str, Any]], rival: str) -> dict[str, float | None]:
    """Return the mean difference from a rival over seeds, with its outermost bounds and its two tests, by field.

    ``p_RIVAL`` of a seed is the test over pairs, whose largest value is ``p_pairs_RIVAL`` in the result; ``p_RIVAL`` of
    the result is the test over seeds. A value is None if it is undefined for one of the seeds; the test over seeds also
    if all differences are equal.

    Args:
        seed_records: the records of one aspect or dataset, one per seed.
        rival: the name of the rival.
    """

    def values(name: str) -> list[float | None]:
        return [record_of_seed[f"{name}_{rival}"] for record_of_seed in seed_records]

    return {
        f"over_{rival}": merged_values(values("over"), np.mean),
        f"p_{rival}": p_value_of_gains(values("over")),
        f"low_{rival}": merged_values(values("low"), min),
        f"high_{rival}": merged_values(values("high"), max),
        f"p_pairs_{rival}": merged_values(values("p"), max),
    }


def _compare_systems(
    systems: Mapping[str, Floats], target: Floats, rivals: Sequence[str], groups: Indices | None, seed: int
) -> dict[str, Any]:
    """Return Spearman's rho of each system, and the differences of the trained system from its rivals, all times 100.

    Args:
        systems: the scores of each system, shape (n,); one of the systems is ``trained``.
        target: the scores or labels that they should follow, shape (n,).
        rivals: the systems from which the difference of the trained one is tested.
        groups: the number of each pair's group, which is resampled as a whole, shape (n,); None for single pairs.
        seed: the seed of the resamples.

    Returns:
        Per system its coefficient, and per rival ``over_RIVAL``, ``low_RIVAL``, ``high_RIVAL`` and ``p_RIVAL``, which
        is not multiplied; a value is None if undefined.
    """
    all_pairs = [("trained", system) for system in systems if system != "trained"]
    tested_pairs = [("trained", rival) for rival in systems if rival in rivals]
    settings: dict[str, Any] = {"statistics": ("spearman",), "confidence": CONFIDENCE, "permutations": 0}
    values = compare_all(systems, target, resamples=0, seed=(seed,), metric_pairs=all_pairs, **settings)
    group_codes = None if groups is None else np.unique(groups, return_inverse=True)[1].astype(np.intp)
    # Only rivals need resamples, which take most of the time.
    differences = compare_all(
        {name: systems[name] for name in (*rivals, "trained")},
        target,
        resamples=RESAMPLES,
        seed=(seed,),
        metric_pairs=tested_pairs,
        groups=group_codes,
        **settings,
    )
    record: dict[str, Any] = {}
    for trained, system in all_pairs:
        record[system] = _times_hundred(values[trained, system][0].second)
    record["trained"] = _times_hundred(values[all_pairs[0]][0].first)
    for trained, rival in tested_pairs:
        difference = differences[trained, rival][0]
        record[f"over_{rival}"] = _times_hundred(difference.value)
        record[f"low_{rival}"] = _times_hundred(difference.low)
        record[f"high_{rival}"] = _times_hundred(difference.high)
        record[f"p_{rival}"] = difference.p_jackknife
    return record


def _times_hundred(value: float | None) -> float | None:
    return None if value is None else 100 * value
