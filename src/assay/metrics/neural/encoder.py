"""One encoder for all metrics that read it: each text goes through the model once, each metric takes its view."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from assay.metrics.base import Batch, Metric
from assay.metrics.neural.backends import open_encoder_bodies
from assay.metrics.neural.engine import ModelEngine
from assay.metrics.neural.flags import flags_of
from assay.metrics.neural.inputs import Prep, Tokens, tokenize
from assay.metrics.neural.loading import load_encoder, parameters_of
from assay.metrics.neural.meter import Meter
from assay.metrics.neural.packing import Packed, Packer
from assay.metrics.neural.pages import Key, Output, Page
from assay.metrics.neural.rows import TextRows
from assay.metrics.neural.runtime import import_torch, set_threads
from assay.metrics.neural.shelf import Shelf
from assay.metrics.neural.takers import EncoderTaker
from assay.metrics.neural.views import View, pool
from assay.metrics.work import Scores

if TYPE_CHECKING:
    import torch


__all__ = ["EncoderEngine", "EncoderSession"]

#: Bytes of token embeddings that a batch may take where they lie, in main memory (those of several GPUs, too) or on a
#: GPU; a larger batch is cut into slices.
CPU_BYTES, GPU_BYTES = 96 * 2**20, 2**30


@dataclass(frozen=True)
class EncoderEngine(ModelEngine):
    """An encoder: what decides the hidden states of a text."""

    @property
    def pairs(self) -> int:
        """Pairs in a unit of work."""
        return 2048 if self.devices == ("cpu",) else 16384

    def open(self) -> EncoderSession:
        """Load the model."""
        return EncoderSession(self)


class EncoderSession:
    """An encoder in memory."""

    def __init__(self, engine: EncoderEngine) -> None:
        self._meter = Meter(engine.devices)
        threads = set_threads(engine.threads)
        reduced = engine.precision if engine.backend == "torch" else "fp32"
        folder = Path(engine.folder)
        loaded = [load_encoder(folder, reduced, device) for device in engine.devices]
        parameters = parameters_of(loaded[0].model)
        self._tokenizer = loaded[0].tokenizer
        self._tails = [one.tail for one in loaded]
        self._types = "token_type_ids" in loaded[0].tokenizer.model_input_names and engine.backend != "torch"
        self._width = int(loaded[0].model.config.hidden_size)
        self._packer = Packer(int(self._tokenizer.pad_token_id or 0), engine.tokens)
        self._shelf = Shelf()
        models = [one.model for one in loaded]
        # another backend lets go of torch's model, so nothing else may hold it
        del loaded
        self._bodies = open_encoder_bodies(models, engine, threads=threads)
        self._room = GPU_BYTES if self._home.startswith("cuda") else CPU_BYTES
        self._meter.loaded(parameters)

    def score(self, metrics: Sequence[Metric], batch: Batch, again: Collection[str] = ()) -> Scores:
        """See :meth:`assay.metrics.work.Session.score`."""
        takers = [cast(EncoderTaker, metric) for metric in metrics]
        views = [taker.view() for taker in takers]
        begun = time.perf_counter()
        for body in self._bodies:
            body.prepare({view.layer for view in views})
        self._meter.waited(time.perf_counter() - begun)
        begun = time.perf_counter()
        tokens = {prep: self._prepare(prep, batch) for prep in dict.fromkeys(view.prep for view in views)}
        shared = time.perf_counter() - begun
        scores = Scores(
            np.empty((len(batch), len(metrics))), np.zeros((len(batch), len(metrics)), np.uint8), np.zeros(len(metrics))
        )
        parts = list(_slices(batch, views, tokens, self._width, self._room))
        later = _later(batch, parts, again)
        for part, wanted_again in zip(parts, later, strict=True):
            begun = time.perf_counter()
            inside = batch.take(range(part.start, part.stop))
            rows = self._embed(inside, views, tokens, wanted_again)
            flags = {
                prep: flags_of(
                    inside,
                    [held[text][1].cut for text in inside.references],
                    [held[text][1].cut for text in inside.candidates],
                )
                for prep, held in tokens.items()
            }
            shared += time.perf_counter() - begun
            for column, (taker, view) in enumerate(zip(takers, views, strict=True)):
                begun = time.perf_counter()
                scores.values[part, column] = taker.compare(*rows[view])
                scores.flags[part, column] = flags[view.prep]
                scores.seconds[column] += time.perf_counter() - begun
        scores.seconds[:] += shared
        return scores

    def cost(self) -> dict[str, Any]:
        """See :meth:`assay.metrics.work.Session.cost`."""
        return self._meter.cost() | {"batches_halved": self._packer.halved}

    def close(self) -> None:
        """See :meth:`assay.metrics.work.Session.close`."""
        self._shelf.close()
        self._bodies.clear()
        self._tails.clear()
        self._meter.close()

    def _prepare(self, prep: Prep, batch: Batch) -> dict[str, tuple[Key, Tokens]]:
        texts = list(dict.fromkeys([*batch.references, *batch.candidates]))
        prepared = [prep.apply(text) for text in texts]
        tokens = tokenize(self._tokenizer, prepared, prep.limit, types=self._types)
        return {
            text: ((ready, prep.limit if one.cut else None), one)
            for text, ready, one in zip(texts, prepared, tokens, strict=True)
        }

    def _embed(
        self,
        batch: Batch,
        views: Sequence[View],
        tokens: dict[Prep, dict[str, tuple[Key, Tokens]]],
        again: Collection[str],
    ) -> dict[View, tuple[TextRows, NDArray[np.intp], NDArray[np.intp]]]:
        """Return for each view the rows of the batch's texts, and which are the references' and the candidates'."""
        texts = list(dict.fromkeys([*batch.references, *batch.candidates]))
        pages: dict[Output, Page] = {}
        missing: dict[Key, tuple[Output, ...]] = {}
        for output, preps in _asked(views).items():
            page = pages[output] = Page(output, dict(tokens[prep][text] for prep in preps for text in texts))
            known = page.take_from(self._shelf, self._home)
            for key in page.tokens:
                if key not in known:
                    missing[key] = (*missing.get(key, ()), output)
        groups: dict[tuple[Output, ...], list[Key]] = {}
        for key, outputs in missing.items():
            groups.setdefault(outputs, []).append(key)
        for group, keys in groups.items():
            self._pass(group, keys, pages)
        for output, preps in _asked(views).items():
            wanted = {tokens[prep][text][0] for prep in preps for text in texts if text in again} if again else set()
            pages[output].leave_on(self._shelf, wanted)
        found = {}
        for view in dict.fromkeys(views):
            page, held = pages[Output(view.kind, view.layer)], tokens[view.prep]
            left = page.places([held[text][0] for text in batch.references])
            right = page.places([held[text][0] for text in batch.candidates])
            found[view] = page.rows(), left, right
        return found

    @property
    def _home(self) -> str:
        """The device where pages lie."""
        return self._bodies[0].device if len(self._bodies) == 1 else "cpu"

    def _pass(self, outputs: tuple[Output, ...], keys: Sequence[Key], pages: dict[Output, Page]) -> None:
        """Run texts through the model and put what comes out on the pages."""
        inputs = [pages[outputs[0]].tokens[key] for key in keys]
        layers = {output.layer for output in outputs}
        places = {output: pages[output].places(keys) for output in outputs}

        def step(number: int) -> Any:
            body, tail = self._bodies[number], self._tails[number]

            def run(batch: Packed) -> None:
                hidden = body.hidden(batch, layers)
                for output in outputs:
                    page = pages[output]
                    if output.kind == "tokens":
                        page.put_tokens(places[output][batch.items], hidden[output.layer], batch, self._home)
                    else:
                        found = (
                            _sentence(hidden[output.layer], batch, tail)
                            if output.kind == "sentence"
                            else pool(hidden[output.layer], batch.mask, output.kind)
                        )
                        page.put_rows(places[output][batch.items], found, self._home)

            return run

        self._packer.run(inputs, [(body.device, step(number)) for number, body in enumerate(self._bodies)])
        self._meter.embedded(len(keys), sum(len(one.ids) for one in inputs))


