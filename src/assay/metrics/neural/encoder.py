"""One encoder for all metrics that read it: each text passes through the model once, and each metric takes its
view.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import IO, TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from assay.metrics.base import Batch, Metric
from assay.metrics.neural.backends import open_encoder_bodies
from assay.metrics.neural.loading import load_encoder, parameters_of
from assay.metrics.neural.runtime import import_torch, set_threads
from assay.metrics.neural.session import EncoderTaker, Meter, ModelEngine, flags_of
from assay.metrics.neural.tokens import Packed, Packer, Prep, Tokens, inside_of, to_device, tokenize
from assay.metrics.neural.views import Kind, TextRows, View, pool
from assay.metrics.work import Scores

if TYPE_CHECKING:
    import torch

__all__ = ["EncoderEngine", "EncoderSession", "Key", "Output", "Page", "Shelf"]


# What a session keeps of a text for a later batch: in memory up to a limit, in a nameless file beyond it.

#: Bytes held in memory.
LIMIT = 128 * 2**20


class Shelf:
    """Float32 arrays by key; one that is no longer wanted is let go.

    Args:
        limit: bytes held in memory; what comes later goes to a temporary file without a name.
    """

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._held: dict[Hashable, NDArray[np.float32]] = {}
        self._filed: dict[Hashable, tuple[int, tuple[int, ...]]] = {}
        self._file: IO[bytes] | None = None
        self._bytes = 0

    def __contains__(self, key: Hashable) -> bool:
        return key in self._held or key in self._filed

    def __len__(self) -> int:
        return len(self._held) + len(self._filed)

    def put(self, key: Hashable, array: NDArray[np.float32]) -> None:
        """Keep an array; one that is there already stays."""
        if key in self:
            return
        if self._bytes + array.nbytes <= self._limit:
            self._held[key] = np.array(array, dtype=np.float32)
            self._bytes += array.nbytes
            return
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="assay-")  # noqa: SIM115 - lives as long as the shelf
        place = self._file.seek(0, 2)
        self._file.write(np.ascontiguousarray(array, dtype=np.float32).tobytes())
        self._filed[key] = place, array.shape

    def get(self, key: Hashable) -> NDArray[np.float32]:
        """Return an array that was kept."""
        if key in self._held:
            return self._held[key]
        place, shape = self._filed[key]
        assert self._file is not None  # noqa: S101 - what is filed has a file
        self._file.seek(place)
        return np.frombuffer(self._file.read(4 * int(np.prod(shape))), dtype=np.float32).reshape(shape)

    def drop(self, keys: Collection[Hashable]) -> None:
        """Let arrays go; the file shrinks only when nothing is left in it."""
        for key in keys:
            held = self._held.pop(key, None)
            self._bytes -= 0 if held is None else held.nbytes
            self._filed.pop(key, None)
        if self._file is not None and not self._filed:
            self._file.seek(0)
            self._file.truncate()

    def close(self) -> None:
        """Let everything go."""
        self._held.clear()
        self._filed.clear()
        self._bytes = 0
        if self._file is not None:
            self._file.close()
            self._file = None


# What a pass gives for the texts of a batch, output by output, and what of it a later batch will ask for.

#: A text as the model gets it, and where it was cut: two preparations that end in the same tokens share a pass.
Key = tuple[str, int | None]


class Output(NamedTuple):
    """One thing that is taken from a pass.

    Attributes:
        kind: see :class:`assay.metrics.neural.views.View`.
        layer: see there.
    """

    kind: Kind
    layer: int


class Page:
    """One output for the texts of a batch, filled as it comes; rows lie in the order of the texts.

    Args:
        output: what it is.
        tokens: the texts, n of them.
    """

    def __init__(self, output: Output, tokens: dict[Key, Tokens]) -> None:
        self.output = output
        self.tokens = tokens
        self._place = dict(zip(tokens, range(len(tokens)), strict=True))
        self._values: torch.Tensor | None = None
        self._making = Lock()
        lengths = (len(one.ids) if output.kind == "tokens" else 1 for one in tokens.values())
        self._sizes = np.fromiter(lengths, dtype=np.intp, count=len(tokens))
        self._starts = np.cumsum(self._sizes) - self._sizes

    def places(self, keys: Sequence[Key]) -> NDArray[np.intp]:
        """Return which of the n texts these are, shape (k,)."""
        return np.fromiter((self._place[key] for key in keys), dtype=np.intp, count=len(keys))

    def _rows(self, places: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the rows of texts, one text after the other."""
        sizes = self._sizes[places]
        return (self._starts[places][:, None] + np.arange(int(sizes.max())))[inside_of(sizes)]

    def _put(self, rows: NDArray[np.intp], found: torch.Tensor, device: str) -> None:
        with self._making:  # several devices fill a page, a thread each
            if self._values is None:
                shape = (int(self._sizes.sum()), found.shape[-1])
                self._values = import_torch().zeros(shape, dtype=import_torch().float32, device=device)
        self._values[to_device(rows, device)] = found.float().to(device)

    def put_rows(self, places: NDArray[np.intp], found: torch.Tensor, device: str) -> None:
        """Take one vector a text, shape (k, d), to a page on *device*."""
        self._put(places, found, device)

    def put_tokens(self, places: NDArray[np.intp], hidden: torch.Tensor, batch: Packed, device: str) -> None:
        """Take the tokens of a batch, shape (k, l, d), to a page on *device*; padding stays behind."""
        flat = hidden.reshape(-1, hidden.shape[-1])
        if not batch.even:
            flat = flat[to_device(np.flatnonzero(batch.inside), str(hidden.device))]
        self._put(self._rows(places), flat, device)

    def take_from(self, shelf: Shelf, device: str) -> set[Key]:
        """Put down what was kept of an earlier batch; return whose it is."""
        known = [key for key in self.tokens if (key, self.output) in shelf] if shelf else []
        if known:
            held = np.concatenate([shelf.get((key, self.output)) for key in known])
            self._put(self._rows(self.places(known)), import_torch().from_numpy(held), device)
        return set(known)

    def leave_on(self, shelf: Shelf, wanted: Collection[Key]) -> None:
        """Keep what a later batch will ask for, let go of the rest."""
        if shelf:
            shelf.drop([(key, self.output) for key in self.tokens if key not in wanted])
        fresh = [key for key in self.tokens if key in wanted and (key, self.output) not in shelf]
        if fresh and self._values is not None:
            places = self.places(fresh)
            # at once: a GPU would be waited for at every text
            held = self._values[to_device(self._rows(places), str(self._values.device))].cpu().numpy()
            for key, array in zip(fresh, np.split(held, np.cumsum(self._sizes[places])[:-1]), strict=True):
                shelf.put((key, self.output), array)

    def rows(self) -> TextRows:
        """Return what is on the page."""
        values = import_torch().zeros((int(self._sizes.sum()), 1)) if self._values is None else self._values
        if self.output.kind != "tokens":
            return TextRows(values)
        return TextRows(values, self._starts, [one.ids for one in self.tokens.values()])


# One encoder for all metrics that read it: each text goes through the model once, each metric takes its view.

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
