"""Columns of texts: several gold answers of a row laid flat, and which rows hold a number."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["has_number", "laid_flat"]

# Number words ("one", German "ein") are too often something else. On NQ-open this gives the 28 % of references with a
# number that the answer-similarity paper reports.
_NUMBER = r"\pN"


def has_number(column: pa.ChunkedArray) -> NDArray[np.bool_]:
    """Tell of each row whether a text of it has a digit, or another character of the Unicode category N such as ½.

    Args:
        column: n rows, each a text or a list of texts.

    Returns:
        Shape (n,).
    """
    import pyarrow.compute as pc

    texts, rows = laid_flat(column)
    has = np.zeros(len(column), dtype=bool)
    np.logical_or.at(has, rows, np.asarray(pc.match_substring_regex(texts, _NUMBER), dtype=bool))
    return has


def laid_flat(column: pa.ChunkedArray) -> tuple[pa.Array, NDArray[np.int64]]:
    """Return the texts of a column, those of a list one after another, and the row of each, shape (texts,)."""
    import pyarrow as pa
    import pyarrow.compute as pc

    whole = column.combine_chunks()
    if pa.types.is_list(whole.type) or pa.types.is_large_list(whole.type):
        return pc.list_flatten(whole), np.asarray(pc.list_parent_indices(whole), dtype=np.int64)
    return whole, np.arange(len(whole))
