"""Classifiers of frozen embeddings, compared with scikit-learn used directly on the same folds."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is absent: pip install assay[neural]")

from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from assay.exceptions import InputError
from assay.statistics.classifiers import (
    INNER_FOLDS,
    MAX_STEPS,
    STRENGTHS,
    check_fold,
    classify,
    pair_inputs,
    stratified_folds,
)
from assay.statistics.crossvalidation import Fold


def drawn(n: int, k: int, spread: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return n rows of 12 inputs around the centres of k classes, and the class numbers."""
    rng = np.random.default_rng(seed)
    classes = np.arange(n) % k
    centres = rng.normal(size=(k, 12))
    return (centres[classes] + spread * rng.normal(size=(n, 12))).astype(np.float32), classes.astype(np.int64)


@pytest.mark.parametrize("k", [2, 3])
def test_decisions_are_those_of_scikit_learn_on_the_same_folds(k: int) -> None:
    inputs, classes = drawn(240, k, 2.0)
    folds = stratified_folds(classes, None, 5, seed=3)
    direct = StratifiedKFold(5, shuffle=True, random_state=3).split(inputs, classes)
    for fold, (train, test) in zip(folds, direct, strict=True):
        assert (fold.train == train).all() and (fold.test == test).all()
        found = classify("logistic", inputs, classes, fold, groups=None, count=k, seed=3)
        search = GridSearchCV(
            LogisticRegression(max_iter=MAX_STEPS),
            {"C": STRENGTHS},
            cv=StratifiedKFold(INNER_FOLDS, shuffle=True, random_state=3),
        ).fit(inputs[train].astype(np.float64), classes[train])
        assert found.strength == search.best_params_["C"] and found.converged
        assert found.decided.tolist() == search.predict(inputs[test].astype(np.float64)).tolist()
        assert found.probabilities == pytest.approx(search.predict_proba(inputs[test].astype(np.float64)), abs=1e-6)
        assert (found.decided == classes[test]).mean() > 1.2 / k


def test_a_hidden_layer_learns_what_no_linear_function_tells_apart() -> None:
    rng = np.random.default_rng(1)
    inputs = rng.normal(size=(800, 2)).astype(np.float32)
    classes = (inputs[:, 0] * inputs[:, 1] > 0).astype(np.int64)
    fold = stratified_folds(classes, None, 2, seed=0)[0]
    right = {}
    for kind in ("logistic", "hidden"):
        found = classify(kind, inputs, classes, fold, groups=None, count=2, seed=0)
        right[kind] = (found.decided == classes[fold.test]).mean()
    assert right["hidden"] > 0.8 > 0.65 > right["logistic"]


def test_folds_have_equal_shares_and_keep_groups_whole() -> None:
    classes = np.array([0, 1] * 30, dtype=np.int64)
    groups = np.repeat(np.arange(20), 3)
    folds = stratified_folds(classes, groups, 4, seed=0)
    assert np.sort(np.concatenate([fold.test for fold in folds])).tolist() == list(range(60))
    for fold in folds:
        assert not set(groups[fold.train]) & set(groups[fold.test])
        assert abs(classes[fold.test].mean() - 0.5) < 0.15
    with pytest.raises(InputError, match="expected 2 to 20"):
        stratified_folds(classes, groups, 21, seed=0)


def test_a_class_that_no_training_row_has_is_never_decided() -> None:
    inputs, classes = drawn(60, 3, 0.1)
    train = np.flatnonzero(classes[:40] < 2)
    found = classify("logistic", inputs, classes, Fold("f", train, np.arange(40, 60)), groups=None, count=3, seed=0)
    assert set(found.decided) == {0, 1} and not found.probabilities[:, 2].any()
    with pytest.raises(InputError, match="one class alone"):
        only = np.flatnonzero(classes == 0)
        classify("logistic", inputs, classes, Fold("f", only, np.arange(3)), groups=None, count=3, seed=0)


def test_classes_with_a_single_row_are_divided_too() -> None:
    inputs, _ = drawn(150, 3, 0.1)
    classes = np.arange(150, dtype=np.int64) % 120
    fold = Fold("f", np.arange(130), np.arange(130, 150))
    found = classify("logistic", inputs, classes, fold, groups=None, count=120, seed=0)
    assert found.probabilities.shape == (20, 120)
    assert found.probabilities.sum(axis=1) == pytest.approx(np.ones(20), abs=1e-4)


@pytest.mark.parametrize("kind", ["logistic", "hidden"])
@pytest.mark.parametrize("counts", [(9, 2, 1), (30, 30, 1), (3, 3), (3, 1), (1, 1, 1)])
@pytest.mark.parametrize("grouped", [False, True], ids=["rows", "groups"])
def test_rare_classes_and_few_rows_are_fitted(
    monkeypatch: pytest.MonkeyPatch, kind: str, counts: tuple[int, ...], *, grouped: bool
) -> None:
    monkeypatch.setattr("assay.statistics.classifiers.MAX_STEPS", 10)
    classes = np.repeat(np.arange(len(counts)), counts).astype(np.int64)
    inputs = np.random.default_rng(0).normal(size=(len(classes), 3)).astype(np.float32)
    groups = np.arange(len(classes)) // 2 if grouped else None
    fold = Fold("f", np.arange(len(classes)), np.arange(1))
    found = classify(kind, inputs, classes, fold, groups=groups, count=len(counts), seed=0)
    assert found.probabilities.shape == (1, len(counts)) and found.strength > 0


def test_rows_that_cannot_choose_the_regularisation_are_refused() -> None:
    classes, fold = np.array([0, 0, 1, 1], dtype=np.int64), Fold("fold 3", np.arange(4), np.arange(1))
    check_fold(classes, fold, groups=None, seed=0)
    with pytest.raises(InputError, match=r"fold 3: the 4 rows .* too few .*; two classes need two groups each"):
        check_fold(classes, fold, groups=np.array([0, 0, 1, 1]), seed=0)
    with pytest.raises(InputError, match=r"fold 3: the 2 rows .* too few .*; two classes need two rows each"):
        check_fold(classes[1:3], Fold("fold 3", np.arange(2), np.arange(1)), groups=None, seed=0)
    with pytest.raises(InputError, match="fold 3: the 2 rows to train on have one class alone"):
        check_fold(classes, Fold("fold 3", np.arange(2), np.arange(1)), groups=None, seed=0)


def test_inputs_of_pairs() -> None:
    first, second = np.array([[1, 2]], np.float32), np.array([[3, -1]], np.float32)
    assert pair_inputs(first, second).tolist() == [[1, 2, 3, -1, 2, 3, 3, -2]]
