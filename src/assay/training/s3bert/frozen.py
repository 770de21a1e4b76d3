"""Splits a sentence encoder into frozen and trained layers, and computes the output of the frozen layers once per
text.
"""

from __future__ import annotations

import copy
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from assay.common.messages import Setting
from assay.exceptions import InputError, UnavailableError

# A sentence encoder in two parts: the frozen lower layers, and the upper layers, which are trained.

#: Model types whose layers are a plain stack: layer n reads only the output of layer n - 1 and the mask.
FAMILIES = frozenset({"bert", "roberta", "xlm-roberta", "camembert", "mpnet", "distilbert"})


@dataclass(frozen=True, eq=False)
class Halves:
    """A sentence encoder and its two parts, which share their weights with it.

    Attributes:
        whole: the complete sentence-transformers model.
        lower: the transformers model with only the frozen layers: token ids in, hidden states out.
        upper: the transformers model with only the trained layers: hidden states in (``inputs_embeds``) and out.
        tail: the modules after the transformer (pooling, dense, normalize), frozen.
    """

    whole: Any
    lower: Any
    upper: Any
    tail: tuple[Any, ...]

    @property
    def dimensions(self) -> int:
        """The number of dimensions of the sentence embedding."""
        return int(self.whole.get_embedding_dimension())


def split_encoder(whole: Any, trained: int, name: str) -> Halves:
    """Split a model so that only its last *trained* layers are trained, and return both parts.

    Dropout is turned off everywhere: the frozen layers' output is computed only once, and without noise in the trained
    layers the model starts equal to its frozen base.

    Args:
        whole: the sentence-transformers model; its dropout and which parameters are trained are changed in place.
        trained: the number of layers to train.
        name: the name of the model in error messages.

    Raises:
        InputError: *trained* is below 1, or above the number of layers.
        UnavailableError: the model is of a type that cannot be split, or its pooling leaves the prompt out.
    """
    from sentence_transformers.base.modules import Transformer

    body, *tail = list(whole)
    if not isinstance(body, Transformer) or body.model.config.model_type not in FAMILIES:
        kind = body.model.config.model_type if isinstance(body, Transformer) else type(body).__name__
        raise UnavailableError(
            f"model {name}: a {kind} cannot be trained by its last layers", f"use one of {', '.join(sorted(FAMILIES))}"
        )
    if any(getattr(module, "include_prompt", True) is False for module in tail):
        raise UnavailableError(f"model {name}: leaves the prompt out of its pooling, which is not supported")
    model = body.model
    stack_name = "encoder" if hasattr(model, "encoder") else "transformer"
    layers = list(getattr(model, stack_name).layer)
    if not 1 <= trained <= len(layers):
        raise InputError(
            f"the model has {len(layers)} layers; valid: 1 to {len(layers)}", setting="layers", value=trained
        )
    for module in whole.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    whole.requires_grad_(False)
    for layer in layers[-trained:]:
        layer.requires_grad_(True)
    lower = _with_layers(model, stack_name, layers[:-trained])
    upper = _with_layers(model, stack_name, layers[-trained:])
    upper.embeddings = _PassThrough()
    return Halves(whole, lower, upper, tuple(tail))


class _PassThrough(nn.Module):  # type: ignore[misc]  # torch has no types here
    """Replaces the embedding layer of the upper part, whose input is already hidden states."""

    def forward(self, input_ids: Any = None, inputs_embeds: Any = None, *_: Any, **__: Any) -> Any:
        """Return the hidden states unchanged."""
        return inputs_embeds


def _with_layers(model: Any, stack_name: str, layers: list[Any]) -> Any:
    """Return a copy of a model that shares its weights, with only the given layers and without a pooler.

    Args:
        model: the transformers model.
        stack_name: the name of the attribute that holds its stack of layers.
        layers: the layers of the copy.
    """
    part, stack = _shallow_copy(model), _shallow_copy(getattr(model, stack_name))
    stack.layer = nn.ModuleList(layers)
    setattr(part, stack_name, stack)
    if getattr(part, "pooler", None) is not None:
        part.pooler = None  # sentence embeddings do not come from it
    return part


def _shallow_copy(module: Any) -> Any:
    """Return a copy of a module whose children can be replaced without changing the original."""
    copied = copy.copy(module)
    copied.__dict__["_modules"] = dict(module.__dict__["_modules"])
    return copied


# The output of the frozen layers, computed once per text: the hidden states of its tokens, and the base's embedding.

