"""A training recipe as a method of cross-validation: trained on some pairs, it scores the others."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError, suggest
from assay.metrics.models import locate
from assay.metrics.name import MetricName
from assay.metrics.neural.runtime import Runtime, device_of
from assay.paths import cache_dir, private_folder
from assay.progress import Progress
from assay.statistics.crossvalidation import Fold, Partition, Rows, codes_of, join_codes
from assay.training.data import Examples, groups_note, hold_out_rows, scaled_labels
from assay.training.folder import locked, report_full_disk, save_scores
from assay.training.loop import has_bfloat16
from assay.training.pairwise.job import fit, job_of, start
from assay.training.pairwise.settings import LEARNING, LOSSES, PairSettings
from assay.training.pairwise.trainer import score_rows
from assay.training.settings import versions

Floats = NDArray[np.float64]


def read_recipe(text: str, scale: str | None = None) -> PairSettings:
    """Return the settings of ``RECIPE:BASE[,setting=value]...``, such as ``bi-encoder:all-MiniLM-L6-v2,epochs=2``.

    Args:
        text: the recipe.
        scale: lowest and highest label, ``LOW,HIGH``, where the data does not say them.

    Raises:
        InputError: there is no such recipe or setting, or a value is none of its kind.
    """
    name = MetricName.parse(text)
    if name.name not in LOSSES or name.subject is None:
        raise InputError(f"`train={text}`: expected RECIPE:BASE[,setting=value]...; recipes: {', '.join(LOSSES)}")
    values: dict[str, object] = {"scale": scale}
    for key, value in name.options:
        if key not in (*LEARNING, "seed"):
            raise InputError(f"`train={text}`: there is no setting {key!r}.{suggest(key, [*LEARNING, 'seed'])}")
        kind = LEARNING.get(key, int)
        try:
            values[key] = kind(value)
        except ValueError:
            raise InputError(f"`train={text}`: {key}={value} is no {kind.__name__}") from None
    return PairSettings(name.name, name.subject, ("the pairs of the other folds",), "scores", **values)  # type: ignore[arg-type]  # text that the settings check


class FoldTrainer:
    """Trains a model anew for every fold; a tenth of the pairs that are trained on chooses its best step,
    held out as :func:`~assay.training.data.hold_out_rows` does.

    Scores are kept in the cache, so that a cross-validation that was killed goes on with the next fold, and one that
    was killed inside a fold from its last checkpoint. Of several at the same time one trains a fold, and the others
    wait for its scores.

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

    def inspect(self, partition: Partition) -> str:
        """Check, before anything is trained, that a model can be trained wherever pairs are held out.

        Returns:
            A note on the texts of held-out pairs that training pairs have as well; empty where there are none.

        Raises:
            InputError: a label is outside the scale; pairs to be trained on are too few, or have one label alone.
        """
        scaled_labels(self._examples, self._settings.bounds())
        shared = []
        for fold in partition.folds:
            self._check(fold.train, fold.name, "take more `folds`, or another `seed`")
            shared.append(self._shared(fold))
        for fold in partition.left_out:
            self._check(fold.train, f"{fold.name!r} left out", "do without `by`")
            shared.append(self._shared(fold))
        counts, shares = zip(*shared, strict=True)
        if not any(counts):
            return ""
        return (
            f"{min(counts):,} to {max(counts):,} texts of the pairs held out at a time also occur in training pairs, "
            f"with others: {np.mean(shares):.1%} of them on average"
        )

    def __call__(self, train: Rows, test: Rows) -> Floats:
        """Return the scores of the tested rows by a model of the others, shape (len(test),).

        Raises:
            InputError: the pairs cannot be learned, see :meth:`inspect`; the disk is full.
            UnavailableError: the base cannot be loaded.
        """
        learned, dev = self._parted(train)
        kept = self._place(learned, dev, test)
        path = kept.with_suffix(".npy")
        if path.is_file():
            return _read(path)
        with report_full_disk(kept.parent):
            private_folder(kept.parent)
            with locked(kept.with_suffix(".lock"), self._wait):
                if not path.is_file():
                    save_scores(path, self._train(kept, learned, dev, test))
                    shutil.rmtree(kept)
        return _read(path)

    def _wait(self) -> None:
        self._progress.say("another process trains the model of this fold: waiting for its scores")

    def _train(self, checkpoints: Path, learned: Rows, dev: Rows, test: Rows) -> Floats:
        """Return the scores of the tested rows by a model that is trained now."""
        seed, taken = self._settings.seed, self._examples.take
        sets = {"train": taken(learned), "dev": taken(dev), "test": taken(test)}
        job = job_of(self._settings, self._base, sets, {}, self._runtime, self._progress, judged=False)
        loss = start(job, seed)
        fit(job, loss, seed, checkpoints)
        return score_rows(loss, job.rows["test"])[0]

    def _parted(self, train: Rows) -> tuple[Rows, Rows]:
        """Return the rows to learn from and those that choose the best step; no pair or group is on both sides."""
        learned, dev = hold_out_rows(self._whole(train), self._settings.seed)
        return train[learned], train[dev]

    def _whole(self, train: Rows) -> NDArray[np.int64]:
        """Return what may not be torn apart, as numbers: the groups, and the rows of one pair of texts."""
        keys = self._examples.keys
        return join_codes(self._examples.groups[train], codes_of(keys[row] for row in train.tolist()))

    def _check(self, train: Rows, where: str, remedy: str) -> None:
        learned, dev = self._parted(train)
        where = f"{self._examples.sources[0].name}, {where}"
        if len(dev) < 2:
            groups = groups_note(self._whole(train))
            raise InputError(
                f"{where}: {len(train):,} pairs{groups} are too few to train a model and to choose its best step; "
                f"{remedy}, or give {'pairs of more groups' if groups else 'more pairs'}"
            )
        for what, rows, first in (("train", learned, ""), ("choose the best step", dev, "give `train` a seed=N, or ")):
            labels = self._examples.labels[rows]
            if np.all(labels == labels[0]):
                raise InputError(
                    f"{where}: the {len(rows):,} pairs to {what} have one label alone, {labels[0]:g}, where two are "
                    f"needed; {first}{remedy}"
                )

    def _shared(self, fold: Fold) -> tuple[int, float]:
        """Return how many texts of the tested pairs stand in training pairs as well, and their share."""
        tested = self._examples.take(fold.test).texts
        number = len(tested & self._examples.take(self._parted(fold.train)[0]).texts)
        return number, number / len(tested)

    def _place(self, *parts: Rows) -> Path:
        """Return where a fold works: named by all that decides its scores."""
        device = device_of(self._runtime)[0]
        asked = {
            "settings": self._settings.plain(),
            "base": self._base.digest,
            "versions": versions(),
            "device": device.partition(":")[0],
            "bfloat16": has_bfloat16(device),
        }
        found = hashlib.sha256(json.dumps([self._settings.recipe, asked], sort_keys=True).encode())
        for side in (self._examples.references, self._examples.candidates):
            for text in side:
                found.update(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())
        for array in (self._examples.labels, *(rows.astype(np.int64) for rows in parts)):
            found.update(hashlib.sha256(array.tobytes()).digest())
        return cache_dir() / "crossval" / found.hexdigest()[:32]


def _read(path: Path) -> Floats:
    held: Floats = np.load(path, allow_pickle=False)
    return held
