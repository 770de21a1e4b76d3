"""Several processes that train one model together, a GPU each, as ``torchrun`` starts them: who leads, who follows.

The first process owns what is written; the others compute their share of every batch and write nothing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from assay.errors import UnavailableError

#: Seconds that a follower waits for what the leader writes.
PATIENCE = 600.0


def follows() -> bool:
    """Return whether another process leads this one."""
    return int(os.environ.get("RANK", "0")) > 0


def processes() -> int:
    """Return how many processes train together."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def meet() -> None:
    """Return when all processes that train together are here."""
    import torch.distributed  # where one process trains, no torch is wanted for this

    if torch.distributed.is_available() and torch.distributed.is_initialized():
        torch.distributed.barrier()


def own_device(device: str) -> str:
    """Return the device of this process: of several GPUs, the one that it was started for."""
    return f"cuda:{os.environ.get('LOCAL_RANK', '0')}" if processes() > 1 and device == "cuda" else device


def wait_for(there: Callable[[], bool], what: str) -> None:
    """Return as soon as something is there.

    Raises:
        UnavailableError: it does not come.
    """
    until = time.monotonic() + PATIENCE
    while not there():
        if time.monotonic() > until:
            raise UnavailableError(f"{what} does not come from the first process", "look at what that one says")
        time.sleep(0.1)
