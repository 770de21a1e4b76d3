"""The transformer itself: batches in, hidden states out, by torch, with linear layers packed for the CPU."""

from __future__ import annotations

import platform
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Protocol

from assay.metrics.neural.runtime import import_torch
from assay.metrics.neural.tokens import Packed

if TYPE_CHECKING:
    import torch

#: Families whose layer n is the same whether or not layers follow it, so that those need not be computed.
_POST_NORM = frozenset({"bert", "roberta", "xlm-roberta", "camembert", "electra", "mpnet", "distilbert"})
#: Families whose classifier reads the first token of the last layer and nothing else.
_FIRST_TOKEN = frozenset({"bert", "roberta", "xlm-roberta", "camembert", "electra"})
#: Rows that the layout of packed weights is made for; other numbers of rows are as fast or nearly so.
ROWS = 1024


class Body(Protocol):
    """A transformer on one device."""

    device: str

    def prepare(self, layers: Collection[int]) -> None:
        """Load what gives these layers, where that is not done yet."""
        ...

    def hidden(self, batch: Packed, layers: Collection[int]) -> dict[int, torch.Tensor]:
        """Return the hidden states of layers (0: the input embeddings), each of shape (b, l, d)."""
        ...


class ScorerBody(Protocol):
    """A transformer with a head of one output, on one device."""

    device: str

    def logits(self, batch: Packed) -> torch.Tensor:
        """Return one number an input, before any activation, shape (b, 1)."""
        ...


def inputs_of(batch: Packed) -> dict[str, Any]:
    """Return the arguments of a model of transformers; no mask where nothing is padded."""
    inputs: dict[str, Any] = {"input_ids": batch.ids}
    if not batch.unpadded:
        inputs["attention_mask"] = batch.mask
    if batch.types is not None:
        inputs["token_type_ids"] = batch.types
    return inputs


class TorchBody:
    """A transformer of transformers, in torch.

    Args:
        model: the model, on the device.
        device: torch's name of it.
    """

    def __init__(self, model: Any, device: str) -> None:
        self.model = model
        self.device = device
        self._stack = _layer_stack(model) if model.config.model_type in _POST_NORM else None
        self._whole: Any = None if self._stack is None else getattr(*self._stack)
        self.layers = int(model.config.num_hidden_layers)
        # transformers hooks into the layers that exist at the first request for hidden states, which must be all
        torch = import_torch()
        with torch.inference_mode():
            model(input_ids=torch.zeros((1, 1), dtype=torch.long, device=device), output_hidden_states=True)

    def prepare(self, layers: Collection[int]) -> None:
        """See :meth:`Body.prepare`; all layers are in memory."""

    def hidden(self, batch: Packed, layers: Collection[int]) -> dict[int, torch.Tensor]:
        """See :meth:`Body.hidden`; layers above the highest wanted one are skipped where that changes nothing."""
        torch = import_torch()
        top = max(layers)
        inputs = inputs_of(batch)
        with torch.inference_mode():
            # without any layer transformers would give no hidden states
            self._cut(max(top, 1))
            try:
                if layers == {self.layers}:
                    return {self.layers: self.model(**inputs).last_hidden_state}
                states = self.model(**inputs, output_hidden_states=True).hidden_states
                return {layer: states[layer] for layer in layers}
            finally:
                self._cut(self.layers)

    def _cut(self, depth: int) -> None:
        if self._stack is not None:
            owner, name = self._stack
            setattr(owner, name, self._whole if depth >= self.layers else self._whole[:depth])


class TorchScorerBody:
    """A model for sequence classification of transformers, in torch.

    Args:
        model: the model, on the device.
        device: torch's name of it.
    """

    def __init__(self, model: Any, device: str) -> None:
        self.model = model
        self.device = device
        _end_in_first_token(model)

    def logits(self, batch: Packed) -> torch.Tensor:
        """See :meth:`ScorerBody.logits`."""
        logits: torch.Tensor = self.model(**inputs_of(batch)).logits
        return logits


def _end_in_first_token(model: Any) -> None:
    """Let the last layer compute its feed-forward part, most of its work, for the token that the classifier reads."""
    if model.config.model_type not in _FIRST_TOKEN:
        return
    stack = _layer_stack(getattr(model, model.base_model_prefix))
    last = None if stack is None else getattr(*stack)[-1]
    # a private method of transformers: without it every token is computed, as it would be anyway
    if last is None or "feed_forward_chunk" in vars(last) or not hasattr(last, "feed_forward_chunk"):
        return
    whole = last.feed_forward_chunk
    last.feed_forward_chunk = lambda states: whole(states[:, :1])


def _layer_stack(model: Any) -> tuple[Any, str] | None:
    """Return the module that has the list of layers, and the attribute where it is."""
    for part in ("encoder", "transformer"):
        owner = getattr(model, part, None)
        if owner is not None and hasattr(owner, "layer"):
            return owner, "layer"
    return None


def pack_linears(model: Any) -> None:
    """Replace the linear layers of a model on a CPU in fp32 by oneDNN's, whose weights are laid out once.

    They are faster than torch's own way to MKL, above all on AMD; scores change no more than by another batch size.
    torch uses these kernels for models that it compiles, under private names: where a version of torch lacks them, or
    on another kind of machine, the model stays as it is.
    """
    torch = import_torch()
    kernels = torch.ops.mkldnn
    if (
        platform.machine().lower() not in ("x86_64", "amd64")
        or not torch.backends.mkldnn.is_available()
        or not (hasattr(kernels, "_linear_pointwise") and hasattr(kernels, "_reorder_linear_weight"))
    ):
        return
    with torch.no_grad():
        _replace(model, torch)


def _replace(module: Any, torch: Any) -> None:
    for name, child in module.named_children():
        # a subclass may compute something else
        if type(child) is torch.nn.Linear and child.weight.dtype == torch.float32:
            setattr(module, name, _packed(child, torch))
        else:
            _replace(child, torch)


def _packed(linear: Any, torch: Any) -> Any:
    weight = torch.ops.mkldnn._reorder_linear_weight(linear.weight.detach(), ROWS)
    bias = None if linear.bias is None else linear.bias.detach()
    compute = torch.ops.mkldnn._linear_pointwise

    class PackedLinear(torch.nn.Module):  # type: ignore[misc]
        """Has no parameters: torch would cast and count them without knowing their layout."""

        def forward(self, states: Any) -> Any:
            return compute(states, weight, bias, "none", [], "")

    return PackedLinear()
