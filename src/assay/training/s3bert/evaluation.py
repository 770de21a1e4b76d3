"""How well sub-embeddings follow their aspects, against partitions of the untrained embedding, and whether the
whole still agrees with people.
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

from assay.errors import UnavailableError
from assay.metrics.aspects.layout import Layout
from assay.statistics.comparison import compare_all
from assay.training.data import Examples
from assay.training.evaluation import CONFIDENCE, merged_values, standard_deviation, t_test_of_gains
from assay.training.s3bert.targets import ScoredPairs

Part = NDArray[np.int64]


def random_dimensions(dimensions: int, aspects: int, width: int, seed: int) -> list[Part]:
    """Return *width* dimensions for each aspect, drawn without overlap (SB-rand in Opitz and Frank 2022)."""
    drawn = np.random.default_rng(seed).permutation(dimensions)[: aspects * width]
    return [np.sort(part) for part in drawn.reshape(aspects, width)]


def dimension_weights(
    first: NDArray[np.float32], second: NDArray[np.float32], scores: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Return how well each dimension alone follows each aspect: Spearman's rho, float64, shape (dimensions, aspects).

    A dimension's value for a pair is the product of the two embeddings there, each of length 1: what it adds to their
    cosine. Where one side is constant the coefficient is undefined, and 0 here: such a dimension is of no use.

    Args:
        first, second: embeddings of n pairs, shape (n, dimensions).
        scores: of the AMR metrics, shape (n, aspects).
    """
    products = _unit_length(first) * _unit_length(second)
    return _standardised_ranks(products).T @ _standardised_ranks(scores)


def assign_dimensions(weights: NDArray[np.float64], *, exactly: int | None = None) -> list[Part]:
    """Return the dimensions of each aspect by the integer program of equations 7 to 9 in Opitz and Frank 2022.

    It maximises the sum of the weights of the chosen edges; every dimension goes to one aspect at most, and every
    aspect has one dimension at least. A dimension of which no weight is positive may go to none.

    Args:
        weights: shape (dimensions, aspects).
        exactly: give every aspect so many dimensions instead of one at least.

    Raises:
        UnavailableError: the solver found no optimum.
    """
    dimensions, aspects = weights.shape
    edges = np.arange(dimensions * aspects)
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
    chosen = solution.x.reshape(dimensions, aspects) > 0.5
    return [np.flatnonzero(chosen[:, aspect]) for aspect in range(aspects)]


def _unit_length(embeddings: NDArray[np.float32]) -> NDArray[np.float32]:
    unit: NDArray[np.float32] = embeddings / np.maximum(np.linalg.norm(embeddings, axis=1, keepdims=True), 1e-12)
    return unit


