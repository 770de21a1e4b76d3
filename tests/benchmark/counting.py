"""A metric that writes down every pair it scores, for tests of what is scored and how often."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from assay.metrics import Batch, Declaration, Metric


@dataclass(frozen=True)
class Counting(Metric):
    """Length of the candidate over that of both texts; appends a line a pair to ``log`` (or $COUNTING_LOG)."""

    declaration = Declaration("counting", "share of the candidate's letters", languages=None)

    log: str = ""
    pause: float = 0.0
    offset: float = 0.0
    reverse: bool = False

    def score(self, batch: Batch):
        with Path(self.log or os.environ["COUNTING_LOG"]).open("a", encoding="utf-8") as file:
            file.writelines(f"{reference}|{candidate}\n" for reference, candidate in batch.pairs())
            file.flush()
            os.fsync(file.fileno())
        time.sleep(self.pause)
        both = [len(r) + len(c) for r, c in batch.pairs()]
        return np.array([len(c) / max(n, 1) for c, n in zip(batch.candidates, both, strict=True)]) + self.offset
