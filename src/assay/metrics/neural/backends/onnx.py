"""onnxruntime: models as ONNX files; int8 with activations quantized as they come."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from assay.errors import UnavailableError
from assay.metrics.neural.backends.convert import Pass, opening
from assay.metrics.neural.backends.modules import example_of
from assay.metrics.neural.runtime import import_torch
from assay.metrics.provenance import version_of

__all__ = ["OnnxRuntime"]

OPSET = 17
_FILE = "model.onnx"


class OnnxRuntime:
    """See :class:`assay.metrics.neural.backends.convert.Converter`.

    Raises:
        UnavailableError: onnxruntime is not installed.
    """

    name = "onnxruntime"
    precisions: tuple[str, ...] = ("fp32", "int8")

    def __init__(self) -> None:
        self._runtime = _import("onnxruntime")

    def key(self, precision: str) -> dict[str, str]:
        """See :class:`Converter`."""
        versions = {package: version_of(package) for package in ("torch", "transformers", "onnxruntime")}
        return versions | {"opset": str(OPSET), "weights": precision}

    def write(self, module: Any, names: tuple[str, ...], precision: str, folder: Path) -> None:
        """See :class:`Converter`."""
        _import("onnx")
        torch = import_torch()
        path = folder / ("whole.onnx" if precision == "int8" else _FILE)
        example = example_of(names)
        with torch.inference_mode():
            outputs = [f"output_{number}" for number in range(len(module(*example)))]
        axes = {name: {0: "batch", 1: "length"} for name in names}
        # logits have no length; a name for a fixed axis would be a lie, not an error
        shapes = {name: {0: "batch", 1: "length"} if hasattr(module, "layers") else {0: "batch"} for name in outputs}
        torch.onnx.export(
            module,
            example,
            str(path),
            dynamo=False,
            opset_version=OPSET,
            input_names=list(names),
            output_names=outputs,
            dynamic_axes=axes | shapes,
        )
        if precision == "int8":
            self._quantize(path, folder / _FILE)

    def open(self, folder: Path, precision: str, threads: int) -> Pass:
        """See :class:`Converter`."""
        options = self._runtime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        with opening(folder, self.name):
            session = self._runtime.InferenceSession(str(folder / _FILE), options, providers=["CPUExecutionProvider"])
        taken = [one.name for one in session.get_inputs()]

        def run(inputs: Mapping[str, NDArray[Any]]) -> list[NDArray[Any]]:
            found: list[NDArray[Any]] = session.run(None, {name: inputs[name] for name in taken})
            return found

        return run

    def _quantize(self, whole: Path, target: Path) -> None:
        """Reduce the weights of linear layers, a scale a channel; embeddings, which cost no time, stay as they are."""
        quantization = importlib.import_module("onnxruntime.quantization")
        with _silent():
            quantization.quantize_dynamic(
                whole,
                target,
                op_types_to_quantize=["MatMul"],
                per_channel=True,
                weight_type=quantization.QuantType.QInt8,
            )
        for path in target.parent.iterdir():
            # a model beyond 2 GB has its weights in files of their own, which only the whole one reads
            if path == whole or not path.name.startswith(target.name):
                path.unlink()


def _import(package: str) -> Any:
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise UnavailableError(f"the package {package} is not installed", "pip install onnx onnxruntime") from error


@contextmanager
def _silent() -> Iterator[None]:
    """Keep advice of the quantizer off stderr; it goes to the root logger, which gains a handler by that."""
    root = logging.getLogger()
    level, handlers = root.level, root.handlers[:]
    root.setLevel(logging.ERROR)
    try:
        yield
    finally:
        root.setLevel(level)
        root.handlers[:] = handlers
