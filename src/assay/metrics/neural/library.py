"""Sessions in which sentence-transformers itself computes the scores, for models that need more than assay's own loop.

These are slower: each text is a batch of its own, and each metric reads the model for itself.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from assay.exceptions import InputError
from assay.metrics.base import Batch, Metric
from assay.metrics.neural.embeddings import TextEmbeddings
from assay.metrics.neural.limits import text_limit
from assay.metrics.neural.loading import (
    count_parameters,
    load_library_encoder,
    load_library_scorer,
    silence_libraries,
)
from assay.metrics.neural.pairs import OrderedPair, PairScoring
from assay.metrics.neural.runtime import import_torch, set_threads
from assay.metrics.neural.session import Meter, ModelEngine, add_questions, blank_flags, flags_of, one_line_failures
from assay.metrics.neural.tokens import tokenize
from assay.metrics.neural.views import Preparation
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
        """Load the model and return its session, or raise as its class does."""
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
        """Return the scores of n pairs under m metrics; *again* is not used.

        Raises:
            UnavailableError: the model fails on a text.
            InputError: a metric sets a length limit, and the model has none that can be set; or the model lacks a
                prompt that a metric names.
        """
        blank, batch = blank_flags(batch), add_questions(metrics, batch)
        columns, flags, seconds = [], [], []
        for metric in metrics:
            started = time.perf_counter()
            bi_encoder = cast("EncoderBased", metric)
            limit = None if bi_encoder.max_length is None else bi_encoder.limit()
            with silence_libraries(), one_line_failures(self._folder), _length_limit(self._model, limit):
                values, metric_flags = self._score_one(bi_encoder, batch)
            columns.append(values)
            flags.append(metric_flags | blank)
            seconds.append(time.perf_counter() - started)
        return Scores(np.stack(columns, axis=1), np.stack(flags, axis=1), np.array(seconds))

    def _score_one(self, bi_encoder: EncoderBased, batch: Batch) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
        """Return the scores of n pairs under a metric, and their flags, both of shape (n,)."""
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
        is_cut = _are_cut(self._model, [prompt + text for text in prepared])
        self._meter.add_texts(len(texts), 0)
        return values, flags_of(batch, is_cut[left], is_cut[right])

    def cost(self) -> dict[str, Any]:
        """Return the counts of :meth:`Meter.cost` and the session's threads."""
        return self._meter.cost() | {"threads": self._threads}

    def close(self) -> None:
        """Free the memory of the model."""
        self._model = None
        self._meter.close()


@dataclass(frozen=True)
class LibraryCrossEngine(ModelEngine):
    """The settings of a cross-encoder that sentence-transformers itself computes."""

    reads_pairs: ClassVar[bool] = True

    @property
    def pairs(self) -> int:
        """The number of pairs in a unit of work."""
        return 512

    def open(self) -> LibraryCrossSession:
        """Load the model and return its session, or raise as its class does."""
        return LibraryCrossSession(self)


class LibraryCrossSession(PairScoring):
    """A cross-encoder in memory, as sentence-transformers loads it.

    Args:
        engine: the settings.

    Raises:
        MissingExtraError: a package is not installed.
        UnavailableError: the model cannot be loaded.
    """

    def __init__(self, engine: LibraryCrossEngine) -> None:
        self._meter = Meter(engine.devices)
        self._threads = set_threads(engine.threads)
        self._folder = engine.folder
        self._model: Any = load_library_scorer(Path(engine.folder), engine.precision, engine.devices[0])
        self.activation = self._model.activation_fn
        self._own_limit = text_limit(Path(engine.folder), saved_by="CrossEncoder")
        self._meter.record_loaded(count_parameters(self._model))

    def logits_of_pairs(
        self, pairs: Sequence[OrderedPair], limit: int, prefix: str
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the outputs of n pairs, and whether each was cut; see :meth:`PairScoring.logits_of_pairs`."""
        torch = import_torch()
        preparation = Preparation(limit)
        prepared = [(preparation.apply(first), preparation.apply(second)) for first, second in pairs]
        # a model without a tokenizer of transformers has no limit that can be set
        new_limit = None if limit == self._own_limit and _has_no_limit(self._model) else limit
        with silence_libraries(), one_line_failures(self._folder), _length_limit(self._model, new_limit):
            outputs = self._model.predict(
                prepared,
                prompt=prefix or None,
                batch_size=BATCH_SIZE,
                activation_fn=torch.nn.Identity(),
                show_progress_bar=False,
            )
        self._meter.add_texts(len(pairs), 0)
        first_texts = [prefix + first for first, _ in prepared]
        second_texts = [second for _, second in prepared]
        logits = np.asarray(outputs, dtype=np.float64).reshape(len(pairs), -1)
        return logits, _are_cut(self._model, first_texts, second_texts)

    def cost(self) -> dict[str, Any]:
        """Return the counts of :meth:`Meter.cost` and the session's threads."""
        return self._meter.cost() | {"threads": self._threads}

    def close(self) -> None:
        """Free the memory of the model."""
        self._model = None
        self._meter.close()


def _are_cut(model: Any, texts: Sequence[str], second_texts: Sequence[str] | None = None) -> NDArray[np.bool_]:
    """Return for each text, or pair of texts, whether it has more tokens than the library reads, shape (n,).

    None is cut if the model has no tokenizer of transformers or no limit.

    Args:
        model: the model, an object of sentence-transformers.
        texts: the texts, or the first text of each pair, with what is put before them.
        second_texts: the second text of each pair; None for single texts.
    """
    tokenizer, limit = getattr(model, "tokenizer", None), model.max_seq_length
    if not hasattr(tokenizer, "model_input_names") or not isinstance(limit, int):
        return np.zeros(len(texts), dtype=np.bool_)
    tokens = tokenize(tokenizer, texts, limit, second_texts)
    return np.array([text_tokens.cut for text_tokens in tokens], dtype=np.bool_)


@contextmanager
def _length_limit(model: Any, limit: int | None) -> Iterator[None]:
    """Let a model of sentence-transformers cut texts at *limit* tokens within the block; None leaves its own limit.

    Raises:
        InputError: the model has no length limit that can be set.
    """
    if limit is None:
        yield
        return
    body = model[0]
    if _has_no_limit(model):
        kind = type(body).__name__
        raise InputError(f"max_length has no effect on a model that begins with {kind}; leave it out")
    own_limit, settings = model.max_seq_length, body.processing_kwargs
    model.max_seq_length = limit
    body.processing_kwargs = settings | {"common": settings.get("common", {}) | {"max_length": limit}}
    try:
        yield
    finally:
        model.max_seq_length, body.processing_kwargs = own_limit, settings


def _has_no_limit(model: Any) -> bool:
    """Tell whether a model of sentence-transformers begins with a module without a tokenizer of transformers."""
    return getattr(model[0], "processor", None) is None
