"""Groups of dependent pairs: columns that look like groups, and the design effect of those there are."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assay.batches import codes_of_names, counts_of_names
from assay.datasets.pairs import Pairs
from assay.statistics.clustering import design_effect
from assay.statistics.crossvalidation import Rows
from assay.tables import NOT_BY_PEOPLE

#: Columns whose values make the pairs that share them dependent, the surest first.
COLUMNS = ("question", "topic", "reference")
#: Share of pairs that must have their value in common with another one: a few repeats are no design.
SHARE = 0.25
#: Groups that there must be: as many as an interval needs.
FEWEST_GROUPS = 10
#: Design effect of the label from which on equal references count: a sentence may be paired with several others, as in
#: SICK (1.07), and the pairs be nearly independent. A question or a topic is a design by itself.
EFFECT = 1.1


@dataclass(frozen=True)
class SuggestedGroups:
    """A column of data without groups whose repeated values look like groups.

    Attributes:
        column: its name.
        pairs: how many there are.
        shared: pairs whose value another pair has, too.
        groups: distinct values; a pair without a value counts as one.
        effect: design effect of the mean label; None where that is undefined.
    """

    column: str
    pairs: int
    shared: int
    groups: int
    effect: float | None

    @property
    def message(self) -> str:
        """One line: what was seen, what follows, and the option to give."""
        return (
            f"no groups: {self.shared:,} of {self.pairs:,} pairs share their {self.column}, but intervals take them as "
            f"independent: run with --group-by {self.column} ({self.groups:,} groups)"
        )


def effect_text(effect: float) -> str:
    """Return a design effect in words."""
    factor = sqrt(effect)
    return f"design effect {effect:.2f}: the mean label has {factor:.2f} times the standard error of independent pairs"


def suggest_groups(pairs: Pairs) -> SuggestedGroups | None:
    """Return the column by which data without a column ``group`` should be resampled; None where nothing repeats.

    Labels that people did not give are designed pair by pair: there is nothing to resample.
    """
    if "group" in pairs.table.column_names or pairs.kind in NOT_BY_PEOPLE:
        return None
    for name in COLUMNS:
        if name not in pairs.source_columns:
            continue
        cells = _names(pairs, name)
        if cells is None:
            continue
        sizes = counts_of_names(cells, stripped=True)
        shared, groups = int(sizes[sizes > 1].sum()), len(sizes)
        if shared < SHARE * len(pairs) or groups < FEWEST_GROUPS:
            continue
        effect = labels_effect(pairs, codes_of_names(cells, stripped=True))
        if name != "reference" or (effect is not None and effect >= EFFECT):
            return SuggestedGroups(name, len(pairs), shared, groups, effect)
    return None


def column_codes(pairs: Pairs, name: str) -> Rows | None:
    """Return codes of the values of a column, shape (n,), a blank cell by itself; None for a column of lists."""
    cells = _names(pairs, name)
    return None if cells is None else codes_of_names(cells, stripped=True)


def _names(pairs: Pairs, name: str) -> pa.ChunkedArray | None:
    """Return the cells of a column as text; None for a column of lists."""
    cells = pairs.column(name)
    return None if pa.types.is_nested(cells.type) else pc.cast(cells, pa.string())


def labels_effect(pairs: Pairs, codes: Rows) -> float | None:
    """Return the design effect of the mean label over the pairs that have one."""
    labelled = ~np.isnan(pairs.labels)
    groups = np.unique(codes[labelled], return_inverse=True)[1].reshape(-1)
    return design_effect(pairs.labels[labelled], groups)
