"""The backend onnxruntime: models as ONNX files; int8 with one scale per block of weights and of activations."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from assay.common.packages import version_of
from assay.metrics.neural.backends.cache import Pass, import_backend, runtime_errors
from assay.metrics.neural.backends.modules import example_inputs
from assay.metrics.neural.runtime import import_torch

OPSET = 17
#: The number of weights that share a scale.
BLOCK = 128
#: From this size in bytes on, weights are in a separate file, since an ONNX file itself must stay below 2 GB.
_LARGE = 1_500_000_000
#: onnxruntime's accuracy level for int8 activations, that is, products of 8-bit integers.
_INT8_ACTIVATIONS = 4
_FILE = "model.onnx"
_EXTRA = "onnxruntime"


class OnnxRuntime:
    """Converts to ONNX and runs in onnxruntime; see :class:`assay.metrics.neural.backends.cache.Converter`.

    Raises:
        UnavailableError: onnxruntime is not installed.
    """

    name = "onnxruntime"
    precisions: tuple[str, ...] = ("fp32", "int8")

    def __init__(self) -> None:
        self._runtime = import_backend("onnxruntime", _EXTRA)

    def key(self, precision: str) -> dict[str, str]:
        """Return by name the versions of the packages and of the ONNX operators, and the format of the weights."""
        versions = {package: version_of(package) for package in ("torch", "transformers", "onnxruntime")}
        weights = f"{precision} {BLOCK}" if precision == "int8" else precision
        return versions | {"opset": str(OPSET), "weights": weights}

    def write(self, module: Any, names: tuple[str, ...], precision: str, folder: Path) -> None:
        """Write the module as an ONNX file into *folder*; for int8 the weights of its linear layers are quantised.

        Raises:
            MissingExtraError: the package onnx is not installed.
        """
        # imported only as a check; torch.onnx needs it
        import_backend("onnx", _EXTRA)
        torch = import_torch()
        path = folder / ("whole.onnx" if precision == "int8" else _FILE)
        example = example_inputs(names)
        with torch.inference_mode():
            outputs = [f"output_{number}" for number in range(len(module(*example)))]
        batch_and_length = {0: "batch", 1: "length"}
        # logits have no axis of length; naming one as dynamic would be wrong without an error from torch
        output_axes = batch_and_length if hasattr(module, "layers") else {0: "batch"}
        torch.onnx.export(
            module,
            example,
            str(path),
            dynamo=False,
            opset_version=OPSET,
            input_names=list(names),
            output_names=outputs,
            dynamic_axes=dict.fromkeys(names, batch_and_length) | dict.fromkeys(outputs, output_axes),
        )
        if precision == "int8":
            self._quantize(path, folder / _FILE)

    def open(self, folder: Path, precision: str, threads: int) -> Pass:
        """Load the ONNX file in a folder, and return the function that runs it on *threads* threads of the CPU.

        Raises:
            UnavailableError: the file cannot be read.
        """
        options = self._runtime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        # errors only
        options.log_severity_level = 3
        with runtime_errors(folder, self.name):
            session = self._runtime.InferenceSession(str(folder / _FILE), options, providers=["CPUExecutionProvider"])
        names = [argument.name for argument in session.get_inputs()]

        def run(inputs: Mapping[str, NDArray[Any]]) -> list[NDArray[Any]]:
            outputs: list[NDArray[Any]] = session.run(None, {name: inputs[name] for name in names})
            return outputs

        return run

    def _quantize(self, full_precision: Path, target: Path) -> None:
        """Quantise the weights of linear layers in blocks, and write the model to *target*.

        Embeddings, which cost no time, stay as they are. Activations are quantised at run time with one scale per block
        of each row. With one scale per batch, as in onnxruntime's dynamic quantisation, a score would depend on the
        other texts in its batch. All files in the folder but those of the result are deleted.

        Args:
            full_precision: the path of the model in fp32.
            target: the path of the result, in the same folder.
        """
        model = import_backend("onnx", _EXTRA).load(full_precision)
        with _silenced_log():
            quantizer = import_backend("onnxruntime.quantization.matmul_nbits_quantizer", _EXTRA)
            matmul_quantizer = quantizer.MatMulNBitsQuantizer(
                model, bits=8, block_size=BLOCK, is_symmetric=True, accuracy_level=_INT8_ACTIVATIONS
            )
            matmul_quantizer.process()
        external_weights = sum(path.stat().st_size for path in full_precision.parent.iterdir()) > _LARGE
        matmul_quantizer.model.save_model_to_file(str(target), external_weights)
        for path in target.parent.iterdir():
            # a large fp32 model has its weights in separate files, which the result does not read
            if path == full_precision or not path.name.startswith(target.name):
                path.unlink()


@contextmanager
def _silenced_log() -> Iterator[None]:
    """Silence all logging up to warnings within the block, and undo the quantiser's changes to the root logger."""
    root = logging.getLogger()
    level, handlers, disabled = root.level, root.handlers[:], root.manager.disable
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(disabled)
        root.setLevel(level)
        root.handlers[:] = handlers
