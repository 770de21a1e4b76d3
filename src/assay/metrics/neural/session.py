"""What sessions that hold a model share: the settings behind it, loading, costs, and flags of texts."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from assay.metrics.base import Batch, Metric
from assay.metrics.neural.body import Body, ScorerBody
from assay.metrics.neural.causal_body import CausalBody
from assay.metrics.neural.loading import LoadedModel, parameters_of
from assay.metrics.neural.runtime import import_torch, set_threads
from assay.metrics.neural.tokens import Packed, Packer, Tokens
from assay.metrics.work import Flag

LoadedT = TypeVar("LoadedT", bound=LoadedModel)
BodyT = TypeVar("BodyT", bound=Body | ScorerBody | CausalBody)


log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ModelEngine:
    """The settings that metrics of one model must share to share its session; see :class:`assay.metrics.work.Engine`.

    Attributes:
        folder: the checked model folder.
        digest: of its files.
        backend: ``torch``, ``onnxruntime`` or ``openvino``.
        precision: ``fp32``, ``bf16``, ``fp16`` or ``int8``.
        devices: torch's names; each of several gets a copy of the model.
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


class Meter:
    """Counts what a session costs (seconds to load, texts, tokens, memory) from the moment it is made.

    Args:
        devices: torch's names of the devices in use.
    """

    def __init__(self, devices: tuple[str, ...]) -> None:
        self._start = time.perf_counter()
        self._gpus = [device for device in devices if device.startswith("cuda")]
        self._devices = devices
        self._load_seconds = 0.0
        self._parameters = 0
        self._texts = 0
        self._tokens = 0
        for gpu in self._gpus:
            import_torch().cuda.reset_peak_memory_stats(gpu)

    def loaded(self, parameters: int) -> None:
        """Record that the model is in memory."""
        self._load_seconds = time.perf_counter() - self._start
        self._parameters = parameters

    def waited(self, seconds: float) -> None:
        """Add time that loading took after the model was in memory."""
        self._load_seconds += seconds

    def embedded(self, texts: int, tokens: int) -> None:
        """Add texts that went through the model."""
        self._texts += texts
        self._tokens += tokens

    def cost(self) -> dict[str, Any]:
        """Return the counts as plain values; memory in MB (10⁶ bytes)."""
        torch = import_torch()
        counts: dict[str, Any] = {
            "load_seconds": round(self._load_seconds, 3),
            "parameters": self._parameters,
            "texts_embedded": self._texts,
            "tokens": self._tokens,
            "devices": list(self._devices),
            "threads": torch.get_num_threads(),
        }
        if self._gpus:
            peak = max(torch.cuda.max_memory_allocated(gpu) for gpu in self._gpus)
            counts["device_name"] = torch.cuda.get_device_name(self._gpus[0])
            counts["peak_gpu_memory_mb"] = round(peak / 1e6)
        return counts

    def close(self) -> None:
        """Return the cached memory of the devices."""
        if self._gpus:
            import gc

            gc.collect()
            import_torch().cuda.empty_cache()


class ModelSession(Generic[LoadedT, BodyT]):
    """A model of transformers in memory, a copy on each device of its engine; on the CPU each thread computes a batch.

    Args:
        engine: names the folder and how it is computed.
        load: loads a folder in a precision on a device.
        open_bodies: turns the models into what computes them; see :mod:`assay.metrics.neural.backends`.
    """

    #: Whether torch on a CPU gets batches with inputs of several lengths.
    pads_on_cpu: ClassVar[bool] = False

    def __init__(
        self,
        engine: ModelEngine,
        load: Callable[[Path, str, str], LoadedT],
        open_bodies: Callable[[list[Any], ModelEngine, int], list[BodyT]],
    ) -> None:
        self._meter = Meter(engine.devices)
        threads = set_threads(engine.threads)
        # another backend converts the model from fp32
        precision = engine.precision if engine.backend == "torch" else "fp32"
        copies = [load(Path(engine.folder), precision, device) for device in engine.devices]
        self._tokenizer = copies[0].tokenizer
        self._keep_parts(copies)
        models = [loaded.model for loaded in copies]
        parameters = parameters_of(models[0])
        # another backend empties the list to free torch's model, so nothing else may refer to it
        del copies
        pads = self.pads_on_cpu or set(engine.devices) != {"cpu"} or engine.backend != "torch"
        self._packer = Packer(int(self._tokenizer.pad_token_id or 0), engine.tokens, pads=pads)
        self._bodies = open_bodies(models, engine, threads)
        self._threads = threads
        #: of torch for a batch: 1 where each body has a thread of its own
        self._threads_a_batch = threads if len(self._bodies) == len(engine.devices) else 1
        set_threads(self._threads_a_batch)
        self._meter.loaded(parameters)
        log.info(
            "loaded %s: %s parameters, %s, %s, %.1f s",
            engine.folder,
            f"{parameters:,}",
            engine.precision,
            ", ".join(engine.devices),
            self._meter.cost()["load_seconds"],
        )

    def _keep_parts(self, copies: Sequence[LoadedT]) -> None:
        """Keep what the session needs of the loaded model beside its body."""

    def _run(
        self, inputs: Sequence[Tokens], step: Callable[[int, BodyT, Packed], None], texts: int | None = None
    ) -> None:
        """Run inputs through the model in batches.

        Args:
            inputs: what to run.
            step: computes a batch, given the number of the device, the body there, and the batch.
            texts: how many the inputs hold; one each by default.
        """

        def work_of(number: int, body: BodyT) -> Callable[[Packed], None]:
            return lambda batch: step(number, body, batch)

        # another session may have changed it
        set_threads(self._threads_a_batch)
        workers = [(body.device, work_of(number, body)) for number, body in enumerate(self._bodies)]
        self._packer.run(inputs, workers)
        self._meter.embedded(len(inputs) if texts is None else texts, sum(len(each.ids) for each in inputs))

    def cost(self) -> dict[str, Any]:
        """See :meth:`assay.metrics.work.Session.cost`."""
        return self._meter.cost() | {"threads": self._threads, "batches_halved": self._packer.halved}

    def close(self) -> None:
        """See :meth:`assay.metrics.work.Session.close`."""
        self._bodies.clear()
        self._meter.close()


def as_read(metrics: Sequence[Metric], batch: Batch) -> Batch:
    """Return the texts as models read them, which is the same for all metrics of a unit: see ``Batch.asked``."""
    return batch.asked() if any(metric.declaration.reads_question for metric in metrics) else batch


def flags_of(batch: Batch, references_cut: Iterable[bool], candidates_cut: Iterable[bool]) -> NDArray[np.uint8]:
    """Return :class:`Flag` bits of n pairs, shape (n,), from which of their texts were cut, each of length n."""
    return (
        blank_flags(batch)
        | _flag_where(Flag.REFERENCE_CUT, references_cut, len(batch))
        | _flag_where(Flag.CANDIDATE_CUT, candidates_cut, len(batch))
    )


def blank_flags(batch: Batch) -> NDArray[np.uint8]:
    """Return :class:`Flag` bits of texts that are empty or blank, shape (n,)."""
    references_blank = (not text.strip() for text in batch.references)
    candidates_blank = (not text.strip() for text in batch.candidates)
    return _flag_where(Flag.REFERENCE_EMPTY, references_blank, len(batch)) | _flag_where(
        Flag.CANDIDATE_EMPTY, candidates_blank, len(batch)
    )


def _flag_where(flag: Flag, where: Iterable[bool], n: int) -> NDArray[np.uint8]:
    return np.fromiter(where, dtype=np.bool_, count=n) * np.uint8(flag)
