"""Models in a runtime other than torch: converted once, checked against torch, then loaded from the cache."""

from __future__ import annotations

import gc
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assay.exceptions import InputError
from assay.metrics.neural.backends.acceptance import check_conversion
from assay.metrics.neural.backends.cache import Converter, keep_conversion
from assay.metrics.neural.loading import load_encoder, load_scorer
from assay.metrics.neural.runtime import import_torch
from assay.metrics.neural.tokens import Packed

if TYPE_CHECKING:
    import torch

    from assay.metrics.neural.session import ModelEngine

_INPUT_NAMES = ("input_ids", "attention_mask", "token_type_ids")


def converter_of(backend: str, precision: str) -> Converter:
    """Return a new converter for a backend, ``onnxruntime`` or ``openvino``.

    Raises:
        InputError: the backend does not support the precision.
        UnavailableError: its package is not installed.
    """
    kind: type[Converter]
    if backend == "onnxruntime":
        from assay.metrics.neural.backends.onnx import OnnxRuntime

        kind = OnnxRuntime
    else:
        from assay.metrics.neural.backends.openvino import OpenVino

        kind = OpenVino
    if precision not in kind.precisions:
        raise InputError(f"backend={backend}: precision {precision} must be one of {', '.join(kind.precisions)}")
    return kind()


class _ConvertedModel:
    """A model in another runtime; the model in torch is in memory only during a conversion or check.

    Args:
        config: transformers' configuration of the model.
        engine: the settings: model, backend and precision.
        threads: the number of CPU threads.

    Raises:
        InputError: the backend does not support the precision.
        UnavailableError: a package is missing.
    """

    device = "cpu"

    def __init__(self, config: Any, engine: ModelEngine, threads: int) -> None:
        from assay.metrics.neural.backends.modules import input_names

        self._engine = engine
        self._threads = threads
        self._converter = converter_of(engine.backend, engine.precision)
        self._input_names = input_names(config)

    def _load_checked_model(
        self, outputs_name: str, load_module: Callable[[], Any]
    ) -> Callable[[Packed], Sequence[torch.Tensor]]:
        """Return the function that computes some outputs of the model in the runtime, after a check of its scores.

        The conversion and the result of the check are stored in the cache.

        Args:
            outputs_name: the name of these outputs, part of the key in the cache.
            load_module: the function that loads the model and returns the module of torch that computes the outputs;
                not called if the conversion and the result of its check are in the cache.

        Raises:
            UnavailableError: a package or the CPU's support of the precision is missing, the model cannot be converted,
                its conversion cannot be read, or its scores differ from torch's.
            InputError: the cache cannot be written.
        """
        engine, converter = self._engine, self._converter
        key = {"model": engine.digest, "backend": engine.backend, "outputs": outputs_name}
        key |= converter.key(engine.precision)
        to_tensor = import_torch().from_numpy
        module = _LazyModule(load_module)

        def write(folder: Path) -> None:
            converter.write(module.get(), self._input_names, engine.precision, folder)

        def load_reference() -> Callable[[Packed], Sequence[torch.Tensor]]:
            torch_module = module.get()

            def compute_in_torch(batch: Packed) -> Sequence[torch.Tensor]:
                # the segments are the last input, which some models do not have
                arrays = _input_arrays(batch)[: len(self._input_names)]
                outputs: Sequence[torch.Tensor] = torch_module(*map(to_tensor, arrays))
                return outputs

            return compute_in_torch

        try:
            folder = keep_conversion(engine.folder, key, write)
            run = converter.open(folder, engine.precision, self._threads)

            def compute(batch: Packed) -> Sequence[torch.Tensor]:
                inputs = dict(zip(_INPUT_NAMES, _input_arrays(batch), strict=True))
                return [to_tensor(array) for array in run(inputs)]

            check_conversion(folder, engine, load_reference, compute)
        finally:
            module.free()
        return compute


