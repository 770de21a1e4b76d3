"""Reference sets: scores of many pairs, stored with a model, which show what is usual for a pair's overall score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from assay.exceptions import InputError
from assay.metrics.aspects.layout import OVERALL, Layout

#: The name of the file in a model's folder. It has no influence on scores.
REFERENCE_FILE = "s3bert-reference.parquet"
#: The metadata key in that file for the digest of the layout.
_LAYOUT_KEY = b"s3bert-layout"
#: The number of reference pairs that a pair is compared with.
NEIGHBOUR_COUNT = 200
#: The lowest number of pairs that show what is usual: of 100, five are beyond either quantile.
MIN_PAIRS = 100
#: The quantiles between which a score is usual.
USUAL_QUANTILES = (0.05, 0.95)
#: Scores that differ by less than this are equal, since the set is stored in single precision.
SCORE_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class Reference:
    """A reference set: the scores of n pairs, without their texts.

    Attributes:
        names: the names of the columns: ``overall``, the aspects of the layout, and ``residual`` if there is one.
        scores: the cosines, float32, shape (n, len(names)).
        layout: the digest of the layout of these aspects; empty in older files, which have the layout of the model's
            folder.

    Raises:
        InputError: the shape does not fit the names, there are no pairs, the first name is not ``overall``, a name is
            duplicate, or a score is not a cosine.
    """

    names: tuple[str, ...]
    scores: NDArray[np.float32]
    layout: str = ""

    def __post_init__(self) -> None:
        """Raise InputError unless the names fit the scores, and the scores are cosines."""
        if self.scores.ndim != 2 or self.scores.shape[1] != len(self.names) or len(self.scores) == 0:
            raise InputError(f"reference set: {len(self.names)} names, but scores of shape {self.scores.shape}")
        if self.names[:1] != (OVERALL,) or len(set(self.names)) < len(self.names):
            raise InputError(f"reference set: its names must begin with {OVERALL}, each once")
        # in single precision, the cosine of equal vectors may slightly exceed 1
        if not bool((np.abs(self.scores) <= 1 + 1e-5).all()):
            raise InputError("reference set: a score is not in [-1, 1]")


def write_reference(
    folder: Path, names: Sequence[str], scores: NDArray[np.float32], layout: Layout | None = None
) -> None:
    """Write a reference set into a model's folder, where :func:`read_reference` reads it; an older one is replaced.

    Args:
        folder: the folder of the model.
        names: the names of the columns.
        scores: the cosines, shape (n, len(names)).
        layout: the layout of the aspects; by default the layout in the folder.

    Raises:
        InputError: the names and scores are no valid :class:`Reference`.
        OSError: the file cannot be written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    reference = Reference(tuple(names), np.asarray(scores, dtype=np.float32), "" if layout is None else layout.digest)
    columns = {name: pa.array(reference.scores[:, i]) for i, name in enumerate(reference.names)}
    metadata = {_LAYOUT_KEY: reference.layout} if reference.layout else None
    table = pa.table(columns).replace_schema_metadata(metadata)
    pq.write_table(table, folder / REFERENCE_FILE, compression="zstd")


def read_reference(folder: Path) -> Reference | None:
    """Return the reference set in a model's folder, or None if there is none.

    Raises:
        InputError: the file is not a valid reference set.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / REFERENCE_FILE
    if not path.is_file():
        return None
    try:
        table = pq.read_table(path)
        scores = np.stack([column.to_numpy().astype(np.float32) for column in table.columns], axis=1)
        layout = (table.schema.metadata or {}).get(_LAYOUT_KEY, b"").decode("ascii", "replace")
        return Reference(tuple(table.column_names), scores, layout)
    except (pa.ArrowException, OSError, ValueError, TypeError) as error:
        raise InputError(f"{path}: no reference set ({error})") from None
    except InputError as error:
        raise InputError(f"{path}: ", error.message) from None


@dataclass(frozen=True)
class UsualScores:
    """The neighbours' scores in one column, and where the score of a pair lies among them.

    Scores that differ by no more than :data:`SCORE_TOLERANCE` count as equal.

    Attributes:
        median: the median of the neighbours' scores.
        low, high: the 5% and 95% quantiles of the neighbours' scores.
        lower: the share of neighbours with a lower score, from 0 to 1.
        unusual: ``low`` if the score is below the lower quantile, ``high`` if above the upper one, otherwise empty.
    """

    median: float
    low: float
    high: float
    lower: float
    unusual: Literal["", "low", "high"]


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The reference pairs that are nearest to a pair in overall score.

    Attributes:
        names: the names of the columns, ``overall`` first.
        scores: the scores of n neighbours, the nearest first, float64, shape (n, len(names)).
        total: the number of pairs in the reference set.
    """

    names: tuple[str, ...]
    scores: NDArray[np.float64]
    total: int

    @property
    def overall_range(self) -> tuple[float, float]:
        """The lowest and the highest overall score of the neighbours."""
        return float(self.scores[:, 0].min()), float(self.scores[:, 0].max())

    def usual_scores(self, name: str, score: float) -> UsualScores:
        """Return the median and the usual range of a column, and where a score lies relative to them.

        Args:
            name: the name of the column.
            score: the score of a pair in this column.

        Raises:
            ValueError: there is no such column.
        """
        column = self.scores[:, self.names.index(name)]
        low, high = map(float, np.quantile(column, USUAL_QUANTILES))
        unusual: Literal["", "low", "high"] = ""
        if score < low - SCORE_TOLERANCE:
            unusual = "low"
        elif score > high + SCORE_TOLERANCE:
            unusual = "high"
        lower = float(np.mean(column < score - SCORE_TOLERANCE))
        return UsualScores(float(np.median(column)), low, high, lower, unusual)


def find_neighbours(reference: Reference, overall: float) -> Neighbours:
    """Return the :data:`NEIGHBOUR_COUNT` reference pairs nearest in overall score, or all if there are fewer.

    The nearest comes first; ties keep the order of the set.

    Args:
        reference: the reference set.
        overall: the overall score of a pair.
    """
    distances = np.abs(reference.scores[:, 0].astype(np.float64) - overall)
    nearest = np.argsort(distances, kind="stable")[:NEIGHBOUR_COUNT]
    return Neighbours(reference.names, reference.scores[nearest].astype(np.float64), len(reference.scores))
