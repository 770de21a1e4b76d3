"""What S3BERT learns: AMR metric scores of pairs and of shuffled negatives, computed once and kept."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from assay.amr import ASPECTS
from assay.errors import InputError, UnavailableError
from assay.metrics import Batch, load_metric
from assay.metrics.name import MetricName
from assay.metrics.work import open_session, release_sessions
from assay.progress import Progress
from assay.training.data import Examples, pair_key
from assay.training.folder import CHUNK, cached_scores

#: The file in a model's folder.
TARGETS = "targets.parquet"
#: Pairs that exchange candidates for their negatives.
UNIT = 8


class AspectScorer(Protocol):
    """Scores pairs of graphs in every aspect.

    Attributes:
        names: of the aspects, k of them.
        signature: changes when the scores may change.
    """

    names: tuple[str, ...]
    signature: str

    def score(self, batch: Batch) -> NDArray[np.float64]:
        """Return the scores in [0, 1] of n pairs with graphs, shape (n, k)."""
        ...

    def close(self) -> None:
        """Let go of what scoring held."""
        ...


class AmrScorer:
    """The fifteen aspects by the metrics ``amr:NAME``.

    Args:
        vectors: file of word vectors.

    Raises:
        InputError: no file of word vectors was named, or it is none.
    """

    names: tuple[str, ...] = ASPECTS

    def __init__(self, vectors: str | None) -> None:
        if vectors is None:
            raise InputError("`vectors=FILE` is needed: some aspects compare words by their vectors, such as GloVe's")
        self._metrics = load_metric(MetricName("amr", "all", (("vectors", vectors),))).expand()
        for metric in self._metrics:
            metric.check_available()
        self.signature = "\n".join(metric.long_signature() for metric in self._metrics)

    def score(self, batch: Batch) -> NDArray[np.float64]:
        """See :class:`AspectScorer`; the metrics share a session.

        Raises:
            UnavailableError: a score is no number.
        """
        values = open_session(self._metrics[0].needs()).score(self._metrics, batch).values
        if not np.isfinite(values).all():
            row, place = np.argwhere(~np.isfinite(values))[0]
            raise UnavailableError(f"amr:{self.names[place]} gives no number for the pair {batch.references[row]!r}")
        return values

    def close(self) -> None:
        """Let go of what scoring held."""
        release_sessions()


@dataclass(frozen=True, eq=False)
class ScoredPairs:
    """Pairs and their shuffled negatives with the scores of the AMR metrics, n of them.

    Attributes:
        references, candidates: the texts.
        positive: False for a shuffled negative, shape (n,).
        unit: number of the group of pairs whose candidates were exchanged among them, shape (n,).
        scores: float32, shape (n, k).
    """

    references: tuple[str, ...]
    candidates: tuple[str, ...]
    positive: NDArray[np.bool_]
    unit: NDArray[np.int64]
    scores: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.references)


def draw_negatives(
    examples: Examples, times: int, seed: int, taken: Collection[tuple[str, str]] = ()
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return rows of references, rows of candidates, and the unit of every pair of the set.

    The pairs are shuffled and cut into units of at least :data:`UNIT` (more where more negatives are asked for); inside
    a unit each reference gets the candidates of the pairs that follow, *times* of them. So a negative is drawn from all
    other pairs alike, and a batch that holds whole units needs each text once for a pair and its negatives. A negative
    that would be a pair of the set or one of *taken* (keys of other sets), or one text twice, is left out.
    """
    order = np.random.default_rng(seed).permutation(len(examples))
    parts = np.array_split(order, max(1, len(order) // max(UNIT, times + 1)))
    units = np.empty(len(examples), dtype=np.int64)
    known = {*examples.keys, *taken}
    left, right = [], []
    for number, unit in enumerate(parts):
        units[unit] = number
        for shift in range(1, min(times, len(unit) - 1) + 1):
            for row, other in zip(unit.tolist(), np.roll(unit, -shift).tolist(), strict=True):
                one, two = examples.references[row], examples.candidates[other]
                if one != two and pair_key(one, two) not in known:
                    left.append(row)
                    right.append(other)
    return np.array(left, dtype=np.int64), np.array(right, dtype=np.int64), units


def score_pairs(
    what: str,
    examples: Examples,
    *,
    negatives: int,
    seed: int,
    scorer: AspectScorer,
    progress: Progress,
    taken: Collection[tuple[str, str]] = (),
) -> ScoredPairs:
    """Return pairs and shuffled negatives with their scores; what was scored before comes from the cache.

    Args:
        what: name of the set, for progress.
        examples: pairs with graphs.
        negatives: for each pair.
        seed: of the negatives.
        scorer: the metrics.
        progress: told of each chunk.
        taken: keys of pairs that no negative may be, those of other sets.
    """
    rows = np.arange(len(examples), dtype=np.int64)
    references, candidates, units = draw_negatives(examples, negatives, seed, taken)
    left, right = np.concatenate([rows, references]), np.concatenate([rows, candidates])
    columns = (examples.references, examples.candidates, examples.reference_graphs, examples.candidate_graphs)
    sides = (left, right, left, right)
    texts = [tuple(column[row] for row in side) for column, side in zip(columns, sides, strict=True)]
    progress.begin(f"AMR metrics of the {what} pairs", len(left))
    parts = []
    for start in range(0, len(left), CHUNK):
        chunk = [column[start : start + CHUNK] for column in texts]
        batch = Batch(chunk[0], chunk[1], None, chunk[2], chunk[3])
        parts.append(cached_scores(scorer.signature, (*chunk[2], *chunk[3]), partial(scorer.score, batch)))
        progress.advance(len(chunk[0]))
    scores = np.concatenate(parts).astype(np.float32)
    return ScoredPairs(texts[0], texts[1], np.arange(len(left)) < len(rows), units[left], scores)


def write_targets(sets: Mapping[str, ScoredPairs], names: Sequence[str], signature: str, folder: Path) -> str:
    """Write the targets of all sets into one Parquet file; return the SHA-256 (hex) of what they were made from.

    Columns ``set, reference, candidate, positive``, then one a metric.
    """
    digest = hashlib.sha256(signature.encode())
    tables = []
    for title, pairs in sets.items():
        for text in (*pairs.references, *pairs.candidates):
            digest.update(hashlib.sha256(text.encode()).digest())
        digest.update(pairs.positive.tobytes() + pairs.scores.tobytes())
        columns = {
            "set": [title] * len(pairs),
            "reference": list(pairs.references),
            "candidate": list(pairs.candidates),
            "positive": pairs.positive,
        }
        tables.append(pa.table(columns | {name: pairs.scores[:, k] for k, name in enumerate(names)}))
    made_from = digest.hexdigest()
    table = pa.concat_tables(tables).replace_schema_metadata({"assay.made_from": made_from, "assay.metrics": signature})
    pq.write_table(table, folder / TARGETS)
    return made_from
