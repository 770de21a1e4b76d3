"""A cross-encoder in memory: both texts in one pass, one number out."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from assay.errors import UnavailableError
from assay.metrics.base import Batch, Metric
from assay.metrics.models import describe
from assay.metrics.neural.backends import open_scorer_bodies
from assay.metrics.neural.engine import ModelEngine
from assay.metrics.neural.inputs import Prep, Tokens, tokenize
from assay.metrics.neural.loading import load_scorer, parameters_of
from assay.metrics.neural.meter import Meter
from assay.metrics.neural.packing import Packed, Packer
from assay.metrics.neural.runtime import import_torch, set_threads
from assay.metrics.work import Flag, Scores

if TYPE_CHECKING:
    from assay.metrics.cross_encoder import CrossEncoder

__all__ = ["CrossEngine", "CrossSession"]


@dataclass(frozen=True)
class CrossEngine(ModelEngine):
    """A cross-encoder: what decides the score of a pair."""

    @property
    def pairs(self) -> int:
        """Pairs in a unit of work."""
        return 512 if self.devices == ("cpu",) else 16384

    def open(self) -> CrossSession:
        """Load the model."""
        return CrossSession(self)


class CrossSession:
    """A cross-encoder in memory.

    Raises:
        UnavailableError: the model has no head that was trained, or not one output.
    """

    def __init__(self, engine: CrossEngine) -> None:
        self._meter = Meter(engine.devices)
        threads = set_threads(engine.threads)
        folder = Path(engine.folder)
        architecture = describe(folder).architecture or ""
        if not architecture.endswith("ForSequenceClassification"):
            raise UnavailableError(
                f"model {folder}: is a {architecture or 'model without a named class'}, which scores no pairs",
                "name a cross-encoder (…ForSequenceClassification), or take bi-encoder:MODEL",
            )
        reduced = engine.precision if engine.backend == "torch" else "fp32"
        loaded = [load_scorer(folder, reduced, device) for device in engine.devices]
        parameters = parameters_of(loaded[0].model)
        self._tokenizer = loaded[0].tokenizer
        self._activation = loaded[0].activation
        self._types = "token_type_ids" in self._tokenizer.model_input_names
        self._packer = Packer(int(self._tokenizer.pad_token_id or 0), engine.tokens)
        parameters = parameters_of(loaded[0].model)
        models = [one.model for one in loaded]
        # another backend lets go of torch's model, so nothing else may hold it
        del loaded
        self._bodies = open_scorer_bodies(models, engine, threads=threads)
        self._meter.loaded(parameters)

    def score(self, metrics: Sequence[Metric], batch: Batch, again: Collection[str] = ()) -> Scores:
        """See :meth:`assay.metrics.work.Session.score`; a pair that is asked for twice in one order is run once."""
        takers = [cast("CrossEncoder", metric) for metric in metrics]
        begun = time.perf_counter()
        pairs = list(batch.pairs())
        logits: dict[tuple[int, tuple[str, str]], float] = {}
        cut: dict[tuple[int, tuple[str, str]], bool] = {}
        for limit in dict.fromkeys(taker.limit() for taker in takers):
            wanted = {
                pair: None
                for taker in takers
                if taker.limit() == limit
                for each in pairs
                for pair in taker.orders(*each)
            }
            found, was_cut = self._run(list(wanted), limit)
            for pair, value, short in zip(wanted, found, was_cut, strict=True):
                logits[limit, pair], cut[limit, pair] = float(value), short
        seconds = time.perf_counter() - begun
        columns, flags, apart = [], [], []
        for taker in takers:
            limit = taker.limit()
            ways = 2 if taker.order == "mean" else 1
            both = np.array([[logits[limit, pair] for pair in taker.orders(*each)] for each in pairs])
            found = self._activate(both.reshape(len(pairs), ways), taker)
            columns.append(found.mean(axis=1))
            apart.append(np.ptp(found, axis=1) if ways == 2 else np.full(len(pairs), np.nan))
            flags.append(_flags(batch, [any(cut[limit, pair] for pair in taker.orders(*each)) for each in pairs]))
        return Scores(
            np.stack(columns, axis=1),
            np.stack(flags, axis=1),
            np.full(len(takers), seconds),
            np.stack(apart, axis=1),
        )

    def cost(self) -> dict[str, Any]:
        """See :meth:`assay.metrics.work.Session.cost`."""
        return self._meter.cost() | {"batches_halved": self._packer.halved}

    def close(self) -> None:
        """See :meth:`assay.metrics.work.Session.close`."""
        self._bodies.clear()
        self._meter.close()

    def _activate(self, logits: NDArray[np.float64], metric: CrossEncoder) -> NDArray[np.float64]:
        """Return scores of logits; each by itself, by the activation that the model declares or the metric names."""
        torch = import_torch()
        declared = {"declared": self._activation, "sigmoid": torch.nn.Sigmoid(), "identity": torch.nn.Identity()}
        with torch.inference_mode():
            found: NDArray[np.float64] = declared[metric.activation](torch.from_numpy(logits)).numpy()
        return found

    def _run(self, pairs: Sequence[tuple[str, str]], limit: int) -> tuple[NDArray[np.float64], list[bool]]:
        torch = import_torch()
        prep = Prep(limit)
        tokens: list[Tokens] = tokenize(
            self._tokenizer,
            [prep.apply(left) for left, _ in pairs],
            limit,
            [prep.apply(right) for _, right in pairs],
            types=self._types,
        )
        logits = np.empty(len(pairs))

        def step(number: int) -> Any:
            body = self._bodies[number]

            def run(batch: Packed) -> None:
                with torch.inference_mode():
                    logits[batch.items] = body.logits(batch).float().reshape(-1).cpu().numpy()

            return run

        lists = [one.list for one in tokens]
        self._packer.run(lists, [(body.device, step(number)) for number, body in enumerate(self._bodies)])
        self._meter.embedded(len(pairs), sum(len(one.ids) for one in lists))
        return logits, [one.cut for one in tokens]


def _flags(batch: Batch, cut: Sequence[bool]) -> NDArray[np.uint8]:
    flags = np.zeros(len(batch), dtype=np.uint8)
    for row, ((reference, candidate), short) in enumerate(zip(batch.pairs(), cut, strict=True)):
        # of a pair the longer text is cut first
        flags[row] = (
            (0 if not short else Flag.REFERENCE_CUT if len(reference) >= len(candidate) else Flag.CANDIDATE_CUT)
            | (0 if reference.strip() else Flag.REFERENCE_EMPTY)
            | (0 if candidate.strip() else Flag.CANDIDATE_EMPTY)
        )
    return flags
