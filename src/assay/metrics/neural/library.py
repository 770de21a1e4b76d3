"""Sessions in which sentence-transformers itself computes the scores, for models that need more than assay's own loop.

These are slower: each text is a batch of its own, and each metric reads the model for itself.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from assay.exceptions import InputError
from assay.metrics.base import Batch, Metric
from assay.metrics.neural.embeddings import TextEmbeddings
from assay.metrics.neural.loading import count_parameters, load_library_encoder, silence_libraries
from assay.metrics.neural.runtime import import_torch, set_threads
from assay.metrics.neural.session import Meter, ModelEngine, add_questions, blank_flags, flags_of, one_line_failures
from assay.metrics.neural.tokens import tokenize
from assay.metrics.scores import Scores

if TYPE_CHECKING:
    from assay.metrics.neural.readers import EncoderBased

#: Texts in a batch: one, since some modules, such as a convolution, give a padded text another embedding.
BATCH_SIZE = 1


@dataclass(frozen=True)
class LibraryEngine(ModelEngine):
    """The settings of a sentence encoder that sentence-transformers itself computes."""

    @property
    def pairs(self) -> int:
        """The number of pairs in a unit of work."""
        return 512

    def open(self) -> LibrarySession:
        """Load the model and return its session.

        Raises:
            MissingExtraError: a package is not installed.
            UnavailableError: the model cannot be loaded.
        """
        return LibrarySession(self)


class LibrarySession:
    """A sentence encoder in memory, as sentence-transformers loads it.

    Args:
        engine: the settings.

    Raises:
        MissingExtraError: a package is not installed.
        UnavailableError: the model cannot be loaded.
    """

    def __init__(self, engine: LibraryEngine) -> None:
        self._meter = Meter(engine.devices)
        self._threads = set_threads(engine.threads)
        self._folder = engine.folder
        self._model: Any = load_library_encoder(Path(engine.folder), engine.precision, engine.devices[0])
        self._meter.record_loaded(count_parameters(self._model))

    def score(self, metrics: Sequence[Metric], batch: Batch, again: Collection[str] = ()) -> Scores:
        """Return the scores of n pairs under m metrics; *again* is not used."""
        blank, batch = blank_flags(batch), add_questions(metrics, batch)
        columns, flags, seconds = [], [], []
        for metric in metrics:
            started = time.perf_counter()
            with silence_libraries(), one_line_failures(self._folder), self._length_limit(metric):
                values, metric_flags = self._score_one(metric, batch)
            columns.append(values)
            flags.append(metric_flags | blank)
            seconds.append(time.perf_counter() - started)
        return Scores(np.stack(columns, axis=1), np.stack(flags, axis=1), np.array(seconds))

    def _score_one(self, metric: Metric, batch: Batch) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
        """Return the scores of n pairs under a metric, and their flags, both of shape (n,)."""
        bi_encoder = cast("EncoderBased", metric)
        view = bi_encoder.view()
        texts = list(dict.fromkeys([*batch.references, *batch.candidates]))
        number_of = {text: number for number, text in enumerate(texts)}
        # the library puts the prompt before the text, since its pooling may leave the prompt out
        prompt = view.preparation.prefix
        prepared = [view.preparation.apply(text).removeprefix(prompt) for text in texts]
        vectors = self._model.encode(
            prepared, prompt=prompt, batch_size=BATCH_SIZE, convert_to_tensor=True, show_progress_bar=False
        )
        left = np.array([number_of[text] for text in batch.references], dtype=np.intp)
        right = np.array([number_of[text] for text in batch.candidates], dtype=np.intp)
        values = bi_encoder.compare(TextEmbeddings(import_torch().as_tensor(vectors).float()), left, right)
        cut = np.array(self._cut([prompt + text for text in prepared]), dtype=np.bool_)
        self._meter.add_texts(len(texts), 0)
        return values, flags_of(batch, cut[left], cut[right])

    def _cut(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether it has more tokens than the library reads."""
        tokenizer, limit = getattr(self._model, "tokenizer", None), self._model.max_seq_length
        if not hasattr(tokenizer, "model_input_names") or not isinstance(limit, int):
            return [False] * len(texts)
        return [tokens.cut for tokens in tokenize(tokenizer, texts, limit)]

    @contextmanager
    def _length_limit(self, metric: Any) -> Iterator[None]:
        """Let the model cut texts at the option ``max_length`` of a metric, if it is set, within the block.

        Raises:
            InputError: the model has no length limit that can be set.
        """
        if metric.max_length is None:
            yield
            return
        if getattr(self._model[0], "processor", None) is None:
            kind = type(self._model[0]).__name__
            raise InputError(
                f"metric {metric}: max_length has no effect on a model that begins with {kind}; leave it out"
            )
        body = self._model[0]
        limit, settings = self._model.max_seq_length, body.processing_kwargs
        self._model.max_seq_length = metric.limit()
        body.processing_kwargs = settings | {"common": settings.get("common", {}) | {"max_length": metric.limit()}}
        try:
            yield
        finally:
            self._model.max_seq_length, body.processing_kwargs = limit, settings

    def cost(self) -> dict[str, Any]:
        """Return the counts of :meth:`Meter.cost` and the session's threads."""
        return self._meter.cost() | {"threads": self._threads}

    def close(self) -> None:
        """Free the memory of the model."""
        self._model = None
        self._meter.close()
