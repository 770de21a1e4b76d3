"""The session of a cross-encoder, which reads both texts of a pair in one pass."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from assay.exceptions import UnavailableError
from assay.metrics.base import Batch, Metric
from assay.metrics.models import describe
from assay.metrics.neural.backends import open_scorer_bodies
from assay.metrics.neural.body import ScorerBody, accepts_types
from assay.metrics.neural.loading import LoadedScorer, load_scorer, silence_libraries
from assay.metrics.neural.runtime import import_torch
from assay.metrics.neural.session import ModelEngine, ModelSession, add_questions, blank_flags, flags_of
from assay.metrics.neural.tokens import Packed, tokenize
from assay.metrics.neural.views import Preparation
from assay.metrics.scores import Scores

if TYPE_CHECKING:
    from assay.metrics.neural.readers import PairReader

#: The two texts of a pair in the order in which the model reads them.
_OrderedPair = tuple[str, str]


@dataclass(frozen=True)
class CrossEngine(ModelEngine):
    """The settings that decide the scores of a cross-encoder."""

    reads_pairs: ClassVar[bool] = True

    @property
    def pairs(self) -> int:
        """The number of pairs in a unit of work, larger on a GPU, which takes less time for each."""
        return 512 if self.devices == ("cpu",) else 16384

    def open(self) -> CrossSession:
        """Load the model and return its session.

        Raises:
            MissingExtraError: a package is not installed.
            UnavailableError: the model cannot be loaded, or is not a sequence classifier.
            InputError: the backend does not support the precision.
        """
        return CrossSession(self)


class CrossSession(ModelSession[LoadedScorer, ScorerBody]):
    """A cross-encoder in memory.

    Args:
        engine: the settings.

    Raises:
        MissingExtraError: a package is not installed.
        UnavailableError: the model cannot be loaded, or is not a sequence classifier.
        InputError: the backend does not support the precision.
    """

    def __init__(self, engine: CrossEngine) -> None:
        folder = Path(engine.folder)
        architecture = describe(folder).architecture or ""
        if not architecture.endswith("ForSequenceClassification"):
            raise UnavailableError(
                f"model {folder}: is a {architecture or 'model without a named class'}, which scores no pairs",
                "name a cross-encoder (…ForSequenceClassification), or use bi-encoder:MODEL",
            )
        super().__init__(engine, load_scorer, open_scorer_bodies)
        self._with_types = "token_type_ids" in self._tokenizer.model_input_names and self._accepts_types

    def _keep_parts(self, copies: Sequence[LoadedScorer]) -> None:
        """Keep the activation that the model declares, a module of torch.nn, and the number of outputs."""
        self._activation = copies[0].activation
        self._outputs = int(copies[0].model.config.num_labels)
        self._accepts_types = accepts_types(copies[0].model)

    def score(self, metrics: Sequence[Metric], batch: Batch, again: Collection[str] = ()) -> Scores:
        """Return the scores of n pairs under m metrics; duplicate pairs are computed once.

        The seconds of each metric are the time of all metrics together. The asymmetry of a pair is the range of its
        scores over both orders; NaN if a metric reads one order only. *again* is not used.
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
        pairs_read: dict[PairReader, list[_OrderedPair]] = {}
        row_of: dict[_OrderedPair, int] = {}
        for metric in metrics:
            pairs_read[metric] = [ordered for pair in batch.pairs() for ordered in metric.orders(*pair)]
            for ordered in pairs_read[metric]:
                row_of.setdefault(ordered, len(row_of))
        logits, cut = self._logits_of_pairs(list(row_of), limit, prefix)
        outputs = {}
        for metric in metrics:
            order_count = 2 if metric.order == "mean" else 1
            rows = np.array([row_of[ordered] for ordered in pairs_read[metric]], dtype=np.intp)
            rows_by_pair = rows.reshape(len(batch), order_count)
            outputs[metric] = logits[rows_by_pair], np.any(cut[rows_by_pair], axis=1)
        return outputs

    def _logits_of_pairs(
        self, pairs: Sequence[_OrderedPair], limit: int, prefix: str
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the logits of n pairs, shape (n, k), and whether each was cut at *limit* tokens, shape (n,).

        The text *prefix* is put before the first text of each pair.
        """
        torch = import_torch()
        preparation = Preparation(limit)
        first = [prefix + preparation.apply(text) for text, _ in pairs]
        second = [preparation.apply(text) for _, text in pairs]
        tokens = tokenize(self._tokenizer, first, limit, second, with_types=self._with_types)
        computed: list[tuple[NDArray[np.intp], Any]] = []

        def step(number: int, body: ScorerBody, batch: Packed) -> None:
            with torch.inference_mode():
                computed.append((batch.items, body.logits(batch).float()))

        self._run(tokens, step)
        logits = np.zeros((len(pairs), self._outputs))
        for items, values in computed:
            # copied after the last batch: each copy waits for the GPU
            logits[items] = values.cpu().numpy()
        return logits, np.fromiter((pair.cut for pair in tokens), dtype=np.bool_, count=len(tokens))

    def _activate_logits(self, logits: NDArray[np.float64], metric: PairReader) -> NDArray[np.float64]:
        """Return the score of n pairs in o orders, shape (n, o): the metric's output after its activation.

        Args:
            logits: the outputs of the model, shape (n, o, k).
            metric: names the activation, or takes the one that the model declares, and chooses the output.
        """
        torch = import_torch()
        activations = {
            "declared": self._activation,
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
