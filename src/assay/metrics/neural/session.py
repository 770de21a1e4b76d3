"""What all sessions that hold a model share: their settings, the metrics they serve, flags of texts, and costs."""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from assay.metrics.base import Batch
from assay.metrics.neural.runtime import import_torch
from assay.metrics.work import Flag

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from assay.metrics.neural.views import TextRows, View

__all__ = ["EncoderTaker", "LibraryTaker", "Meter", "ModelEngine", "PairTaker", "blank_flags", "flags_of"]


# What decides the numbers of a model, and where they are computed.


@dataclass(frozen=True)
class ModelEngine:
    """The settings that metrics of one model must share to share its session; see :class:`assay.metrics.work.Engine`.

    Attributes:
        folder: the checked model folder.
        digest: of its files.
        backend: ``torch``, ``onnxruntime`` or ``openvino``.
        precision: ``fp32``, ``bf16``, ``fp16`` or ``int8``.
        devices: torch's names; several hold a copy of the model each.
        threads: of the CPU, or None for the cores that are free.
        tokens: tokens in a batch.
        reads_pairs: whether the model reads both texts of a pair at once.
    """

    reads_pairs: ClassVar[bool] = False

    folder: str
    digest: str
    backend: str
    precision: str
    devices: tuple[str, ...]
    threads: int | None
    tokens: int


# What a session asks of the metrics that it serves: each takes its own number from what is computed for all.


class EncoderTaker(Protocol):
    """A metric that compares what an encoder says of two texts."""

    def view(self) -> View:
        """Return what the metric takes from a pass."""
        ...

    def compare(self, rows: TextRows, left: NDArray[np.intp], right: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the scores of references *left* and candidates *right*, float64, shape (n,)."""
        ...


class PairTaker(Hashable, Protocol):
    """A metric that turns what a cross-encoder says of a pair into a score.

    Attributes:
        order: which text comes first; ``mean`` reads both orders.
        activation: what turns an output into a score.
    """

    @property
    def order(self) -> Literal["reference-first", "candidate-first", "mean"]:
        """See the class."""
        ...

    @property
    def activation(self) -> Literal["declared", "sigmoid", "identity"]:
        """See the class."""
        ...

    def limit(self) -> int:
        """Return the tokens at which a pair is cut."""
        ...

    def orders(self, reference: str, candidate: str) -> tuple[tuple[str, str], ...]:
        """Return the pairs that the model reads, (first, second)."""
        ...


class LibraryTaker(Protocol):
    """A metric that picks one of the outputs of the package bert-score."""

    def finish(self, outputs: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
        """Return the output that is asked for, of shape (n,)."""
        ...


# What a reader should know of the scores of a model: which texts were cut, which are blank.


def flags_of(batch: Batch, references_cut: Iterable[bool], candidates_cut: Iterable[bool]) -> NDArray[np.uint8]:
    """Return :class:`Flag` bits of n pairs, shape (n,), from which of their texts were cut, each of length n."""
    return (
        blank_flags(batch)
        | _flag_where(Flag.REFERENCE_CUT, references_cut, len(batch))
        | _flag_where(Flag.CANDIDATE_CUT, candidates_cut, len(batch))
    )


def blank_flags(batch: Batch) -> NDArray[np.uint8]:
    """Return :class:`Flag` bits of texts without anything but blanks, shape (n,)."""
    return _flag_where(Flag.REFERENCE_EMPTY, (not text.strip() for text in batch.references), len(batch)) | _flag_where(
        Flag.CANDIDATE_EMPTY, (not text.strip() for text in batch.candidates), len(batch)
    )


def _flag_where(flag: Flag, held: Iterable[bool], n: int) -> NDArray[np.uint8]:
    return np.fromiter(held, dtype=np.bool_, count=n) * np.uint8(flag)


# What a session costs: loading, texts, tokens, memory.


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
