"""A small training on labelled pairs; as a process of its own, one that a test kills.

PAIR_RUN='{"seeds": 2}' python pair_run.py RECIPE BASE OUT PAUSE TRAIN DEV TEST
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from training_run import Slow

from assay.metrics.neural.runtime import Runtime

#: Three epochs of five steps.
PACE: dict[str, Any] = {"epochs": 3, "batch_size": 8, "learning_rate": 1e-3}


def train_on(
    recipe: str, base: str | Path, out: str | Path, *files: str, pause: float = 0.0, **changes: Any
) -> tuple[Slow, dict[str, Any]]:
    """Train on files of training, development and test pairs; return what was told and the results."""
    from assay.training.pairwise.recipe import train_on_pairs
    from assay.training.pairwise.settings import BiEncoderSettings, CrossEncoderSettings

    kind = {"bi-encoder": BiEncoderSettings, "cross-encoder": CrossEncoderSettings}[recipe]
    progress = Slow(pause)
    results = train_on_pairs(
        kind(str(base), *((path,) for path in files), **(PACE | changes)),
        Path(out),
        runtime=Runtime(device="cpu", threads=1),
        render=lambda results: "results\n",
        progress=progress,
    )
    return progress, results


if __name__ == "__main__":
    recipe, base, out, pause, *files = sys.argv[1:]
    train_on(recipe, base, out, *files, pause=float(pause), **json.loads(os.environ.get("PAIR_RUN", "{}")))