def _asked(views: Sequence[View]) -> dict[Output, list[Prep]]:
    """Return what the views take from a pass, each with the preparations it is taken of."""
    found: dict[Output, list[Prep]] = {}
    for view in dict.fromkeys(views):
        found.setdefault(Output(view.kind, view.layer), []).append(view.prep)
    return found


def _sentence(hidden: torch.Tensor, batch: Packed, tail: Sequence[Any]) -> torch.Tensor:
    """Return the sentence embeddings that the model's own modules make, shape (b, d)."""
    if not any(parameter.dtype == hidden.dtype for module in tail for parameter in module.parameters()):
        # nothing to multiply with: pool in single precision
        hidden = hidden.float()
    features: dict[str, Any] = {"token_embeddings": hidden, "attention_mask": batch.mask, "input_ids": batch.ids}
    with import_torch().inference_mode():
        for module in tail:
            features = module(features)
    return cast("torch.Tensor", features["sentence_embedding"])


def _slices(
    batch: Batch, views: Sequence[View], tokens: dict[Prep, dict[str, tuple[Key, Tokens]]], width: int, room: int
) -> Iterator[slice]:
    """Cut a batch so that the token embeddings of a slice take at most *room* bytes."""
    preps = [view.prep for view in dict.fromkeys(views) if view.kind == "tokens"]
    if not preps:
        yield slice(0, len(batch))
        return
    start, held = 0, 0
    seen: set[str] = set()
    for row, pair in enumerate(batch.pairs()):
        new = {text for text in pair if text not in seen}
        size = sum(4 * width * len(tokens[prep][text][1].ids) for prep in preps for text in new)
        if held + size > room and row > start:
            yield slice(start, row)
            start, held, seen, new = row, 0, set(), set(pair)
            size = sum(4 * width * len(tokens[prep][text][1].ids) for prep in preps for text in new)
        held += size
        seen |= new
    if start < len(batch):
        yield slice(start, len(batch))


def _later(batch: Batch, parts: Sequence[slice], again: Collection[str]) -> list[set[str]]:
    """Return for each slice the texts that come again, in a later slice or a later batch."""
    following = set(again)
    found: list[set[str]] = []
    for part in reversed(parts):
        found.append(set(following))
        following.update(batch.references[part], batch.candidates[part])
    return found[::-1]
