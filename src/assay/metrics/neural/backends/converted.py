"""Bodies that another runtime than torch computes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError
from assay.metrics.neural.backends.acceptance import accept
from assay.metrics.neural.backends.convert import Converter, keep
from assay.metrics.neural.packing import Packed
from assay.metrics.neural.runtime import import_torch

if TYPE_CHECKING:
    import torch

    from assay.metrics.neural.cross import CrossEngine
    from assay.metrics.neural.encoder import EncoderEngine

__all__ = ["ConvertedBody", "ConvertedScorerBody", "converter_of"]

_ALL = ("input_ids", "attention_mask", "token_type_ids")


def converter_of(backend: str, precision: str) -> Converter:
    """Return the runtime of a backend.

    Raises:
        InputError: it has no such precision.
        UnavailableError: its package is not installed.
    """
    found: Converter
    if backend == "onnxruntime":
        from assay.metrics.neural.backends.onnx import OnnxRuntime

        found = OnnxRuntime()
    else:
        from assay.metrics.neural.backends.openvino import OpenVino

        found = OpenVino()
    if precision not in found.precisions:
        raise InputError(f"backend={backend}: precision {precision} must be one of {', '.join(found.precisions)}")
    return found


class _Converted:
    """A model of torch, and how what it gives is brought into another runtime."""

    device = "cpu"

    def __init__(self, model: Any, engine: EncoderEngine | CrossEngine, threads: int) -> None:
        from assay.metrics.neural.backends.modules import input_names

        self._model = model
        self._engine = engine
        self._threads = threads
        self._converter = converter_of(engine.backend, engine.precision)
        self._names = input_names(model)

    def _load(self, outputs: str, module: Callable[[], Any]) -> Callable[[Packed], Sequence[torch.Tensor]]:
        """Return what computes *outputs* of the model, once its scores have been found to be the same.

        Args:
            outputs: a name for them.
            module: makes the module of torch that gives them; not called where all is done already.
        """
        engine, converter = self._engine, self._converter
        key = {"model": engine.digest, "backend": engine.backend, "outputs": outputs} | converter.key(engine.precision)
        folder = keep(
            engine.folder, key, lambda part: converter.write(module().eval(), self._names, engine.precision, part)
        )
        run = converter.open(folder, engine.precision, self._threads)
        tensor = import_torch().from_numpy

        def converted(batch: Packed) -> Sequence[torch.Tensor]:
            return [tensor(array) for array in run(dict(zip(_ALL, _arrays(batch), strict=True)))]

        def reference() -> Callable[[Packed], Sequence[torch.Tensor]]:
            whole = module().eval()
            return lambda batch: whole(*(tensor(array) for array in _arrays(batch)[: len(self._names)]))

        accept(folder, engine, reference, converted)
        return converted


class ConvertedBody(_Converted):
    """An encoder in another runtime; see :class:`assay.metrics.neural.body.Body`.

    Each set of layers is a converted model of its own, which ends at the highest of them. The last layer, which most
    metrics read, is there from the start.

    Args:
        model: transformers' model in fp32: what is converted, and what the scores are held to.
        engine: names backend and precision.
        threads: of the CPU.

    Raises:
        InputError: the backend has no such precision.
        UnavailableError: a package is missing, the model cannot be converted, or its scores change too much.
    """

    def __init__(self, model: Any, engine: EncoderEngine, threads: int) -> None:
        super().__init__(model, engine, threads)
        self._runs: dict[tuple[int, ...], Callable[[Packed], Sequence[torch.Tensor]]] = {}
        self._run((int(model.config.num_hidden_layers),))

    def hidden(self, batch: Packed, layers: Collection[int]) -> dict[int, torch.Tensor]:
        """See :meth:`assay.metrics.neural.body.Body.hidden`; a new set of layers is converted first."""
        wanted = tuple(sorted(set(layers)))
        return dict(zip(wanted, self._run(wanted)(batch), strict=True))

    def _run(self, layers: tuple[int, ...]) -> Callable[[Packed], Sequence[torch.Tensor]]:
        if layers not in self._runs:
            from assay.metrics.neural.backends.modules import EncoderModule

            name = " ".join(("layers", *map(str, layers)))
            self._runs[layers] = self._load(name, lambda: EncoderModule(self._model, layers))
        return self._runs[layers]


class ConvertedScorerBody(_Converted):
    """A cross-encoder in another runtime; see :class:`assay.metrics.neural.body.ScorerBody`, else ConvertedBody."""

    def __init__(self, model: Any, engine: CrossEngine, threads: int) -> None:
        super().__init__(model, engine, threads)
        from assay.metrics.neural.backends.modules import ScorerModule

        self._run = self._load("logits", lambda: ScorerModule(model))

    def logits(self, batch: Packed) -> torch.Tensor:
        """See :meth:`assay.metrics.neural.body.ScorerBody.logits`."""
        return self._run(batch)[0]


def _arrays(batch: Packed) -> tuple[NDArray[np.int64], ...]:
    """Return token numbers, mask and types, each of shape (b, l); types of 0 where the batch has none."""
    ids = batch.ids.numpy()
    return ids, batch.mask.numpy(), np.zeros_like(ids) if batch.types is None else batch.types.numpy()
