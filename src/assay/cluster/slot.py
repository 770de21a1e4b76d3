"""A slot: a process on a node that does one piece of work after the other, and keeps in memory what they share."""

from __future__ import annotations

import os
import pickle
import platform
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from assay.errors import AssayError, UnavailableError

#: Variables of the driver that slots take where their node has none of that name.
OFFERED = ("ASSAY_CACHE", "ASSAY_DATA")
#: Jobs that a slot keeps unpacked, for pieces of work that come in another order.
KEPT = 4


class Job(Protocol):
    """What many pieces of work share, such as metrics; it is sent to a slot once, pickled."""

    def open(self) -> None:
        """Compare the node with the driver, before the first piece of work.

        Raises:
            MissingFilesError: the node lacks files.
            AssayError: the node differs.
        """
        ...

    def do(self, payload: Any) -> Any:
        """Do one piece of work."""
        ...

    def cost(self) -> dict[str, Any]:
        """Return what the work of this process has cost so far."""
        ...


def environment(threads: int) -> dict[str, str]:
    """Return the variables of a slot; it downloads nothing, since the driver sends what it needs."""
    return {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "OMP_NUM_THREADS": str(threads)}


def offered_environment() -> dict[str, str]:
    """Return the variables that a slot takes where its node has none of that name."""
    return {name: os.environ[name] for name in OFFERED if name in os.environ}


def slot_class() -> type:
    """Return the class of a slot.

    It is made in a function so that Ray sends its code and not its name: a node without assay can say so.
    """

    class Slot:
        """See the module."""

        def __init__(self, chosen: Mapping[str, str], offered: Mapping[str, str]) -> None:
            import os

            os.environ.update(chosen)
            for name, value in offered.items():
                os.environ.setdefault(name, value)
            self._jobs: dict[str, Any] = {}

        def look(self, gpu: bool) -> dict[str, Any]:
            """Return the name of the machine, the version of assay, and whether the GPU computes in bf16."""
            import socket

            found = {"host": socket.gethostname(), "assay": "", "bf16": False, "problem": ""}
            try:
                import assay

                found["assay"] = assay.__version__
                if gpu:
                    import torch

                    found["bf16"] = torch.cuda.is_bf16_supported(including_emulation=False)
            except ImportError as error:
                found["problem"] = f"{type(error).__name__}: {error}"
            return found

        def call(self, step: str, key: str, job: bytes, payload: Any) -> tuple[bool, Any]:
            """Take a step of a job; see :func:`assay.cluster.slot.take_step`."""
            from assay.cluster.slot import take_step

            return take_step(self._jobs, step, key, job, payload)

        def receive(self, parcels: Any) -> tuple[bool, Any]:
            """Write files that the driver sends; see :func:`assay.cluster.files.receive`."""
            from assay.cluster.files import receive
            from assay.cluster.slot import outcome_here

            return outcome_here(lambda: receive(parcels))

    return Slot


def take_step(jobs: dict[str, Job], step: str, key: str, job: bytes, payload: Any) -> tuple[bool, Any]:
    """Return whether a step of a job went well, and what it returned, or the exception that it raised.

    Args:
        jobs: those that this process has unpacked.
        step: ``do`` or ``cost``.
        key: of the job.
        job: pickled.
        payload: argument of ``do``.
    """

    def take() -> Any:
        opened = jobs.get(key)
        if opened is None:
            opened = _unpacked(job)
            opened.open()
            while len(jobs) >= KEPT:
                del jobs[next(iter(jobs))]
            jobs[key] = opened
        return opened.cost() if step == "cost" else opened.do(payload)

    return outcome_here(take)


def _unpacked(job: bytes) -> Job:
    try:
        unpacked: Job = pickle.loads(job)
    except ImportError as error:
        name = error.name or str(error)
        raise UnavailableError(f"{here()} lacks the package {name}", "install it there") from error
    return unpacked


def outcome_here(work: Any) -> tuple[bool, Any]:
    """Return (True, what a function returned) or (False, what it raised, as it can be sent)."""
    try:
        with _named_node():
            return True, work()
    except Exception as error:  # noqa: BLE001 - it goes to the driver, which decides
        return False, portable(error)
    except SystemExit as error:
        return False, AssayError(f"called exit({error.code!r})")


def here() -> str:
    """Return the name of this node, for messages."""
    return f"the node {platform.node()}"


@contextmanager
def _named_node() -> Iterator[None]:
    """Name the node in what its file system refuses, such as on a full disk: the driver's own may be meant else."""
    try:
        yield
    except OSError as error:
        if error.errno is None or not error.filename:
            raise
        raise AssayError(f"on {here()}: {error.filename}: {error.strerror}; fix this there") from error


def portable(error: Exception) -> Exception:
    """Return an exception that can be sent: itself, or an AssayError with its type and message."""
    try:
        copy = pickle.loads(pickle.dumps(error))
    except Exception:  # noqa: BLE001 - classes of others fail in many ways
        copy = None
    if type(copy) is type(error) and str(copy) == str(error):
        return error
    return AssayError(str(error) if isinstance(error, AssayError) else f"{type(error).__name__}: {error}")
