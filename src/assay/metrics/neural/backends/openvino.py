"""OpenVINO: models as its own files, straight from torch; bf16 where the CPU has it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import UnavailableError
from assay.metrics.neural.backends.cache import Pass, import_backend, opening
from assay.metrics.neural.backends.modules import example_of
from assay.metrics.provenance import version_of

_FILE = "model.xml"
_TELEMETRY = "openvino_telemetry"
_HINTS = {"fp32": "f32", "bf16": "bf16"}


class OpenVino:
    """See :class:`assay.metrics.neural.backends.cache.Converter`.

    Raises:
        UnavailableError: openvino is not installed.
    """

    name = "openvino"
    precisions: tuple[str, ...] = ("fp32", "bf16")

    def __init__(self) -> None:
        self._library = _import()

    def key(self, precision: str) -> dict[str, str]:
        """See :class:`Converter`; precision is chosen when the files are loaded, the files are the same."""
        return {package: version_of(package) for package in ("torch", "transformers", "openvino")}

    def write(self, module: Any, names: tuple[str, ...], precision: str, folder: Path) -> None:
        """See :class:`Converter`."""
        converted = self._library.convert_model(module, example_input=example_of(names))
        # by default the weights are halved
        self._library.save_model(converted, str(folder / _FILE), compress_to_fp16=False)

    def open(self, folder: Path, precision: str, threads: int) -> Pass:
        """See :class:`Converter`."""
        settings = {
            "INFERENCE_NUM_THREADS": threads,
            "INFERENCE_PRECISION_HINT": _HINTS[precision],
            "PERFORMANCE_HINT": "LATENCY",
            # pinned threads of two processes would share the first core
            "ENABLE_CPU_PINNING": False,
        }
        with opening(folder, self.name):
            compiled = self._library.Core().compile_model(str(folder / _FILE), "CPU", settings)
        computed = compiled.get_property("INFERENCE_PRECISION_HINT").to_string()
        if computed != _HINTS[precision]:
            raise UnavailableError(
                f"openvino computes {precision} in {computed} on this CPU, which has no {precision}",
                "take precision=fp32",
            )
        names = [argument.get_any_name() for argument in compiled.inputs]
        request = compiled.create_infer_request()

        def run(inputs: Mapping[str, NDArray[Any]]) -> list[NDArray[Any]]:
            request.infer([inputs[name] for name in names], share_inputs=True)
            # the next pass writes over these
            return [np.array(request.get_output_tensor(number).data) for number in range(len(compiled.outputs))]

        return run


def _import() -> Any:
    """Import the package without its telemetry, which reports every import and conversion to a server."""
    if sys.modules.get("openvino") is not None:
        return sys.modules["openvino"]
    hidden = _TELEMETRY not in sys.modules
    if hidden:
        # openvino then finds the package not installed, and sends nothing
        sys.modules[_TELEMETRY] = None  # type: ignore[assignment]
    try:
        return import_backend("openvino", "openvino")
    finally:
        if hidden:
            sys.modules.pop(_TELEMETRY, None)
