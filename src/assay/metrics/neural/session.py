"""What all sessions with a model share: their settings, loading, the count of costs, and the flags of texts."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from assay.exceptions import AssayError, UnavailableError, summary_of
from assay.metrics.base import Batch, Metric
from assay.metrics.neural.body import Body, ScorerBody
from assay.metrics.neural.causal_body import CausalBody
from assay.metrics.neural.loading import LoadedModel, count_parameters
from assay.metrics.neural.runtime import import_torch, set_threads, without_cudnn_attention
from assay.metrics.neural.tokens import Packed, Packer, Tokens, tokenize
from assay.metrics.scores import Flag

LoadedT = TypeVar("LoadedT", bound=LoadedModel)
BodyT = TypeVar("BodyT", bound=Body | ScorerBody | CausalBody)


#: The text with which a changed model is tried, and the most tokens of it: every model has as many positions.
SAMPLE_TEXT, MAX_SAMPLE_TOKENS = "What we try first is a sentence of some words, and a number such as 27.", 16

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ModelEngine:
    """The settings of a session; metrics with equal settings share one, see :class:`assay.metrics.base.Engine`.

    Attributes:
        folder: the checked model folder.
        digest: the digest of the model's files.
        backend: the backend: ``torch``, ``onnxruntime`` or ``openvino``.
        precision: the precision: ``fp32``, ``bf16``, ``fp16`` or ``int8``.
        devices: torch's names of the devices; each has a copy of the model.
        threads: the number of CPU threads, or None for one per free core.
        tokens: the most tokens in a batch, padding included.
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
    """Counts what a session costs (seconds to load, texts, tokens, memory), from its creation on.

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
            # torch does not know the GPU's memory before anything was there
            import_torch().cuda.init()
            import_torch().cuda.reset_peak_memory_stats(gpu)

    def record_loaded(self, parameters: int) -> None:
        """Record that a model with *parameters* weights is in memory; the time until now counts as loading."""
        self._load_seconds = time.perf_counter() - self._start
        self._parameters = parameters

    def add_load_seconds(self, seconds: float) -> None:
        """Add seconds of loading that took place after :meth:`record_loaded`."""
        self._load_seconds += seconds

    def add_texts(self, texts: int, tokens: int) -> None:
        """Add to the counts of texts and tokens that went through the model."""
        self._texts += texts
        self._tokens += tokens

    def cost(self) -> dict[str, Any]:
        """Return the counts so far as values for JSON, by name; memory is in MB (10⁶ bytes), time in seconds.

        The name and the peak memory of the GPU are left out if none is in use.
        """
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
        """Release the GPU memory that torch keeps for reuse."""
        if self._gpus:
            import gc

            gc.collect()
            import_torch().cuda.empty_cache()


class ModelSession(Generic[LoadedT, BodyT]):
    """A model of transformers in memory, one copy per device; on the CPU each thread computes its own batch.

    Args:
        engine: the settings.
        load: the function that loads a model, given its folder, a precision and a device.
        open_bodies: the function that makes the bodies, given the models, the settings, the number of threads and the
            tokens of a sample text; see :mod:`assay.metrics.neural.backends`. A body computes the batches of one device
            or thread.

    Raises:
        MissingExtraError: a package is not installed.
        UnavailableError: the model cannot be loaded.
        InputError: the backend does not support the precision.
    """

    #: Whether torch on a CPU pads, so that a batch can have inputs of several lengths.
    pads_on_cpu: ClassVar[bool] = False

    def __init__(
        self,
        engine: ModelEngine,
        load: Callable[[Path, str, str], LoadedT],
        open_bodies: Callable[[list[Any], ModelEngine, int, Sequence[int]], list[BodyT]],
    ) -> None:
        self._folder = engine.folder
        self._meter = Meter(engine.devices)
        threads = set_threads(engine.threads)
        # other backends convert the model from fp32
        precision = engine.precision if engine.backend == "torch" else "fp32"
        copies = [load(Path(engine.folder), precision, device) for device in engine.devices]
        self._tokenizer = copies[0].tokenizer
        self._keep_parts(copies)
        models = [loaded.model for loaded in copies]
        parameters = count_parameters(models[0])
        # other backends empty the list of models to free their memory, so nothing else may refer to a model
        del copies
        pads = self.pads_on_cpu or set(engine.devices) != {"cpu"} or engine.backend != "torch"
        self._packer = Packer(int(self._tokenizer.pad_token_id or 0), engine.tokens, pads=pads)
        sample = tokenize(self._tokenizer, [SAMPLE_TEXT], MAX_SAMPLE_TOKENS)[0].ids
        with one_line_failures(engine.folder):
            self._bodies = open_bodies(models, engine, threads, sample)
        self._threads = threads
        #: Threads that torch uses within a batch: 1 if each body has a thread of its own.
        self._threads_per_batch = threads if len(self._bodies) == len(engine.devices) else 1
        set_threads(self._threads_per_batch)
        self._meter.record_loaded(parameters)
        log.info(
            "loaded %s: %s parameters, %s, %s, %.1f s",
            engine.folder,
            f"{parameters:,}",
            engine.precision,
            ", ".join(engine.devices),
            self._meter.cost()["load_seconds"],
        )

    def _keep_parts(self, copies: Sequence[LoadedT]) -> None:
        """Keep the parts of the loaded models that the subclass needs besides the bodies; by default none.

        It is called once, before the bodies are opened. The models themselves must not be kept: a backend other than
        torch frees their memory.
        """

    def _run(
        self, inputs: Sequence[Tokens], step: Callable[[int, BodyT, Packed], None], texts: int | None = None
    ) -> None:
        """Run inputs through the model in batches, and add them to the counts of the session.

        Args:
            inputs: the tokens of each input.
            step: the function that computes a batch and stores the result; called with the number of the body, the body
                and the batch, from several threads if there are several bodies.
            texts: the number of texts in the inputs, for the costs; one per input by default.

        Raises:
            UnavailableError: the model fails on an input.
        """

        def step_of_body(number: int, body: BodyT) -> Callable[[Packed], None]:
            return lambda batch: step(number, body, batch)

        # the number of threads belongs to the process: another session may have changed it
        set_threads(self._threads_per_batch)
        workers = [(body.device, step_of_body(number, body)) for number, body in enumerate(self._bodies)]
        with one_line_failures(self._folder), without_cudnn_attention():
            self._packer.run(inputs, workers)
        self._meter.add_texts(len(inputs) if texts is None else texts, sum(len(tokens.ids) for tokens in inputs))

    def cost(self) -> dict[str, Any]:
        """Return the counts of :meth:`Meter.cost`, the session's threads, and how often the batch size was halved."""
        return self._meter.cost() | {"threads": self._threads, "batches_halved": self._packer.halvings}

    def close(self) -> None:
        """Free the memory of the model, including what torch keeps on a GPU for reuse."""
        self._bodies.clear()
        self._meter.close()


