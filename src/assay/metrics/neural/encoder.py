"""The session of an encoder: each text goes through the model once, for all metrics that read it."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from assay.common.processes import collections_paused
from assay.common.progress import scaled_shares
from assay.metrics.base import Batch, Metric
from assay.metrics.models.located import check_models_once
from assay.metrics.neural.backends import open_encoder_bodies
from assay.metrics.neural.body import Body, accepts_types
from assay.metrics.neural.embeddings import BatchEmbeddings, EmbeddingCache, Key, TextEmbeddings, pool_tokens
from assay.metrics.neural.loading import LoadedEncoder, load_encoder
from assay.metrics.neural.runtime import import_torch
from assay.metrics.neural.session import (
    MAX_SAMPLE_TOKENS,
    SAMPLE_TEXT,
    ModelEngine,
    ModelSession,
    add_questions,
    blank_flags,
    flags_of,
    one_line_failures,
)
from assay.metrics.neural.tokens import Packed, Tokens, tokenize
from assay.metrics.neural.views import Output, Preparation, View
from assay.metrics.scores import Scores

if TYPE_CHECKING:
    import torch

    from assay.metrics.neural.readers import EncoderBased

#: By preparation and text of a batch: the cache key and the tokens of the prepared text.
_Tokenized = dict[Preparation, dict[str, tuple[Key, Tokens]]]

#: Most bytes of token embeddings in main memory (where those of several GPUs are collected) and on a GPU; a larger
#: batch is cut into slices.
CPU_BYTES, GPU_BYTES = 96 * 2**20, 2**30

#: The embeddings of the texts of n pairs, and the indices of references and candidates, two arrays of shape (n,).
ComparedEmbeddings = tuple[TextEmbeddings, NDArray[np.intp], NDArray[np.intp]]


class _EmbeddedSlice(NamedTuple):
    """The embeddings of a slice of a batch.

    Attributes:
        rows: the rows of the batch.
        embedded: what each view reads.
        flags: the flags of the n pairs under each preparation, uint8, shape (n,).
        seconds: the time that embedding took.
    """

    rows: slice
    embedded: dict[View, ComparedEmbeddings]
    flags: dict[Preparation, NDArray[np.uint8]]
    seconds: float


@dataclass(frozen=True)
class EncoderEngine(ModelEngine):
    """The settings that decide the hidden states of an encoder."""

    @property
    def pairs(self) -> int:
        """The number of pairs in a unit of work, larger on a GPU, which takes less time for each."""
        return 2048 if self.devices == ("cpu",) else 16384

    def open(self) -> EncoderSession:
        """Load the model and return its session.

        Raises:
            MissingExtraError: a package is not installed.
            UnavailableError: the model cannot be loaded.
            InputError: the backend does not support the precision.
        """
        return EncoderSession(self)


class EncoderSession(ModelSession[LoadedEncoder, Body]):
    """An encoder in memory, with a cache of the embeddings of texts that later batches have as well.

    Args:
        engine: the settings.

    Raises:
        MissingExtraError: a package is not installed.
        UnavailableError: the model cannot be loaded.
        InputError: the backend does not support the precision.
    """

    #: Set by :meth:`_keep_parts`: the modules behind each copy of the body, the number of dimensions of its hidden
    #: states, and whether they depend on the segments of a text.
    _tails: list[tuple[Any, ...]]
    _hidden_size: int
    _segments_matter: bool

    def __init__(self, engine: EncoderEngine) -> None:
        super().__init__(engine, load_encoder, open_encoder_bodies)
        has_segments = "token_type_ids" in self._tokenizer.model_input_names
        # converted models need segments as an input
        self._with_types = has_segments and (engine.backend != "torch" or self._segments_matter)
        self._cache = EmbeddingCache()
        self._max_bytes = GPU_BYTES if self._collecting_device.startswith("cuda") else CPU_BYTES

    def _keep_parts(self, copies: Sequence[LoadedEncoder]) -> None:
        """Keep the modules behind each copy of the body, the hidden size of the model, and whether segments matter.

        Raises:
            UnavailableError: the model fails on a sample text.
        """
        self._tails = [loaded.tail for loaded in copies]
        self._hidden_size = int(copies[0].model.config.hidden_size)
        with one_line_failures(self._folder):
            self._segments_matter = _segments_matter(copies[0].model, copies[0].tokenizer)

    @property
    def _collecting_device(self) -> str:
        """The device on which the embeddings of a batch are collected: that of a single body, or else the CPU."""
        return self._bodies[0].device if len(self._bodies) == 1 else "cpu"

    @collections_paused()
    @check_models_once()
    def score(self, metrics: Sequence[Metric], batch: Batch, again: Collection[str] = ()) -> Scores:
        """Return the scores of n pairs under m metrics; each distinct text goes through the model once.

        The seconds of a metric are the time of its own comparison plus that of the pass that all metrics share. The
        embeddings of the texts in *again* are kept for later batches.

        Raises:
            UnavailableError: the model fails on a text, or cannot be loaded by its backend.
            InputError: the model lacks a layer or prompt that a metric names, or its conversion cannot be stored.
        """
        blank, batch = blank_flags(batch), add_questions(metrics, batch)
        encoder_metrics = [cast("EncoderBased", metric) for metric in metrics]
        views = [metric.view() for metric in encoder_metrics]
        shape = (len(batch), len(metrics))
        scores = Scores(np.empty(shape), np.zeros(shape, np.uint8), np.zeros(len(metrics)))
        shared = 0.0
        for part in self._embedded_slices(views, batch, again):
            for column, (metric, view) in enumerate(zip(encoder_metrics, views, strict=True)):
                started = time.perf_counter()
                scores.values[part.rows, column] = metric.compare(*part.embedded[view])
                scores.flags[part.rows, column] = part.flags[view.preparation]
                scores.seconds[column] += time.perf_counter() - started
            shared += part.seconds
        scores.seconds[:] += shared
        scores.flags[:] |= blank[:, None]
        return scores

    def embeddings_of(self, metric: EncoderBased, batch: Batch) -> Iterator[ComparedEmbeddings]:
        """Yield what a metric compares, slice by slice of a batch: embeddings, and the indices of both sides."""
        view = metric.view()
        for part in self._embedded_slices([view], add_questions([metric], batch)):
            yield part.embedded[view]

    def _embedded_slices(
        self, views: Sequence[View], batch: Batch, again: Collection[str] = ()
    ) -> Iterator[_EmbeddedSlice]:
        """Yield the embeddings of a batch, slice by slice, so that those of a slice fit in memory.

        Args:
            views: the views of the metrics.
            batch: the pairs.
            again: texts that a later batch has as well; their embeddings are kept.
        """
        self._prepare_bodies(views)
        started = time.perf_counter()
        preparations = dict.fromkeys(view.preparation for view in views)
        tokens = {preparation: self._tokenize(preparation, batch) for preparation in preparations}
        seconds = time.perf_counter() - started
        slices = list(_cut_into_slices(batch, views, tokens, self._hidden_size, self._max_bytes))
        for rows, needed_later in zip(slices, _texts_needed_later(batch, slices, again), strict=True):
            started = time.perf_counter()
            part = batch.take(range(rows.start, rows.stop))
            # an empty batch may still have one, empty, slice: do not divide by 0
            with scaled_shares(rows.start / max(1, len(batch)), rows.stop / max(1, len(batch))):
                embedded = self._embed(part, views, tokens, needed_later)
            flags = {preparation: _flags_of_batch(part, tokenized) for preparation, tokenized in tokens.items()}
            yield _EmbeddedSlice(rows, embedded, flags, seconds + time.perf_counter() - started)
            seconds = 0.0

    def close(self) -> None:
        """Free the memory of the model and of the cached embeddings."""
        self._cache.close()
        self._tails.clear()
        super().close()

    def _prepare_bodies(self, views: Sequence[View]) -> None:
        """Load what computes the layers that the views read; the time counts as loading.

        A backend other than torch converts and loads one model per set of layers.
        """
        started = time.perf_counter()
        for body in self._bodies:
            body.prepare({view.layer for view in views})
        self._meter.add_load_seconds(time.perf_counter() - started)

    def _tokenize(self, preparation: Preparation, batch: Batch) -> dict[str, tuple[Key, Tokens]]:
        """Return, by text, the key under which the embeddings of each text of a batch are cached, and its tokens.

        The key is the prepared text and, only if the text was cut, the limit, so that preparations that lead to the
        same tokens share it.
        """
        texts = list(dict.fromkeys([*batch.references, *batch.candidates]))
        prepared = [preparation.apply(text) for text in texts]
        tokens = tokenize(self._tokenizer, prepared, preparation.limit, with_types=self._with_types)
        tokenized = {}
        for text, prepared_text, text_tokens in zip(texts, prepared, tokens, strict=True):
            key = (prepared_text, preparation.limit if text_tokens.cut else None)
            tokenized[text] = (key, text_tokens)
        return tokenized

    def _embed(
        self, batch: Batch, views: Sequence[View], tokens: _Tokenized, again: Collection[str]
    ) -> dict[View, ComparedEmbeddings]:
        """Return for each view the embeddings of the batch's texts, and the indices of references and candidates.

        The indices are two arrays of shape (n,). Only what is not in the cache goes through the model; texts that lack
        the same outputs share a pass.

        Args:
            batch: the pairs, n of them.
            views: the views of the metrics.
            tokens: the tokens of the texts under each preparation.
            again: texts that later batches have as well; their embeddings stay in the cache.
        """
        texts = list(dict.fromkeys([*batch.references, *batch.candidates]))
        preparations_by_output = _preparations_by_output(views)
        collected: dict[Output, BatchEmbeddings] = {}
        outputs_missing: dict[Key, tuple[Output, ...]] = {}
        for output, preparations in preparations_by_output.items():
            keys_and_tokens = (tokens[preparation][text] for preparation in preparations for text in texts)
            collected[output] = BatchEmbeddings(output, dict(keys_and_tokens))
            cached = collected[output].load_from(self._cache, self._collecting_device)
            for key in collected[output].tokens:
                if key not in cached:
                    outputs_missing[key] = (*outputs_missing.get(key, ()), output)
        for missing, keys in _keys_by_outputs(outputs_missing).items():
            self._compute_outputs(keys, {output: collected[output] for output in missing})
        for output, preparations in preparations_by_output.items():
            needed_again: set[Key] = set()
            for preparation in preparations:
                needed_again.update(tokens[preparation][text][0] for text in texts if text in again)
            collected[output].save_to(self._cache, needed_again)
        embedded = {}
        for view in dict.fromkeys(views):
            batch_embeddings, tokenized = collected[Output(view.kind, view.layer)], tokens[view.preparation]
            left = batch_embeddings.indices([tokenized[text][0] for text in batch.references])
            right = batch_embeddings.indices([tokenized[text][0] for text in batch.candidates])
            embedded[view] = batch_embeddings.embeddings(), left, right
        return embedded

    def _compute_outputs(self, keys: Sequence[Key], collected: dict[Output, BatchEmbeddings]) -> None:
        """Run texts through the model once, and store the outputs of that pass in *collected*.

        Args:
            keys: the keys of the texts.
            collected: by output, the embeddings of a batch that has these texts.
        """
        layers = {output.layer for output in collected}
        indices = {output: embeddings.indices(keys) for output, embeddings in collected.items()}
        # a key has the same tokens under every output
        tokens_of = next(iter(collected.values())).tokens
        inputs = [tokens_of[key] for key in keys]

        def step(number: int, body: Body, batch: Packed) -> None:
            """Compute one batch with the body of this number, and store its outputs."""
            hidden = body.hidden_states(batch, layers)
            for output, embeddings in collected.items():
                states, texts = hidden[output.layer], indices[output][batch.items]
                if output.kind == "tokens":
                    embeddings.put_tokens(texts, states, batch, self._collecting_device)
                elif output.kind == "sentence":
                    # on a CPU there are more bodies than copies of the modules behind them, which they share
                    vectors = _sentence_embeddings(states, batch, self._tails[number % len(self._tails)])
                    embeddings.put_vectors(texts, vectors, self._collecting_device)
                else:
                    vectors = pool_tokens(states, batch.mask, output.kind)
                    embeddings.put_vectors(texts, vectors, self._collecting_device)

        self._run(inputs, step)


def _segments_matter(model: Any, tokenizer: Any) -> bool:
    """Tell whether the states of a single text depend on the segments that its tokenizer gives.

    Most models take segment 0 by default. GPT-2 adds the embedding of a token for it, and XLNet has others.
    """
    if "token_type_ids" not in tokenizer.model_input_names or not accepts_types(model):
        return False
    torch = import_torch()
    sample = tokenize(tokenizer, [SAMPLE_TEXT], MAX_SAMPLE_TOKENS, with_types=True)[0]
    ids, types = (torch.tensor([row], device=model.device) for row in (sample.ids, sample.types))
    with torch.inference_mode():
        with_segments, without = model(input_ids=ids, token_type_ids=types)[0], model(input_ids=ids)[0]
    return not torch.equal(with_segments, without)


def _keys_by_outputs(outputs_missing: dict[Key, tuple[Output, ...]]) -> dict[tuple[Output, ...], list[Key]]:
    """Return the keys grouped by the outputs that they lack; each group is one pass through the model."""
    keys_by_outputs: dict[tuple[Output, ...], list[Key]] = {}
    for key, outputs in outputs_missing.items():
        keys_by_outputs.setdefault(outputs, []).append(key)
    return keys_by_outputs


def _flags_of_batch(batch: Batch, tokenized: dict[str, tuple[Key, Tokens]]) -> NDArray[np.uint8]:
    """Return :class:`Flag` bits of n pairs, uint8, shape (n,), for texts that are blank and texts that were cut."""
    references_cut = [tokenized[text][1].cut for text in batch.references]
    candidates_cut = [tokenized[text][1].cut for text in batch.candidates]
    return flags_of(batch, references_cut, candidates_cut)


def _preparations_by_output(views: Sequence[View]) -> dict[Output, list[Preparation]]:
    """Return the outputs that the views read, each with the preparations of the views that read it."""
    preparations: dict[Output, list[Preparation]] = {}
    for view in dict.fromkeys(views):
        preparations.setdefault(Output(view.kind, view.layer), []).append(view.preparation)
    return preparations


def _sentence_embeddings(hidden: torch.Tensor, batch: Packed, tail: Sequence[Any]) -> torch.Tensor:
    """Return the embeddings of b texts, shape (b, d), computed from hidden states by the model's own modules.

    The length d is that of the hidden states, h, unless a module changes it, such as a dense layer.

    Args:
        hidden: the hidden states of the last layer, shape (b, l, h).
        batch: the tokens of the texts, at most l of each.
        tail: the modules behind the transformer, such as pooling.
    """
    parameters = [parameter for module in tail for parameter in module.parameters()]
    if not any(parameter.dtype == hidden.dtype for parameter in parameters):
        # no module has weights in the reduced precision: pool in single precision
        hidden = hidden.float()
    features: dict[str, Any] = {"token_embeddings": hidden, "attention_mask": batch.mask, "input_ids": batch.ids}
    with import_torch().inference_mode():
        for module in tail:
            features = module(features)
    return cast("torch.Tensor", features["sentence_embedding"])


def _cut_into_slices(
    batch: Batch, views: Sequence[View], tokens: _Tokenized, hidden_size: int, max_bytes: int
) -> Iterator[slice]:
    """Yield consecutive slices of a batch such that the token embeddings of each slice take at most *max_bytes*.

    A text counts once per slice and preparation. A slice has at least one pair, even if its texts take more. If no view
    reads tokens, the whole batch is one slice.

    Args:
        batch: the pairs.
        views: the views of the metrics.
        tokens: the tokens of the texts under each preparation.
        hidden_size: the number of dimensions of a token's embedding.
        max_bytes: the limit for the embeddings of one slice.
    """
    preparations = [view.preparation for view in dict.fromkeys(views) if view.kind == "tokens"]
    if not preparations:
        yield slice(0, len(batch))
        return

    def bytes_of(texts: Collection[str]) -> int:
        token_count = sum(len(tokens[preparation][text][1].ids) for preparation in preparations for text in texts)
        # 4 bytes per float32
        return 4 * hidden_size * token_count

    start = 0
    slice_bytes = 0
    slice_texts: set[str] = set()
    for row, pair in enumerate(batch.pairs()):
        pair_texts = set(pair)
        if row > start and slice_bytes + bytes_of(pair_texts - slice_texts) > max_bytes:
            yield slice(start, row)
            # begin a new slice with this pair
            start = row
            slice_bytes = 0
            slice_texts = set()
        slice_bytes += bytes_of(pair_texts - slice_texts)
        slice_texts |= pair_texts
    if start < len(batch):
        yield slice(start, len(batch))


def _texts_needed_later(batch: Batch, slices: Sequence[slice], again: Collection[str]) -> list[set[str]]:
    """Return for each slice the texts that a later slice has as well, and those in *again* (of later batches)."""
    later = set(again)
    needed: list[set[str]] = []
    for rows in reversed(slices):
        needed.append(set(later))
        later.update(batch.references[rows], batch.candidates[rows])
    return needed[::-1]
