"""What a reader should know of the scores of a model: which texts were cut, which are blank."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from assay.metrics.base import Batch
from assay.metrics.work import Flag

__all__ = ["blank_flags", "flags_of"]


def flags_of(batch: Batch, references_cut: Iterable[bool], candidates_cut: Iterable[bool]) -> NDArray[np.uint8]:
    """Return :class:`Flag` bits of n pairs, shape (n,), from which of their texts were cut, each of length n."""
    return (
        blank_flags(batch)
        | _where(Flag.REFERENCE_CUT, references_cut, len(batch))
        | _where(Flag.CANDIDATE_CUT, candidates_cut, len(batch))
    )


def blank_flags(batch: Batch) -> NDArray[np.uint8]:
    """Return :class:`Flag` bits of texts without anything but blanks, shape (n,)."""
    return _where(Flag.REFERENCE_EMPTY, (not text.strip() for text in batch.references), len(batch)) | _where(
        Flag.CANDIDATE_EMPTY, (not text.strip() for text in batch.candidates), len(batch)
    )


def _where(flag: Flag, held: Iterable[bool], n: int) -> NDArray[np.uint8]:
    return np.fromiter(held, dtype=np.bool_, count=n) * np.uint8(flag)
