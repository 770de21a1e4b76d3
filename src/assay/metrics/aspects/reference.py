"""The reference set kept with a model: scores of many pairs, so that a score can be called usual or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError
from assay.metrics.aspects.layout import OVERALL, Layout

__all__ = ["REFERENCE_FILE", "Reference", "read_reference", "write_reference"]

#: The file in a model's folder. It decides no score.
REFERENCE_FILE = "s3bert-reference.parquet"
#: The key of the metadata of that file under which the digest of the layout stands.
_LAYOUT = b"s3bert-layout"


@dataclass(frozen=True, eq=False)
class Reference:
    """Scores of n pairs, texts left out.

    Attributes:
        names: ``overall``, the aspects of the model's layout, and ``residual`` where there is one.
        scores: cosines, float32, shape (n, len(names)).
        layout: digest of the layout whose aspects they are; empty where the file does not say it: then it is that of
            the model's folder.

    Raises:
        InputError: the shape does not fit the names, there is no pair or no ``overall``, or a score is no cosine.
    """

    names: tuple[str, ...]
    scores: NDArray[np.float32]
    layout: str = ""

    def __post_init__(self) -> None:
        if self.scores.ndim != 2 or self.scores.shape[1] != len(self.names) or len(self.scores) == 0:
            raise InputError(f"reference set: {len(self.names)} names, but scores of shape {self.scores.shape}")
        if self.names[:1] != (OVERALL,) or len(set(self.names)) < len(self.names):
            raise InputError(f"reference set: its names must begin with {OVERALL}, each once")
        # single precision may put the cosine of equal vectors a little above 1
        if not bool((np.abs(self.scores) <= 1 + 1e-5).all()):
            raise InputError("reference set: a score is not in [-1, 1]")


def write_reference(
    folder: Path, names: Sequence[str], scores: NDArray[np.float32], layout: Layout | None = None
) -> None:
    """Write a reference set into a model's folder, as :func:`read_reference` reads it.

    Args:
        folder: of the model.
        names: of the columns.
        scores: shape (n, len(names)).
        layout: whose aspects they are; that of the folder by default.

    Raises:
        InputError: see :class:`Reference`.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    held = Reference(tuple(names), np.asarray(scores, dtype=np.float32), "" if layout is None else layout.digest)
    columns = {name: pa.array(held.scores[:, i]) for i, name in enumerate(held.names)}
    table = pa.table(columns).replace_schema_metadata({_LAYOUT: held.layout} if held.layout else None)
    pq.write_table(table, folder / REFERENCE_FILE, compression="zstd")


def read_reference(folder: Path) -> Reference | None:
    """Return the reference set of a model's folder, or None where it has none.

    Raises:
        InputError: the file is no reference set.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / REFERENCE_FILE
    if not path.is_file():
        return None
    try:
        table = pq.read_table(path)
        scores = np.stack([column.to_numpy().astype(np.float32) for column in table.columns], axis=1)
        layout = (table.schema.metadata or {}).get(_LAYOUT, b"").decode("ascii", "replace")
        return Reference(tuple(table.column_names), scores, layout)
    except (pa.ArrowException, OSError, ValueError, TypeError) as error:
        raise InputError(f"{path}: no reference set ({error})") from None
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
