"""Classifiers of frozen embeddings: logistic regression or one hidden layer, with the regularisation chosen within.

The protocol is that of SentEval (Conneau and Kiela, SentEval: An Evaluation Toolkit for Universal Sentence
Representations, 2018): the embeddings are inputs as they are, and the strength of regularisation is the one with the
highest accuracy on parts of the training rows that are held out in turn. scikit-learn fits the classifiers.
"""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from assay.exceptions import InputError, MissingExtraError
from assay.statistics.concordance import Floats
from assay.statistics.crossvalidation import Fold, Rows, make_folds

Inputs = NDArray[np.float32]
Classes = NDArray[np.int64]
ClassifierKind = Literal["logistic", "hidden"]

#: The inverse strengths of regularisation of logistic regression, from strong to weak.
STRENGTHS: Final = tuple(4.0**power for power in range(-3, 4))
#: The penalties of the network with a hidden layer, from strong to weak, and the units of this layer.
PENALTIES, HIDDEN_UNITS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5), 50
#: The parts of the training rows that choose the regularisation. With more classes than MANY_CLASSES, only one of them
#: does, since a fit takes minutes.
INNER_FOLDS, MANY_CLASSES = 5, 100
#: The most steps of the optimiser.
MAX_STEPS = 1000


@dataclass(frozen=True, eq=False)
class Classified:
    """The decisions of a classifier on m test rows.

    Attributes:
        decided: the decided class numbers, shape (m,).
        probabilities: the probability of each class, shape (m, k); 0 for a class that no training row has.
        strength: the chosen regularisation, one of :data:`STRENGTHS` or of :data:`PENALTIES`.
        converged: whether the optimiser ended before its most steps.
        seconds: the CPU time of choosing and fitting.
    """

    decided: Classes
    probabilities: Floats
    strength: float
    converged: bool
    seconds: float


