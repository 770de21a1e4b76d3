"""A recipe as a method of cross-validation: trained on some pairs, it scores others."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError, suggest
from assay.metrics.models import locate
from assay.metrics.name import MetricName
from assay.metrics.neural.runtime import Runtime
from assay.paths import cache_dir
from assay.training.data import Examples, cut_off
from assay.training.packages import versions
from assay.training.pairwise.job import fit, job_of, start
from assay.training.pairwise.settings import LEARNING, RECIPES, PairSettings
from assay.training.pairwise.trainer import score_rows
from assay.training.progress import Progress

__all__ = ["FoldTrainer", "read_recipe"]

Rows = NDArray[np.intp]
Floats = NDArray[np.float64]


def read_recipe(text: str) -> PairSettings:
    """Return the settings of ``RECIPE:BASE[,setting=value]...``, such as ``bi-encoder:all-MiniLM-L6-v2,epochs=2``.

    Raises:
        InputError: there is no such recipe or setting, or a value is none of its kind.
    """
    name = MetricName.parse(text)
    if name.name not in RECIPES or name.subject is None:
        raise InputError(f"--train {text}: expected RECIPE:BASE[,setting=value]...; recipes: {', '.join(RECIPES)}")
    values: dict[str, object] = {}
    for key, value in name.options:
        if key not in (*LEARNING, "seed"):
            raise InputError(f"--train {text}: there is no setting {key!r}.{suggest(key, [*LEARNING, 'seed'])}")
        kind = LEARNING.get(key, int)
        try:
            values[key] = kind(value)
        except ValueError:
            raise InputError(f"--train {text}: {key}={value} is no {kind.__name__}") from None
    return RECIPES[name.name](name.subject, ("the pairs of the other folds",), **values)  # type: ignore[arg-type]


class FoldTrainer:
    """Trains a model anew for every fold; a tenth of the pairs that are trained on chooses its best step.

    Scores are kept in the cache, so that a cross-validation that was killed goes on with the next fold, and one that
    was killed inside a fold from its last checkpoint.

    Args:
        settings: of :func:`read_recipe`.
        examples: all n pairs.
        runtime: device and threads.
        progress: told of every step.
    """

    def __init__(self, settings: PairSettings, examples: Examples, runtime: Runtime, progress: Progress) -> None:
        self._settings, self._examples = settings, examples
        self._runtime, self._progress = runtime, progress
        self._base = locate(settings.base)

    def __call__(self, train: Rows, test: Rows) -> Floats:
        """Return the scores of the tested rows by a model of the others, shape (len(test),).

        Raises:
            InputError: too few pairs are trained on, or their labels cannot be learned.
            UnavailableError: the base cannot be loaded.
        """
        kept = self._place(train, test)
        path = kept.with_suffix(".npy")
        if path.is_file():
            held: Floats = np.load(path, allow_pickle=False)
            return held
        seed = self._settings.seed
        learned, dev = cut_off(self._examples.take(train), seed)
        sets: Mapping[str, Examples] = {"train": learned, "dev": dev, "test": self._examples.take(test)}
        job = job_of(self._settings, self._base, sets, {}, self._runtime, self._progress)
        loss = start(job, seed)
        fit(job, loss, seed, kept)
        scores = score_rows(loss, job.rows["test"])[0]
        scratch = kept.with_suffix(".new.npy")
        np.save(scratch, scores)
        scratch.replace(path)
        shutil.rmtree(kept)
        return scores

    def _place(self, train: Rows, test: Rows) -> Path:
        """Return where a fold works: named by all that decides its scores."""
        asked = {"settings": self._settings.plain(), "base": self._base.digest, "versions": versions()}
        found = hashlib.sha256(json.dumps([self._settings.recipe, asked], sort_keys=True).encode())
        for side in (self._examples.references, self._examples.candidates):
            for text in side:
                found.update(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())
        for array in (self._examples.labels, train.astype(np.int64), test.astype(np.int64)):
            found.update(hashlib.sha256(array.tobytes()).digest())
        folder = cache_dir() / "crossval"
        folder.mkdir(parents=True, exist_ok=True)
        return folder / found.hexdigest()[:32]
