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

from assay.common.messages import Setting
from assay.common.progress import Progress
from assay.exceptions import InputError, UnavailableError
from assay.language.amr import ASPECTS
from assay.language.texts import pair_key
from assay.metrics import Batch, load_metric
from assay.metrics.name import MetricName
from assay.metrics.work import open_session, release_sessions
from assay.training.data import Examples
from assay.training.folder import PAIRS_PER_CHUNK, cached_scores

#: The file with the targets, in a model's folder.
TARGETS = "targets.parquet"
#: The least number of pairs that exchange candidates to make negatives.
UNIT_PAIRS = 8


class AspectScorer(Protocol):
    """Scores pairs of graphs in every aspect.

    Attributes:
        names: the names of the k aspects.
        signature: the identity of the metrics, which changes whenever the scores may change.
    """

    names: tuple[str, ...]
    signature: str

    def score(self, batch: Batch) -> NDArray[np.float64]:
        """Return the scores in [0, 1] of n pairs with graphs, float64, shape (n, k).

        Raises:
            UnavailableError: a score is not a finite number.
        """
        ...

    def close(self) -> None:
        """Release the resources of scoring; called once, after the last batch or an error."""
        ...


class AmrScorer:
    """The scorer of the fifteen aspects that the metrics ``amr:NAME`` measure.

    Args:
        vectors: the path of the file of word vectors; None, if the user named none, is an error.

    Raises:
        InputError: no file of word vectors is named, or it cannot be read as one.
        UnavailableError, MissingExtraError: a metric is unavailable.
    """

    names: tuple[str, ...] = ASPECTS

    def __init__(self, vectors: str | None) -> None:
        if vectors is None:
            raise InputError(
                Setting("vectors", "FILE"), " is needed: some aspects compare words by their vectors, such as GloVe's"
            )
        self._metrics = load_metric(MetricName("amr", "all", (("vectors", vectors),))).expand()
        for metric in self._metrics:
            metric.check_available()
        self.signature = "\n".join(metric.long_signature() for metric in self._metrics)

    def score(self, batch: Batch) -> NDArray[np.float64]:
        """Return the scores in [0, 1] of n pairs with graphs, float64, shape (n, 15), by all metrics in one session.

        Raises:
            UnavailableError: a score is not a finite number.
        """
        values = open_session(self._metrics[0].needs()).score(self._metrics, batch).values
        if not np.isfinite(values).all():
            row, column = np.argwhere(~np.isfinite(values))[0]
            raise UnavailableError(f"amr:{self.names[column]} gives no number for the pair {batch.references[row]!r}")
        return values

    def close(self) -> None:
        """Close all sessions of metrics in this process."""
        release_sessions()


@dataclass(frozen=True, eq=False)
class ScoredPairs:
    """n pairs, among them shuffled negatives, with their scores by the AMR metrics.

    Attributes:
        references, candidates: the texts.
        positive: False for a shuffled negative, shape (n,).
        unit: the number of each pair's unit, the group of pairs that exchanged candidates, shape (n,).
        scores: the scores, one column per metric, float32, shape (n, k).
    """

    references: tuple[str, ...]
    candidates: tuple[str, ...]
    positive: NDArray[np.bool_]
    unit: NDArray[np.int64]
    scores: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.references)


