"""Labels of random pairs: the scores of a cross-encoder, computed once and kept."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError
from assay.metrics import Batch, Metric, load_metric
from assay.metrics.work import open_session, release_sessions
from assay.training.augmented.pairing import Pair
from assay.training.kept import CHUNK, kept_scores
from assay.training.progress import Progress

__all__ = ["Labeller", "label_pairs"]


class Labeller:
    """A cross-encoder that says how similar two texts are.

    Args:
        model: what may stand after ``cross-encoder:``, options included.

    Raises:
        InputError, UnavailableError, MissingExtraError: there is no such model, or it cannot be had here.
    """

    def __init__(self, model: str) -> None:
        self._name = f"cross-encoder:{model}"
        self._metric: Metric = load_metric(self._name)
        self._metric.check_available()
        self.signature = self._metric.long_signature()

    def labels(self, pairs: Sequence[Pair], progress: Progress) -> NDArray[np.float64]:
        """Return the scores of n pairs, shape (n,); what was scored before comes from the cache.

        Raises:
            InputError: a score is not between 0 and 1, so that it is no label.
        """
        progress.begin("labelling of random pairs", len(pairs))
        parts = [np.empty(0)]
        try:
            for start in range(0, len(pairs), CHUNK):
                chunk = pairs[start : start + CHUNK]
                batch = Batch([one.reference for one in chunk], [one.candidate for one in chunk])
                texts = (*batch.references, *batch.candidates)
                parts.append(kept_scores(self.signature, texts, partial(self._score, batch)))
                progress.advance(len(chunk))
        finally:
            release_sessions()
        return np.concatenate(parts)

    def _score(self, batch: Batch) -> NDArray[np.float64]:
        scores: NDArray[np.float64] = open_session(self._metric.needs()).score([self._metric], batch).values[:, 0]
        for row in np.flatnonzero(~((scores >= 0) & (scores <= 1)))[:1]:
            raise InputError(
                f"--labeller: {self._name} gives {scores[row]:.4g} for {batch.references[row]!r} and "
                f"{batch.candidates[row]!r}; labels lie between 0 and 1: add ,activation=sigmoid to its name, or take "
                "a model that was trained on similarity"
            )
        return scores


def label_pairs(pairs: Sequence[Pair], labeller: Labeller | None, progress: Progress) -> NDArray[np.float64]:
    """Return the labels of n pairs: their own, and the labeller's for those that have none.

    Args:
        pairs: n of them.
        labeller: a cross-encoder; None where every pair has a label.
        progress: told of each chunk.

    Returns:
        Labels in [0, 1], shape (n,).
    """
    labels = np.array([np.nan if one.label is None else one.label for one in pairs])
    rows = np.flatnonzero(np.isnan(labels))
    if labeller is not None and len(rows):
        labels[rows] = labeller.labels([pairs[row] for row in rows.tolist()], progress)
    return labels
