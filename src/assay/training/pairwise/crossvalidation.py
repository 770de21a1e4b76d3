"""A training recipe as a method of cross-validation: a model is trained on some pairs and scores the others."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.analysis.thresholds.search import decide
from assay.analysis.thresholds.training import are_yes_or_no, find_threshold
from assay.common.messages import Message, Setting
from assay.common.progress import Progress
from assay.exceptions import InputError, suggestion_for
from assay.metrics.models import locate
from assay.metrics.name import MetricName
from assay.metrics.neural.runtime import Runtime, devices_of
from assay.paths import cache_dir, make_private_folder
from assay.statistics.crossvalidation import Fold, Partition, Rows, codes_of, join_codes
from assay.training.data import Examples
from assay.training.folder import load_scores, lock_file, report_full_disk, save_scores
from assay.training.labels import scaled_labels
from assay.training.loop import has_bfloat16
from assay.training.pairwise.job import fit_model, job_of, start_model
from assay.training.pairwise.settings import LEARNING, LOSSES, PairSettings
from assay.training.pairwise.trainer import score_rows
from assay.training.sets import groups_note, hold_out_rows
from assay.training.settings import versions

Floats = NDArray[np.float64]


#: The settings that a recipe may name.
_OPTIONS = (*LEARNING, "steps", "seed")


def parse_recipe(text: str, scale: str | None = None, classes: str | None = None) -> PairSettings:
    """Return the settings of ``RECIPE:BASE[,setting=value]...``, such as ``bi-encoder:all-MiniLM-L6-v2,epochs=2``.

    Args:
        text: the recipe.
        scale: the lowest and the highest label, ``LOW,HIGH``; None if the data states them.
        classes: the column with classes to learn; None to learn the labels.

    Raises:
        InputError: the text has another form, the recipe or a setting is unknown, a value has the wrong type or is out
            of its range, or two settings do not go together.
    """
    recipe = MetricName.parse(text)
    if recipe.name not in LOSSES or recipe.subject is None:
        raise InputError(
            f"expected RECIPE:BASE[,setting=value]...; recipes: {', '.join(LOSSES)}", setting="train", value=text
        )
    values: dict[str, object] = {"scale": scale, "classes": classes}
    for key, value in recipe.options:
        if key not in _OPTIONS:
            raise InputError(
                f"there is no setting {key!r}.{suggestion_for(key, _OPTIONS)}", setting="train", value=text
            )
        value_type = LEARNING.get(key, int)  # steps and seed, which it lacks, are whole numbers
        try:
            values[key] = value_type(value)
        except ValueError:
            raise InputError(
                f"{key}={value} is not of type {value_type.__name__}", setting="train", value=text
            ) from None
    # The datasets and the folder are placeholders, since the pairs of a fold are not loaded by name.
    return PairSettings(recipe.name, recipe.subject, ("the pairs of the other folds",), "scores", **values)  # type: ignore[arg-type]  # text that the settings check


class FoldTrainer:
    """Trains a new model for every fold and returns its scores of the held-out pairs.

    A tenth of the training pairs chooses the best step, held out by :func:`~assay.training.sets.hold_out_rows`. Scores
    are cached and checkpoints kept, so that an interrupted cross-validation continues within its fold. If several
    processes need the same fold, one of them trains it and the others wait for its scores.

    Args:
        settings: the settings of the recipe, from :func:`parse_recipe`.
        examples: all n pairs.
        runtime: the device and the number of threads.
        progress: receives every step.
        decides_yes_or_no: whether to return decisions, 0 or 1, at the best threshold on the pairs that choose the best
            step, instead of scores. With classes, class numbers are returned: indices into the sorted names.

    Raises:
        InputError, UnavailableError: the base model does not exist or is unavailable.
    """

    def __init__(
        self,
        settings: PairSettings,
        examples: Examples,
        runtime: Runtime,
        progress: Progress,
        *,
        decides_yes_or_no: bool = False,
    ) -> None:
        self._settings, self._examples = settings, examples
        self._decides_yes_or_no = decides_yes_or_no
        self._runtime, self._progress = runtime, progress
        self._base = locate(settings.base)

    def check_partition(self, partition: Partition) -> str:
        """Check, before anything is trained, that a model can be trained for every fold.

        Args:
            partition: the folds of the cross-validation, and the groups that are left out one at a time.

        Returns:
            A note on texts of held-out pairs that also occur in training pairs; empty if there are none.

        Raises:
            InputError: a label is missing or outside the scale; decisions are wanted, and the labels are not 0 and 1
                alone; or, in a fold, the pairs to train on or those that choose the best step are too few or all have
                one label, or no pair to train on has one of the classes.
        """
        if not self._settings.classes:
            labels = scaled_labels(self._examples, self._settings.scale_bounds())
            if self._decides_yes_or_no and not are_yes_or_no(labels):
                raise InputError(
                    f"{self._examples.sources[0].name}: decisions need labels that are the lowest and the highest of "
                    "the scale alone; name these with ",
                    Setting("scale"),
                )
        counts_and_shares = []
        for fold in partition.folds:
            self._check_learnable(
                fold.train, fold.name, Message("use more ", Setting("folds"), ", or another ", Setting("seed"))
            )
            counts_and_shares.append(self._count_shared_texts(fold))
        for fold in partition.left_out:
            self._check_learnable(fold.train, f"{fold.name!r} left out", Message("do without ", Setting("by")))
            counts_and_shares.append(self._count_shared_texts(fold))
        counts, shares = zip(*counts_and_shares, strict=True)
        if not any(counts):
            return ""
        return (
            f"{min(counts):,} to {max(counts):,} texts of the pairs held out at a time also occur in training pairs, "
            f"with others: {np.mean(shares):.1%} of them on average"
        )

    def __call__(self, train: Rows, test: Rows) -> Floats:
        """Return the scores of the test rows by a model trained on the training rows, float64, shape (n,).

        They are decisions or class numbers if the trainer returns these, see :class:`FoldTrainer`. Scores in the cache
        are returned without training; new ones are written to it. While another process trains the same model, this one
        waits.

        Args:
            train: the numbers of the training rows.
            test: the numbers of the n test rows.

        Raises:
            InputError: the pairs cannot be learned, see :meth:`check_partition`; the training diverged; or the disk is
                full.
            UnavailableError: the base model cannot be loaded or trained.
        """
        learned, dev = self._split_training_rows(train)
        work_folder = self._work_folder(learned, dev, test)
        path = work_folder.with_suffix(".npy")
        scores = load_scores(path)
        if scores is not None:
            return scores
        with report_full_disk(work_folder.parent):
            make_private_folder(work_folder.parent)
            with lock_file(work_folder.with_suffix(".lock"), self._report_waiting):
                scores = load_scores(path)
                if scores is None:  # no other process has trained the model meanwhile
                    scores = self._train_fold(work_folder, learned, dev, test)
                    save_scores(path, scores)
                    shutil.rmtree(work_folder)
        return scores

    @property
    def _targets(self) -> NDArray[Any]:
        """What is learned, shape (n,): the class of each pair, or its label."""
        return np.array(self._examples.classes) if self._settings.classes else self._examples.labels

    def _report_waiting(self) -> None:
        self._progress.say("another process trains the model of this fold: waiting for its scores")

    def _train_fold(self, checkpoints: Path, learned: Rows, dev: Rows, test: Rows) -> Floats:
        """Train a model, with its checkpoints in a folder, and return its scores of the n test rows, shape (n,).

        They are class numbers, or decisions 0 and 1, where the trainer returns these. The errors are those of
        :meth:`__call__`.
        """
        seed = self._settings.seed
        rows_of_sets = {"train": learned, "dev": dev, "test": test}
        sets = {name: self._examples.take(rows) for name, rows in rows_of_sets.items()}
        job = job_of(self._settings, self._base, sets, {}, self._runtime, self._progress, scored_test=False)
        loss = start_model(job, seed)
        fit_model(job, loss, seed, checkpoints)
        scores = score_rows(loss, job.rows["test"])[0]
        if not self._decides_yes_or_no:
            return scores
        dev_rows = job.rows["dev"]
        threshold = find_threshold(score_rows(loss, dev_rows)[0], job.labels[dev_rows])
        return decide(scores, threshold).astype(np.float64)

    def _split_training_rows(self, train: Rows) -> tuple[Rows, Rows]:
        """Return the training rows to learn from and those that choose the best step; they have no group in common."""
        learned, dev = hold_out_rows(self._unsplittable_groups(train), self._settings.seed)
        return train[learned], train[dev]

    def _unsplittable_groups(self, train: Rows) -> NDArray[np.int64]:
        """Return the group number of each of n training rows, shape (n,), so that rows with one number stay together.

        Rows share a number if they are of one group or have the same pair of texts, directly or through other rows.
        """
        keys = self._examples.keys
        return join_codes(self._examples.groups[train], codes_of(keys[row] for row in train.tolist()))

    def _check_learnable(self, train: Rows, fold: str, remedy: str) -> None:
        """Raise InputError if the training rows of a fold are too few, have one label alone, or lack a class.

        Args:
            train: the numbers of the training rows.
            fold: the name of the fold in the message.
            remedy: what the user can change, for the message.
        """
        learned, dev = self._split_training_rows(train)
        where = f"{self._examples.sources[0].name}, {fold}"
        if len(dev) < 2:
            groups = groups_note(self._unsplittable_groups(train))
            needed = "pairs of more groups" if groups else "more pairs"
            raise InputError(
                f"{where}: {len(train):,} pairs{groups} are too few to train a model and to choose its best step; ",
                remedy,
                f", or give {needed}",
            )
        self._check_two_labels(learned, f"{where}: the {len(learned):,} pairs to train", remedy)
        # the model knows the classes of its training pairs alone, and the other pairs may have no further one
        absent = set(self._examples.classes) - set(self._targets[learned].tolist())
        if absent:
            raise InputError(f"{where}: no pair to train has the class {min(absent)!r}; ", remedy)
        dev_remedy = Message("give ", Setting("train"), " a seed=N, or ", remedy)
        self._check_two_labels(dev, f"{where}: the {len(dev):,} pairs to choose the best step", dev_remedy)

    def _check_two_labels(self, rows: Rows, pairs_phrase: str, remedy: str) -> None:
        """Raise InputError if rows have one label, or one class, alone.

        Args:
            rows: the numbers of the rows, at least one.
            pairs_phrase: the fold and the use of the rows, for the message.
            remedy: what the user can change, for the message.
        """
        values = set(self._targets[rows].tolist())
        if len(values) == 1:
            (value,) = values
            only_label = f"class alone, {value}" if self._settings.classes else f"label alone, {value:g}"
            raise InputError(f"{pairs_phrase} have one {only_label}, where two are needed; ", remedy)

    def _count_shared_texts(self, fold: Fold) -> tuple[int, float]:
        """Return the number of test texts that also occur in training pairs, and their share of the test texts."""
        learned, _ = self._split_training_rows(fold.train)
        test_texts = self._examples.take(fold.test).texts
        shared_count = len(test_texts & self._examples.take(learned).texts)
        return shared_count, shared_count / len(test_texts)

    def _work_folder(self, *row_arrays: Rows) -> Path:
        """Return the folder of a fold in the cache, named by a digest of everything that decides its scores.

        Args:
            *row_arrays: the numbers of the rows to learn from, to choose the best step, and to test.
        """
        device = devices_of(self._runtime)[0]
        request = {
            "settings": self._settings.plain_values(),
            "base": self._base.digest,
            "versions": versions(),
            "device": device.partition(":")[0],
            "bfloat16": has_bfloat16(device),
        }
        if self._decides_yes_or_no:
            request["decides"] = "f1-macro"
        digest = hashlib.sha256(json.dumps([self._settings.recipe, request], sort_keys=True).encode())
        for column in (self._examples.references, self._examples.candidates, self._examples.classes):
            for text in column:
                # Texts of the user's own may hold lone surrogates, which UTF-8 refuses to encode.
                digest.update(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())
        for array in (self._examples.labels, *(rows.astype(np.int64) for rows in row_arrays)):
            digest.update(hashlib.sha256(array.tobytes()).digest())
        return cache_dir() / "crossval" / digest.hexdigest()[:32]
