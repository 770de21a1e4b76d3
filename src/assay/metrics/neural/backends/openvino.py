"""The backend OpenVINO: models converted from torch to its own format; bf16 if the CPU supports it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.common.packages import version_of
from assay.exceptions import UnavailableError
from assay.metrics.neural.backends.cache import Pass, import_backend, runtime_errors
from assay.metrics.neural.backends.modules import example_inputs

_FILE = "model.xml"
#: The package that openvino imports to report its use.
_TELEMETRY = "openvino_telemetry"
_HINTS = {"fp32": "f32", "bf16": "bf16"}


class OpenVino:
    """Converts and runs models with OpenVINO; see :class:`assay.metrics.neural.backends.cache.Converter`.

    Raises:
        UnavailableError: openvino is not installed.
    """

    name = "openvino"
    precisions: tuple[str, ...] = ("fp32", "bf16")

    def __init__(self) -> None:
        self._library = _import_without_telemetry()

    def key(self, precision: str) -> dict[str, str]:
        """Return the versions of the packages, by name.

        *precision* is not part of the key: it is chosen on loading, so that all precisions share the files.
        """
        return {package: version_of(package) for package in ("torch", "transformers", "openvino")}

    def write(self, module: Any, names: tuple[str, ...], precision: str, folder: Path) -> None:
        """Write the module in OpenVINO's format into *folder*, with fp32 weights for every precision."""
        converted = self._library.convert_model(module, example_input=example_inputs(names))
        # by default weights are stored in fp16
        self._library.save_model(converted, str(folder / _FILE), compress_to_fp16=False)

    def open(self, folder: Path, precision: str, threads: int) -> Pass:
        """Load the files in a folder, and return the function that runs them on *threads* threads of the CPU.

        Raises:
            UnavailableError: this CPU does not compute in the precision, or the files cannot be read.
        """
        settings = {
            "INFERENCE_NUM_THREADS": threads,
            "INFERENCE_PRECISION_HINT": _HINTS[precision],
            "PERFORMANCE_HINT": "LATENCY",
            # two processes would pin their threads to the same cores
            "ENABLE_CPU_PINNING": False,
        }
        with runtime_errors(folder, self.name):
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
            # copied, because the next pass overwrites the output tensors
            return [np.array(request.get_output_tensor(number).data) for number in range(len(compiled.outputs))]

        return run


def _import_without_telemetry() -> Any:
    """Import and return openvino, without its telemetry, which would report every import and conversion to a server.

    Raises:
        MissingExtraError: openvino is not installed.
    """
    if sys.modules.get("openvino") is not None:
        return sys.modules["openvino"]
    hides_telemetry = _TELEMETRY not in sys.modules
    if hides_telemetry:
        # None makes an import of the telemetry package fail, so openvino works without it
        sys.modules[_TELEMETRY] = None  # type: ignore[assignment]  # typed as a dict of modules alone
    try:
        return import_backend("openvino", "openvino")
    finally:
        if hides_telemetry:
            sys.modules.pop(_TELEMETRY, None)
