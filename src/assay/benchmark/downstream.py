"""Tasks of encoders: their texts and classes from cards, classifiers of frozen embeddings, and decisions as pairs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from assay.analysis.downstream import SUITES, Classes, DownstreamSettings, TaskOutcome
from assay.benchmark.embeddings import Embedded, Vectors
from assay.common.tables import CONTEXT, OPTIONAL_PAIR_COLUMNS, PAIR_COLUMNS, RUN_COLUMNS, WEIGHT
from assay.datasets import Pairs, load_dataset
from assay.datasets.registry import list_datasets, load_card
from assay.datasets.spec import parse_spec
from assay.exceptions import InputError, unknown_name
from assay.paths import user_path
from assay.statistics.classifiers import check_fold, classify, pair_inputs, stratified_folds
from assay.statistics.crossvalidation import Fold, Rows, codes_of_groups

#: The columns that a run folder may have beside those of encoders.
_TAKEN_NAMES: Final = frozenset((*PAIR_COLUMNS, *OPTIONAL_PAIR_COLUMNS, *RUN_COLUMNS, CONTEXT, WEIGHT))


@dataclass(frozen=True, eq=False)
class EncoderTask:
    """The n rows of a task, those to train on first.

    Attributes:
        name: the name of the task.
        first: the first texts of pairs; empty for single texts.
        second: the second texts of pairs, or the texts.
        class_names: the names of the k classes, sorted.
        classes: the class numbers 0 … k-1, shape (n,).
        groups: the codes of groups that folds do not divide, shape (n,); None for single rows.
        train: the rows to train on; None if folds of all rows are trained on and tested.
        measures: the names of the measures, the one of tables first.
        pairs: the datasets of the parts, for what is said of them.
    """

    name: str
    first: tuple[str, ...]
    second: tuple[str, ...]
    class_names: tuple[str, ...]
    classes: Classes
    groups: Rows | None
    train: Rows | None
    measures: tuple[str, ...]
    pairs: tuple[Pairs, ...]

    @property
    def test(self) -> Rows:
        """The rows to test; all rows with folds."""
        return np.arange(0 if self.train is None else len(self.train), len(self.classes))

    @property
    def tested_groups(self) -> Rows | None:
        """The codes of groups of the rows to test; None for single rows."""
        return None if self.groups is None else self.groups[self.test]

    def folds(self, k: int, seed: int) -> list[Fold]:
        """Return the only division into training and test rows, or *k* folds if the task has no rows to train on.

        Args:
            k: the number of folds, at least 2.
            seed: the seed by which rows or groups are divided into folds.

        Raises:
            InputError: there are fewer rows or groups than folds.
            MissingExtraError: folds are needed, and scikit-learn is not installed.
        """
        if self.train is None:
            return stratified_folds(self.classes, self.groups, k, seed)
        return [Fold("the training part", self.train, self.test)]

    def outcome_of_seeds(self, encoder: str, decided: Classes, seconds: float) -> TaskOutcome:
        """Return the outcome of an encoder that was fine-tuned with s seeds; a right decision scores 1, a wrong one 0.

        Args:
            encoder: the name of the encoder.
            decided: the class numbers that it gave the m rows to test, shape (s, m), one row per seed.
            seconds: the time of fine-tuning.
        """
        classes = self.classes[self.test]
        right = (decided == classes).astype(np.float64)
        return TaskOutcome(
            task=self.name,
            encoder=encoder,
            protocol="seeds",
            measures=self.measures,
            train_rows=len(self.classes) - len(classes),
            classes=classes,
            decided=decided,
            right=right,
            wrong=1 - right,
            parts=np.zeros(len(classes), dtype=np.intp),
            groups=self.tested_groups,
            fit_seconds=seconds,
        )


def task_names(settings: DownstreamSettings) -> list[str]:
    """Return the names of the tasks of the suite in the settings, then of the datasets named there, each card once.

    A task that is named by the path of its card keeps this path as its name.

    Raises:
        InputError: a dataset has no card or is no task, a part of one is named, or two cards have the same name.
    """
    cards = [entry.card for entry in list_datasets() if entry.card is not None and entry.default]
    tasks = [card for card in cards if card.classification is not None]
    names: list[str] = []
    for group in SUITES.get(settings.suite or "", ()):
        names += [card.name for card in tasks if card.classification and group in card.classification.suites]
    for name in settings.datasets:
        task, _, splits = parse_spec(name)
        if splits is not None:
            raise InputError(f"{name}: a task has parts of its own; name it without one: {task}")
        if load_card(name).classification is None:
            raise InputError(unknown_name("there is no task", name, [card.name for card in tasks]))
        names.append(name)
    name_and_identity_of: dict[str, tuple[str, str]] = {}
    for name in names:
        card = load_card(name)
        identity = str(user_path(name).resolve()) if name.endswith(".toml") else card.version
        earlier, earlier_identity = name_and_identity_of.setdefault(card.name, (name, identity))
        if identity != earlier_identity:
            raise InputError(
                f"{earlier} and {name}: both tasks are named {card.name}; leave one out, or give one card another name"
            )
    return [name for name, _ in name_and_identity_of.values()]


def load_task(name: str, settings: DownstreamSettings) -> EncoderTask:
    """Return the task of a card, with the rows of its parts or a sample of each.

    Args:
        name: the name of the card, or the path of its file.
        settings: the size and seed of the sample, and whether downloads are forbidden.

    Raises:
        InputError: the card is no task; its files cannot be read; a row has no class; the rows have one class alone,
            or more than two for a task measured by F1.
        OfflineError, UnavailableError: its files are not on this machine and cannot be downloaded.
    """
    card = load_card(name)
    protocol = card.classification
    if protocol is None:
        raise InputError(f"dataset {name}: is no task; its card has no table classification")
    split_names = (*protocol.train_splits, protocol.test)
    splits = [load_dataset(card, split=split, offline=settings.offline) for split in split_names]
    for split_name, pairs in zip(split_names, splits, strict=True):
        _check_classes(name, protocol.column, split_name, card.splits[split_name].files, pairs)
    count = len(set(_classes_of(splits, protocol.column)))
    if "f1" in protocol.measures and count > 2:
        raise InputError(f"{name}: f1 is a measure of two classes, and there are {count}; use f1-macro in its card")
    if settings.sample is not None:
        samples = []
        for pairs in splits:
            group_column = "group" if "group" in pairs.table.column_names else None
            samples.append(pairs.sample(settings.sample, settings.seed, group_column))
        splits = samples
    classes = _classes_of(splits, protocol.column)
    class_names = sorted(set(classes))
    if len(class_names) < 2:
        raise InputError(f"{name}: has one class alone, {class_names[0]!r}")
    number_of_class = {class_name: number for number, class_name in enumerate(class_names)}
    first_texts, second_texts = _texts_of(splits)
    train_count = sum(map(len, splits[:-1]))
    return EncoderTask(
        name=card.name,
        first=first_texts,
        second=second_texts,
        class_names=tuple(class_names),
        classes=np.array([number_of_class[class_name] for class_name in classes], dtype=np.int64),
        groups=_groups_of_rows(splits),
        train=np.arange(train_count) if protocol.train_splits else None,
        measures=protocol.measures,
        pairs=tuple(splits),
    )


def _classes_of(splits: Sequence[Pairs], column: str) -> list[str]:
    """Return the class of each row, one split after the other."""
    cells = chain.from_iterable(pairs.column(column).to_pylist() for pairs in splits)
    return [str(cell) for cell in cells]


def _texts_of(splits: Sequence[Pairs]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the first and the second text of each row, one split after the other; no first ones for single texts.

    Of several gold answers the first is taken.
    """
    first_texts: list[str] = []
    second_texts: list[str] = []
    for pairs in splits:
        references, candidates, _ = pairs.texts()
        first_texts += [cell if isinstance(cell, str) else cell[0] for cell in references]
        second_texts += candidates
    are_pairs = any(pairs.has_references for pairs in splits)
    return tuple(first_texts) if are_pairs else (), tuple(second_texts)


