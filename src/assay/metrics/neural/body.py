"""The transformer without its pooling: computes hidden states or logits of a batch in torch.

On a CPU its linear layers are replaced by faster ones.
"""

from __future__ import annotations

import inspect
import logging
import platform
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, Protocol

from assay.metrics.neural.final_norm import modules_behind_layers
from assay.metrics.neural.runtime import import_torch
from assay.metrics.neural.tokens import Packed
from assay.metrics.neural.views import OUTPUT_LAYER

if TYPE_CHECKING:
    import torch

#: Families without a final normalisation: the output of layer n does not depend on the layers above it, so that these
#: need not be computed.
_POST_NORM = frozenset({"bert", "roberta", "xlm-roberta", "camembert", "electra", "mpnet", "distilbert"})
#: Families whose classifier reads only the first token of the last layer.
_FIRST_TOKEN = frozenset({"bert", "roberta", "xlm-roberta", "camembert", "electra"})
#: The number of rows that the layout of packed weights is optimised for; other numbers are about as fast.
PACKED_FOR_ROWS = 1024
#: The largest change of an output by packed layers, relative and absolute; rounding stays far below it.
MAX_PACKED_CHANGE = 1e-3

log = logging.getLogger(__name__)


class Body(Protocol):
    """A transformer on one device.

    Attributes:
        device: torch's name of the device.
    """

    device: str

    def prepare(self, layers: Collection[int]) -> None:
        """Load what computes these layers, unless it is in memory.

        Args:
            layers: the numbers of the layers, from 1, or 0 for the input embeddings.

        Raises:
            AssayError: it cannot be loaded.
        """
        ...

    def hidden_states(self, batch: Packed, layers: Collection[int]) -> dict[int, torch.Tensor]:
        """Return the hidden states of a batch by layer, each of shape (b, l, d).

        Args:
            batch: the tokens, on the device of this body.
            layers: the numbers of the layers, at least one; 0 stands for the input embeddings.
        """
        ...


class ScorerBody(Protocol):
    """A transformer with a classification head, on one device.

    Attributes:
        device: torch's name of the device.
    """

    device: str

    def logits(self, batch: Packed) -> torch.Tensor:
        """Return the outputs of each input, before any activation, shape (b, k)."""
        ...


def accepts_types(model: Any) -> bool:
    """Tell whether a model of transformers takes segment numbers, or any argument."""
    parameters = inspect.signature(model.forward).parameters
    return "token_type_ids" in parameters or any(kind.kind is kind.VAR_KEYWORD for kind in parameters.values())


def inputs_of(batch: Packed) -> dict[str, Any]:
    """Return the arguments with which a model of transformers computes a batch, by name.

    The mask is left out for an unpadded batch, which is faster, and the segments if the batch has none.
    """
    inputs: dict[str, Any] = {"input_ids": batch.ids}
    if not batch.unpadded:
        inputs["attention_mask"] = batch.mask
    if batch.types is not None:
        inputs["token_type_ids"] = batch.types
    return inputs


class TorchBody:
    """A model of transformers, in torch; see :class:`Body`.

    Args:
        model: the model, already on the device.
        device: torch's name of the device.
    """

    def __init__(self, model: Any, device: str) -> None:
        self.model = model
        self.device = device
        #: The module whose layers can be cut off at the top; None if the family does not allow it.
        self._encoder = _layered_module(model) if model.config.model_type in _POST_NORM else None
        self._all_layers: Any = None if self._encoder is None else self._encoder.layer
        self.layers = int(model.config.num_hidden_layers)
        self._has_decoder = hasattr(model, "encoder") and hasattr(model, "decoder")
        torch = import_torch()
        with torch.inference_mode():
            # transformers hooks into the layers at the first request for hidden states: make one while all are in
            # place, with two tokens, since decoders need one that is not padding
            sample = torch.arange(2, device=device)[None]
            model(input_ids=sample, output_hidden_states=True)
            self._behind = modules_behind_layers(
                model.encoder if self._has_decoder else model, lambda: self._last_states(model(input_ids=sample))
            )

    def prepare(self, layers: Collection[int]) -> None:
        """Do nothing, since all layers are in memory."""

    def hidden_states(self, batch: Packed, layers: Collection[int]) -> dict[int, torch.Tensor]:
        """Return the hidden states of a batch by layer, each of shape (b, l, d); layer 0 is the input embeddings.

        The states of a layer are those that the model would return if it ended there, so that a final normalisation
        applies to all layers. Layers above the highest requested one are not computed, if the family allows that. The
        layers of a model with encoder and decoder are those of the encoder. :data:`OUTPUT_LAYER` is the last layer, of
        the decoder if there is one.
        """
        torch = import_torch()
        top = self.layers if OUTPUT_LAYER in layers else max(layers)
        inputs = inputs_of(batch)
        with torch.inference_mode():
            # keep at least one layer: without any, transformers returns no hidden states
            self._set_depth(max(top, 1))
            try:
                last_layer = OUTPUT_LAYER if self._has_decoder else self.layers
                # what the model returns by itself, without the hidden states of all layers
                if layers in ({OUTPUT_LAYER}, {last_layer}):
                    return dict.fromkeys(layers, self.model(**inputs).last_hidden_state)
                output = self.model(**inputs, output_hidden_states=True)
                return {layer: self._states_of(output, layer) for layer in layers}
            finally:
                self._set_depth(self.layers)

    def _states_of(self, output: Any, layer: int) -> torch.Tensor:
        """Return the states of a layer from the output of a pass with hidden states, shape (b, l, d)."""
        if layer == OUTPUT_LAYER:
            states: torch.Tensor = output.last_hidden_state
        elif layer == self.layers:
            states = self._last_states(output)
        else:
            states = (output.encoder_hidden_states if self._has_decoder else output.hidden_states)[layer]
            for module in self._behind:
                states = module(states)
        return states

    def _last_states(self, output: Any) -> torch.Tensor:
        """Return the states behind the last layer, of the encoder if there is a decoder too, shape (b, l, d)."""
        states: torch.Tensor = output.encoder_last_hidden_state if self._has_decoder else output.last_hidden_state
        return states

    def _set_depth(self, depth: int) -> None:
        """Keep only the first *depth* layers in the model, if its family allows it; the full depth restores all."""
        if self._encoder is not None:
            self._encoder.layer = self._all_layers if depth >= self.layers else self._all_layers[:depth]


