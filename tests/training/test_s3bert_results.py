"""What is said of a training: groups in its intervals, several seeds in one table, the command that makes it again."""

from __future__ import annotations

import shlex
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from assay.exceptions import InputError
from assay.reports.formats import format_document
from assay.reports.train import aspects_document
from assay.training.data import load_examples
from assay.training.s3bert.evaluation import (
    RESAMPLES,
    Embedded,
    agreement_with_people,
    comparable_scores,
    records_over_seeds,
)
from assay.training.s3bert.settings import S3BertSettings


def test_people_are_agreed_with_by_whole_groups(pairs_file):
    """Ten pairs eight times over: drawn one by one they feign eighty, and an interval about sqrt(8) too short."""
    once = load_examples([pairs_file(10, 1)], limit=None, graphs=False)
    test = once.take(np.repeat(np.arange(10), 8))
    dice = np.random.default_rng(0)
    numbers = {text: number for number, text in enumerate(sorted(test.texts))}
    embedded = Embedded(numbers, *dice.normal(size=(2, len(numbers), 4)).astype(np.float32))
    wide, short = (agreement_with_people(one, embedded, 0)[0] for one in (test, replace(test, groups=np.arange(80))))
    assert wide["over_full"] == short["over_full"]
    spans = [one["high_full"] - one["low_full"] for one in (wide, short)]
    assert spans[0] > 1.8 * spans[1]


def a_seed(trained, low, high, p):
    return [
        {
            "aspect": "smatch", "full": 50.0, "random": 20.0, "ilp": 40.0, "ilp_even": 30.0, "trained": trained,
            "over_full": trained - 50, "low_full": low, "high_full": high, "p_full": p,
            "over_ilp": trained - 40, "low_ilp": None, "high_ilp": None, "p_ilp": None,
        }
    ]  # fmt: skip


def test_seeds_are_one_record_with_both_tests():
    (found,) = records_over_seeds([a_seed(60.0, -2.0, 21.0, 0.2), a_seed(61.0, -1.0, 23.0, 0.1)], "aspect")
    assert (found["trained"], found["over_full"]) == (60.5, 10.5)
    assert found["p_full"] == pytest.approx(ttest_1samp([10, 11], 0).pvalue)
    # over the pairs nothing is shown, however alike the seeds are
    assert (found["low_full"], found["high_full"], found["p_pairs_full"]) == (-2.0, 23.0, 0.2)
    assert (found["low_ilp"], found["p_pairs_ilp"]) == (None, None)
    shown = format_document(aspects_document({"aspects": [found], "people": [], "seeds": [0, 1]}), "md")
    assert shown.count("p seeds") == 3, "two heads and the note"
    assert "a test of the order of the batches alone, not of the choice of pairs" in shown
    assert "| 0.030 | 0.200 |" in shown.replace("  ", " ")


def test_one_model_has_the_bootstrap_alone():
    shown = format_document(
        aspects_document({"aspects": a_seed(60.0, -2.0, 21.0, 0.2), "people": [], "seeds": [0]}), "md"
    )
    assert "p: jackknife t-test over the test pairs" in shown
    assert "Student" not in shown
    assert RESAMPLES >= 500


def test_the_command_asks_for_the_very_same_numbers():
    settings = S3BertSettings("base", ("a b.csv",), "out", learning_rate=1.23456789e-5, alpha=1 / 3)
    words = shlex.split(settings.training_command())
    found = {words[place]: words[place + 1] for place in range(3, len(words), 2)}
    assert float(found["--learning-rate"]) == 1.23456789e-5
    assert float(found["--alpha"]) == 1 / 3
    assert (found["--pairs"], found["--out"]) == ("a b.csv", "out")
    with pytest.raises(InputError, match=r"alpha=0\.0: must be above 0"):
        replace(settings, alpha=0.0)


def test_scores_are_on_the_scale_of_other_recipes():
    people = [{"dataset": "stsb:test", "trained": 75.0}, {"dataset": "none", "trained": None}]
    assert comparable_scores(a_seed(60.0, -2.0, 21.0, 0.2), people) == [
        {"dataset": "stsb:test", "statistic": "spearman", "value": 0.75},
        {"dataset": "aspect smatch", "statistic": "spearman", "value": 0.6},
    ]