def _groups_of_rows(splits: Sequence[Pairs]) -> Rows | None:
    """Return the code of each row's group, shape (n,); None if each row is a group of its own."""
    names: list[object] = []
    for pairs in splits:
        has_groups = "group" in pairs.table.column_names
        names += pairs.column("group").to_pylist() if has_groups else [None] * len(pairs)
    groups = codes_of_groups(names)
    return None if groups is None or len(np.unique(groups)) == len(names) else groups


def _check_classes(name: str, column: str, split: str, files: Sequence[str], pairs: Pairs) -> None:
    """Raise InputError if a row has no class: an empty cell, blanks, or no number.

    Args:
        name: the name of the task, for the message.
        column: the column of classes.
        split, files: the name of the split and of its files, for the message.
        pairs: the rows of the split.
    """
    cells = pairs.column(column).to_pylist()
    ids = pairs.column("pair_id").to_pylist()
    for number, (cell, pair_id) in enumerate(zip(cells, ids, strict=True), start=1):
        # NaN, no number, is the only value that does not equal itself
        is_absent = cell is None or cell != cell
        if is_absent or not str(cell).strip():
            where = f"{', '.join(files)} ({name}, {split})"
            raise InputError(
                f"{where}, row {number:,} (pair {pair_id}): no class in the column {column!r}; give it one, or leave "
                "the row out"
            )