class _LazyModule:
    """A module of torch that is loaded on first use.

    Args:
        load: the function that loads the module.
    """

    def __init__(self, load: Callable[[], Any]) -> None:
        self._load = load
        self._module: Any = None

    def get(self) -> Any:
        """Return the module in evaluation mode."""
        if self._module is None:
            self._module = self._load().eval()
        return self._module

    def free(self) -> None:
        """Free the memory of the module, if it was loaded."""
        if self._module is not None:
            self._module = None
            # converters leave reference cycles behind that keep the weights in memory
            gc.collect()


class ConvertedBody(_ConvertedModel):
    """An encoder in another runtime; see :class:`assay.metrics.neural.body.Body`.

    Each set of layers is a converted model of its own, which ends at the highest layer of the set. A model in memory
    also serves every subset of its layers.

    Args:
        config: transformers' configuration of the model.
        engine: the settings: model, backend and precision.
        threads: the number of CPU threads.

    Raises:
        InputError: the backend does not support the precision.
        UnavailableError: a package is missing.
    """

    def __init__(self, config: Any, engine: ModelEngine, threads: int) -> None:
        super().__init__(config, engine, threads)
        #: By the layers of each converted model in memory, the function that computes them.
        self._runs: dict[tuple[int, ...], Callable[[Packed], Sequence[torch.Tensor]]] = {}

    def prepare(self, layers: Collection[int]) -> None:
        """Load a converted model that computes these layers, unless one is in memory; convert it first if need be.

        Raises:
            UnavailableError: a package is missing, the model cannot be converted, or its scores change too much.
            InputError: the cache cannot be written.
        """
        self._prepare_layers(layers)

    def hidden_states(self, batch: Packed, layers: Collection[int]) -> dict[int, torch.Tensor]:
        """Return the hidden states by layer, each of shape (b, l, d).

        If no model in memory computes all these layers, one is loaded first, with the errors of :meth:`prepare`.
        """
        available = self._prepare_layers(layers)
        states = dict(zip(available, self._runs[available](batch), strict=True))
        return {layer: states[layer] for layer in layers}

    def _prepare_layers(self, layers: Collection[int]) -> tuple[int, ...]:
        """Load a model that computes *layers*, unless one is in memory, and return all the layers that it computes.

        If several models in memory compute *layers*, the one with the least work is chosen.

        Raises:
            UnavailableError, InputError: as for :meth:`_load_checked_model`.
        """
        layer_set = set(layers)
        sufficient = [available for available in self._runs if layer_set.issubset(available)]
        if sufficient:
            return min(sufficient, key=lambda available: (available[-1], len(available)))
        exact = tuple(sorted(layer_set))
        name = " ".join(("layers", *map(str, exact)))
        self._runs[exact] = self._load_checked_model(name, lambda: self._load_module(exact))
        return exact

    def _load_module(self, layers: tuple[int, ...]) -> Any:
        from assay.metrics.neural.backends.modules import EncoderModule

        return EncoderModule(load_encoder(Path(self._engine.folder), "fp32", "cpu").model, layers)


class ConvertedScorerBody(_ConvertedModel):
    """A cross-encoder in another runtime; see :class:`assay.metrics.neural.body.ScorerBody`.

    Args:
        config: transformers' configuration of the model.
        engine: the settings: model, backend and precision.
        threads: the number of CPU threads.

    Raises:
        InputError: the backend does not support the precision, or the cache cannot be written.
        UnavailableError: a package is missing, the model cannot be converted, or its scores change too much.
    """

    def __init__(self, config: Any, engine: ModelEngine, threads: int) -> None:
        super().__init__(config, engine, threads)
        self._run = self._load_checked_model("logits", self._load_module)

    def logits(self, batch: Packed) -> torch.Tensor:
        """Return the outputs of each input, before any activation, shape (b, k)."""
        return self._run(batch)[0]

    def _load_module(self) -> Any:
        from assay.metrics.neural.backends.modules import ScorerModule

        return ScorerModule(load_scorer(Path(self._engine.folder), "fp32", "cpu").model)


def _input_arrays(batch: Packed) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the token ids, the attention mask and the token types of a batch, each int64 of shape (b, l).

    The token types are all 0 if the batch has none.
    """
    ids = batch.ids.numpy()
    mask = batch.mask.numpy()
    types = np.zeros_like(ids) if batch.types is None else batch.types.numpy()
    return ids, mask, types
