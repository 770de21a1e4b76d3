"""The session of the package bert-score itself, which computes BERTScore pair by pair."""

from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from assay.exceptions import MissingExtraError
from assay.metrics.base import Batch, Metric
from assay.metrics.neural.bertscore import read_corpus
from assay.metrics.neural.loading import count_parameters, require_all_weights, silence_libraries
from assay.metrics.neural.runtime import set_threads
from assay.metrics.neural.session import Meter, blank_flags
from assay.metrics.scores import Scores

if TYPE_CHECKING:
    from assay.metrics.neural.readers import TokenMatcher


@dataclass(frozen=True)
class BertScorePackageEngine:
    """The settings under which the package bert-score itself computes BERTScore.

    It gets one pair at a time, since its values depend on the batch.

    Attributes:
        folder: the checked model folder.
        digest: the digest of the model's files.
        layer: the layer whose embeddings are compared.
        idf: the path of a corpus for the token weights, or None for equal weights.
        device: torch's name of the device.
        threads: the number of CPU threads, or None for one per free core.
    """

    folder: str
    digest: str
    layer: int
    idf: str | None
    device: str
    threads: int | None

    @property
    def pairs(self) -> int:
        """The number of pairs in a unit of work; small, since the package scores one pair at a time."""
        return 256

    def open(self) -> BertScorePackageSession:
        """Load the model and return its session.

        Raises:
            MissingExtraError: the package is not installed.
            UnavailableError: the model lacks weights.
            InputError: the corpus cannot be read.
        """
        return BertScorePackageSession(self)


class BertScorePackageSession:
    """The package bert-score with a model in memory.

    Args:
        engine: the settings of the package.

    Raises:
        MissingExtraError: the package is not installed.
        UnavailableError: the model lacks weights.
        InputError: the corpus cannot be read.
    """

    def __init__(self, engine: BertScorePackageEngine) -> None:
        try:
            from bert_score import BERTScorer
        except ImportError as error:
            raise MissingExtraError(error.name or "bert-score", "neural") from error
        self._meter = Meter((engine.device,))
        set_threads(engine.threads)
        sentences = None if engine.idf is None else read_corpus(engine.idf)
        with silence_libraries(), require_all_weights(Path(engine.folder), "hidden states"):
            self._scorer: Any = BERTScorer(
                model_type=engine.folder,
                num_layers=engine.layer,
                idf=sentences is not None,
                idf_sents=sentences,
                device=engine.device,
                batch_size=1,
                # counts the corpus in this process, without a pool of processes
                nthreads=0,
            )
        self._meter.record_loaded(count_parameters(self._scorer._model))

    def score(self, metrics: Sequence[Metric], batch: Batch, again: Collection[str] = ()) -> Scores:
        """Return the scores of n pairs under m metrics.

        Pairs with a blank text, on which the package may break, have precision, recall and F of 0. The seconds of each
        metric are the time of all metrics together; *again* is not used.
        """
        started = time.perf_counter()
        outputs = np.zeros((len(batch), 3))
        flags = blank_flags(batch)
        for row, (reference, candidate) in enumerate(batch.pairs()):
            if not flags[row]:
                # the package warns on stderr
                with contextlib.redirect_stderr(io.StringIO()):
                    precision, recall, f = self._scorer.score([candidate], [reference])
                outputs[row] = float(precision[0]), float(recall[0]), float(f[0])
        self._meter.add_texts(2 * int((flags == 0).sum()), 0)
        seconds = time.perf_counter() - started
        by_name = {"precision": outputs[:, 0], "recall": outputs[:, 1], "f": outputs[:, 2]}
        columns = [cast("TokenMatcher", metric).chosen_output(by_name) for metric in metrics]
        return Scores(
            values=np.stack(columns, axis=1),
            flags=np.stack([flags] * len(metrics), axis=1),
            seconds=np.full(len(metrics), seconds),
        )

    def cost(self) -> dict[str, Any]:
        """Return the counts of :meth:`Meter.cost`; that of tokens is 0, since the package does not tell it."""
        return self._meter.cost()

    def close(self) -> None:
        """Free the memory of the model."""
        self._scorer = None
        self._meter.close()
