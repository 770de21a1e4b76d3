"""Several processes that train one model together, with one GPU each, as started by ``torchrun``.

The first process leads and writes all files; the others follow: they compute their share of every batch and write
nothing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from assay.exceptions import UnavailableError

#: Seconds that a follower waits for a file of the leader.
MAX_WAIT_SECONDS = 600.0


def is_follower() -> bool:
    """Return whether this process follows another one, and so must not write."""
    return int(os.environ.get("RANK", "0")) > 0


def process_count() -> int:
    """Return the number of processes that train together."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def wait_for_all() -> None:
    """Wait until all processes that train together have called this function; a single process does not wait."""
    import torch.distributed  # imported here so that this module does not load torch

    if torch.distributed.is_available() and torch.distributed.is_initialized():
        torch.distributed.barrier()


def own_device(device: str) -> str:
    """Return the device of this process: among several processes, ``cuda`` becomes the GPU assigned to this one."""
    if device == "cuda" and process_count() > 1:
        return f"cuda:{os.environ.get('LOCAL_RANK', '0')}"
    return device


def wait_for(is_available: Callable[[], bool], title: str) -> None:
    """Wait until *is_available* returns true.

    Args:
        is_available: returns whether the awaited thing is there; called ten times per second.
        title: the name of the awaited thing in the error message.

    Raises:
        UnavailableError: it is not available within :data:`MAX_WAIT_SECONDS` seconds.
    """
    deadline = time.monotonic() + MAX_WAIT_SECONDS
    while not is_available():
        if time.monotonic() > deadline:
            raise UnavailableError(f"{title} does not come from the first process", "see the message of that process")
        time.sleep(0.1)
