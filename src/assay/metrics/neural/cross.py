"""The session of a cross-encoder, which reads both texts of a pair in one pass and returns one number."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from assay.errors import UnavailableError
from assay.metrics.base import Batch, Metric
from assay.metrics.models import describe
from assay.metrics.neural.backends import open_scorer_bodies
from assay.metrics.neural.body import ScorerBody
from assay.metrics.neural.loading import LoadedScorer, load_scorer
from assay.metrics.neural.runtime import import_torch
from assay.metrics.neural.session import ModelEngine, ModelSession, blank_flags, flags_of, with_questions
from assay.metrics.neural.tokens import Packed, tokenize
from assay.metrics.neural.views import Prep
from assay.metrics.work import Scores

if TYPE_CHECKING:
    from assay.metrics.cross_encoder import CrossEncoder

#: The two texts of a pair in the order in which the model reads them.
_Ordered = tuple[str, str]


@dataclass(frozen=True)
class CrossEngine(ModelEngine):
    """The settings that decide the scores of a cross-encoder."""

    reads_pairs: ClassVar[bool] = True

    @property
    def pairs(self) -> int:
        """The number of pairs in a unit of work."""
        return 512 if self.devices == ("cpu",) else 16384

    def open(self) -> CrossSession:
        """Load the model and return its session."""
        return CrossSession(self)


class CrossSession(ModelSession[LoadedScorer, ScorerBody]):
    """A cross-encoder in memory.

    Raises:
        UnavailableError: the model is not a sequence classifier, or its number of outputs is not one.
    """

    def __init__(self, engine: CrossEngine) -> None:
        folder = Path(engine.folder)
        architecture = describe(folder).architecture or ""
        if not architecture.endswith("ForSequenceClassification"):
            raise UnavailableError(
                f"model {folder}: is a {architecture or 'model without a named class'}, which scores no pairs",
                "name a cross-encoder (…ForSequenceClassification), or take bi-encoder:MODEL",
            )
        super().__init__(engine, load_scorer, open_scorer_bodies)
        self._types = "token_type_ids" in self._tokenizer.model_input_names

    def _keep_parts(self, copies: Sequence[LoadedScorer]) -> None:
        """Keep the activation that the model declares."""
        self._activation = copies[0].activation

    def score(self, metrics: Sequence[Metric], batch: Batch, again: Collection[str] = ()) -> Scores:
        """See :meth:`assay.metrics.work.Session.score`; duplicate pairs are computed once.

        The seconds of each metric are the time of all metrics together. The asymmetry of a pair is the range of its
        scores over both orders; NaN if a metric reads one order only.
        """
        blank, batch = blank_flags(batch), with_questions(metrics, batch)
        cross_encoders = [cast("CrossEncoder", metric) for metric in metrics]
        started = time.perf_counter()
        outputs: dict[CrossEncoder, tuple[NDArray[np.float64], NDArray[np.bool_]]] = {}
        metrics_by_limit: dict[int, list[CrossEncoder]] = {}
        for metric in cross_encoders:
            metrics_by_limit.setdefault(metric.limit(), []).append(metric)
        for limit, metrics_at_limit in metrics_by_limit.items():
            outputs |= self._compute_outputs(metrics_at_limit, batch, limit)
        seconds = time.perf_counter() - started
        columns, flags, asymmetry = [], [], []
        for metric in cross_encoders:
            logits, cut = outputs[metric]
            values = self._activate_logits(logits, metric)
            columns.append(values.mean(axis=1))
            both_orders = metric.order == "mean"
            asymmetry.append(np.ptp(values, axis=1) if both_orders else np.full(len(batch), np.nan))
            flags.append(_flags_of_batch(batch, cut) | blank)
        return Scores(
            values=np.stack(columns, axis=1),
            flags=np.stack(flags, axis=1),
            seconds=np.full(len(metrics), seconds),
            asymmetry=np.stack(asymmetry, axis=1),
        )

    def _compute_outputs(
        self, metrics: Sequence[CrossEncoder], batch: Batch, limit: int
    ) -> dict[CrossEncoder, tuple[NDArray[np.float64], NDArray[np.bool_]]]:
        """Return for each metric the logits of n pairs in its k orders, shape (n, k), and which were cut, shape (n,).

        All these metrics cut pairs at the same limit, so that they share the pairs that they read in the same order.
        """
        ordered: dict[CrossEncoder, list[_Ordered]] = {}
        row_of: dict[_Ordered, int] = {}
        for metric in metrics:
            ordered[metric] = [order for pair in batch.pairs() for order in metric.orders(*pair)]
            for order in ordered[metric]:
                row_of.setdefault(order, len(row_of))
        logits, cut = self._logits_of_pairs(list(row_of), limit)
        outputs = {}
        for metric in metrics:
            orders = 2 if metric.order == "mean" else 1
            rows = np.array([row_of[order] for order in ordered[metric]], dtype=np.intp).reshape(len(batch), orders)
            outputs[metric] = logits[rows], np.any(cut[rows], axis=1)
        return outputs

    def _logits_of_pairs(self, pairs: Sequence[_Ordered], limit: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the logit of each pair, and whether it was cut, both of shape (n,)."""
        torch = import_torch()
        prep = Prep(limit)
        first = [prep.apply(text) for text, _ in pairs]
        second = [prep.apply(text) for _, text in pairs]
        tokens = tokenize(self._tokenizer, first, limit, second, types=self._types)
        computed: list[tuple[NDArray[np.intp], Any]] = []

        def step(number: int, body: ScorerBody, batch: Packed) -> None:
            with torch.inference_mode():
                computed.append((batch.items, body.logits(batch).float().reshape(-1)))

        self._run(tokens, step)
        logits = np.zeros(len(pairs))
        for items, values in computed:
            # copied after the last batch: each copy waits for the GPU
            logits[items] = values.cpu().numpy()
        return logits, np.fromiter((pair.cut for pair in tokens), dtype=np.bool_, count=len(tokens))

    def _activate_logits(self, logits: NDArray[np.float64], metric: CrossEncoder) -> NDArray[np.float64]:
        """Apply the activation that the metric names, or the one that the model declares, to each logit."""
        torch = import_torch()
        activations = {"declared": self._activation, "sigmoid": torch.nn.Sigmoid(), "identity": torch.nn.Identity()}
        with torch.inference_mode():
            scores: NDArray[np.float64] = activations[metric.activation](torch.from_numpy(logits)).numpy()
        return scores


def _flags_of_batch(batch: Batch, cut: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Return :class:`Flag` bits of n pairs, shape (n,).

    *cut* tells which pairs were cut, shape (n,). The longer text is flagged, since it is cut first.
    """
    longer = np.fromiter((len(left) >= len(right) for left, right in batch.pairs()), dtype=np.bool_, count=len(batch))
    return flags_of(batch, cut & longer, cut & ~longer)
