"""A causal language model on one device: next-token logits and generated replies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.metrics.neural.prefixes import TokenTree, items_of, pack_rows
from assay.metrics.neural.runtime import import_torch
from assay.metrics.neural.tokens import Packed, plan_batches, to_device, token_mask_of

if TYPE_CHECKING:
    import torch
    from torch import Tensor

#: Largest accepted difference between the logits of inputs that share a row and of the same inputs alone, in standard
#: deviations of the logits. Rounding in batches of another shape stays below it; a wrong mask is far above it.
_TOLERANCE = {"fp32": 1e-3, "bf16": 0.2, "fp16": 0.05}
#: Most tokens whose keys and values are unpacked at one time, as a multiple of the tokens of the shared rows.
_MAX_UNPACKED_RATIO = 4


#: Identifies a reply: the number of its input and the number of the sample.
ReplyKey = tuple[int, int]


@dataclass(frozen=True)
class Sampling:
    """Chooses the tokens of replies; the choice does not depend on the batch that an input is in.

    Attributes:
        samples: the number of replies to each input.
        temperature: the softmax temperature; 0 always chooses the most probable token.
        uniforms: for each reply, one random number in [0, 1) per token; empty at temperature 0.
    """

    samples: int
    temperature: float
    uniforms: Mapping[ReplyKey, NDArray[np.float64]]

    @classmethod
    def for_inputs(
        cls, inputs: Mapping[int, Sequence[int]], max_tokens: int, samples: int, temperature: float, seed: int | None
    ) -> Self:
        """Return the sampling for replies of at most *max_tokens* tokens each.

        Args:
            inputs: the token numbers of each input, by its number.
            max_tokens: the number of random numbers to draw per reply.
            samples: the number of replies to each input.
            temperature: the softmax temperature.
            seed: the seed; None draws other replies every time.
        """
        uniforms = {}
        if temperature > 0:
            for number, ids in inputs.items():
                for sample in range(samples):
                    # seeded by the content of the input, so that its position in the data does not matter
                    entropy = None if seed is None else [seed % 2**64, sample, *ids]
                    uniforms[number, sample] = np.random.default_rng(entropy).random(max_tokens)
        return cls(samples, temperature, uniforms)

    def keys(self, inputs: Iterable[int]) -> list[ReplyKey]:
        """Return the keys of all replies to the inputs; the samples of one input are adjacent."""
        return [(number, sample) for number in inputs for sample in range(self.samples)]

    def choose_tokens(self, logits: torch.Tensor, replies: Sequence[ReplyKey], position: int) -> torch.Tensor:
        """Return the number of the next token of each of b replies, shape (b,), on the device of the logits.

        Args:
            logits: the logits over the vocabulary, shape (b, v).
            replies: the keys of the b replies.
            position: the index of the token in its reply.
        """
        torch = import_torch()
        if self.temperature == 0:
            most_probable: Tensor = logits.argmax(-1)
            return most_probable
        # mps has no double precision
        precise_logits = (logits.cpu() if logits.device.type == "mps" else logits).double()
        cumulative = (precise_logits / self.temperature).softmax(-1).cumsum(-1)
        uniforms = torch.tensor([self.uniforms[reply][position] for reply in replies], dtype=torch.float64)
        # rounding may leave the total of the probabilities below or above 1: scale the random numbers by it
        thresholds = uniforms.to(cumulative.device)[:, None] * cumulative[:, -1:]
        # the inverse of the cumulative distribution: the number of tokens below the threshold is the chosen token
        tokens: Tensor = (cumulative < thresholds).sum(-1).clamp(max=logits.shape[-1] - 1)
        return tokens.to(logits.device)


class CausalBody:
    """A causal language model of transformers, in torch.

    Args:
        model: the model, already on the device.
        device: torch's name of the device.
        precision: the precision of the weights: ``fp32``, ``bf16`` or ``fp16``.

    Attributes:
        can_share_rows: whether several inputs can share a row, that is, the model computes the same logits as for each
            alone.
        attention_window: the length of the model's attention window in tokens, or None; a longer input must not share a
            row.
    """

    def __init__(self, model: Any, device: str, precision: str) -> None:
        self.model = model
        self.device = device
        self._selected: tuple[torch.Tensor, torch.Tensor] | None = None
        model.get_output_embeddings().register_forward_pre_hook(self._select_states)
        config = model.config.get_text_config(decoder=True)
        windows = [getattr(config, name, None) for name in ("sliding_window", "attention_chunk_size")]
        self.attention_window: int | None = min((window for window in windows if window), default=None)
        self.can_share_rows = self._is_sharing_exact(int(config.vocab_size), _TOLERANCE[precision])

    def next_logits(self, batch: Packed, rows: Sequence[TokenTree], cache: Any = None) -> torch.Tensor:
        """Return the next-token logits of the n inputs of a batch, row after row, shape (n, v).

        Args:
            batch: the rows as one tensor, padded on the right.
            rows: the rows as trees.
            cache: transformers' cache that collects keys and values for :meth:`generate_replies`; None if they are not
                needed.
        """
        counts = [len(row.paths) for row in rows]
        row_numbers = np.repeat(np.arange(len(rows)), counts)
        last_columns = np.array([path[-1] for row in rows for path in row.paths], dtype=np.int64)
        inputs: dict[str, Any] = {"input_ids": batch.ids}
        # with one input per row, the padding is on the right and causal attention never reads it: no mask is needed
        if cache is not None or max(counts) > 1:
            length = batch.ids.shape[1]
            positions = np.zeros((len(rows), length), dtype=np.int64)
            for row, row_positions in zip(rows, positions, strict=True):
                row_positions[: len(row.positions)] = row.positions
            inputs["position_ids"] = to_device(positions, self.device)
            inputs["attention_mask"] = self._attention_mask(np.stack([row.attention_mask(length) for row in rows]))
        if cache is not None:
            inputs["past_key_values"] = cache
        with self._selected_logits(row_numbers, last_columns):
            # the selected tokens are in a single row
            logits: torch.Tensor = self.model(**inputs, use_cache=cache is not None).logits[0]
        return logits

    def generate_replies(
        self, batch: Packed, rows: Sequence[TokenTree], max_tokens: int, ends: frozenset[int], sampling: Sampling
    ) -> dict[ReplyKey, list[int]]:
        """Generate the replies to the inputs of a batch, and return the token numbers of each reply, by its key.

        The rows are computed once. Then the keys and values of each input are copied out of its row, and the replies
        are continued token by token. The model must be able to share rows.

        Args:
            batch: the rows as one tensor, padded on the right.
            rows: the rows as trees.
            max_tokens: the length at which a reply is cut.
            ends: the tokens that end a reply; the reply includes its end token.
            sampling: the choice of tokens.
        """
        from transformers import DynamicCache

        cache = DynamicCache()
        logits = self.next_logits(batch, rows, cache)
        keys = sampling.keys(items_of(rows))
        input_of_reply = np.repeat(np.arange(len(logits)), sampling.samples)
        row_of_input = np.repeat(np.arange(len(rows)), [len(row.paths) for row in rows])
        paths = [path for row in rows for path in row.paths]
        lengths = np.array([len(paths[index]) for index in input_of_reply], dtype=np.intp)
        written: dict[ReplyKey, list[int]] = {}
        # once unpacked, the inputs take several times the memory of their shared rows
        for indices in plan_batches(lengths, _MAX_UNPACKED_RATIO * batch.ids.numel()):
            inputs = input_of_reply[indices]
            states = self._copy_states(cache, row_of_input[inputs], [paths[index] for index in inputs])
            first_logits = logits[to_device(inputs, self.device)]
            part_keys = [keys[index] for index in indices]
            written |= self._continue_replies(
                states, lengths[indices], first_logits, part_keys, max_tokens, ends, sampling
            )
        return written

    def _copy_states(
        self, cache: Any, rows: NDArray[np.intp], paths: Sequence[NDArray[np.intp]]
    ) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Copy the keys and values of n inputs out of their rows.

        Args:
            cache: the keys and values of the rows.
            rows: the row of each input, shape (n,).
            paths: the columns of each input's tokens in its row, n arrays; l is the length of the longest.

        Returns:
            Keys and values of each layer, each of shape (n, heads, l, d), padded on the right.
        """
        columns = np.zeros((len(paths), max(map(len, paths))), dtype=np.int64)
        for path, input_columns in zip(paths, columns, strict=True):
            input_columns[: len(path)] = path
        # arrays around a slice put the indexed axes first, shape (n, l, heads, d): hence the transpose
        index = to_device(rows[:, None], self.device), slice(None), to_device(columns, self.device)
        return [(layer.keys[index].transpose(1, 2), layer.values[index].transpose(1, 2)) for layer in cache.layers]

    def _continue_replies(
        self,
        states: Sequence[tuple[torch.Tensor, torch.Tensor]],
        lengths: NDArray[np.intp],
        logits: torch.Tensor,
        keys: Sequence[ReplyKey],
        max_tokens: int,
        ends: frozenset[int],
        sampling: Sampling,
    ) -> dict[ReplyKey, list[int]]:
        """Generate b replies whose inputs the model has read, and return the token numbers of each, by its key.

        Args:
            states: keys and values of the inputs, see :meth:`_copy_states`.
            lengths: the length of each input, shape (b,).
            logits: the logits of the first token of each reply, shape (b, v).
            keys: the keys of the b replies.
            max_tokens: the length at which a reply is cut.
            ends: the tokens that end a reply; the reply includes its end token.
            sampling: the choice of tokens.
        """
        from transformers import DynamicCache

        cache = DynamicCache()
        for layer, (layer_keys, layer_values) in enumerate(states):
            cache.update(layer_keys, layer_values, layer)
        token_mask = token_mask_of(lengths)
        replies: dict[ReplyKey, list[int]] = {key: [] for key in keys}
        unfinished = set(keys)
        for position in range(max_tokens):
            next_tokens = sampling.choose_tokens(logits, keys, position)
            for key, token in zip(keys, next_tokens.tolist(), strict=True):
                if key in unfinished:
                    replies[key].append(token)
                    if token in ends:
                        unfinished.remove(key)
            if not unfinished or position + 1 == max_tokens:
                break
            if 2 * len(unfinished) <= len(keys):
                # a finished reply costs as much as an unfinished one: drop them once they are half of the batch
                unfinished_rows = np.array(
                    [index for index, key in enumerate(keys) if key in unfinished], dtype=np.intp
                )
                keys, lengths, token_mask = (
                    [keys[index] for index in unfinished_rows],
                    lengths[unfinished_rows],
                    token_mask[unfinished_rows],
                )
                cache.batch_select_indices(to_device(unfinished_rows, self.device))
                next_tokens = next_tokens[to_device(unfinished_rows, self.device)]
            token_mask = np.pad(token_mask, ((0, 0), (0, 1)), constant_values=True)
            with self._selected_logits(np.arange(len(keys)), np.zeros(len(keys), dtype=np.int64)):
                output = self.model(
                    input_ids=next_tokens[:, None],
                    position_ids=to_device(lengths[:, None] + position, self.device),
                    attention_mask=self._attention_mask(token_mask[:, None]),
                    past_key_values=cache,
                    use_cache=True,
                )
            logits = output.logits[0]
        return replies

    def _attention_mask(self, visible: NDArray[np.bool_]) -> torch.Tensor:
        """Return the additive attention mask, shape (b, 1, q, k): 0 for visible keys, the lowest number for others.

        Args:
            visible: whether each query sees each key, shape (b, q, k).
        """
        torch = import_torch()
        dtype = self.model.dtype
        is_visible = to_device(visible[:, None], self.device)
        mask: Tensor = torch.zeros(is_visible.shape, dtype=dtype, device=self.device)
        return mask.masked_fill_(~is_visible, torch.finfo(dtype).min)

    @contextmanager
    def _selected_logits(self, rows: NDArray[np.intp], columns: NDArray[np.int64]) -> Iterator[None]:
        """Within the block, make the model compute logits only for the tokens at these rows and columns of a batch."""
        self._selected = to_device(rows, self.device), to_device(columns, self.device)
        try:
            yield
        finally:
            self._selected = None

    def _select_states(self, layer: Any, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the inputs of the output layer, limited to the selected tokens if there are any.

        This is a hook of torch, which runs before the layer.
        """
        if self._selected is None:
            return inputs
        states, *others = inputs
        return (states[self._selected][None], *others)

    def _is_sharing_exact(self, vocabulary: int, tolerance: float) -> bool:
        """Tell by a small example whether inputs that share a row have the logits that each has alone.

        This is False for recurrent models, whose state depends on all earlier tokens of the row, and for models whose
        attention measures distance in columns of the row instead of position numbers.

        Args:
            vocabulary: the number of tokens to draw the example from.
            tolerance: the largest accepted difference, in standard deviations of the logits.
        """
        torch = import_torch()
        generator = np.random.default_rng(0)
        stem, *tails = [generator.integers(vocabulary, size=size).tolist() for size in (9, 5, 7, 3)]
        examples = [stem + tail for tail in tails]
        # 100 tokens have room for all examples in one row
        shared_rows = pack_rows(dict(enumerate(examples)), 100)
        with torch.inference_mode():
            try:
                logits_in_shared_row = self._logits_of(shared_rows)
            except (TypeError, ValueError, AttributeError, RuntimeError, KeyError, IndexError):
                # architectures that accept no such mask or no position numbers fail with one of these errors
                return False
            single_rows = [row for item in shared_rows[0].items for row in pack_rows({item: examples[item]}, 0)]
            logits_alone = self._logits_of(single_rows)
        largest_difference = (logits_in_shared_row - logits_alone).abs().max()
        return bool(largest_difference <= tolerance * logits_alone.std())

    def _logits_of(self, rows: list[TokenTree]) -> torch.Tensor:
        """Return the next-token logits of the n inputs in *rows*, row after row, shape (n, v), in single precision."""
        sizes = np.array([len(row.ids) for row in rows], dtype=np.intp)
        ids = np.zeros((len(rows), int(sizes.max())), dtype=np.int64)
        for row, row_ids in zip(rows, ids, strict=True):
            row_ids[: len(row.ids)] = row.ids
        ids_on_device = to_device(ids, self.device)
        # next_logits() makes its own mask, so that of the batch is not read
        batch = Packed(np.arange(len(rows)), sizes, ids_on_device, ids_on_device, None, unpadded=False)
        return self.next_logits(batch, rows).float()
