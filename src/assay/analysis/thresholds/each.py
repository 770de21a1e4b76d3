"""Agreement of the decisions with the labels, separately for each value of a column, such as each system."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.analysis.data import ScoredDataset
from assay.analysis.thresholds.intervals import Value, values_with_intervals
from assay.analysis.thresholds.objectives import Objective
from assay.analysis.thresholds.study import Decision, area_under_roc
from assay.errors import InputError, unknown_name
from assay.settings import Resampling
from assay.statistics.concordance import Floats
from assay.statistics.crossvalidation import Rows
from assay.statistics.resampling import Resampler

#: A column with more values than this holds texts or identifiers rather than, say, systems.
MAX_COLUMN_VALUES = 100


@dataclass(frozen=True)
class ValueAgreement:
    """Agreement on the pairs with one value of a column.

    Attributes:
        value: the value of the column.
        n: the number of pairs.
        positive: the number of positive pairs.
        tested: every measure of the decisions on these pairs, by name.
        auc: the area under the ROC curve of these pairs.
    """

    value: str
    n: int
    positive: int
    tested: dict[str, Value]
    auc: Value


def agreement_by_value(
    data: ScoredDataset,
    column: str,
    decision: Decision,
    pairs: tuple[Floats, NDArray[np.bool_]],
    groups: Rows | None,
    objective: Objective,
    drawing: Resampling,
    seed: Sequence[int],
) -> list[ValueAgreement]:
    """Return the agreement on the pairs of each value of a column, with values in order of first occurrence.

    The intervals hold the thresholds fixed.

    Args:
        data: n pairs.
        column: the column whose values split the pairs; pairs with an empty cell are left out.
        decision: the decisions of one metric on all n pairs.
        pairs: scores that rise with similarity, and which pairs are positive, shape (n,) each.
        groups: codes of pairs that are resampled as a whole, shape (n,), or None.
        objective: what thresholds were chosen by; a cost is a measure of its own.
        drawing: how intervals are drawn.
        seed: the seed of the resamples.

    Raises:
        InputError: there is no such column, or it has more than :data:`MAX_COLUMN_VALUES` values.
    """
    if column not in data.table.column_names:
        raise InputError(unknown_name(f"{data.name} has no column", column, data.table.column_names), setting="each")
    cells = data.table.column(column).to_pylist()
    values = list(dict.fromkeys(str(cell) for cell in cells if cell not in (None, "")))
    if len(values) > MAX_COLUMN_VALUES:
        raise InputError(
            f"has {len(values):,} values; choose a column of at most {MAX_COLUMN_VALUES}", setting="each", value=column
        )
    texts = np.array([str(cell) for cell in cells], dtype=object)
    scores, positive = pairs
    agreements = []
    for value in values:
        rows = np.flatnonzero(texts == value)
        # the resampler expects codes without gaps
        own_groups = None if groups is None else np.unique(groups[rows], return_inverse=True)[1]
        resampler = Resampler(len(rows), drawing.resamples, tuple(seed), own_groups)
        part_of_value = scores[rows], positive[rows]
        # without repeats, the thresholds stay fixed
        tested = values_with_intervals(
            decision.decided[rows], part_of_value, (), objective, resampler, drawing.confidence
        )
        auc = area_under_roc(*part_of_value, drawing, seed, own_groups)
        agreements.append(ValueAgreement(value, len(rows), int(positive[rows].sum()), tested, auc))
    return agreements