class TorchScorerBody:
    """A model of transformers for sequence classification, in torch; see :class:`ScorerBody`.

    Args:
        model: the model, already on the device; its last layer is changed, see :func:`_restrict_last_layer`.
        device: torch's name of the device.
    """

    def __init__(self, model: Any, device: str) -> None:
        self.model = model
        self.device = device
        _restrict_last_layer(model)

    def logits(self, batch: Packed) -> torch.Tensor:
        """Return the outputs of each input, before any activation, shape (b, k)."""
        logits: torch.Tensor = self.model(**inputs_of(batch)).logits
        return logits


def _restrict_last_layer(model: Any) -> None:
    """Restrict the feed-forward part of the last layer to the first token, the only one that the classifier reads.

    This part is most of the work of a layer. Models of families outside :data:`_FIRST_TOKEN` stay as they are.
    """
    if model.config.model_type not in _FIRST_TOKEN:
        return
    encoder = _layered_module(getattr(model, model.base_model_prefix))
    if encoder is None:
        return
    last_layer = encoder.layer[-1]
    # a method of the layer's class in transformers; versions without it compute all tokens, with the same result
    if not hasattr(last_layer, "feed_forward_chunk"):
        return
    # an attribute of the layer itself: an earlier call has replaced the method already
    if "feed_forward_chunk" in vars(last_layer):
        return
    feed_forward = last_layer.feed_forward_chunk
    last_layer.feed_forward_chunk = lambda states: feed_forward(states[:, :1])


def _layered_module(model: Any) -> Any:
    """Return the module of a model whose attribute ``layer`` is the list of layers, or None if there is none."""
    for name in ("encoder", "transformer"):
        module = getattr(model, name, None)
        if module is not None and hasattr(module, "layer"):
            return module
    return None


def pack_linears(model: Any, trial: Callable[[], torch.Tensor]) -> None:
    """Replace the fp32 linear layers of a model on a CPU by oneDNN's, whose weights are laid out once in advance.

    They are faster than torch's own layers, which use MKL, above all on AMD. Scores change no more than with another
    batch size. The kernels are those that torch uses in compiled models, under private names: if the version of torch
    lacks them, or the machine is not an x86-64, the model stays as it is. It also stays as it is if it computes
    something else afterwards, or nothing: some architectures use the weights of a layer without calling the layer.

    Args:
        model: the model, changed in place.
        trial: computes an output of the model for some text.
    """
    torch = import_torch()
    kernels = torch.ops.mkldnn
    if platform.machine().lower() not in ("x86_64", "amd64") or not torch.backends.mkldnn.is_available():
        return
    if not (hasattr(kernels, "_linear_pointwise") and hasattr(kernels, "_reorder_linear_weight")):
        return
    with torch.inference_mode():
        expected = trial()
    with torch.no_grad():
        replaced = _replace_linears(model, torch)
    try:
        with torch.inference_mode():
            computed = trial()
        is_same = torch.allclose(computed, expected, rtol=MAX_PACKED_CHANGE, atol=MAX_PACKED_CHANGE, equal_nan=True)
    except (AttributeError, NotImplementedError, RuntimeError, TypeError, ValueError) as error:
        log.info("linear layers are not packed: %s", error)
        is_same = False
    if not is_same:
        for module, name, linear in replaced:
            setattr(module, name, linear)


def _replace_linears(module: Any, torch: Any) -> list[tuple[Any, str, Any]]:
    """Replace the fp32 linear layers in a module and in all modules below it; see :func:`pack_linears`.

    Returns:
        The module above each replaced layer, the name of the layer there, and the layer.
    """
    replaced = []
    for name, child in module.named_children():
        # not isinstance: a subclass may compute something else
        if type(child) is torch.nn.Linear and child.weight.dtype == torch.float32:
            setattr(module, name, _packed_linear(child, torch))
            replaced.append((module, name, child))
        else:
            replaced += _replace_linears(child, torch)
    return replaced


def _packed_linear(linear: Any, torch: Any) -> Any:
    """Return a module that computes the same as a linear layer, with its weights in the layout of oneDNN."""
    packed = torch.ops.mkldnn._reorder_linear_weight(linear.weight.detach(), PACKED_FOR_ROWS)
    bias_values = None if linear.bias is None else linear.bias.detach()
    compute = torch.ops.mkldnn._linear_pointwise

    class PackedLinear(torch.nn.Module):  # type: ignore[misc]  # torch is Any here
        """A linear layer without parameters, since torch would cast and count them without knowing their layout.

        Attributes:
            weight: a tensor with the shape and type of the weights, but without values: T5 asks for the type.
            bias: the bias of the layer; None without a bias.
            in_features, out_features: as in the layer.
        """

        def __init__(self) -> None:
            super().__init__()
            self.in_features, self.out_features = linear.in_features, linear.out_features
            self.weight = torch.empty_like(linear.weight, device="meta", requires_grad=False)
            self.bias = bias_values

        def forward(self, states: Any) -> Any:
            return compute(states, packed, bias_values, "none", [], "")

    return PackedLinear()
