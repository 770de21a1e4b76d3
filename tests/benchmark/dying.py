"""Metrics that do to the process of a worker what a metric should not; in the process of the run they are harmless."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from assay.exceptions import UnavailableError
from assay.metrics import Batch, Declaration, Metric


class TwoPartError(Exception):
    """Can be written by pickle, but not read again."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first} and {second}")


@dataclass(frozen=True)
class Dying(Metric):
    """Length of the candidate.

    Attributes:
        how: what it does where a candidate is *at*: kill, leave, print, raise or miss.
        at: a candidate.
        once: a file; it is done only where it is absent, and it is made first.
        pause: seconds for a batch.
    """

    declaration = Declaration("dying", "letters of the candidate", high=1000.0)

    how: str = "kill"
    at: str = ""
    once: str = ""
    pause: float = 0.0

    def score(self, batch: Batch):
        time.sleep(self.pause)
        if self.at in batch.candidates and multiprocessing.parent_process() is not None and self._is_due():
            self._misbehave()
        return np.array([float(len(candidate)) for candidate in batch.candidates])

    def _is_due(self) -> bool:
        if not self.once:
            return True
        try:
            Path(self.once).touch(exist_ok=False)
        except FileExistsError:
            return False
        return True

    def _misbehave(self) -> None:
        if self.how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif self.how == "leave":
            sys.exit("enough")
        elif self.how == "print":
            print("a line of the metric's own")
            os.write(1, b"and one past sys.stdout\n")
        elif self.how == "raise":
            raise TwoPartError("one", "two")
        elif self.how == "miss":
            raise UnavailableError("no words", "pip install words")
