"""A slot: a process on a node that does one piece of work after another and keeps their shared jobs in memory."""

from __future__ import annotations

import os
import pickle
import platform
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from assay.exceptions import AssayError, UnavailableError

#: Environment variables of the driver that slots adopt if their node does not set them.
OFFERED_VARIABLES = ("ASSAY_CACHE", "ASSAY_DATA")
#: The most jobs that a slot keeps open: pieces of work of several jobs may arrive interleaved.
MOST_OPEN_JOBS = 4


class Job(Protocol):
    """The part that many pieces of work share, such as metrics; pickled and sent to each node once.

    An error of any method is sent to the driver in place of the result, and the slot goes on with other work.
    """

    def open(self) -> None:
        """Check before the first piece of work that the node matches the driver.

        Raises:
            MissingFilesError: the node lacks files.
            AssayError: the node differs.
        """
        ...

    def process(self, payload: Any) -> Any:
        """Do one piece of work, and return its result.

        Args:
            payload: what distinguishes this piece from the others, such as a batch of texts. It and the result travel
                between driver and node, so both must be picklable.
        """
        ...

    def cost(self) -> dict[str, Any]:
        """Return the cost of the job's work in this process so far, such as seconds, by name."""
        ...


def slot_environment(threads: int) -> dict[str, str]:
    """Return the environment variables of a slot: it is offline, since the driver sends the files that it needs."""
    return {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "OMP_NUM_THREADS": str(threads)}


def offered_environment() -> dict[str, str]:
    """Return the driver's variables that a slot adopts if its node does not set them, see :data:`OFFERED_VARIABLES`."""
    return {name: os.environ[name] for name in OFFERED_VARIABLES if name in os.environ}


def slot_class() -> type:
    """Return the class of a slot.

    The class is defined in a function so that Ray pickles its code, not its name: even a node without assay can then
    start a slot and report that assay is missing.
    """

    class Slot:
        """A process on a node that runs the steps of jobs one after another.

        Args:
            chosen: environment variables that the slot sets.
            offered: environment variables that it sets only if its node does not set them.
        """

        def __init__(self, chosen: Mapping[str, str], offered: Mapping[str, str]) -> None:
            import os  # imported here, so that the class needs nothing of this module

            os.environ.update(chosen)
            for name, value in offered.items():
                os.environ.setdefault(name, value)
            self._jobs: dict[str, Any] = {}

        def report_on_node(self, has_gpu: bool) -> dict[str, Any]:
            """Return a report on the node: ``host``, ``assay`` (its version), ``bf16`` and ``problem``.

            The problem is the error of a package that cannot be imported, as text; empty if there is none.

            Args:
                has_gpu: whether the slot has a GPU, whose support of bf16 is then reported.
            """
            import socket
            from importlib import import_module

            report = {"host": socket.gethostname(), "assay": "", "bf16": False, "problem": ""}
            try:
                # the version of the node, which may be any other: nothing but its name can be relied on
                report["assay"] = import_module("assay").__version__
                if has_gpu:
                    import torch

                    report["bf16"] = torch.cuda.is_bf16_supported(including_emulation=False)
            except ImportError as error:
                report["problem"] = f"{type(error).__name__}: {error}"
            return report

        def take_step(self, step: str, key: str, pickled_job: bytes, payload: Any) -> tuple[bool, Any]:
            """Run a step of a job on this node; return (True, its result) or (False, the exception that it raised).

            The arguments are those of :func:`assay.cluster.slot.take_step`, without the open jobs.
            """
            from assay.cluster.slot import take_step

            return take_step(self._jobs, step, key, pickled_job, payload)

        def receive_parcels(self, parcels: Any) -> tuple[bool, Any]:
            """Write files sent by the driver; return (True, None) or (False, the error)."""
            from assay.cluster.files import receive_parcels
            from assay.cluster.slot import outcome_of

            return outcome_of(lambda: receive_parcels(parcels))

    return Slot


def take_step(jobs: dict[str, Job], step: str, key: str, pickled_job: bytes, payload: Any) -> tuple[bool, Any]:
    """Run a step of a job; return (True, its result) or (False, the exception that it raised).

    Args:
        jobs: the open jobs of this process, by key; updated in place.
        step: ``process`` or ``cost``.
        key: the key of the job.
        pickled_job: the job, unpickled and opened if it is not among *jobs*; the job opened first may then be dropped.
        payload: the argument of ``process``; ``cost`` ignores it.
    """

    def run_step() -> Any:
        """Return the result of the step; raises whatever the job raises."""
        job = jobs.get(key)
        if job is None:
            job = _unpickle_job(pickled_job)
            job.open()
            while len(jobs) >= MOST_OPEN_JOBS:
                oldest_key = next(iter(jobs))
                del jobs[oldest_key]
            jobs[key] = job
        return job.cost() if step == "cost" else job.process(payload)

    return outcome_of(run_step)


def _unpickle_job(pickled_job: bytes) -> Job:
    """Return an unpickled job; raises UnavailableError if this node lacks a package that the job needs."""
    try:
        job: Job = pickle.loads(pickled_job)
    except ImportError as error:
        name = error.name or str(error)
        raise UnavailableError(f"{describe_this_node()} lacks the package {name}", "install it there") from error
    return job


def outcome_of(function: Callable[[], Any]) -> tuple[bool, Any]:
    """Return (True, the result of a function) or (False, the exception that it raised, in a form that can be sent).

    A call of ``exit`` is returned as an AssayError.
    """
    try:
        with _name_node_in_errors():
            return True, function()
    except Exception as error:  # noqa: BLE001 - it goes to the driver, which decides
        return False, portable_error(error)
    except SystemExit as error:
        # Code of a user, such as a metric, may call exit, which would end the slot with all its jobs.
        return False, AssayError(f"called exit({error.code!r})")


def describe_this_node() -> str:
    """Return "the node" and the name of this node, for messages."""
    return f"the node {platform.node()}"


@contextmanager
def _name_node_in_errors() -> Iterator[None]:
    """Replace file system errors in the block, such as of a full disk, by AssayErrors that name this node.

    Without the name, they would seem to be the driver's. An error that names no file passes unchanged.
    """
    try:
        yield
    except OSError as error:
        if error.errno is None or not error.filename:
            raise
        raise AssayError(f"on {describe_this_node()}: {error.filename}: {error.strerror}; fix this there") from error


def portable_error(error: Exception) -> Exception:
    """Return an exception that survives pickling: the given one, or an AssayError with its message.

    The message is preceded by the type of the exception, unless that is an AssayError itself.
    """
    try:
        copy = pickle.loads(pickle.dumps(error))
    except Exception:  # noqa: BLE001 - classes of others fail in many ways
        copy = None
    if type(copy) is type(error) and str(copy) == str(error):
        return error
    return AssayError(error.message if isinstance(error, AssayError) else f"{type(error).__name__}: {error}")
