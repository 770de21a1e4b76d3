"""A small training with stand-in targets; as a process of its own, one that a test kills.

python training_run.py BASE OUT PAUSE
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from assay.language.amr import ASPECTS
from assay.metrics.base import Batch
from assay.training.s3bert.settings import S3BertSettings
from tests.metrics.models.tiny import WORDS

CPU: dict[str, Any] = {"device": "cpu", "threads": 1}
SIDES = ("reference", "candidate")
#: Three epochs of five steps.
PACE = {"epochs": 3, "batch_size": 16, "learning_rate": 1e-2, "warmup": 2, "eval_steps": 5, "width": 2}


class LetterScorer:
    """Stand-in for the AMR metrics: aspect k is how far the counts of letter k in two texts agree."""

    names = ASPECTS
    signature = "letters"

    def score(self, batch: Batch) -> np.ndarray:
        def counts(texts):
            return np.array([[text.count(chr(97 + k)) for k in range(len(ASPECTS))] for text in texts], dtype=float)

        first, second = counts(batch.reference_graphs), counts(batch.candidate_graphs)
        return (1 + np.minimum(first, second)) / (1 + np.maximum(first, second))

    def close(self) -> None:
        """Nothing is held."""


class Slow:
    """A progress that keeps its lines, and takes its time over each step of the training."""

    def __init__(self, pause: float = 0.0) -> None:
        self.lines: list[str] = []
        self._pause, self._what = pause, ""

    def begin(self, what: str, total: int) -> None:
        self._what = what

    def advance(self, units: int) -> None:
        if self._what.startswith("training"):
            time.sleep(self._pause)

    def say(self, line: str) -> None:
        self.lines.append(line)


def made_pairs(number: int, seed: int) -> list[dict[str, Any]]:
    """Return rows of pairs whose second text repeats some words of the first; a graph holds its text."""
    dice = random.Random(seed)
    rows = []
    for _ in range(number):
        first = dice.sample(WORDS, dice.randrange(3, 12))
        second = [word if dice.random() < 0.6 else dice.choice(WORDS) for word in first]
        texts = " ".join(first), " ".join(second)
        graphs = {f"{side}_graph": f'(s / say :op1 "{text}")' for side, text in zip(SIDES, texts, strict=True)}
        rows.append({"reference": texts[0], "candidate": texts[1], "label": dice.random()} | graphs)
    return rows


def train(base: str, out: str | Path, pairs: str, dev: str, test: str, *, pause: float = 0.0, **changes: Any) -> Slow:
    from assay.training.s3bert.recipe import train_s3bert

    progress = Slow(pause)
    train_s3bert(
        S3BertSettings(str(base), pairs, out, dev=dev, test=test, **(CPU | PACE | changes)),
        render=lambda results: "results\n",
        progress=progress,
        scorer=LetterScorer(),
    )
    return progress


if __name__ == "__main__":
    base, out, pause, *files = sys.argv[1:]
    train(base, out, *files, pause=float(pause))
