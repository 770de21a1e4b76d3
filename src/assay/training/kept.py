"""Scores that are computed once: kept in the cache chunk by chunk, so that a killed training loses one chunk."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.paths import cache_dir
from assay.training.folder import told_of_room

__all__ = ["CHUNK", "keep", "kept_scores"]

#: Pairs scored at a time: what a kill can lose.
CHUNK = 1024


def kept_scores(
    signature: str, texts: Iterable[str], compute: Callable[[], NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Return the scores of a chunk from the cache; compute and keep them where they are not there.

    Args:
        signature: of what computes; changes when the scores may change.
        texts: all that the scores are of, in order.
        compute: gives the scores.

    Raises:
        InputError: the disk is full.
    """
    whole = hashlib.sha256(signature.encode())
    for text in texts:
        whole.update(hashlib.sha256(text.encode()).digest())
    path = cache_dir() / "targets" / f"{whole.hexdigest()[:32]}.npy"
    if path.is_file():
        held: NDArray[np.float64] = np.load(path, allow_pickle=False)
        return held
    scores = compute()
    keep(path, scores)
    return scores


def keep(path: Path, scores: NDArray[np.float64]) -> None:
    """Write scores to a file, ``.npy``, in one step; where that fails, nothing is left of it.

    Raises:
        InputError: the disk is full.
    """
    scratch = path.with_suffix(f".{uuid.uuid4().hex[:8]}.npy")
    with told_of_room(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            np.save(scratch, scores)
            scratch.replace(path)
        finally:
            scratch.unlink(missing_ok=True)
