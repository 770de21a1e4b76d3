"""A small augmented training; as a process of its own, one that a test kills while it labels.

python augmented_run.py BASE LABELLER ENTITIES OUT PAUSE
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from assay.training.augmented.settings import AugmentedSettings
from tests.training.training_run import CPU, Slow

PACE: dict[str, Any] = {"epochs": 1, "batch_size": 8, "learning_rate": 1e-3}


class SlowLabels(Slow):
    """Takes its time over each chunk of labels."""

    def advance(self, units: int) -> None:
        if self._what.startswith("labelling"):
            time.sleep(self._pause)


def train_on(base: str | Path, out: str | Path, *, pause: float = 0.0, **changes: Any) -> tuple[Slow, dict[str, Any]]:
    """Train; return what was told and the results."""
    from assay.training.augmented.recipe import train_augmented

    progress = SlowLabels(pause)
    results = train_augmented(
        AugmentedSettings(str(base), out, **(CPU | PACE | changes)),
        render=lambda results: "results\n",
        progress=progress,
    )
    return progress, results


if __name__ == "__main__":
    # chunks of a few pairs, so that a small file has several
    import assay.training.augmented.recipe as labelling

    labelling.PAIRS_PER_CHUNK = 16
    base, labeller, entities, out, pause = sys.argv[1:]
    train_on(base, out, labeller=labeller, entities=entities, pause=float(pause))