def import_sklearn() -> Any:
    """Return the package scikit-learn with the modules that are used here.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        import sklearn
        import sklearn.linear_model
        import sklearn.model_selection
        import sklearn.neural_network
    except ImportError as error:
        raise MissingExtraError("scikit-learn", "neural") from error
    return sklearn


def pair_inputs(first: Inputs, second: Inputs) -> Inputs:
    """Return u, v, |u - v| and u · v of the embeddings of two texts side by side, shape (n, 4 d)."""
    return np.concatenate([first, second, np.abs(first - second), first * second], axis=1)


def stratified_folds(classes: Classes, groups: Rows | None, k: int, seed: int) -> list[Fold]:
    """Return k folds with about equal shares of the classes, which test every row once; groups stay whole.

    A class with fewer rows than folds is in some of them only. Classes are ignored if
    that holds for all of them, and if a fold would be empty otherwise, as with few groups.

    Args:
        classes: the class numbers, shape (n,).
        groups: the codes of groups, shape (n,); None for single rows.
        k: the number of folds.
        seed: the seed of the division.

    Raises:
        InputError: *k* is below 2, or above the number of rows or groups.
        MissingExtraError: scikit-learn is not installed.
    """
    units = len(classes) if groups is None else len(np.unique(groups))
    if not 2 <= k <= units:
        raise InputError(f"expected 2 to {units:,}, the number of rows or groups", setting="folds", value=k)
    return [
        Fold(f"fold {number}", train, test)
        for number, (train, test) in enumerate(_divisions(classes, groups, k, seed), start=1)
    ]


def check_fold(classes: Classes, fold: Fold, *, groups: Rows | None, seed: int) -> None:
    """Check, before anything is embedded, that a classifier can be fitted to the training rows of a fold.

    Args:
        classes: the class numbers, shape (n,).
        fold: the training rows and the test rows.
        groups: the codes of groups that are not divided, shape (n,); None for single rows.
        seed: the seed of divisions.

    Raises:
        InputError: the training rows have one class alone, or no part of them can choose the regularisation.
        MissingExtraError: scikit-learn is not installed.
    """
    train_classes = classes[fold.train]
    train_count = f"{len(train_classes):,}"
    if len(np.unique(train_classes)) < 2:
        raise InputError(f"{fold.name}: the {train_count} rows to train on have one class alone")
    if not _inner_divisions(train_classes, None if groups is None else groups[fold.train], seed):
        units = "rows" if groups is None else "groups"
        raise InputError(
            f"{fold.name}: the {train_count} rows to train on are too few to choose the regularisation; two classes "
            f"need two {units} each"
        )


def classify(
    kind: ClassifierKind, inputs: Inputs, classes: Classes, fold: Fold, *, groups: Rows | None, count: int, seed: int
) -> Classified:
    """Return the decisions on the test rows of a fold by a classifier that is fitted to its training rows.

    Args:
        kind: logistic regression, or a network with one hidden layer.
        inputs: one row of inputs per text or pair, shape (n, d).
        classes: the class numbers 0 … k-1, shape (n,).
        fold: the training rows and the test rows.
        groups: the codes of groups that are not divided, shape (n,); None for single rows.
        count: the number k of classes.
        seed: the seed of divisions and of the hidden layer.

    Raises:
        InputError: as for :func:`check_fold`.
        MissingExtraError: scikit-learn is not installed.
    """
    started = time.process_time()
    # in double precision, in which the optimiser converges; a fit of many classes takes too long for that
    precision: type[np.floating[Any]] = np.float32 if count > MANY_CLASSES else np.float64
    train_inputs, train_classes = inputs[fold.train].astype(precision), classes[fold.train]
    check_fold(classes, fold, groups=groups, seed=seed)
    train_groups = None if groups is None else groups[fold.train]
    strength = _best_strength(kind, train_inputs, train_classes, train_groups, seed)
    model = _model(kind, strength, seed, train_classes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it did not converge is part of the result
        model.fit(train_inputs, train_classes)
    probabilities = np.zeros((len(fold.test), count))
    probabilities[:, model.classes_] = model.predict_proba(inputs[fold.test].astype(precision))
    converged = int(np.max(model.n_iter_)) < MAX_STEPS
    decided = np.argmax(probabilities, axis=1).astype(np.int64)
    return Classified(decided, probabilities, strength, converged, time.process_time() - started)


def _best_strength(
    kind: ClassifierKind, inputs: NDArray[np.floating[Any]], classes: Classes, groups: Rows | None, seed: int
) -> float:
    """Return the regularisation with the highest mean accuracy on held-out parts; of equal ones, the strongest.

    With more than :data:`MANY_CLASSES` classes, one part alone decides.

    Args:
        kind: the classifier.
        inputs: what it reads of the n training rows, shape (n, d).
        classes: their class numbers, shape (n,).
        groups: the codes of groups that no part divides, shape (n,); None for single rows.
        seed: the seed of the parts and of the classifier.
    """
    strengths = STRENGTHS if kind == "logistic" else PENALTIES
    divisions = _inner_divisions(classes, groups, seed)
    if len(np.unique(classes)) > MANY_CLASSES:
        divisions = divisions[:1]
    accuracies = np.zeros((len(divisions), len(strengths)))
    for number, (train, test) in enumerate(divisions):
        # each fit begins where the one with the next stronger regularisation ended
        model = _model(kind, strengths[0], seed, classes[train], warm_start=kind == "logistic")
        for column, strength in enumerate(strengths):
            model.set_params(**_regularisation(kind, strength))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(inputs[train], classes[train])
            accuracies[number, column] = (model.predict(inputs[test]) == classes[test]).mean()
    return float(strengths[int(np.argmax(accuracies.mean(axis=0)))])


def _inner_divisions(classes: Classes, groups: Rows | None, seed: int) -> list[tuple[Rows, Rows]]:
    """Return the divisions of the training rows that choose the regularisation: those with two classes to fit.

    There are at most :data:`INNER_FOLDS`, fewer for fewer rows or groups, and none for a single one.
    """
    units = len(classes) if groups is None else len(np.unique(groups))
    if units < 2:
        return []
    divisions = _divisions(classes, groups, min(INNER_FOLDS, units), seed)
    return [(train, test) for train, test in divisions if len(np.unique(classes[train])) > 1]


def _model(kind: ClassifierKind, strength: float, seed: int, classes: Classes, *, warm_start: bool = False) -> Any:
    """Return an unfitted classifier of scikit-learn.

    Args:
        kind: the kind of classifier.
        strength: its regularisation, one of :data:`STRENGTHS` or of :data:`PENALTIES`.
        seed: the seed of a network's weights and of what it holds out.
        classes: the class numbers of the rows that it will be fitted to, which decide whether it can hold out some.
        warm_start: whether a fit begins at the weights of the last one.
    """
    sklearn = import_sklearn()
    regularisation = _regularisation(kind, strength)
    if kind == "logistic":
        return sklearn.linear_model.LogisticRegression(max_iter=MAX_STEPS, warm_start=warm_start, **regularisation)
    # scikit-learn holds out a tenth with every class in both parts; with fewer rows, steps end when the loss does
    counts = np.unique(classes, return_counts=True)[1]
    stops_early = bool(counts.min() > 1 and math.ceil(len(classes) / 10) >= max(2, len(counts)))
    return sklearn.neural_network.MLPClassifier(
        (HIDDEN_UNITS,), max_iter=MAX_STEPS, early_stopping=stops_early, random_state=seed, **regularisation
    )


def _regularisation(kind: ClassifierKind, strength: float) -> dict[str, float]:
    return {"C": strength} if kind == "logistic" else {"alpha": strength}


def _divisions(classes: Classes, groups: Rows | None, k: int, seed: int) -> list[tuple[Rows, Rows]]:
    """Return k divisions into training rows and test rows, with equal shares of the classes as far as possible.

    The rows, or groups, are divided at random if every class is too rare to be in each part, and if with equal shares a
    part would be empty.
    """
    selection = import_sklearn().model_selection
    settings = {"n_splits": k, "shuffle": True, "random_state": seed}
    rows = np.zeros(len(classes))
    are_all_rare = np.bincount(classes).max() < k
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a class has fewer rows than there are parts
        if groups is None:
            if are_all_rare:
                return list(selection.KFold(**settings).split(rows))
            return list(selection.StratifiedKFold(**settings).split(rows, classes))
        if are_all_rare:
            divisions = []
        else:
            divisions = list(selection.StratifiedGroupKFold(**settings).split(rows, classes, groups))
    if divisions and all(len(test) and len(train) for train, test in divisions):
        return divisions
    # few groups: equal shares of classes may leave a part without any
    return [(fold.train, fold.test) for fold in make_folds(groups, k, np.random.default_rng(seed))]
