"""The pairs of an augmented training as sets to learn from, and as a file."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from assay.errors import InputError
from assay.training.apart import keep_apart
from assay.training.augmented.pairing import SPLITS, Pair
from assay.training.data import Examples, Source

__all__ = ["PAIRS", "as_sets", "write_pairs"]

#: The file in a model's folder.
PAIRS = "pairs.parquet"
LICENCE = "made by rule; the licence of the entities holds, where there are any"


def as_sets(
    pairs: Sequence[Pair], labels: NDArray[np.float64], say: Callable[[str], None]
) -> tuple[dict[str, Examples], dict[str, int]]:
    """Return the sets ``train``, ``dev`` and ``test``, and counts for the model's card.

    Args:
        pairs: n of them.
        labels: in [0, 1], shape (n,).
        say: gets a line for everything that is left out.

    Raises:
        InputError: a split has no pairs.
    """
    found = {}
    for name in SPLITS:
        rows = [row for row, pair in enumerate(pairs) if pair.split == name]
        if len(rows) < 2:
            raise InputError(
                f"{len(rows)} {name} pairs can be made, and 2 are needed; give more entities or numbers: a tenth of "
                "them is held out for dev and for test each"
            )
        found[name] = _examples(name, [pairs[row] for row in rows], labels[rows])
    train, dev, counts = keep_apart(found["train"], found["dev"], found["test"], say)
    sets = {"train": train, "dev": dev, "test": found["test"]}
    return sets, {f"{name}_pairs": len(one) for name, one in sets.items()} | counts


def _examples(name: str, pairs: Sequence[Pair], labels: NDArray[np.float64]) -> Examples:
    texts = tuple(one.reference for one in pairs), tuple(one.candidate for one in pairs)
    digest = hashlib.sha256(labels.tobytes())
    for text in (*texts[0], *texts[1]):
        digest.update(hashlib.sha256(text.encode()).digest())
    rows = np.arange(len(pairs), dtype=np.int64)
    source = Source(f"{PAIRS}:{name}", "augmented", "", name, None, LICENCE, digest.hexdigest(), (0.0, 1.0), "machine")
    origins = np.zeros(len(pairs), dtype=np.int64)
    return Examples(*texts, labels, (), (), origins, rows, (source,), rows + 1)


def write_pairs(pairs: Sequence[Pair], labels: NDArray[np.float64], made_from: Mapping[str, str], folder: Path) -> None:
    """Write ``pairs.parquet``: columns ``reference, candidate, label, split, origin``.

    Args:
        pairs: n of them.
        labels: theirs, shape (n,).
        made_from: digests and signatures, kept in the file's metadata.
        folder: where.
    """
    columns = {
        "reference": [one.reference for one in pairs],
        "candidate": [one.candidate for one in pairs],
        "label": labels,
        "split": [one.split for one in pairs],
        "origin": [one.origin for one in pairs],
    }
    table = pa.table(columns).replace_schema_metadata({f"assay.{name}": value for name, value in made_from.items()})
    pq.write_table(table, folder / PAIRS)