def check_fine_tuned(task: EncoderTask) -> None:
    """Check, before anything is trained, that an encoder can be fine-tuned for a task.

    Raises:
        InputError: there is no part to train on, or it has one class alone.
    """
    if task.train is None:
        raise InputError(f"{task.name}: has no part to train on; fine-tuning needs one")
    if len(np.unique(task.classes[task.train])) < 2:
        raise InputError(f"{task.name}: the {len(task.train):,} rows to train on have one class alone")


def check_frozen(task: EncoderTask, settings: DownstreamSettings) -> None:
    """Check, before anything is embedded, that classifiers can be fitted for a task.

    Raises:
        InputError: there are fewer rows or groups than folds, or the rows to train on have one class alone or are too
            few to choose the regularisation.
        MissingExtraError: scikit-learn is not installed.
    """
    try:
        for fold in task.folds(settings.folds, settings.seed):
            check_fold(task.classes, fold, groups=task.groups, seed=settings.seed)
    except InputError as error:
        raise InputError(f"{task.name}: ", error.message) from error


def frozen_outcome(task: EncoderTask, encoder: str, embedded: Embedded, settings: DownstreamSettings) -> TaskOutcome:
    """Return the outcome of a task by classifiers of an encoder's embeddings, one per fold.

    Args:
        task: the task, with n rows.
        encoder: the name of the encoder.
        embedded: the embeddings of all texts of the task.
        settings: the classifier, the number of folds and the seed.

    Raises:
        InputError: as for :func:`check_frozen`.
        MissingExtraError: scikit-learn is not installed.
    """
    inputs: Vectors = embedded.of(task.second)
    if task.first:
        inputs = pair_inputs(embedded.of(task.first), inputs)
    folds = task.folds(settings.folds, settings.seed)
    n = len(task.classes)
    decided, fold_of_row = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.intp)
    right, wrong = np.zeros(n), np.zeros(n)
    fits = []
    for fold_number, fold in enumerate(folds):
        fit = classify(
            settings.classifier,
            inputs,
            task.classes,
            fold,
            groups=task.groups,
            count=len(task.class_names),
            seed=settings.seed,
        )
        fits.append(fit)
        fold_of_row[fold.test] = fold_number
        decided[fold.test] = fit.decided
        right[fold.test], wrong[fold.test] = _right_and_wrong(fit.probabilities, task.classes[fold.test])
    return TaskOutcome(
        task=task.name,
        encoder=encoder,
        protocol="folds" if task.train is None else "test",
        measures=task.measures,
        train_rows=len(folds[0].train),
        classes=task.classes[task.test],
        # one row, as for a single seed
        decided=decided[None, task.test],
        right=right[None, task.test],
        wrong=wrong[None, task.test],
        parts=fold_of_row[task.test],
        groups=task.tested_groups,
        strengths=tuple(fit.strength for fit in fits),
        unconverged=sum(not fit.converged for fit in fits),
        fit_seconds=sum(fit.seconds for fit in fits),
    )


