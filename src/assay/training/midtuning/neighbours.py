"""Which sentences a model holds for nearest to a few queries (Umair and Ferraro, table 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError
from assay.training.data import text_key

__all__ = ["FILE", "nearest", "read_queries"]

#: In a model's folder.
FILE = "neighbours.md"
#: Sentences shown for each query, as in the paper.
SHOWN = 3


def read_queries(path: str) -> tuple[str, ...]:
    """Return the lines of a text file that are not blank.

    Raises:
        InputError: the file cannot be read, or has none.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InputError(f"--queries {path}: cannot be read ({reason})") from None
    found = tuple(line.strip() for line in lines if line.strip())
    if not found:
        raise InputError(f"--queries {path}: has no sentence; write one a line")
    return found


def nearest(
    queries: Sequence[str], texts: Sequence[str], searched: int, embeddings: Mapping[str, NDArray[np.float32]]
) -> list[dict[str, Any]]:
    """Return for each query the three nearest of some sentences, by each model.

    Args:
        queries: all of them stand in *texts*.
        texts: n distinct sentences.
        searched: so many of them, the first ones, may be neighbours; one with the words of the query is passed over.
        embeddings: by the name of a model, shape (n, dimensions).

    Returns:
        A record a query: ``query``, and by the name of each model a list of ``text`` and ``cosine``.
    """
    places = {text: place for place, text in enumerate(texts)}
    keys = [text_key(text) for text in texts]
    found: list[dict[str, Any]] = [{"query": query} for query in queries]
    for model, table in embeddings.items():
        lengths = np.linalg.norm(table, axis=1)
        for record in found:
            own = places[record["query"]]
            cosines = (table @ table[own] / (lengths * lengths[own]))[:searched]
            order = (place for place in np.argsort(-cosines, kind="stable") if keys[place] != keys[own])
            record[model] = [{"text": texts[k], "cosine": float(cosines[k])} for k in islice(order, SHOWN)]
    return found
