"""A small training on labelled pairs; as a process of its own, one that a test kills.

PAIR_RUN='{"seeds": 2}' python pair_run.py RECIPE[,RECIPE] BASE OUT PAUSE TRAIN DEV TEST

Two recipes write to folders of their name in OUT.
"""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.training.training_run import CPU, Slow

RECIPES = ("bi-encoder", "cross-encoder")
#: Three epochs of five steps.
PACE: dict[str, Any] = {"epochs": 3, "batch_size": 8, "learning_rate": 1e-3}


def train_on(
    recipe: str,
    base: str | Path,
    out: str | Path,
    *files: str,
    pause: float = 0.0,
    progress: Slow | None = None,
    **changes: Any,
) -> tuple[Slow, dict[str, Any]]:
    """Train on files of training, development and test pairs; return what was told and the results."""
    from assay.training.pairwise.recipe import train_on_pairs
    from assay.training.pairwise.settings import PairSettings

    pairs, dev, test = (*files, (), ())[:3]
    progress = progress or Slow(pause)
    results = train_on_pairs(
        PairSettings(recipe, str(base), pairs, out, dev=dev, test=test, **(CPU | PACE | changes)),
        render=lambda results: "results\n",
        progress=progress,
    )
    return progress, results


def curve(folder: Path) -> list[dict[str, str]]:
    """Return the evaluations of a training, a record a step."""
    return [row for row in csv.DictReader((folder / "curves.csv").read_text().splitlines()) if row["dev_loss"]]


def rewritten(path: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> str:
    """Write the pairs of a file with some cells changed to a file beside it, and return its path."""
    made = Path(path).with_suffix(".new.parquet")
    pq.write_table(pa.Table.from_pylist([row | change(row) for row in pq.read_table(path).to_pylist()]), made)
    return str(made)


def record_weights(folder: Path) -> None:
    """Have every training of this process write the weights after each step, a file a seed and process.

    At the end all processes load the best checkpoint, which one of them wrote, so that only the steps tell whether they
    exchanged gradients.
    """
    import numpy as np
    import torch
    from transformers import TrainerCallback

    from assay.training.pairwise import recipe

    class Recorder(TrainerCallback):
        def __init__(self, loss: Any) -> None:
            self.steps: list[np.ndarray] = []
            self._loss = loss

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            weights = [value.detach().reshape(-1) for value in self._loss.unwrapped_model.parameters()]
            self.steps.append(torch.cat(weights).numpy().copy())

    def fit_and_record(job: Any, loss: Any, seed: int, checkpoints: Path) -> Any:
        recorder = Recorder(loss)
        trained = fit(job, loss, seed, checkpoints, [recorder])
        np.save(folder / f"{job.settings.recipe}-{seed}-{os.environ['RANK']}.npy", np.stack(recorder.steps))
        return trained

    fit, recipe.fit_model = recipe.fit_model, fit_and_record


if __name__ == "__main__":
    recipes, base, out, pause, *files = sys.argv[1:]
    if "PAIR_WEIGHTS" in os.environ:
        record_weights(Path(os.environ["PAIR_WEIGHTS"]))
    changes = json.loads(os.environ.get("PAIR_RUN", "{}"))
    for recipe in recipes.split(","):
        folder = Path(out, recipe) if "," in recipes else Path(out)
        with suppress(SystemExit):  # with which a process that follows another ends a training
            train_on(recipe, base, folder, *files, pause=float(pause), **changes)