def _standardised_ranks(values: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the ranks of each column, centred and of length 1; zeros where the column is constant."""
    ranks = rankdata(values, axis=0)
    centred = ranks - ranks.mean(axis=0)
    length = np.linalg.norm(centred, axis=0)
    return np.where(length > 0, centred / np.where(length > 0, length, 1), 0.0)


#: What is compared: the whole embedding of the base, and four ways to have a part of it for each aspect.
SYSTEMS = ("full", "random", "ilp", "ilp_even", "trained")
#: Against which the trained model is tested.
RIVALS = ("full", "ilp")
#: Resamples of the paired bootstrap.
RESAMPLES = 500
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Embedded:
    """Embeddings of texts before and after training.

    Attributes:
        numbers: of each text.
        base, trained: float32, shape (texts, dimensions); what is not compared may be NaN.
    """

    numbers: Mapping[str, int]
    base: NDArray[np.float32]
    trained: NDArray[np.float32]

    def sides(self, references: Sequence[str], candidates: Sequence[str]) -> tuple[Part, Part]:
        """Return the numbers of the texts of some pairs, shape (n,) each."""
        first, second = ([self.numbers[text] for text in side] for side in (references, candidates))
        return np.array(first, dtype=np.int64), np.array(second, dtype=np.int64)


def cosines_over(first: NDArray[np.float32], second: NDArray[np.float32], part: Part | slice = slice(None)) -> Floats:
    """Return the cosines of n pairs of embeddings over some dimensions, shape (n,); 0 where one is all zeros there."""
    left, right = first[:, part].astype(np.float64), second[:, part].astype(np.float64)
    lengths = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    return np.asarray((left * right).sum(axis=1) / np.where(lengths > 0, lengths, 1))


def aspect_correlations(
    dev: ScoredPairs, test: ScoredPairs, embedded: Embedded, layout: Layout, seed: int
) -> list[dict[str, Any]]:
    """Return for each aspect Spearman's rho x 100 of cosine and AMR metric on the test pairs and their negatives.

    Table 1 of Opitz and Frank 2022: ``full`` is the cosine of the base's whole embeddings, ``random`` and ``ilp`` are
    partitions of the base (``ilp_even``: with as many dimensions an aspect as the trained model has), chosen on the
    development pairs. The differences of the trained model to ``full`` and ``ilp`` have a paired bootstrap and a
    two-sided jackknife t-test over the pairs. Pairs that exchanged candidates are drawn together; what other pairs
    share, a sentence or a group of the data, is not allowed for: where much is shared, the intervals are too short.

    Returns:
        A record an aspect: ``aspect``, a value for each of :data:`SYSTEMS` (None where undefined), and for each rival
        ``over_RIVAL``, ``low_RIVAL``, ``high_RIVAL``, ``p_RIVAL``.
    """
    width = layout.aspects[0][2] - layout.aspects[0][1]
    on_dev = embedded.sides(dev.references, dev.candidates)
    weights = dimension_weights(embedded.base[on_dev[0]], embedded.base[on_dev[1]], dev.scores)
    partitions = {
        "random": random_dimensions(layout.dimensions, len(layout.aspects), width, seed),
        "ilp": assign_dimensions(weights),
        "ilp_even": assign_dimensions(weights, exactly=width),
    }
    left, right = embedded.sides(test.references, test.candidates)
    base, trained = (embedded.base[left], embedded.base[right]), (embedded.trained[left], embedded.trained[right])
    full = cosines_over(*base)
    records = []
    for number, (name, first, stop) in enumerate(layout.aspects):
        systems = {"full": full} | {title: cosines_over(*base, parts[number]) for title, parts in partitions.items()}
        systems["trained"] = cosines_over(*trained, slice(first, stop))
        target = test.scores[:, number].astype(np.float64)
        records.append({"aspect": name} | _compare_systems(systems, target, RIVALS, test.unit, seed))
    return records


def agreement_with_people(test: Examples, embedded: Embedded, seed: int) -> list[dict[str, Any]]:
    """Return for each test dataset with labels Spearman's rho x 100 of whole cosine and label, before and after.

    Table 2 of Opitz and Frank 2022. The paired bootstrap draws pairs, or whole groups where the data has them.

    Returns:
        A record a dataset: ``dataset``, ``n``, ``full``, ``trained``, ``over_full``, ``low_full``, ``high_full``,
        ``p_full``.
    """
    left, right = embedded.sides(test.references, test.candidates)
    records = []
    for number, source in enumerate(test.sources):
        rows = np.flatnonzero((test.origins == number) & np.isfinite(test.labels))
        if not len(rows):
            continue
        systems = {
            "full": cosines_over(embedded.base[left[rows]], embedded.base[right[rows]]),
            "trained": cosines_over(embedded.trained[left[rows]], embedded.trained[right[rows]]),
        }
        name = f"{source.name}:{source.split}" if source.split else source.name
        groups = test.groups[rows]
        grouped = len(np.unique(groups)) < len(groups)
        compared = _compare_systems(systems, test.labels[rows], ("full",), groups if grouped else None, seed)
        records.append({"dataset": name, "n": len(rows)} | compared)
    return records


def comparable_scores(
    aspects: Sequence[Mapping[str, Any]], people: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return ``dataset``, ``statistic`` and ``value`` of the trained model, which a comparison over seeds reads.

    Values are from -1 to 1 and a dataset with people's labels has its own name, as in the results of other recipes, so
    that models of both can be compared; those that follow an aspect are named ``aspect NAME``.

    Args:
        aspects: of :func:`aspect_correlations`.
        people: of :func:`agreement_with_people`.
    """
    named = [(record["dataset"], record) for record in people]
    named += [(f"aspect {record['aspect']}", record) for record in aspects]
    return [
        {"dataset": name, "statistic": "spearman", "value": record["trained"] / 100}
        for name, record in named
        if record["trained"] is not None
    ]


def records_over_seeds(runs: Sequence[Sequence[Mapping[str, Any]]], key: str) -> list[dict[str, Any]]:
    """Return the records of two seeds or more as one: means, the trained model's deviation, and two tests.

    All seeds have the same test pairs. ``p_RIVAL``, of :func:`~assay.training.evaluation.t_test_of_gains` over the
    differences to a rival, therefore tests the order of the batches alone and not the drawing of the pairs. For that,
    ``low_RIVAL``, ``high_RIVAL`` and ``p_pairs_RIVAL`` are the lowest, highest and largest that the paired bootstrap
    and the jackknife t-test over the pairs gave for any seed: wider than an interval of the mean would be.

    Args:
        runs: what :func:`aspect_correlations` or :func:`agreement_with_people` gave, by seed.
        key: ``aspect`` or ``dataset``.
    """
    records = []
    for of_seeds in zip(*runs, strict=True):
        first = of_seeds[0]
        record: dict[str, Any] = {name: first[name] for name in (key, "n") if name in first}
        for system in SYSTEMS:
            if system in first:
                record[system] = merged_values([of_seed[system] for of_seed in of_seeds], np.mean)
        record["sd_trained"] = standard_deviation([of_seed["trained"] for of_seed in of_seeds])
        for rival in RIVALS:
            if f"over_{rival}" in first:
                record |= _rival_over_seeds(of_seeds, rival)
        records.append(record)
    return records


def _rival_over_seeds(of_seeds: Sequence[Mapping[str, Any]], rival: str) -> dict[str, float | None]:
    """Return the difference to a rival over the seeds, with its bounds and tests."""

    def values(name: str) -> list[float | None]:
        return [of_seed[f"{name}_{rival}"] for of_seed in of_seeds]

    return {
        f"over_{rival}": merged_values(values("over"), np.mean),
        f"p_{rival}": t_test_of_gains(values("over")),
        f"low_{rival}": merged_values(values("low"), min),
        f"high_{rival}": merged_values(values("high"), max),
        f"p_pairs_{rival}": merged_values(values("p"), max),
    }


def _compare_systems(
    systems: Mapping[str, Floats], target: Floats, rivals: Sequence[str], groups: Part | None, seed: int
) -> dict[str, Any]:
    """Return each system's coefficient, and the differences of the trained one to its rivals, all x 100.

    Args:
        systems: the scores of each, ``trained`` among them, shape (n,).
        target: what they should follow, shape (n,).
        rivals: the systems whose difference to the trained one is tested.
        groups: numbers of what is resampled as a whole, shape (n,); None for single pairs.
        seed: of the resamples.
    """
    metric_pairs = [("trained", system) for system in systems if system != "trained"]
    tested = [("trained", rival) for rival in systems if rival in rivals]
    settings: dict[str, Any] = {"statistics": ("spearman",), "confidence": CONFIDENCE, "permutations": 0}
    values = compare_all(systems, target, resamples=0, seed=(seed,), metric_pairs=metric_pairs, **settings)
    drawn = compare_all(
        {name: systems[name] for name in (*rivals, "trained")},
        target,
        resamples=RESAMPLES,
        seed=(seed,),
        metric_pairs=tested,
        groups=None if groups is None else np.unique(groups, return_inverse=True)[1].astype(np.intp),
        **settings,
    )
    record: dict[str, Any] = {}
    for trained, system in metric_pairs:
        record[system] = _times_hundred(values[trained, system][0].second)
    record["trained"] = _times_hundred(values[metric_pairs[0]][0].first)
    for trained, rival in tested:
        difference = drawn[trained, rival][0]
        record[f"over_{rival}"] = _times_hundred(difference.value)
        record[f"low_{rival}"] = _times_hundred(difference.low)
        record[f"high_{rival}"] = _times_hundred(difference.high)
        record[f"p_{rival}"] = difference.p_jackknife
    return record


def _times_hundred(value: float | None) -> float | None:
    return None if value is None else 100 * value
