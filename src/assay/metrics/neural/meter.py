"""What a session costs: loading, texts, tokens, memory."""

from __future__ import annotations

import time
from typing import Any

from assay.metrics.neural.runtime import import_torch

__all__ = ["Meter"]


class Meter:
    """Counts from the moment it is made.

    Args:
        devices: torch's names of the devices in use.
    """

    def __init__(self, devices: tuple[str, ...]) -> None:
        self._begun = time.perf_counter()
        self._gpus = [device for device in devices if device.startswith("cuda")]
        self._devices = devices
        self._load = 0.0
        self._parameters = self._texts = self._tokens = 0
        for gpu in self._gpus:
            import_torch().cuda.reset_peak_memory_stats(gpu)

    def loaded(self, parameters: int) -> None:
        """Note that the model is in memory."""
        self._load = time.perf_counter() - self._begun
        self._parameters = parameters

    def waited(self, seconds: float) -> None:
        """Note time that went into loading after the model was in memory."""
        self._load += seconds

    def embedded(self, texts: int, tokens: int) -> None:
        """Note texts that went through the model."""
        self._texts += texts
        self._tokens += tokens

    def cost(self) -> dict[str, Any]:
        """Return the counts as plain values; memory in MB (10⁶ bytes)."""
        torch = import_torch()
        found: dict[str, Any] = {
            "load_seconds": round(self._load, 3),
            "parameters": self._parameters,
            "texts_embedded": self._texts,
            "tokens": self._tokens,
            "devices": list(self._devices),
            "threads": torch.get_num_threads(),
        }
        if self._gpus:
            found["device_name"] = torch.cuda.get_device_name(self._gpus[0])
            found["peak_gpu_memory_mb"] = round(max(torch.cuda.max_memory_allocated(gpu) for gpu in self._gpus) / 1e6)
        return found

    def close(self) -> None:
        """Let the devices have their memory back."""
        if self._gpus:
            import gc

            gc.collect()
            import_torch().cuda.empty_cache()
