"""Scores as one line of text, and the digest that finds a change by hand."""

from __future__ import annotations

import base64
import bz2
import hashlib
import json
from typing import Any

import numpy as np

from assay.statistics.concordance import Floats

__all__ = ["digest_of", "pack", "rounded", "unpack"]


def rounded(scores: Floats) -> Floats:
    """Return scores, shape (n,), as a baseline keeps them: rounded to single precision; NaN where there is none."""
    return scores.astype(np.float32).astype(np.float64)


def pack(scores: Floats) -> str:
    """Return scores, shape (n,), in single precision as base64 of bzip2.

    bzip2 has one implementation, so that equal scores give an equal line on every machine; zlib has several.
    """
    return base64.b64encode(bz2.compress(_raw(scores))).decode("ascii")


def unpack(text: str, n: int) -> Floats:
    """Return the scores of :func:`pack`, shape (n,).

    Raises:
        ValueError: the text is none that was packed from n scores.
    """
    try:
        # no more is unpacked than belongs there, whatever the text would grow to
        raw = bz2.BZ2Decompressor().decompress(base64.b64decode(text, validate=True), max_length=4 * n + 1)
    except (OSError, EOFError) as error:
        raise ValueError(str(error)) from error
    if len(raw) != 4 * n:
        raise ValueError(f"they are not {n}")
    return np.frombuffer(raw, dtype="<f4").astype(np.float64)


def digest_of(facts: dict[str, Any], scores: Floats) -> str:
    """Return 16 hexadecimal digits of the SHA-256 of what a baseline says of a metric, and of its scores."""
    said = json.dumps(facts, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(said.encode("utf-8", "surrogatepass") + b"\0" + _raw(scores)).hexdigest()[:16]


def _raw(scores: Floats) -> bytes:
    # one bit pattern for NaN, and one for zero
    return np.where(np.isnan(scores), np.nan, scores + 0.0).astype("<f4").tobytes()
