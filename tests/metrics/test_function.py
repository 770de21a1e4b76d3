"""Python functions, classes and objects as metrics, and scores of plain lists."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sacrebleu
from sacrebleu import sentence_chrf

import assay
from assay.exceptions import AssayError, InputError
from assay.metrics.base import Batch, Declaration, PairMetric
from assay.metrics.registry import registry

ROWS = [(f"text {number}", "text " + "1" * (number % 4), number % 4 % 3) for number in range(20)]


@pytest.fixture(autouse=True)
def own_registry() -> Iterator[None]:
    registry.cache_clear()
    yield
    registry.cache_clear()


def closeness(reference: str, candidate: str) -> float:
    """How near two texts are in length."""
    return -abs(len(reference) - len(candidate))


def lengths(references: list[str], candidates: list[str]) -> list[float]:
    return [len(reference) / (1 + len(candidate)) for reference, candidate in zip(references, candidates, strict=True)]


@dataclass(frozen=True)
class Same(PairMetric):
    declaration = Declaration(name="same-text", summary="equal or not")

    def scorer(self):  # type: ignore[no-untyped-def]
        return lambda reference, candidate: float(reference == candidate)


def scores(result: Any, metric: str) -> list[float]:
    (data,) = result.outcome.datasets
    return data.scores[metric].tolist()


def test_functions_classes_and_objects_are_metrics() -> None:
    result = assay.run([ROWS], [closeness, lengths, Same, "f1"], resamples=0)
    assert [metric.status for metric in result.outcome.metrics] == ["done"] * 4
    assert scores(result, "closeness") == [closeness(reference, candidate) for reference, candidate, _ in ROWS]
    assert scores(result, "lengths") == lengths(*map(list, list(zip(*ROWS, strict=True))[:2]))
    assert scores(result, "same-text") == scores(assay.run([ROWS], [Same()], resamples=0), "same-text")


def test_a_function_is_computed_anew_each_time() -> None:
    """What it reads beside its arguments may have changed: no signature tells."""
    factor = 1.0

    def scaled(reference: str, candidate: str) -> float:
        return factor * len(candidate)

    first = scores(assay.run([ROWS], [scaled], resamples=0), "scaled")
    factor = 2.0
    assert scores(assay.run([ROWS], [scaled], resamples=0), "scaled") == [2 * score for score in first]


def test_a_registered_function_has_a_name_and_a_range() -> None:
    @assay.metric(name="half", low=0, high=1, symmetric=True)
    def anything(reference: str, candidate: str) -> float:
        return 0.5

    assert anything("a", "b") == 0.5, "the function stays what it was"
    assert assay.load_metric("half").declaration.high == 1
    assert any(entry.name == "half" and entry.origin == "this process" for entry in assay.list_metrics())

    @assay.metric
    def half(reference: str, candidate: str) -> float:
        return 0.25

    assert assay.load_metric("half").score(["a"], ["b"]).tolist() == [0.25], "the later one counts"


def test_the_pair_on_which_a_function_raises_is_named_and_others_go_on() -> None:
    def fragile(reference: str, candidate: str) -> float:
        return 1 / (len(reference) - 6)

    rows = [("abc", "b", 0), ("sixsix", "the bad one", 1), ("abcd", "c", 2)] * 4
    result = assay.run([rows], [fragile, "f1"], resamples=0)
    (failure,) = result.failures
    assert "fragile" in failure and "ZeroDivisionError" in failure
    assert "reference 'sixsix', candidate 'the bad one'" in failure and "test_function.py, line" in failure
    assert len(scores(result, "f1")) == 12


@pytest.mark.parametrize(
    ("metric", "problem"),
    [
        (lambda a, b: 1.0, "a lambda has no name"),
        (3, "expected a name such as 'f1', a metric, a function"),
        (dict, "expected a name such as 'f1', a metric, a function"),
    ],
)
def test_what_is_no_metric(metric: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        assay.run([ROWS], [metric], resamples=0)


def test_names_of_others_are_refused() -> None:
    def f1(reference: str, candidate: str) -> float:
        return 0.0

    with pytest.raises(InputError, match="the name 'f1' belongs to assay"):
        assay.run([ROWS], [f1], resamples=0)
    with pytest.raises(InputError, match="the name 'f1' belongs to assay"):
        assay.metric(f1)
    with pytest.raises(InputError, match="cannot be the name of a metric"):
        assay.metric(name="a:b")(closeness)


def test_a_result_that_is_no_number() -> None:
    def words(reference: str, candidate: str) -> Any:
        return candidate

    (failure,) = assay.run([ROWS, "probe"], [words, "f1"], resamples=0).failures[:1]
    assert "could not convert string to float" in failure


def with_factor(reference: str, candidate: str, factor: int) -> float:
    return float(factor * len(candidate))


class Callable:
    """An object that can be called."""

    def __call__(self, reference: str, candidate: str) -> float:
        return float(len(candidate))


def test_what_can_be_called_has_a_name_of_its_own() -> None:
    partial = functools.partial(with_factor, factor=2)
    table = assay.run([ROWS], [partial, Callable()], resamples=0).pairs
    assert table["with_factor"].tolist() == [2 * len(candidate) for _, candidate, _ in ROWS]
    assert table["Callable"].tolist() == [len(candidate) for _, candidate, _ in ROWS]


def test_a_mapping_names_metrics() -> None:
    metrics = {
        "twice": functools.partial(with_factor, factor=2),
        "thrice": functools.partial(with_factor, factor=3),
        "length-of": lambda reference, candidate: len(candidate),
        "words": "f1",
        "f1": "f1",
        "em2": assay.load_metric("em"),
        "own": Same,
        "CHRF2": sacrebleu.CHRF(word_order=2),
        "CHRF": sacrebleu.CHRF(),
    }
    result = assay.run([ROWS], metrics, resamples=0)
    assert list(dict.fromkeys(result.scores["metric"])) == list(metrics)
    table = result.pairs
    assert (table["thrice"] == 3 * table["length-of"]).all() and (table["words"] == table["f1"]).all()
    assert table["CHRF2"].tolist() == [
        sacrebleu.CHRF(word_order=2).sentence_score(text, [gold]).score for gold, text, _ in ROWS
    ]
    assert assay.run([ROWS], [("mine", closeness), "f1"], resamples=0).pairs["mine"].notna().all()


@pytest.mark.parametrize(
    ("metrics", "problem"),
    [
        ({"f1": closeness}, "the name 'f1' belongs to assay"),
        ({"a b": closeness}, "metric 'a b': expected"),
        ({"x": 3.5}, "metric 3.5: expected a name such as 'f1'"),
        ([functools.partial(with_factor, factor=2), functools.partial(with_factor, factor=3)],
         r'the metric with_factor is asked for twice; name each: metrics=\{"with_factor-1": …, "with_factor-2": …\}'),
        ([sacrebleu.CHRF(), sacrebleu.CHRF(word_order=2)], 'name each: metrics={"CHRF-1"'),
        ([closeness, closeness], "the metric closeness is asked for twice$"),
        ([sacrebleu.CHRF], r"not a class; make an object of it: CHRF\(\)$"),
        ([len], r"len\(obj\) must take the texts \(reference, candidate\): too many positional arguments"),
        ([with_factor], r"with_factor\(reference, candidate, factor\) must take the texts .*'factor'"),
    ],
)  # fmt: skip
def test_what_no_mapping_or_list_of_metrics_can_be(metrics: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        assay.run([ROWS], metrics, resamples=0)


def test_the_names_of_parameters_tell_which_text_is_which() -> None:
    """Functions written for sacrebleu or evaluate take the candidate first."""

    def first(candidate: str, reference: str) -> float:
        return float(len(candidate) - 2 * len(reference))

    def lists(predictions: list[str], references: list[str]) -> list[int]:
        return [len(text) - 2 * len(gold) for text, gold in zip(predictions, references, strict=True)]

    def other(hypothesis: str, gold: str) -> float:
        return first(hypothesis, gold)

    def short(pred: str, target: str) -> float:
        return first(pred, target)

    def unnamed(x: str, y: str) -> float:
        return first(y, x)

    table = assay.run([ROWS], [first, lists, other, short, unnamed], resamples=0).pairs
    expected = [len(candidate) - 2 * len(reference) for reference, candidate, _ in ROWS]
    for name in ("first", "lists", "other", "short", "unnamed"):
        assert table[name].tolist() == expected, name


@pytest.mark.parametrize(
    ("returned", "problem"),
    [
        (np.float32(2), ""),
        (np.array([2]), ""),
        (np.array([[2.0]]), ""),
        ([2], ""),
        (True, ""),
        (None, "returned None, expected a number"),
        ({"score": 1.0}, r"returned \{'score': 1.0\}, expected a number"),
        (np.array([1, 2]), r"returned array\(\[1, 2\]\), expected a number"),
        ("x", "returned 'x', expected a number"),
        (float("nan"), "gave nan for the pair"),
    ],
)
def test_what_a_function_of_two_texts_returns(returned: Any, problem: str) -> None:
    def given(reference: str, candidate: str) -> Any:
        return returned

    if not problem:
        assert assay.run([ROWS], [given], resamples=0).pairs["given"].tolist() == [float(np.ravel(returned)[0])] * 20
        return
    with pytest.raises(AssayError, match=f"nothing was scored: metric given on data: {problem}"):
        assay.run([ROWS], [given], resamples=0)


@pytest.mark.parametrize(
    ("returned", "problem"),
    [
        (None, "returned None for"),
        (1.0, "returned 1.0 for"),
        (["a"] * 20, r"returned \['a', 'a'"),
        (
            np.ones((20, 1)),
            r"returned an array of shape \(20, 1\) for 20 pairs, expected a list with a number for each",
        ),
        (iter([1]), "returned <list_iterator"),
    ],
)
def test_what_a_function_of_lists_returns(returned: Any, problem: str) -> None:
    def given(references: list[str], candidates: list[str]) -> Any:
        return returned

    with pytest.raises(AssayError, match=problem):
        assay.load_metric(given).score(["a"] * 20, ["b"] * 20)  # type: ignore[call-arg]


def test_scores_of_lists() -> None:
    metric = assay.load_metric("chrf")
    expected = metric.score(Batch(["Berlin", "a b"], ["Berlin", "b"]))
    np.testing.assert_array_equal(metric.score(["Berlin", "a b"], ["Berlin", "b"]), expected)  # type: ignore[call-arg]
    np.testing.assert_array_equal(
        metric.score(["Berlin", "a b"], candidates=["Berlin", "b"]),  # type: ignore[call-arg]
        expected,
    )
    with pytest.raises(InputError, match="a list of texts each"):
        metric.score("Berlin", "Berlin")  # type: ignore[call-arg, arg-type]
    with pytest.raises(InputError, match="2 references, 1 candidates"):
        metric.score(["a", "b"], ["c"])  # type: ignore[call-arg]
    with pytest.raises(InputError, match="a list of texts each"):
        metric.score([1], ["c"])  # type: ignore[list-item, call-arg]


def test_scores_of_columns_by_name() -> None:
    score: Any = assay.load_metric("chrf").score
    references, candidates = ["Berlin", "a b"], ["in Berlin", "b"]
    expected = [sentence_chrf(text, [gold]).score / 100 for text, gold in zip(candidates, references, strict=True)]
    np.testing.assert_array_equal(score(candidates=candidates, references=references), expected)
    np.testing.assert_array_equal(score(pd.Series(references, index=[5, 3]), np.array(candidates)), expected)


@pytest.mark.parametrize(
    ("columns", "named", "message"),
    [
        # as sacrebleu takes them: candidates first, a list for each set of references
        ((["b", "c"], [["a", "b"]]), {}, r"candidates\[0\] is of type list.*several references per pair"),
        ((["a", None], ["b", "c"]), {}, r"references\[1\] is None"),
        (("a", "b"), {}, "references is of type str"),
        ((), {"references": ["a"], "predictions": ["b"]}, "'candidates'; score takes references and candidates"),
        ((["a"], ["b"]), {"references": ["c"]}, "multiple values for argument 'references'"),
    ],
)
def test_columns_that_are_no_batch(columns: Any, named: Any, message: str) -> None:
    score: Any = assay.load_metric("chrf").score
    with pytest.raises(InputError, match=message):
        score(*columns, **named)


def test_a_list_function_that_returns_too_few_scores() -> None:
    def refs(references: list[str], candidates: list[str]) -> list[float]:
        return [1.0] * 3

    with pytest.raises(AssayError, match="returned 3 scores for 4 pairs"):
        assay.load_metric(refs).score(["a"] * 4, ["b"] * 4)  # type: ignore[call-arg]


def test_scores_outside_of_the_declared_range_are_told() -> None:
    @assay.metric(low=0, high=1)
    def wide(reference: str, candidate: str) -> float:
        return len(candidate) - 6

    (record,) = assay.run([ROWS], ["wide"], resamples=0).outcome.metrics
    assert record.flags == {"score outside of the declared range, 0 to 1": 10}


def test_reports_take_results(tmp_path: Path) -> None:
    result = assay.run([ROWS], [closeness, "f1"], resamples=200)
    assert result.folder is None
    table = assay.compare(result, permutations=200, resamples=200).to_markdown()
    assert "closeness" in table
    assert "closeness" in assay.leaderboard([result], resamples=200).to_markdown()
    kept = assay.baseline(result, tmp_path / "baseline.json")
    assert assay.check(result, kept, resamples=200).passed
    assert "f1" in assay.thresholds(result, positive="label>=1", metrics=["f1"], resamples=200).to_markdown()
