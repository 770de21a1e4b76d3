"""Scores of pairs from the outputs of a cross-encoder: orders of the texts, activations and classes."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from assay.common.processes import collections_paused
from assay.metrics.base import Batch, Metric
from assay.metrics.models.located import check_models_once
from assay.metrics.neural.loading import silence_libraries
from assay.metrics.neural.runtime import import_torch
from assay.metrics.neural.session import add_questions, blank_flags, flags_of
from assay.metrics.scores import Scores

if TYPE_CHECKING:
    from assay.metrics.neural.readers import PairReader

#: The two texts of a pair in the order in which the model reads them.
OrderedPair = tuple[str, str]


class PairScoring(ABC):
    """The part of a session that turns the outputs of a cross-encoder into scores.

    Attributes:
        activation: the activation that the model declares, a module of torch.nn.
    """

    activation: Any

    @collections_paused()
    @check_models_once()
    def score(self, metrics: Sequence[Metric], batch: Batch, again: Collection[str] = ()) -> Scores:
        """Return the scores of n pairs under m metrics; duplicate pairs are computed once.

        The seconds of each metric are the time of all metrics together. The asymmetry of a pair is the range of its
        scores over both orders; NaN if a metric reads one order only. *again* is not used.

        Raises:
            UnavailableError: the model fails on a text, or has several outputs of which a metric chooses none.
            InputError: the model has no such class, prompt or length limit as a metric names.
        """
        blank, batch = blank_flags(batch), add_questions(metrics, batch)
        cross_encoders = [cast("PairReader", metric) for metric in metrics]
        started = time.perf_counter()
        outputs: dict[PairReader, tuple[NDArray[np.float64], NDArray[np.bool_]]] = {}
        metrics_by_preparation: dict[tuple[int, str], list[PairReader]] = {}
        for metric in cross_encoders:
            metrics_by_preparation.setdefault((metric.limit(), metric.resolve_prefix()), []).append(metric)
        for (limit, prefix), metrics_of_one in metrics_by_preparation.items():
            outputs |= self._compute_outputs(metrics_of_one, batch, limit, prefix)
        seconds = time.perf_counter() - started
        columns, flags, asymmetry = [], [], []
        for metric in cross_encoders:
            logits, cut = outputs[metric]
            values = self._activate_logits(logits, metric)
            columns.append(values.mean(axis=1))
            reads_both_orders = metric.order == "mean"
            asymmetry.append(np.ptp(values, axis=1) if reads_both_orders else np.full(len(batch), np.nan))
            flags.append(_flags_of_batch(batch, cut) | blank)
        return Scores(
            values=np.stack(columns, axis=1),
            flags=np.stack(flags, axis=1),
            seconds=np.full(len(metrics), seconds),
            asymmetry=np.stack(asymmetry, axis=1),
        )

    def _compute_outputs(
        self, metrics: Sequence[PairReader], batch: Batch, limit: int, prefix: str
    ) -> dict[PairReader, tuple[NDArray[np.float64], NDArray[np.bool_]]]:
        """Return for each metric the logits of n pairs, shape (n, o, k), and whether each pair was cut, shape (n,).

        The metric reads each pair in o orders, one or two; the model has k outputs. All these metrics cut pairs at the
        same *limit* and put the same *prefix* before the first text, so that they share the pairs that they read in the
        same order.
        """
        pairs_read: dict[PairReader, list[OrderedPair]] = {}
        row_of: dict[OrderedPair, int] = {}
        for metric in metrics:
            pairs_read[metric] = [ordered for pair in batch.pairs() for ordered in metric.orders(*pair)]
            for ordered in pairs_read[metric]:
                row_of.setdefault(ordered, len(row_of))
        logits, cut = self.logits_of_pairs(list(row_of), limit, prefix)
        outputs = {}
        for metric in metrics:
            order_count = 2 if metric.order == "mean" else 1
            rows = np.array([row_of[ordered] for ordered in pairs_read[metric]], dtype=np.intp)
            rows_by_pair = rows.reshape(len(batch), order_count)
            outputs[metric] = logits[rows_by_pair], np.any(cut[rows_by_pair], axis=1)
        return outputs

    @abstractmethod
    def logits_of_pairs(
        self, pairs: Sequence[OrderedPair], limit: int, prefix: str
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the logits of n pairs, shape (n, k), and whether each was cut at *limit* tokens, shape (n,).

        The text *prefix* is put before the first text of each pair.

        Raises:
            UnavailableError: the model fails on a text.
            InputError: the model has no length limit that can be set.
        """

    def _activate_logits(self, logits: NDArray[np.float64], metric: PairReader) -> NDArray[np.float64]:
        """Return the score of n pairs in o orders, shape (n, o): the metric's output after its activation.

        Args:
            logits: the outputs of the model, shape (n, o, k).
            metric: names the activation, or takes the one that the model declares, and chooses the output.
        """
        torch = import_torch()
        activations = {
            "declared": self.activation,
            "sigmoid": torch.nn.Sigmoid(),
            "identity": torch.nn.Identity(),
            "softmax": torch.nn.Softmax(dim=-1),
        }
        # a declared activation may read all outputs of a pair, as in the library
        outputs = torch.from_numpy(logits.reshape(-1, logits.shape[2]))
        with silence_libraries(), torch.inference_mode():
            scores: NDArray[np.float64] = activations[metric.activation](outputs)[:, metric.resolve_class()].numpy()
        return scores.reshape(logits.shape[:2])


def _flags_of_batch(batch: Batch, cut: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Return :class:`Flag` bits of n pairs, uint8, shape (n,), for texts that are blank and texts that were cut.

    *cut* tells which pairs were cut, shape (n,). Of such a pair the longer text is flagged, since it is cut first.
    """
    references_longer = np.array([len(left) >= len(right) for left, right in batch.pairs()], dtype=np.bool_)
    return flags_of(batch, cut & references_longer, cut & ~references_longer)