def draw_negatives(
    examples: Examples, times: int, seed: int, excluded_keys: Collection[tuple[str, str]] = ()
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return m shuffled negatives, as rows of references and rows of candidates, and the unit of each of the n pairs.

    The pairs are shuffled and divided into units of at least :data:`UNIT_PAIRS` pairs (more if *times* needs more); a
    smaller set is one unit. Inside a unit, each reference gets the candidates of the *times* pairs that follow it, or
    of all others if the unit has fewer. So a negative is drawn uniformly from all other pairs, and a batch of whole
    units embeds each text once for a pair and its negatives. A negative is left out if it would be a pair of the set, a
    pair of another set, or the same text twice.

    Equal negatives are all kept. If pairs of a unit share a reference or a candidate, two of them may give the same
    texts, which then count twice in training.

    Args:
        examples: the pairs of the set.
        times: the number of negatives per pair.
        seed: the seed of the shuffle.
        excluded_keys: the keys of the pairs of other sets.

    Returns:
        The rows of the negatives' references and candidates, int64, shape (m,) each, and the unit of each pair, int64,
        shape (n,).
    """
    order = np.random.default_rng(seed).permutation(len(examples))
    unit_count = max(1, len(order) // max(UNIT_PAIRS, times + 1))
    unit_of_pair = np.empty(len(examples), dtype=np.int64)
    known_keys = {*examples.keys, *excluded_keys}
    reference_rows, candidate_rows = [], []
    for unit, rows in enumerate(np.array_split(order, unit_count)):
        unit_of_pair[rows] = unit
        for shift in range(1, min(times, len(rows) - 1) + 1):
            for row, other_row in zip(rows.tolist(), np.roll(rows, -shift).tolist(), strict=True):
                reference, candidate = examples.references[row], examples.candidates[other_row]
                if reference != candidate and pair_key(reference, candidate) not in known_keys:
                    reference_rows.append(row)
                    candidate_rows.append(other_row)
    return np.array(reference_rows, dtype=np.int64), np.array(candidate_rows, dtype=np.int64), unit_of_pair


def score_pairs(
    set_name: str,
    examples: Examples,
    *,
    negatives: int,
    seed: int,
    scorer: AspectScorer,
    progress: Progress,
    excluded_keys: Collection[tuple[str, str]] = (),
) -> ScoredPairs:
    """Return pairs, then their shuffled negatives, with the scores of both.

    Scores that were computed earlier come from the cache, and new ones are written to it.

    Args:
        set_name: the name of the set, for progress.
        examples: the pairs, with graphs.
        negatives: the number of negatives per pair.
        seed: the seed of the negatives.
        scorer: the metrics.
        progress: receives the number of pairs after each chunk.
        excluded_keys: the keys of the pairs of other sets, which no negative may repeat.

    Raises:
        InputError: the disk is full.
        Exception: what the scorer raises, such as UnavailableError for a score that is not a finite number.
    """
    own_rows = np.arange(len(examples), dtype=np.int64)
    reference_rows, candidate_rows, units = draw_negatives(examples, negatives, seed, excluded_keys)
    first_rows = np.concatenate([own_rows, reference_rows])
    second_rows = np.concatenate([own_rows, candidate_rows])
    columns = []
    for column, rows in (
        (examples.references, first_rows),
        (examples.candidates, second_rows),
        (examples.reference_graphs, first_rows),
        (examples.candidate_graphs, second_rows),
    ):
        columns.append(tuple(column[row] for row in rows))
    progress.begin(f"AMR metrics of the {set_name} pairs", len(first_rows))
    scores_of_chunks = []
    for start in range(0, len(first_rows), PAIRS_PER_CHUNK):
        chunk = [column[start : start + PAIRS_PER_CHUNK] for column in columns]
        references, candidates, reference_graphs, candidate_graphs = chunk
        batch = Batch(references, candidates, None, reference_graphs, candidate_graphs)
        graphs = (*reference_graphs, *candidate_graphs)
        scores_of_chunks.append(cached_scores(scorer.signature, graphs, partial(scorer.score, batch)))
        progress.advance(len(references))
    scores = np.concatenate(scores_of_chunks).astype(np.float32)
    is_positive = np.arange(len(first_rows)) < len(own_rows)
    return ScoredPairs(columns[0], columns[1], is_positive, units[first_rows], scores)


def write_targets(sets: Mapping[str, ScoredPairs], names: Sequence[str], signature: str, folder: Path) -> str:
    """Write the targets of all sets to one Parquet file, and return the SHA-256 (hex) of its texts, scores and metrics.

    The columns are ``set``, ``reference``, ``candidate`` and ``positive``, then one per metric. The digest and the
    signature are kept in the file's metadata.

    Args:
        sets: the pairs with their scores, by the name of the set.
        names: the names of the metrics.
        signature: the signature of the metrics.
        folder: the folder of the file.
    """
    digest = hashlib.sha256(signature.encode())
    tables = []
    for set_name, pairs in sets.items():
        for text in (*pairs.references, *pairs.candidates):
            digest.update(hashlib.sha256(text.encode()).digest())
        digest.update(pairs.positive.tobytes() + pairs.scores.tobytes())
        columns = {
            "set": [set_name] * len(pairs),
            "reference": list(pairs.references),
            "candidate": list(pairs.candidates),
            "positive": pairs.positive,
        }
        tables.append(pa.table(columns | {name: pairs.scores[:, k] for k, name in enumerate(names)}))
    targets_digest = digest.hexdigest()
    table = pa.concat_tables(tables).replace_schema_metadata(
        {"assay.made_from": targets_digest, "assay.metrics": signature}
    )
    pq.write_table(table, folder / TARGETS)
    return targets_digest
