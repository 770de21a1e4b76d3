"""Where and how models run: device, threads, batch size. None of these may change a score beyond its tolerance."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

from assay.common.processes import free_cores
from assay.exceptions import InputError, MissingExtraError

#: Tokens in a batch, padding included: few enough for the caches of a CPU, and enough to keep a GPU busy.
CPU_TOKENS, GPU_TOKENS = 1024, 65536


@dataclass(frozen=True)
class RemoteMachines:
    """The machines of a cluster on which models run instead of this one.

    Attributes:
        device: torch's name of the device there: ``cuda:0``, since a worker slot sees one GPU, or ``cpu``.
        bf16: whether the device supports bf16.
        threads_here: the value of ``Runtime.threads`` for models that this process runs itself.
    """

    device: str
    bf16: bool
    threads_here: int | None


@dataclass(frozen=True)
class Runtime:
    """How models are run.

    Attributes:
        device: the device: ``auto``, ``cpu``, ``cuda``, ``cuda:N``, ``mps``, or ``all`` for every GPU of the machine.
        threads: the number of CPU threads, or None for one per free core.
        tokens: the most tokens in a batch, padding included, or None for the default of the device.
        remote: the machines on which models run instead of *device*; None for this machine.

    Raises:
        InputError: a value is outside its range.
    """

    device: str = "auto"
    threads: int | None = None
    tokens: int | None = None
    remote: RemoteMachines | None = None

    def __post_init__(self) -> None:
        """Raise InputError for a value outside its range."""
        kind, _, number = self.device.partition(":")
        is_known = kind in ("auto", "cpu", "cuda", "mps", "all")
        is_numbered = ":" in self.device
        is_valid_number = kind == "cuda" and re.fullmatch("[0-9]{1,4}", number)
        if not is_known or (is_numbered and not is_valid_number):
            raise InputError("must be auto, cpu, cuda, cuda:N, mps or all", setting="device", value=self.device)
        if self.threads is not None and self.threads < 1:
            raise InputError("must be at least 1", setting="threads", value=self.threads)
        if self.tokens is not None and self.tokens < 1:
            raise InputError(f"tokens {self.tokens}: a batch must have at least 1")

    def for_this_process(self) -> Runtime:
        """Return the settings for models that this process runs itself, even if others run on a cluster."""
        if self.remote is None:
            return self
        return replace(self, threads=self.remote.threads_here, remote=None)

    def batch_tokens(self, device: str) -> int:
        """Return the most tokens in a batch on a device of this name."""
        return self.tokens or (CPU_TOKENS if device == "cpu" else GPU_TOKENS)


_current: ContextVar[Runtime | None] = ContextVar("assay runtime", default=None)


def current_runtime() -> Runtime:
    """Return the settings that :func:`use_runtime` has made current, or else the default ones."""
    return _current.get() or Runtime()


@contextmanager
def use_runtime(runtime: Runtime) -> Iterator[None]:
    """Make these the current settings within the block; afterwards those before are current again."""
    token = _current.set(runtime)
    try:
        yield
    finally:
        _current.reset(token)


def import_torch() -> Any:
    """Return the module torch.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        import torch
    except ImportError as error:
        raise MissingExtraError("torch", "neural") from error
    return torch


def devices_of(runtime: Runtime) -> tuple[str, ...]:
    """Return torch's names of the devices that the settings select; more than one only for ``all``.

    ``auto`` selects the first CUDA GPU, or else ``mps``, or else the CPU. With remote machines it is the device there.

    Raises:
        InputError: this machine has no such device.
        MissingExtraError: torch is not installed.
    """
    if runtime.remote is not None:
        return (runtime.remote.device,)
    torch = import_torch()
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    mps = torch.backends.mps.is_available()
    device = runtime.device
    if device == "auto":
        if gpus:
            return ("cuda:0",)
        return ("mps",) if mps else ("cpu",)
    if device == "cpu":
        return ("cpu",)
    if device == "mps" and mps:
        return ("mps",)
    if device == "all" and gpus:
        return tuple(f"cuda:{number}" for number in range(gpus))
    if device.startswith("cuda") and gpus:
        number = int(device.partition(":")[2] or 0)
        if number < gpus:
            return (f"cuda:{number}",)
    available = ["cpu", *(f"cuda:{number}" for number in range(gpus))]
    if mps:
        available.append("mps")
    raise InputError(f"this machine has none; torch sees {', '.join(available)}", setting="device", value=device)


@contextmanager
def without_cudnn_attention() -> Iterator[None]:
    """Leave attention to torch's other kernels in the block, which changes nothing on a CPU.

    cuDNN, which torch prefers on the newest GPUs, takes milliseconds to plan for each new shape of a batch, and is slow
    for short texts: on an H100 its attention took up to 71 % of a pass over sentences.
    """
    import_torch()
    from torch.nn.attention import SDPBackend, sdpa_kernel

    with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]):
        yield


def set_threads(threads: int | None) -> int:
    """Set the number of CPU threads that torch uses, and return it; None sets one per free core."""
    torch = import_torch()
    count = threads or free_cores()
    if torch.get_num_threads() != count:
        torch.set_num_threads(count)
    return count


def precision_of(precision: str, device: str, backend: str = "torch") -> str:
    """Return the precision to compute in: *precision* itself, or what ``auto`` means on the device and backend.

    ``auto`` is bf16, or fp16 if bf16 is not supported, for torch on a CUDA GPU, and otherwise fp32.

    Raises:
        InputError: the precision is fp16 on a CPU, or int8 in torch.
        MissingExtraError: torch is not installed, which ``auto`` asks about a GPU of this machine.
    """
    if precision == "fp16" and device == "cpu":
        raise InputError("precision fp16 is for a GPU; on a CPU use bf16 or fp32")
    if precision == "int8" and backend == "torch":
        raise InputError("precision int8 needs backend=onnxruntime")
    if precision != "auto":
        return precision
    if not device.startswith("cuda") or backend != "torch":
        return "fp32"
    remote = current_runtime().remote
    if remote is not None:
        return "bf16" if remote.bf16 else "fp16"
    torch = import_torch()
    return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "fp16"


def dtype_of(precision: str) -> Any:
    """Return torch's data type for ``fp32``, ``bf16`` or ``fp16``."""
    torch = import_torch()
    dtypes = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
    return dtypes[precision]
