"""A sentence encoder split into frozen and trained layers, and the output of the frozen ones, computed once for
every text.
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

from assay.errors import InputError, UnavailableError

# A sentence encoder cut in two: the layers that stay as they are, and the last ones, which are trained.

#: Families of transformers whose layers are a plain stack: layer n reads what layer n - 1 gives and the mask.
FAMILIES = frozenset({"bert", "roberta", "xlm-roberta", "camembert", "mpnet", "distilbert"})


@dataclass(frozen=True, eq=False)
class Halves:
    """A sentence encoder and its two parts, which share their weights with it.

    Attributes:
        whole: the model of sentence-transformers.
        lower: transformers' model with the frozen layers only: token numbers in, hidden states out.
        upper: transformers' model with the trained layers only: hidden states in (``inputs_embeds``) and out.
        tail: the modules behind the transformer (pooling, dense, normalize), frozen.
    """

    whole: Any
    lower: Any
    upper: Any
    tail: tuple[Any, ...]

    @property
    def dimensions(self) -> int:
        """Of the sentence embedding."""
        return int(self.whole.get_embedding_dimension())


def split(whole: Any, trained: int, name: str) -> Halves:
    """Cut a model so that its last *trained* layers are trained and nothing else.

    Dropout is off everywhere: the frozen layers' output is computed once, and with the trained layers noiseless the
    model starts as equal to its frozen base.

    Args:
        whole: the model; which of its parameters want gradients is set here.
        trained: layers.
        name: of the model, for errors.

    Raises:
        InputError: it has not so many layers.
        UnavailableError: its family is not one that can be cut.
    """
    from sentence_transformers.base.modules import Transformer

    body, *tail = list(whole)
    if not isinstance(body, Transformer) or body.model.config.model_type not in FAMILIES:
        kind = body.model.config.model_type if isinstance(body, Transformer) else type(body).__name__
        raise UnavailableError(
            f"model {name}: a {kind} cannot be trained by its last layers", f"take one of {', '.join(sorted(FAMILIES))}"
        )
    if any(getattr(module, "include_prompt", True) is False for module in tail):
        raise UnavailableError(f"model {name}: leaves the prompt out of its pooling, which is not supported")
    model = body.model
    place = "encoder" if hasattr(model, "encoder") else "transformer"
    layers = list(getattr(model, place).layer)
    if not 1 <= trained <= len(layers):
        raise InputError(f"`layers={trained}`: the model has {len(layers)} layers; valid: 1 to {len(layers)}")
    for module in whole.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    whole.requires_grad_(False)
    for layer in layers[-trained:]:
        layer.requires_grad_(True)
    lower = _part(model, place, layers[:-trained])
    upper = _part(model, place, layers[-trained:])
    upper.embeddings = _Given()
    return Halves(whole, lower, upper, tuple(tail))


class _Given(nn.Module):  # type: ignore[misc]  # torch has no types here
    """In place of the embeddings: hidden states as they are given."""

    def forward(self, input_ids: Any = None, inputs_embeds: Any = None, *_: Any, **__: Any) -> Any:
        """Return them."""
        return inputs_embeds


def _part(model: Any, place: str, layers: list[Any]) -> Any:
    """Return a model with the same weights and some of the layers."""
    part, stack = _shallow(model), _shallow(getattr(model, place))
    stack.layer = nn.ModuleList(layers)
    setattr(part, place, stack)
    if getattr(part, "pooler", None) is not None:
        part.pooler = None  # sentence embeddings do not come from it
    return part


def _shallow(module: Any) -> Any:
    """Return a copy whose children can be exchanged without changing the original's."""
    made = copy.copy(module)
    made.__dict__["_modules"] = dict(module.__dict__["_modules"])
    return made


# What the frozen layers say of every text, computed once: hidden states of its tokens, and the base's embedding.

#: Bytes of hidden states held in memory; more go to a nameless file that is mapped into it.
MEMORY = 2 * 2**30
#: Texts that go through the layers together: of nearly equal length, so that little is padding.
TOGETHER = 16
#: Texts tokenized at a time.
SLICE = 2048
#: Texts whose embeddings are held against those of the model as a whole, and how far they may differ, as a share of
#: their length: single precision leaves about a millionth.
CHECKED, NEAR = 5, 1e-3