def _right_and_wrong(
    probabilities: NDArray[np.float64], classes: Classes
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the probability of the labelled class and the highest of another class, shape (m,) each."""
    rows = np.arange(len(classes))
    other_probabilities = probabilities.copy()
    other_probabilities[rows, classes] = -np.inf
    return probabilities[rows, classes], other_probabilities.max(axis=1)


def column_names(encoders: Sequence[str]) -> dict[str, str]:
    """Return a distinct name for each encoder that an alias of a metric may have, and that no column of a run has."""
    names: dict[str, str] = {}
    for encoder in encoders:
        name = re.sub(r"[^A-Za-z0-9_.-]+", "-", encoder).strip("-.") or "encoder"
        while name in names.values() or name in _TAKEN_NAMES:
            name += "-2"
        names[encoder] = name
    return names


def decisions_as_pairs(task: EncoderTask, outcomes: Sequence[TaskOutcome], names: Mapping[str, str]) -> Pairs:
    """Return the tested rows of a task as pairs of a text and a class, with a column of scores by encoder and seed.

    There are two pairs for each row, which are a group: the class that it is labelled with (label 1), scored by the
    probability of this class, and another class (label 0), scored by the highest probability of one. The pair accuracy
    within groups is then the accuracy of the decisions. Two texts of a task are joined by a line break.

    Args:
        task: the task.
        outcomes: the decisions for it that follow from each encoder.
        names: the name of the column of each encoder.
    """
    texts = [task.second[row] if not task.first else f"{task.first[row]}\n{task.second[row]}" for row in task.test]
    class_names = [task.class_names[number] for number in task.classes[task.test]]
    other_classes = [_other_class(name, task.class_names) for name in class_names]
    ids = [str(row + 1) for row in range(len(texts))]
    columns = {
        "pair_id": _alternating([f"{number}-right" for number in ids], [f"{number}-other" for number in ids]),
        "reference": _alternating(texts, texts),
        "candidate": _alternating(class_names, other_classes),
        "label": [1.0, 0.0] * len(texts),
        "group": _alternating(ids, ids),
    }
    for outcome in outcomes:
        for seed in range(len(outcome.decided)):
            name = names[outcome.encoder] + (f"-seed{seed}" if outcome.protocol == "seeds" else "")
            columns[name] = _alternating(outcome.right[seed].tolist(), outcome.wrong[seed].tolist())
    tested = task.pairs[-1]
    return Pairs(
        pa.table(columns),
        name=task.name,
        language=tested.language,
        scale=(0.0, 1.0),
        kind=tested.kind,
        # no card has these pairs, from which a run could be computed again
        source="data in memory",
        notes=(f"tested rows of {tested.name}, {tested.split}: each with its class, and with another class",),
    )


def _other_class(name: str, class_names: tuple[str, ...]) -> str:
    other_classes = [other for other in class_names if other != name]
    return other_classes[0] if len(other_classes) == 1 else f"another class than {name}"


def _alternating(first: Sequence[object], second: Sequence[object]) -> list[object]:
    return [cell for cells in zip(first, second, strict=True) for cell in cells]
