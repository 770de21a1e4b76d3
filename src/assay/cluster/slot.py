"""A slot: a process on a node that does one piece of work after another and keeps their shared jobs in memory."""

from __future__ import annotations

import os
import pickle
import platform
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from assay.errors import AssayError, UnavailableError

#: Environment variables of the driver that slots adopt if their node does not set them.
OFFERED = ("ASSAY_CACHE", "ASSAY_DATA")
#: The number of jobs that a slot keeps open: pieces of work of several jobs may arrive interleaved.
KEPT = 4


class Job(Protocol):
    """The part that many pieces of work share, such as metrics; pickled and sent to each node once."""

    def open(self) -> None:
        """Check before the first piece of work that the node matches the driver.

        Raises:
            MissingFilesError: the node lacks files.
            AssayError: the node differs.
        """
        ...

    def do(self, payload: Any) -> Any:
        """Do one piece of work."""
        ...

    def cost(self) -> dict[str, Any]:
        """Return the cost of this process's work so far."""
        ...


def environment(threads: int) -> dict[str, str]:
    """Return the environment variables of a slot: it is offline, since the driver sends the files that it needs."""
    return {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "OMP_NUM_THREADS": str(threads)}


def offered_environment() -> dict[str, str]:
    """Return the driver's variables that a slot adopts if its node does not set them, see :data:`OFFERED`."""
    return {name: os.environ[name] for name in OFFERED if name in os.environ}


def slot_class() -> type:
    """Return the class of a slot.

    The class is defined in a function so that Ray pickles its code, not its name: even a node without assay can then
    start a slot and report that assay is missing.
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
            """Return a report on the node: ``host``, ``assay`` (its version), ``bf16`` and ``problem`` (or empty).

            Args:
                gpu: whether the slot has a GPU, whose support of bf16 is then reported.
            """
            import socket

            report = {"host": socket.gethostname(), "assay": "", "bf16": False, "problem": ""}
            try:
                import assay

                report["assay"] = assay.__version__
                if gpu:
                    import torch

                    report["bf16"] = torch.cuda.is_bf16_supported(including_emulation=False)
            except ImportError as error:
                report["problem"] = f"{type(error).__name__}: {error}"
            return report

        def call(self, step: str, key: str, job: bytes, payload: Any) -> tuple[bool, Any]:
            """Run a step of a job; see :func:`assay.cluster.slot.take_step`."""
            from assay.cluster.slot import take_step

            return take_step(self._jobs, step, key, job, payload)

        def receive(self, parcels: Any) -> tuple[bool, Any]:
            """Write files sent by the driver; see :func:`assay.cluster.files.receive`."""
            from assay.cluster.files import receive
            from assay.cluster.slot import outcome_here

            return outcome_here(lambda: receive(parcels))

    return Slot


def take_step(jobs: dict[str, Job], step: str, key: str, job: bytes, payload: Any) -> tuple[bool, Any]:
    """Run a step of a job; return (True, its result) or (False, the exception that it raised).

    Args:
        jobs: the open jobs of this process, by key; updated in place.
        step: ``do`` or ``cost``.
        key: the key of the job.
        job: the pickled job, opened if it is not among *jobs*.
        payload: the argument of ``do``.
    """

    def run_step() -> Any:
        opened = jobs.get(key)
        if opened is None:
            opened = _unpickle_job(job)
            opened.open()
            while len(jobs) >= KEPT:
                del jobs[next(iter(jobs))]
            jobs[key] = opened
        return opened.cost() if step == "cost" else opened.do(payload)

    return outcome_here(run_step)


def _unpickle_job(job: bytes) -> Job:
    try:
        unpacked: Job = pickle.loads(job)
    except ImportError as error:
        name = error.name or str(error)
        raise UnavailableError(f"{here()} lacks the package {name}", "install it there") from error
    return unpacked


def outcome_here(work: Any) -> tuple[bool, Any]:
    """Return (True, the result of a function) or (False, the exception that it raised, in a form that can be sent)."""
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
    """Add the node's name to file system errors, such as of a full disk, which would else seem to be the driver's."""
    try:
        yield
    except OSError as error:
        if error.errno is None or not error.filename:
            raise
        raise AssayError(f"on {here()}: {error.filename}: {error.strerror}; fix this there") from error


def portable(error: Exception) -> Exception:
    """Return an exception that survives pickling: the given one, or an AssayError with its type and message."""
    try:
        copy = pickle.loads(pickle.dumps(error))
    except Exception:  # noqa: BLE001 - classes of others fail in many ways
        copy = None
    if type(copy) is type(error) and str(copy) == str(error):
        return error
    return AssayError(str(error) if isinstance(error, AssayError) else f"{type(error).__name__}: {error}")
