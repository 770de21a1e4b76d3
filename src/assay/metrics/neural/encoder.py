"""One encoder for all metrics that read it: each text goes through the model once, each metric takes its view."""

from __future__ import annotations

import time
from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from assay.metrics.base import Batch, Metric
from assay.metrics.neural.backends import open_encoder_bodies
from assay.metrics.neural.engine import ModelEngine
from assay.metrics.neural.inputs import Prep, Tokens, tokenize
from assay.metrics.neural.loading import load_encoder, parameters_of
from assay.metrics.neural.meter import Meter
from assay.metrics.neural.packing import Packed, Packer
from assay.metrics.neural.rows import TextRows
from assay.metrics.neural.runtime import import_torch, set_threads
from assay.metrics.neural.shelf import Shelf
from assay.metrics.neural.views import Kind, View, pool
from assay.metrics.work import Flag, Scores

if TYPE_CHECKING:
    import torch

__all__ = ["EncoderEngine", "EncoderMetric", "EncoderSession"]

#: Bytes of token embeddings that a batch may take; a larger batch is cut into slices.
SLICE_BYTES = 96 * 2**20


class EncoderMetric(Protocol):
    """A metric that compares what an encoder says of two texts."""

    def view(self) -> View:
        """Return what it takes from a pass."""
        ...

    def compare(self, rows: TextRows, left: NDArray[np.intp], right: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the scores, shape (n,), of references *left* and candidates *right*, rows of *rows*."""
        ...


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


class _Output(NamedTuple):
    kind: Kind
    layer: int


#: A text as the model gets it: two preparations that end in the same tokens share a pass.
_Key = tuple[str, int | None]


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
        parameters = parameters_of(loaded[0].model)
        models = [one.model for one in loaded]
        # another backend lets go of torch's model, so nothing else may hold it
        del loaded
        self._bodies = open_encoder_bodies(models, engine, threads=threads)
        self._meter.loaded(parameters)

    def score(self, metrics: Sequence[Metric], batch: Batch, again: Collection[str] = ()) -> Scores:
        """See :meth:`assay.metrics.work.Session.score`."""
        takers = [cast("EncoderMetric", metric) for metric in metrics]
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
        parts = list(_slices(batch, views, tokens, self._width))
        later = _later(batch, parts, again)
        for part, wanted_again in zip(parts, later, strict=True):
            begun = time.perf_counter()
            inside = batch.take(range(part.start, part.stop))
            rows = self._embed(inside, views, tokens, wanted_again)
            flags = {prep: _flags(inside, held) for prep, held in tokens.items()}
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

    def _prepare(self, prep: Prep, batch: Batch) -> dict[str, tuple[_Key, Tokens]]:
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
        tokens: dict[Prep, dict[str, tuple[_Key, Tokens]]],
        again: Collection[str],
    ) -> dict[View, tuple[TextRows, NDArray[np.intp], NDArray[np.intp]]]:
        """Return for each view the rows of the batch's texts, and which are the references' and the candidates'."""
        texts = list(dict.fromkeys([*batch.references, *batch.candidates]))
        wanted: dict[_Key, dict[_Output, None]] = {}
        lists: dict[_Key, Tokens] = {}
        for view in dict.fromkeys(views):
            for text in texts:
                key, one = tokens[view.prep][text]
                wanted.setdefault(key, {})[_Output(view.kind, view.layer)] = None
                lists[key] = one
        pages = {
            output: _Page(output.kind, [key for key in wanted if output in wanted[key]], lists)
            for output in dict.fromkeys(_Output(view.kind, view.layer) for view in views)
        }
        groups: dict[tuple[_Output, ...], list[_Key]] = {}
        for key, outputs in wanted.items():
            missing = tuple(output for output in outputs if not self._unshelve(pages[output], output, key))
            if missing:
                groups.setdefault(missing, []).append(key)
        for group, keys in groups.items():
            self._pass(group, keys, lists, pages)
        self._keep(views, tokens, texts, pages, frozenset(again))
        found = {}
        for view in dict.fromkeys(views):
            page, held = pages[_Output(view.kind, view.layer)], tokens[view.prep]
            left = page.places([held[text][0] for text in batch.references])
            right = page.places([held[text][0] for text in batch.candidates])
            found[view] = page.rows(lists), left, right
        return found

    def _unshelve(self, page: _Page, output: _Output, key: _Key) -> bool:
        if (key, output) not in self._shelf:
            return False
        page.put_numpy(key, self._shelf.get((key, output)), self._home)
        return True

    @property
    def _home(self) -> str:
        """The device where pages lie."""
        return self._bodies[0].device if len(self._bodies) == 1 else "cpu"

    def _pass(
        self,
        outputs: tuple[_Output, ...],
        keys: Sequence[_Key],
        lists: dict[_Key, Tokens],
        pages: dict[_Output, _Page],
    ) -> None:
        """Run texts through the model and put what comes out on the pages."""
        inputs = [lists[key].list for key in keys]
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

    def _keep(
        self,
        views: Sequence[View],
        tokens: dict[Prep, dict[str, tuple[_Key, Tokens]]],
        texts: Sequence[str],
        pages: dict[_Output, _Page],
        again: frozenset[str],
    ) -> None:
        """Keep what a later batch will ask for, let go of the rest."""
        dropped: set[Hashable] = set()
        kept: set[Hashable] = set()
        for view in dict.fromkeys(views):
            output = _Output(view.kind, view.layer)
            for text in texts:
                key = tokens[view.prep][text][0]
                if text in again:
                    kept.add((key, output))
                    if (key, output) not in self._shelf:
                        self._shelf.put((key, output), pages[output].numpy(key))
                else:
                    dropped.add((key, output))
        self._shelf.drop(dropped - kept)


class _Page:
    """One output for the texts of a batch, filled as it comes."""

    def __init__(self, kind: Kind, keys: Sequence[_Key], lists: dict[_Key, Tokens]) -> None:
        self.kind = kind
        self.keys = keys
        self.place = {key: row for row, key in enumerate(keys)}
        self._values: torch.Tensor | None = None
        sizes = [len(lists[key].list.ids) if kind == "tokens" else 1 for key in keys]
        self._ends = np.cumsum(sizes, dtype=np.intp)
        self._starts = self._ends - np.array(sizes, dtype=np.intp)

    def places(self, keys: Sequence[_Key]) -> NDArray[np.intp]:
        return np.array([self.place[key] for key in keys], dtype=np.intp)

    def _on(self, device: str, width: int) -> torch.Tensor:
        if self._values is None:
            torch = import_torch()
            height = int(self._ends[-1]) if len(self._ends) else 0
            self._values = torch.zeros((height, width), dtype=torch.float32, device=device)
        return self._values

    def put_rows(self, places: NDArray[np.intp], found: torch.Tensor, device: str) -> None:
        torch = import_torch()
        self._on(device, found.shape[-1])[torch.from_numpy(places).to(device)] = found.float().to(device)

    def put_tokens(self, places: NDArray[np.intp], hidden: torch.Tensor, batch: Packed, device: str) -> None:
        torch = import_torch()
        spread = self._starts[places][:, None] + np.arange(hidden.shape[1])
        if batch.even:
            flat, rows = hidden.reshape(-1, hidden.shape[-1]), spread.reshape(-1)
        else:
            inside = batch.mask.bool()
            flat, rows = hidden[inside], spread[inside.cpu().numpy()]
        self._on(device, hidden.shape[-1])[torch.from_numpy(rows).to(device)] = flat.float().to(device)

    def put_numpy(self, key: _Key, array: NDArray[np.float32], device: str) -> None:
        torch = import_torch()
        row = self.place[key]
        found = torch.from_numpy(np.array(array)).reshape(-1, array.shape[-1]).to(device)
        self._on(device, array.shape[-1])[int(self._starts[row]) : int(self._ends[row])] = found

    def numpy(self, key: _Key) -> NDArray[np.float32]:
        row = self.place[key]
        assert self._values is not None  # noqa: S101 - a key on the page has been filled
        found: NDArray[np.float32] = self._values[int(self._starts[row]) : int(self._ends[row])].cpu().numpy()
        return found

    def rows(self, lists: dict[_Key, Tokens]) -> TextRows:
        values = self._on("cpu", 1)
        if self.kind != "tokens":
            return TextRows(values)
        return TextRows(values, self._starts, [lists[key].list.ids for key in self.keys])


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


def _flags(batch: Batch, tokens: dict[str, tuple[_Key, Tokens]]) -> NDArray[np.uint8]:
    flags = np.zeros(len(batch), dtype=np.uint8)
    for row, (reference, candidate) in enumerate(batch.pairs()):
        flags[row] = (
            (Flag.REFERENCE_CUT if tokens[reference][1].cut else 0)
            | (Flag.CANDIDATE_CUT if tokens[candidate][1].cut else 0)
            | (0 if reference.strip() else Flag.REFERENCE_EMPTY)
            | (0 if candidate.strip() else Flag.CANDIDATE_EMPTY)
        )
    return flags


def _slices(
    batch: Batch, views: Sequence[View], tokens: dict[Prep, dict[str, tuple[_Key, Tokens]]], width: int
) -> Iterator[slice]:
    """Cut a batch so that the token embeddings of a slice stay within bounds."""
    preps = [view.prep for view in dict.fromkeys(views) if view.kind == "tokens"]
    start, held = 0, 0
    seen: set[str] = set()
    for row, pair in enumerate(batch.pairs()):
        new = {text for text in pair if text not in seen}
        size = sum(4 * width * len(tokens[prep][text][1].list.ids) for prep in preps for text in new)
        if held + size > SLICE_BYTES and row > start:
            yield slice(start, row)
            start, held, seen, new = row, 0, set(), set(pair)
            size = sum(4 * width * len(tokens[prep][text][1].list.ids) for prep in preps for text in new)
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