class FrozenTexts:
    """Hidden states below the trained layers, and embeddings by the base, of n texts.

    Args:
        states: of all tokens, text after text, float32, shape (tokens, d).
        lengths: tokens of each text, special ones included, int64, shape (n,).
        device: torch's name of the device where batches are wanted.

    Attributes:
        teacher: the base's embeddings, float32, shape (n, dimensions); set by :func:`freeze`.
    """

    def __init__(self, states: torch.Tensor, lengths: torch.Tensor, device: str) -> None:
        self.states = states
        self.lengths = lengths
        self.starts = torch.cumsum(lengths, 0) - lengths
        self.device = device
        self.teacher = torch.empty(0)

    def __len__(self) -> int:
        return len(self.lengths)

    def padded(self, numbers: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the hidden states of some texts, shape (b, l, d), and their mask, int64, shape (b, l).

        What stands behind the end of a text is another text's, and masked.
        """
        lengths = self.lengths[numbers]
        places = torch.arange(int(lengths.max()))
        index = (self.starts[numbers][:, None] + places).clamp_(max=len(self.states) - 1)
        mask = (places < lengths[:, None]).long()
        states = self.states[index.to(self.states.device)]
        return states.to(self.device), mask.to(self.device)


def upper_embeddings(halves: Halves, frozen: FrozenTexts, numbers: torch.Tensor) -> torch.Tensor:
    """Return the sentence embeddings of texts by the trained layers, shape (len(numbers), dimensions).

    Args:
        halves: the model.
        frozen: what its frozen layers say.
        numbers: of the texts, on the CPU, int64, shape (b,).
    """
    order = torch.argsort(frozen.lengths[numbers], stable=True)
    found = []
    for part in torch.split(numbers[order], TOGETHER):
        states, mask = frozen.padded(part)
        found.append(_finish(halves, halves.upper(inputs_embeds=states, attention_mask=mask).last_hidden_state, mask))
    return torch.cat(found)[torch.argsort(order).to(frozen.device)]


def freeze(halves: Halves, texts: Sequence[str], device: str, *, advance: Callable[[int], None]) -> FrozenTexts:
    """Run the frozen layers over texts once, and the layers above them for the base's embeddings.

    Args:
        halves: the base model, as it is before training.
        texts: distinct ones.
        device: torch's name of the device.
        advance: called with the number of texts done.

    Raises:
        InputError: there is no room for the hidden states.
        UnavailableError: the two halves do not give what the model as a whole gives.
    """
    whole = halves.whole
    prompt = whole.prompts.get(whole.default_prompt_name) if whole.default_prompt_name else None
    # two passes: the number of tokens decides where the states are held
    tokens = [
        row for start in range(0, len(texts), SLICE) for row in _tokens(whole, texts[start : start + SLICE], prompt)
    ]
    lengths = torch.tensor([len(row["input_ids"]) for row in tokens], dtype=torch.int64)
    width = int(halves.lower.config.hidden_size)
    frozen = FrozenTexts(_room(int(lengths.sum()), width), lengths, device)
    teacher = torch.empty((len(texts), halves.dimensions), device=device)
    whole.eval()
    with torch.inference_mode():
        for part in torch.split(torch.argsort(lengths, stable=True), TOGETHER):
            rows = [tokens[number] for number in part.tolist()]
            # on the right, whatever the tokenizer's own side: what is kept of a text is its beginning
            rows = whole.tokenizer.pad(rows, padding_side="right", return_tensors="pt").to(device)
            mask = rows["attention_mask"]
            states = halves.lower(**rows).last_hidden_state
            upper = halves.upper(inputs_embeds=states, attention_mask=mask).last_hidden_state
            teacher[part.to(device)] = _finish(halves, upper, mask)
            for number, row in zip(part.tolist(), states.cpu(), strict=True):
                start, length = int(frozen.starts[number]), int(lengths[number])
                frozen.states[start : start + length] = row[:length]
            advance(len(part))
    frozen.teacher = teacher.clone()
    if device != "cpu" and frozen.states.nbytes <= MEMORY:
        frozen.states = frozen.states.to(device)
    _check(halves, frozen, texts)
    return frozen


def _check(halves: Halves, frozen: FrozenTexts, texts: Sequence[str]) -> None:
    """Hold some texts, from the shortest to the longest, against the model as a whole, each alone and so unpadded."""
    places = np.linspace(0, len(texts) - 1, min(CHECKED, len(texts))).round().astype(np.int64)
    numbers = torch.argsort(frozen.lengths, stable=True)[torch.from_numpy(places)]
    with torch.inference_mode():
        whole = torch.stack([_alone(halves.whole, texts[number]) for number in numbers.tolist()])
        cut = upper_embeddings(halves, frozen, numbers)
    far = NEAR * whole.norm(dim=1).max()
    for found in (cut, frozen.teacher[numbers.to(frozen.teacher.device)]):
        if not bool(((found - whole).norm(dim=1) <= far).all()):
            raise UnavailableError(
                "cut in two, the base gives other sentence embeddings than as a whole", "take another base"
            )


def _alone(whole: Any, text: str) -> torch.Tensor:
    found: torch.Tensor = whole.encode([text], convert_to_tensor=True, show_progress_bar=False)[0]
    return found


def _tokens(whole: Any, texts: Sequence[str], prompt: str | None) -> list[dict[str, Any]]:
    """Return the inputs of each text without padding."""
    found = whole.preprocess(list(texts), prompt=prompt)
    keys = [key for key in ("input_ids", "token_type_ids", "attention_mask") if key in found]
    sizes = found["attention_mask"].sum(1).tolist()
    ends = found["attention_mask"].size(1)
    left = getattr(whole.tokenizer, "padding_side", "right") == "left"
    return [
        {key: (found[key][i, ends - size :] if left else found[key][i, :size]).tolist() for key in keys}
        for i, size in enumerate(sizes)
    ]


def _room(tokens: int, width: int) -> torch.Tensor:
    """Return a place for hidden states: in memory, or beyond a size in a file that has no name.

    Raises:
        InputError: the folder of temporary files has no room for it.
    """
    size = 4 * tokens * width
    if size <= MEMORY:
        return torch.empty((tokens, width), dtype=torch.float32)
    try:
        with tempfile.TemporaryFile(prefix="assay-") as file:
            if hasattr(os, "posix_fallocate"):  # or a disk that runs full would end the process by a signal
                os.posix_fallocate(file.fileno(), 0, size)
            # the map keeps the file alive after its name and its handle are gone
            return torch.from_numpy(np.memmap(file, dtype=np.float32, mode="w+", shape=(tokens, width)))
    except OSError as error:
        raise InputError(
            f"{tempfile.gettempdir()}: no room for {size / 2**30:.1f} GiB of hidden states ({error.strerror}); "
            "let TMPDIR name a folder with more room, or take fewer pairs with `limit`"
        ) from None


def _finish(halves: Halves, tokens: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Return sentence embeddings from the last layer's tokens."""
    features: dict[str, Any] = {"token_embeddings": tokens, "attention_mask": mask}
    for module in halves.tail:
        features = module(features)
    found: torch.Tensor = features["sentence_embedding"]
    return found
