"""Groups of dependent pairs: suggests columns that look like groups, and computes the design effect of groups."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assay.common.batches import codes_of_names, counts_of_names
from assay.common.messages import Setting
from assay.common.tables import NOT_BY_PEOPLE
from assay.datasets.pairs import Pairs
from assay.statistics.resampling import design_effect

if TYPE_CHECKING:
    from assay.statistics.crossvalidation import Rows

#: Columns that make pairs with equal values dependent, the most certain first.
GROUP_COLUMNS = ("question", "topic", "reference")
#: The smallest share of pairs that have a value in common with another pair; a few repeats are not a design.
MIN_SHARED_SHARE = 0.25
#: The smallest number of groups, which an interval requires.
MIN_GROUPS = 10
#: The smallest design effect of the label for grouping by reference: pairs that share a sentence may be nearly
#: independent, as in SICK (1.07). A question or a topic is a design regardless of its effect.
MIN_REFERENCE_EFFECT = 1.1


@dataclass(frozen=True)
class SuggestedGroups:
    """A column of data without groups whose repeated values look like groups.

    Attributes:
        column: the name of the column.
        pairs: the number of all pairs.
        shared: the number of pairs whose value another pair also has.
        groups: the number of distinct values; each pair without a value counts as a group.
        effect: the design effect of the mean label; None if labels are equal or missing, or of one group.
    """

    column: str
    pairs: int
    shared: int
    groups: int
    effect: float | None

    @property
    def message(self) -> str:
        """One line with the observation, its consequence, and the option to use."""
        return (
            f"no groups: {self.shared:,} of {self.pairs:,} pairs share their {self.column}, but intervals treat them "
            f"as independent: run with {Setting('group_by', self.column).with_flag({})} ({self.groups:,} groups)"
        )


def effect_text(effect: float) -> str:
    """Return a phrase that describes a design effect and its meaning for the standard error."""
    ratio = sqrt(effect)
    return f"design effect {effect:.2f}: the mean label has {ratio:.2f} times the standard error of independent pairs"


def suggest_groups(pairs: Pairs) -> SuggestedGroups | None:
    """Return the column by which data without a column ``group`` should be resampled; None if none looks like groups.

    It is the first of :data:`GROUP_COLUMNS` with enough groups and enough pairs that share a value, and for
    ``reference`` also with an effect on the labels. None is also returned for data that has a column ``group``, and for
    labels that were not given by people: such pairs are designed one by one.
    """
    if "group" in pairs.table.column_names or pairs.kind in NOT_BY_PEOPLE:
        return None
    for name in GROUP_COLUMNS:
        if name not in pairs.source_columns:
            continue
        cells = _text_cells(pairs, name)
        if cells is None:
            continue
        sizes = counts_of_names(cells, stripped=True)
        shared_count, group_count = int(sizes[sizes > 1].sum()), len(sizes)
        if shared_count < MIN_SHARED_SHARE * len(pairs) or group_count < MIN_GROUPS:
            continue
        effect = label_design_effect(pairs, codes_of_names(cells, stripped=True))
        has_effect = effect is not None and effect >= MIN_REFERENCE_EFFECT
        if name != "reference" or has_effect:
            return SuggestedGroups(name, len(pairs), shared_count, group_count, effect)
    return None


def column_codes(pairs: Pairs, name: str) -> Rows | None:
    """Return the codes of a column's values, shape (n,); None for a column of lists.

    Values are compared without surrounding space, and each blank cell has a code of its own.

    Raises:
        InputError: there is no such column.
    """
    cells = _text_cells(pairs, name)
    return None if cells is None else codes_of_names(cells, stripped=True)


def _text_cells(pairs: Pairs, name: str) -> pa.ChunkedArray | None:
    """Return the cells of a column as text, or None for a column of lists."""
    cells = pairs.column(name)
    return None if pa.types.is_nested(cells.type) else pc.cast(cells, pa.string())


def label_design_effect(pairs: Pairs, codes: Rows) -> float | None:
    """Return the design effect of the mean label over the labelled pairs; None for one group or equal labels.

    Args:
        pairs: the n pairs.
        codes: the group of each pair, shape (n,).
    """
    labelled = ~np.isnan(pairs.labels)
    group_codes = np.unique(codes[labelled], return_inverse=True)[1].reshape(-1)
    return design_effect(pairs.labels[labelled], group_codes)
