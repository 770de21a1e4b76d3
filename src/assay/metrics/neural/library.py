"""The package bert-score itself, as the engine of BERTScore: pair by pair, since its values depend on the batch."""

from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from assay.errors import MissingExtraError
from assay.metrics.base import Batch, Metric
from assay.metrics.neural.corpus import read_corpus
from assay.metrics.neural.flags import blank_flags
from assay.metrics.neural.loading import quiet
from assay.metrics.neural.meter import Meter
from assay.metrics.neural.runtime import set_threads
from assay.metrics.neural.takers import LibraryTaker
from assay.metrics.neural.weights import whole_weights
from assay.metrics.work import Scores

__all__ = ["LibraryEngine", "chosen_layer"]


def chosen_layer(name: str) -> int | None:
    """Return the layer that the package takes for a hub model, or None where it knows none.

    Raises:
        MissingExtraError: the package is not installed.
    """
    try:
        from bert_score.utils import model2layers
    except ImportError as error:
        raise MissingExtraError(error.name or "bert-score", "neural") from error
    found = model2layers.get(name, model2layers.get(name.rpartition("/")[2]))
    return None if found is None else int(found)


@dataclass(frozen=True)
class LibraryEngine:
    """A ``bert_score.BERTScorer``.

    Attributes:
        folder: the checked model folder.
        digest: of its files.
        layer: the layer.
        idf: corpus file, or None.
        device: torch's name.
        threads: of the CPU, or None for the cores that are free.
    """

    folder: str
    digest: str
    layer: int
    idf: str | None
    device: str
    threads: int | None

    @property
    def pairs(self) -> int:
        """Pairs in a unit of work."""
        return 256

    def open(self) -> LibrarySession:
        """Load the model."""
        return LibrarySession(self)


class LibrarySession:
    """The package with a model in memory."""

    def __init__(self, engine: LibraryEngine) -> None:
        try:
            from bert_score import BERTScorer
        except ImportError as error:
            raise MissingExtraError(error.name or "bert-score", "neural") from error
        self._meter = Meter((engine.device,))
        set_threads(engine.threads)
        sentences = None if engine.idf is None else read_corpus(engine.idf)
        with quiet(), whole_weights(Path(engine.folder), "hidden states"):
            self._scorer: Any = BERTScorer(
                model_type=engine.folder,
                num_layers=engine.layer,
                idf=sentences is not None,
                idf_sents=sentences,
                device=engine.device,
                batch_size=1,
                nthreads=0,
            )
        self._meter.loaded(sum(parameter.numel() for parameter in self._scorer._model.parameters()))

    def score(self, metrics: Sequence[Metric], batch: Batch, again: Collection[str] = ()) -> Scores:
        """See :meth:`assay.metrics.work.Session.score`; blank texts, on which the package may break, score 0."""
        begun = time.perf_counter()
        outputs = np.zeros((len(batch), 3))
        flags = blank_flags(batch)
        for row, (reference, candidate) in enumerate(batch.pairs()):
            if not flags[row]:
                with contextlib.redirect_stderr(io.StringIO()):
                    outputs[row] = [float(part[0]) for part in self._scorer.score([candidate], [reference])]
        self._meter.embedded(2 * int((flags == 0).sum()), 0)
        shared = time.perf_counter() - begun
        columns = [
            cast(LibraryTaker, metric).finish({"precision": outputs[:, 0], "recall": outputs[:, 1], "f": outputs[:, 2]})
            for metric in metrics
        ]
        return Scores(
            np.stack(columns, axis=1), np.stack([flags] * len(metrics), axis=1), np.full(len(metrics), shared)
        )

    def cost(self) -> dict[str, Any]:
        """See :meth:`assay.metrics.work.Session.cost`."""
        return self._meter.cost()

    def close(self) -> None:
        """See :meth:`assay.metrics.work.Session.close`."""
        self._scorer = None
        self._meter.close()
