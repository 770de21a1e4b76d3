"""A cross-encoder in memory: both texts in one pass, one number out."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from assay.errors import UnavailableError
from assay.metrics.base import Batch, Metric
from assay.metrics.models import describe
from assay.metrics.neural.backends import open_scorer_bodies
from assay.metrics.neural.loading import load_scorer, parameters_of
from assay.metrics.neural.runtime import import_torch, set_threads
from assay.metrics.neural.session import Meter, ModelEngine, PairTaker, flags_of
from assay.metrics.neural.tokens import Packed, Packer, Prep, tokenize
from assay.metrics.work import Scores

__all__ = ["CrossEngine", "CrossSession"]


@dataclass(frozen=True)
class CrossEngine(ModelEngine):
    """A cross-encoder: what decides the score of a pair."""

    reads_pairs: ClassVar[bool] = True

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
        models = [one.model for one in loaded]
        # another backend lets go of torch's model, so nothing else may hold it
        del loaded
        self._bodies = open_scorer_bodies(models, engine, threads=threads)
        self._meter.loaded(parameters)

    def score(self, metrics: Sequence[Metric], batch: Batch, again: Collection[str] = ()) -> Scores:
        """See :meth:`assay.metrics.work.Session.score`; a pair that is asked for twice in one order is run once."""
        takers = [cast(PairTaker, metric) for metric in metrics]
        begun = time.perf_counter()
        asked = {taker: [pair for each in batch.pairs() for pair in taker.orders(*each)] for taker in takers}
        found: dict[PairTaker, tuple[NDArray[np.float64], NDArray[np.bool_]]] = {}
        for limit in dict.fromkeys(taker.limit() for taker in takers):
            of_limit = [taker for taker in takers if taker.limit() == limit]
            wanted = dict.fromkeys(chain.from_iterable(asked[taker] for taker in of_limit))
            logits, cut = self._run(list(wanted), limit)
            place = dict(zip(wanted, range(len(wanted)), strict=True))
            for taker in of_limit:
                ways = 2 if taker.order == "mean" else 1
                rows = np.array([place[pair] for pair in asked[taker]], dtype=np.intp).reshape(len(batch), ways)
                found[taker] = logits[rows], np.any(cut[rows], axis=1)
        seconds = time.perf_counter() - begun
        columns, flags, apart = [], [], []
        for taker in takers:
            values = self._activate(found[taker][0], taker)
            columns.append(values.mean(axis=1))
            apart.append(np.ptp(values, axis=1) if taker.order == "mean" else np.full(len(batch), np.nan))
            flags.append(_flags(batch, found[taker][1]))
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

    def _activate(self, logits: NDArray[np.float64], metric: PairTaker) -> NDArray[np.float64]:
        """Return scores of logits; each by itself, by the activation that the model declares or the metric names."""
        torch = import_torch()
        declared = {"declared": self._activation, "sigmoid": torch.nn.Sigmoid(), "identity": torch.nn.Identity()}
        with torch.inference_mode():
            found: NDArray[np.float64] = declared[metric.activation](torch.from_numpy(logits)).numpy()
        return found

    def _run(self, pairs: Sequence[tuple[str, str]], limit: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the logit of each pair, and whether it was cut, both of shape (n,)."""
        torch = import_torch()
        prep = Prep(limit)
        tokens = tokenize(
            self._tokenizer,
            [prep.apply(left) for left, _ in pairs],
            limit,
            [prep.apply(right) for _, right in pairs],
            types=self._types,
        )
        parts: list[tuple[NDArray[np.intp], Any]] = []

        def step(number: int) -> Any:
            body = self._bodies[number]

            def run(batch: Packed) -> None:
                with torch.inference_mode():
                    parts.append((batch.items, body.logits(batch).float().reshape(-1)))

            return run

        self._packer.run(tokens, [(body.device, step(number)) for number, body in enumerate(self._bodies)])
        logits = np.zeros(len(pairs))
        for items, values in parts:
            # only now: a GPU would be waited for at every batch
            logits[items] = values.cpu().numpy()
        self._meter.embedded(len(pairs), sum(len(one.ids) for one in tokens))
        return logits, np.fromiter((one.cut for one in tokens), dtype=np.bool_, count=len(tokens))


def _flags(batch: Batch, cut: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Return the flags of pairs; of one that was cut, the longer text was cut first."""
    longer = np.fromiter((len(left) >= len(right) for left, right in batch.pairs()), dtype=np.bool_, count=len(batch))
    return flags_of(batch, cut & longer, cut & ~longer)
