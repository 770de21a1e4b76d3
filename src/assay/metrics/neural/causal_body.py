"""A causal language model on one device: the token that comes next, and replies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.metrics.neural.prefixes import TokenTree, items_of, rows_of
from assay.metrics.neural.runtime import import_torch
from assay.metrics.neural.tokens import Packed, inside_of, plan_batches, to_device

if TYPE_CHECKING:
    import torch
    from torch import Tensor

#: Largest difference between the logits of a row of several inputs and of each alone, as a share of their deviation:
#: what another shape of a batch makes, and far below what a wrong mask does.
_DIFFERENCE = {"fp32": 1e-3, "bf16": 0.2, "fp16": 0.05}
#: Keys and values of inputs whose replies go on at one time, as a multiple of those of their rows.
_APART_AGAIN = 4


#: A reply: the number of its input, and that of the sample.
ReplyKey = tuple[int, int]


@dataclass(frozen=True)
class Sampling:
    """How the tokens of replies are chosen; the same ones in any batch.

    Attributes:
        samples: replies to each input.
        temperature: 0 for the most probable token.
        uniforms: for each token of each reply a number in [0, 1) that decides; empty at temperature 0.
    """

    samples: int
    temperature: float
    uniforms: Mapping[ReplyKey, NDArray[np.float64]]

    @classmethod
    def of(
        cls, inputs: Mapping[int, Sequence[int]], most: int, samples: int, temperature: float, seed: int | None
    ) -> Self:
        """Return what draws replies of at most *most* tokens; without a seed, others every time."""
        uniforms = {}
        if temperature > 0:
            for number, ids in inputs.items():
                for sample in range(samples):
                    # of the input, not of its place in a batch
                    entropy = None if seed is None else [seed % 2**64, sample, *ids]
                    uniforms[number, sample] = np.random.default_rng(entropy).random(most)
        return cls(samples, temperature, uniforms)

    def keys(self, inputs: Iterable[int]) -> list[ReplyKey]:
        """Return the replies to inputs, sample after sample of each."""
        return [(number, sample) for number in inputs for sample in range(self.samples)]

    def choose(self, logits: torch.Tensor, replies: Sequence[ReplyKey], place: int) -> torch.Tensor:
        """Return the token at a place of b replies, shape (b,), of logits of shape (b, v)."""
        torch = import_torch()
        if self.temperature == 0:
            most_probable: Tensor = logits.argmax(-1)
            return most_probable
        cumulative = (logits.double() / self.temperature).softmax(-1).cumsum(-1)
        drawn = torch.tensor([self.uniforms[reply][place] for reply in replies], dtype=torch.float64)
        below = cumulative < drawn.to(cumulative.device)[:, None] * cumulative[:, -1:]
        chosen: Tensor = below.sum(-1).clamp(max=logits.shape[-1] - 1)
        return chosen


class CausalBody:
    """A causal language model of transformers, in torch.

    Args:
        model: the model, on the device.
        device: torch's name of it.
        precision: that it is in.

    Attributes:
        shares: whether inputs can share a row: the model computes the same with them as with each alone.
        window: tokens that a layer looks back; beyond it, an input has a row of its own.
    """

    def __init__(self, model: Any, device: str, precision: str) -> None:
        self.model = model
        self.device = device
        self._places: tuple[torch.Tensor, torch.Tensor] | None = None
        model.get_output_embeddings().register_forward_pre_hook(self._pick)
        config = model.config.get_text_config(decoder=True)
        windows = [getattr(config, name, None) for name in ("sliding_window", "attention_chunk_size")]
        self.window: int | None = min((window for window in windows if window), default=None)
        self.shares = self._can_share(int(config.vocab_size), _DIFFERENCE[precision])

    def next_logits(self, batch: Packed, rows: Sequence[TokenTree], cache: Any = None) -> torch.Tensor:
        """Return what may follow each input of rows, input after input, shape (n, v), before any softmax.

        Args:
            batch: the rows, padded on the right.
            rows: those of the batch.
            cache: collects keys and values, where the replies go on.
        """
        counts = [len(row.paths) for row in rows]
        numbers = np.repeat(np.arange(len(rows)), counts)
        last = np.array([path[-1] for row in rows for path in row.paths], dtype=np.int64)
        inputs: dict[str, Any] = {"input_ids": batch.ids}
        # alone and padded on the right, an input needs no mask: nothing looks ahead
        if cache is not None or max(counts) > 1:
            length = batch.ids.shape[1]
            positions = np.zeros((len(rows), length), dtype=np.int64)
            for row, place in zip(rows, positions, strict=True):
                place[: len(row.positions)] = row.positions
            inputs["position_ids"] = to_device(positions, self.device)
            inputs["attention_mask"] = self._mask(np.stack([row.sees(length) for row in rows]))
        if cache is not None:
            inputs["past_key_values"] = cache
        with self._picking(numbers, last):
            logits: torch.Tensor = self.model(**inputs, use_cache=cache is not None).logits[0]
        return logits

    def write(
        self, batch: Packed, rows: Sequence[TokenTree], most: int, ends: frozenset[int], sampling: Sampling
    ) -> dict[ReplyKey, list[int]]:
        """Return the tokens of the replies to the inputs of rows that can be shared.

        Args:
            batch: the rows, padded on the right.
            rows: those of the batch.
            most: tokens of a reply.
            ends: tokens that end a reply, and are part of it.
            sampling: chooses tokens.
        """
        from transformers import DynamicCache

        cache = DynamicCache()
        logits = self.next_logits(batch, rows, cache)
        keys = sampling.keys(items_of(rows))
        # for each reply, its input in the batch, and of that the row and the path
        inputs = np.repeat(np.arange(len(logits)), sampling.samples)
        numbers = np.repeat(np.arange(len(rows)), [len(row.paths) for row in rows])
        paths = [path for row in rows for path in row.paths]
        lengths = np.array([len(paths[one]) for one in inputs], dtype=np.intp)
        written: dict[ReplyKey, list[int]] = {}
        # apart again, the inputs take several times the memory of their rows
        for part in plan_batches(lengths, _APART_AGAIN * batch.ids.numel()):
            states = self._states(cache, numbers[inputs[part]], [paths[one] for one in inputs[part]])
            first = logits[to_device(inputs[part], self.device)]
            written |= self._go_on(states, lengths[part], first, [keys[one] for one in part], most, ends, sampling)
        return written

    def _states(
        self, cache: Any, rows: NDArray[np.intp], paths: Sequence[NDArray[np.intp]]
    ) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Return keys and values of each layer for n inputs, of shape (n, heads, l, d), padded on the right."""
        columns = np.zeros((len(paths), max(map(len, paths))), dtype=np.int64)
        for path, places in zip(paths, columns, strict=True):
            places[: len(path)] = path
        at = to_device(rows[:, None], self.device), slice(None), to_device(columns, self.device)
        return [(layer.keys[at].transpose(1, 2), layer.values[at].transpose(1, 2)) for layer in cache.layers]

    def _go_on(
        self,
        states: Sequence[tuple[torch.Tensor, torch.Tensor]],
        lengths: NDArray[np.intp],
        logits: torch.Tensor,
        keys: Sequence[ReplyKey],
        most: int,
        ends: frozenset[int],
        sampling: Sampling,
    ) -> dict[ReplyKey, list[int]]:
        """Return the tokens of b replies, of whose inputs the lengths, keys and values, and first logits are known."""
        from transformers import DynamicCache

        cache = DynamicCache()
        for layer, (own_keys, values) in enumerate(states):
            cache.update(own_keys, values, layer)
        seen = inside_of(lengths)
        replies: dict[ReplyKey, list[int]] = {key: [] for key in keys}
        going_on = set(keys)
        for place in range(most):
            chosen = sampling.choose(logits, keys, place)
            for key, token in zip(keys, chosen.tolist(), strict=True):
                if key in going_on:
                    replies[key].append(token)
                    if token in ends:
                        going_on.remove(key)
            if not going_on or place + 1 == most:
                break
            if 2 * len(going_on) <= len(keys):
                # what has ended costs as much as what goes on
                kept = np.array([number for number, key in enumerate(keys) if key in going_on], dtype=np.intp)
                keys, lengths, seen = [keys[number] for number in kept], lengths[kept], seen[kept]
                cache.batch_select_indices(to_device(kept, self.device))
                chosen = chosen[to_device(kept, self.device)]
            seen = np.pad(seen, ((0, 0), (0, 1)), constant_values=True)
            with self._picking(np.arange(len(keys)), np.zeros(len(keys), dtype=np.int64)):
                output = self.model(
                    input_ids=chosen[:, None],
                    position_ids=to_device(lengths[:, None] + place, self.device),
                    attention_mask=self._mask(seen[:, None]),
                    past_key_values=cache,
                    use_cache=True,
                )
            logits = output.logits[0]
        return replies

    def _mask(self, sees: NDArray[np.bool_]) -> torch.Tensor:
        """Return a mask to add to attention weights, shape (b, 1, q, k), from which token sees which, (b, q, k)."""
        torch = import_torch()
        dtype = self.model.dtype
        seen = to_device(sees[:, None], self.device)
        mask: Tensor = torch.zeros(seen.shape, dtype=dtype, device=self.device)
        return mask.masked_fill_(~seen, torch.finfo(dtype).min)

    @contextmanager
    def _picking(self, rows: NDArray[np.intp], columns: NDArray[np.int64]) -> Iterator[None]:
        """Let the layer over the vocabulary compute these tokens only."""
        self._places = to_device(rows, self.device), to_device(columns, self.device)
        try:
            yield
        finally:
            self._places = None

    def _pick(self, layer: Any, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        return inputs if self._places is None else (inputs[0][self._places][None], *inputs[1:])

    def _can_share(self, vocabulary: int, apart: float) -> bool:
        """Tell whether a row of several inputs gives what each gives alone, by a small example.

        Models in which each token changes a state, or whose attention knows distances by place alone, do not.
        """
        torch = import_torch()
        generator = np.random.default_rng(0)
        stem, *tails = [generator.integers(vocabulary, size=size).tolist() for size in (9, 5, 7, 3)]
        examples = [stem + tail for tail in tails]
        together = rows_of(dict(enumerate(examples)), 100)
        with torch.inference_mode():
            try:
                logits = self._logits_of(together)
            except (TypeError, ValueError, AttributeError, RuntimeError, KeyError, IndexError):
                return False
            alone = self._logits_of([row for one in together[0].items for row in rows_of({one: examples[one]}, 0)])
        return bool((logits - alone).abs().max() <= apart * alone.std())

    def _logits_of(self, rows: list[TokenTree]) -> torch.Tensor:
        sizes = np.array([len(row.ids) for row in rows], dtype=np.intp)
        ids = np.zeros((len(rows), int(sizes.max())), dtype=np.int64)
        for row, place in zip(rows, ids, strict=True):
            place[: len(row.ids)] = row.ids
        ids_there = to_device(ids, self.device)
        batch = Packed(np.arange(len(rows)), sizes, ids_there, ids_there, None, unpadded=False)
        return self.next_logits(batch, rows).float()