@contextmanager
def one_line_failures(
    folder: str,
    problem: str = "fails on a text",
    remedy: str = "set max_length=N if its configuration promises more positions than it has, or use another model",
) -> Iterator[None]:
    """Turn an error of a model that computes a batch into an error of assay with a message of one line.

    A lack of memory stays as it is.

    Args:
        folder: the folder of the model.
        problem: what the model does, for the message.
        remedy: what helps.

    Raises:
        UnavailableError: the model fails.
    """
    try:
        yield
    except (AssayError, import_torch().OutOfMemoryError):
        raise
    # a layer that the package bert-score does not have is a NameError there
    except (
        IndexError,
        RuntimeError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        AssertionError,
        NameError,
    ) as error:
        raise UnavailableError(f"model {folder} {problem} ({summary_of(error)})", remedy) from error


def add_questions(metrics: Sequence[Metric], batch: Batch) -> Batch:
    """Return the batch as the models read it: with the question before each text if the metrics read the question.

    The batch is returned unchanged if the metrics do not read the question, or the data has none.

    All *metrics*, which are those of one unit of work, have the same value of the option ``question``.
    """
    return batch.with_questions() if any(metric.declaration.reads_question for metric in metrics) else batch


def flags_of(batch: Batch, references_cut: Iterable[bool], candidates_cut: Iterable[bool]) -> NDArray[np.uint8]:
    """Return :class:`Flag` bits of n pairs, uint8, shape (n,), for texts that are blank and texts that were cut.

    Args:
        batch: the pairs.
        references_cut: whether each reference was cut, length n.
        candidates_cut: whether each candidate was cut, length n.
    """
    cut_flags = _flag_bits(Flag.REFERENCE_CUT, references_cut, len(batch))
    cut_flags |= _flag_bits(Flag.CANDIDATE_CUT, candidates_cut, len(batch))
    return blank_flags(batch) | cut_flags


def blank_flags(batch: Batch) -> NDArray[np.uint8]:
    """Return :class:`Flag` bits of n pairs, uint8, shape (n,), for texts that are empty or blank."""
    references_blank = (not text.strip() for text in batch.references)
    candidates_blank = (not text.strip() for text in batch.candidates)
    flags = _flag_bits(Flag.REFERENCE_EMPTY, references_blank, len(batch))
    return flags | _flag_bits(Flag.CANDIDATE_EMPTY, candidates_blank, len(batch))


def _flag_bits(flag: Flag, is_flagged: Iterable[bool], n: int) -> NDArray[np.uint8]:
    """Return the bit of *flag* for each of n pairs that is flagged and 0 for the others, uint8, shape (n,)."""
    return np.fromiter(is_flagged, dtype=np.bool_, count=n) * np.uint8(flag)
