"""A small mid-tuning; as a process of its own, one that a test kills.

python mid_run.py BASE OUT PAUSE ENCODERS FORMS TEST
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

from tests.metrics.models.tiny import WORDS
from tests.training.training_run import CPU, Slow

#: Three epochs of five steps.
PACE: dict[str, Any] = {"epochs": 3, "batch_size": 12, "learning_rate": 1e-3}


def write_frames(path: Path, number: int, seed: int = 0) -> str:
    """Write sentences of five words, the second being the predicate of the three others, and return the path."""
    dice = random.Random(seed)
    lines = []
    for place in range(number):
        words = [*dice.sample(WORDS, 4), WORDS[place % len(WORDS)]]
        roles = {"ARG0": words[0], "ARG1": words[2], "time": words[3]}
        frames = [{"predicate": f"{words[1]}-01", "roles": roles}]
        lines.append(json.dumps({"sentence": " ".join(words), "frames": frames}))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def tune_on(
    base: str | Path, out: str | Path, forms: str, *test: str, pause: float = 0.0, **changes: Any
) -> tuple[Slow, dict[str, Any]]:
    """Train on a file of frames and evaluate on files of pairs; return what was told and the results."""
    from assay.training.midtuning.recipe import train_mid_tuning
    from assay.training.midtuning.settings import MidTuningSettings

    progress = Slow(pause)
    results = train_mid_tuning(
        MidTuningSettings(str(base), forms, out, test=test, **(CPU | PACE | changes)),
        render=lambda results: "results\n",
        render_neighbours=lambda records: "neighbours\n",
        progress=progress,
    )
    return progress, results


if __name__ == "__main__":
    base, out, pause, encoders, *files = sys.argv[1:]
    tune_on(base, out, *files, pause=float(pause), encoders=int(encoders))
