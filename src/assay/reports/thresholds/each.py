"""How decisions agree with the labels on the pairs of each value of a column, such as each system."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError, unknown_name
from assay.reports.data import ScoredDataset
from assay.reports.thresholds.intervals import Value, values_with_intervals
from assay.reports.thresholds.study import Decision, area_under_roc
from assay.settings import Resampling
from assay.statistics.concordance import Floats
from assay.statistics.crossvalidation import Rows
from assay.statistics.resampling import Resampler

#: A column with more values than this is no list of systems.
MOST = 100


@dataclass(frozen=True)
class ValueAgreement:
    """The pairs of one value of a column.

    Attributes:
        value: of the column.
        n: pairs.
        positive: those of them that are yes.
        tested: every measure of the decisions on these pairs; None where one is undefined.
        auc: area under the ROC curve of these pairs.
    """

    value: str
    n: int
    positive: int
    tested: dict[str, Value]
    auc: Value


def agreement_of_each(
    data: ScoredDataset,
    column: str,
    decision: Decision,
    pairs: tuple[Floats, NDArray[np.bool_]],
    groups: Rows | None,
    measure: str,
    drawing: Resampling,
    seed: Sequence[int],
) -> list[ValueAgreement]:
    """Return the agreement on the pairs of each value, in the order of the data; the thresholds are held fixed.

    Args:
        data: n pairs.
        column: whose values part them; pairs with an empty cell are in no part.
        decision: of a metric on all of them.
        pairs: scores that rise with similarity, and which pairs are yes, shape (n,) each.
        groups: codes of pairs that are drawn as a whole, shape (n,), or None.
        measure: what thresholds were chosen by.
        drawing: how intervals are drawn.
        seed: of the resamples.

    Raises:
        InputError: there is no such column, or it has very many values.
    """
    if column not in data.table.column_names:
        raise InputError(unknown_name(f"`each`: {data.name} has no column", column, data.table.column_names))
    cells = data.table.column(column).to_pylist()
    values = list(dict.fromkeys(str(cell) for cell in cells if cell not in (None, "")))
    if len(values) > MOST:
        raise InputError(f"`each={column}`: has {len(values):,} values; choose a column of at most {MOST}")
    texts = np.array([str(cell) for cell in cells], dtype=object)
    scores, positive = pairs
    found = []
    for value in values:
        rows = np.flatnonzero(texts == value)
        own_groups = None if groups is None else np.unique(groups[rows], return_inverse=True)[1]
        resampler = Resampler(len(rows), drawing.resamples, tuple(seed), own_groups)
        part = scores[rows], positive[rows]
        tested = values_with_intervals(decision.decided[rows], part, (), measure, resampler, drawing.confidence)
        auc = area_under_roc(*part, drawing, seed, own_groups)
        found.append(ValueAgreement(value, len(rows), int(positive[rows].sum()), tested, auc))
    return found