#: The most bytes of hidden states that are kept in memory; more are kept in an unnamed, memory-mapped file.
MAX_BYTES_IN_MEMORY = 2 * 2**30
#: The number of texts that go through the layers together on a CPU and on a GPU; they have similar lengths, so there is
#: little padding.
CPU_TEXTS, GPU_TEXTS = 16, 512
#: The number of texts tokenized at a time.
TEXTS_PER_SLICE = 2048
#: The number of texts whose embeddings are compared with those of the complete model, and the largest difference
#: relative to the norm: single precision alone causes about a millionth.
CHECKED_TEXTS, MAX_RELATIVE_DIFFERENCE = 5, 1e-3


class FrozenTexts:
    """The hidden states below the trained layers, and the base model's embeddings, of n texts.

    Args:
        states: the hidden states of all tokens, one text after another, float32, shape (tokens, d).
        lengths: the number of tokens of each text, special tokens included, int64, shape (n,).
        device: torch's name of the device for batches.

    Attributes:
        teacher: the base model's embeddings, float32, shape (n, dimensions); set by :func:`freeze_texts`.
        texts_per_batch: the number of texts that go through the layers together.
    """

    def __init__(self, states: torch.Tensor, lengths: torch.Tensor, device: str) -> None:
        self.states = states
        self.lengths = lengths
        self.starts = torch.cumsum(lengths, 0) - lengths
        self.device = device
        self.texts_per_batch = CPU_TEXTS if device == "cpu" else GPU_TEXTS
        self.teacher = torch.empty(0)

    def __len__(self) -> int:
        return len(self.lengths)

    def padded_batch(self, numbers: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the hidden states of b texts, shape (b, l, d), and their mask, int64, shape (b, l), on the device.

        l is the length of the longest of these texts. Positions after the end of a text hold states of other tokens and
        are masked.

        Args:
            numbers: the indices of the texts, int64, shape (b,), on the CPU.
        """
        lengths = self.lengths[numbers]
        positions = torch.arange(int(lengths.max()))
        index = (self.starts[numbers][:, None] + positions).clamp_(max=len(self.states) - 1)
        mask = (positions < lengths[:, None]).long()
        states = self.states[index.to(self.states.device)]
        return states.to(self.device), mask.to(self.device)


def upper_embeddings(halves: Halves, frozen: FrozenTexts, numbers: torch.Tensor) -> torch.Tensor:
    """Return the sentence embeddings of b texts from the trained layers, shape (b, dimensions), in order.

    Args:
        halves: the model.
        frozen: the output of its frozen layers.
        numbers: the indices of the texts in *frozen*, on the CPU, int64, shape (b,).
    """
    order = torch.argsort(frozen.lengths[numbers], stable=True)
    embeddings = []
    for part in torch.split(numbers[order], frozen.texts_per_batch):
        states, mask = frozen.padded_batch(part)
        token_embeddings = halves.upper(inputs_embeds=states, attention_mask=mask).last_hidden_state
        embeddings.append(_sentence_embeddings(halves, token_embeddings, mask))
    return torch.cat(embeddings)[torch.argsort(order).to(frozen.device)]


def freeze_texts(halves: Halves, texts: Sequence[str], device: str, *, advance: Callable[[int], None]) -> FrozenTexts:
    """Return the output of the frozen layers for texts, and the base model's embeddings from the layers above them.

    Args:
        halves: the base model, before training; it is left in evaluation mode.
        texts: the n distinct texts, at least one.
        device: torch's name of the device.
        advance: receives the number of texts done since its last call.

    Raises:
        InputError: there is no disk space for the hidden states.
        UnavailableError: the two halves and the complete model return different embeddings.
    """
    model = halves.whole
    prompt = model.prompts.get(model.default_prompt_name) if model.default_prompt_name else None
    # All texts are tokenized first, since the number of tokens decides where the states are stored.
    inputs: list[dict[str, Any]] = []
    for start in range(0, len(texts), TEXTS_PER_SLICE):
        inputs += _unpadded_inputs(model, texts[start : start + TEXTS_PER_SLICE], prompt)
    lengths = torch.tensor([len(text_inputs["input_ids"]) for text_inputs in inputs], dtype=torch.int64)
    hidden_size = int(halves.lower.config.hidden_size)
    frozen = FrozenTexts(_allocate_states(int(lengths.sum()), hidden_size), lengths, device)
    teacher = torch.empty((len(texts), halves.dimensions), device=device)
    model.eval()
    with torch.inference_mode():
        for part in torch.split(torch.argsort(lengths, stable=True), frozen.texts_per_batch):
            part_inputs = [inputs[number] for number in part.tolist()]
            # Padded on the right, whatever the tokenizer's default, since row[:length] is what is kept of a text.
            batch = model.tokenizer.pad(part_inputs, padding_side="right", return_tensors="pt").to(device)
            mask = batch["attention_mask"]
            states = halves.lower(**batch).last_hidden_state
            token_embeddings = halves.upper(inputs_embeds=states, attention_mask=mask).last_hidden_state
            teacher[part.to(device)] = _sentence_embeddings(halves, token_embeddings, mask)
            for number, row in zip(part.tolist(), states.cpu(), strict=True):
                start, length = int(frozen.starts[number]), int(lengths[number])
                frozen.states[start : start + length] = row[:length]
            advance(len(part))
    frozen.teacher = teacher.clone()
    if device != "cpu" and frozen.states.nbytes <= MAX_BYTES_IN_MEMORY:
        frozen.states = frozen.states.to(device)
    _check_embeddings(halves, frozen, texts)
    return frozen


def _check_embeddings(halves: Halves, frozen: FrozenTexts, texts: Sequence[str]) -> None:
    """Compare the embeddings of some texts, from the shortest to the longest, with those of the complete model.

    The complete model embeds each text alone, and so without padding.

    Raises:
        UnavailableError: an embedding differs.
    """
    positions = np.linspace(0, len(texts) - 1, min(CHECKED_TEXTS, len(texts))).round().astype(np.int64)
    numbers = torch.argsort(frozen.lengths, stable=True)[torch.from_numpy(positions)]
    with torch.inference_mode():
        # each text alone, without padding
        alone = [
            halves.whole.encode([texts[number]], convert_to_tensor=True, show_progress_bar=False)[0]
            for number in numbers.tolist()
        ]
        expected = torch.stack(alone)
        split_embeddings = upper_embeddings(halves, frozen, numbers)
    max_difference = MAX_RELATIVE_DIFFERENCE * expected.norm(dim=1).max()
    for embeddings in (split_embeddings, frozen.teacher[numbers.to(frozen.teacher.device)]):
        differences = (embeddings - expected).norm(dim=1)
        if not bool((differences <= max_difference).all()):  # NaN is not a small difference either
            raise UnavailableError(
                "cut in two, the base gives other sentence embeddings than as a whole", "use another base"
            )


def _unpadded_inputs(model: Any, texts: Sequence[str], prompt: str | None) -> list[dict[str, Any]]:
    """Return the model inputs of each text, such as ``input_ids``, as lists without padding.

    Args:
        model: the sentence-transformers model.
        texts: the n texts, each of which gets one mapping from the name of an input to its numbers.
        prompt: the prompt before each text, or None.
    """
    batch = model.preprocess(list(texts), prompt=prompt)
    keys = [key for key in ("input_ids", "token_type_ids", "attention_mask") if key in batch]
    lengths = batch["attention_mask"].sum(1).tolist()
    padded_length = batch["attention_mask"].size(1)
    is_padded_left = getattr(model.tokenizer, "padding_side", "right") == "left"
    inputs = []
    for row, length in enumerate(lengths):
        kept = slice(padded_length - length, None) if is_padded_left else slice(length)
        inputs.append({key: batch[key][row, kept].tolist() for key in keys})
    return inputs


def _allocate_states(tokens: int, hidden_size: int) -> torch.Tensor:
    """Return an uninitialised float32 tensor for the hidden states of tokens, shape (tokens, hidden_size).

    It is in memory, or, above :data:`MAX_BYTES_IN_MEMORY` bytes, in a memory-mapped file without a name.

    Raises:
        InputError: the folder of temporary files has no space for the file.
    """
    size = 4 * tokens * hidden_size  # bytes
    if size <= MAX_BYTES_IN_MEMORY:
        return torch.empty((tokens, hidden_size), dtype=torch.float32)
    try:
        with tempfile.TemporaryFile(prefix="assay-") as file:
            # Without space reserved for it, a full disk would end the process later, by a signal.
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size)
            # The memory map keeps the file alive after its name and its handle are gone.
            return torch.from_numpy(np.memmap(file, dtype=np.float32, mode="w+", shape=(tokens, hidden_size)))
    except OSError as error:
        raise InputError(
            f"{tempfile.gettempdir()}: no room for {size / 2**30:.1f} GiB of hidden states ({error.strerror}); "
            "let TMPDIR name a folder with more room, or use fewer pairs with ",
            Setting("limit"),
        ) from None


def _sentence_embeddings(halves: Halves, tokens: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Return the sentence embeddings of b texts, shape (b, dimensions), by the modules of the tail.

    Args:
        halves: the model.
        tokens: the token embeddings of its last layer, shape (b, l, d).
        mask: 1 for the tokens of a text and 0 for padding, shape (b, l).
    """
    features: dict[str, Any] = {"token_embeddings": tokens, "attention_mask": mask}
    for module in halves.tail:
        features = module(features)
    embeddings: torch.Tensor = features["sentence_embedding"]
    return embeddings
